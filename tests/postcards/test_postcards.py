"""Postcards: one series everywhere, truth that matches the paint, classes that colour alone does not give away."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.compute import Engine
from visterm.errors import InputError, VistermError
from visterm.postcards import (
    CLASSES,
    GENERATOR_VERSION,
    TAGS,
    PostcardsReport,
    class_of,
    make_postcards,
    paint,
    role_of,
)
from visterm.postcards.canvas import Camera, Canvas
from visterm.postcards.captions import _phrase

N_PICTURES = 150


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> PostcardsReport:
    return make_postcards(tmp_path_factory.mktemp("postcards"), N_PICTURES, engine=Engine(n_jobs=2))


@pytest.fixture(scope="module")
def truth(series: PostcardsReport) -> list[dict]:
    return _rows(series.truth)


@pytest.fixture(scope="module")
def labels(series: PostcardsReport) -> list[dict]:
    return _rows(series.metadata)


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- one postcard ----------------------------------------------------------------------------------------------------


def test_the_same_numbers_give_the_same_postcard() -> None:
    first, second = paint(17, seed=3), paint(17, seed=3)
    assert np.array_equal(first.pixels, second.pixels)
    assert (first.tags, first.caption, first.regions) == (second.tags, second.caption, second.regions)


def test_other_numbers_give_another_postcard() -> None:
    assert not np.array_equal(paint(17, seed=3).pixels, paint(17, seed=4).pixels)
    assert not np.array_equal(paint(17, seed=3).pixels, paint(18, seed=3).pixels)


@settings(max_examples=20, deadline=None)
@given(
    index=st.integers(0, 10**6), seed=st.integers(0, 10**6), shape=st.sampled_from([(256, 192), (120, 160), (99, 61)])
)
def test_any_postcard_is_consistent(index: int, seed: int, shape: tuple[int, int]) -> None:
    width, height = shape
    card = paint(index, seed=seed, width=width, height=height)
    assert card.pixels.shape == (height, width, 3)
    assert card.pixels.dtype == np.uint8
    assert card.pixels.std() > 5
    assert card.class_name == class_of(index, seed)
    assert card.name == f"{index:04d}.jpg"
    assert card.tags == tuple(sorted({region.name for region in card.regions}))
    assert set(card.tags) <= set(TAGS)
    for region in card.regions:
        assert 0 <= region.left < region.right <= width
        assert 0 <= region.top < region.bottom <= height


@pytest.mark.parametrize(
    "arguments", [{"index": -1}, {"index": 0, "seed": -1}, {"index": 0, "width": 9999}, {"index": 0, "height": 7}]
)
def test_impossible_postcards_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(InputError):
        paint(**arguments)


# -- the canvas keeps the truth --------------------------------------------------------------------------------------


def test_a_region_is_the_box_of_what_was_painted() -> None:
    canvas = Canvas(256, 192)
    with canvas.object("house"):
        canvas.box(40, 50, 79, 99, (200, 0, 0))
    pixels, (region,) = canvas.photograph(Camera())
    assert (region.name, region.left, region.top, region.right, region.bottom) == ("house", 40, 50, 80, 100)
    rows, columns = np.nonzero(pixels[:, :, 0])
    assert (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) == (40, 50, 80, 100)


def test_the_region_follows_the_camera() -> None:
    canvas = Canvas(256, 192)
    with canvas.object("boat"):
        canvas.ellipse((60, 110), (20, 12), (250, 250, 250))
    pixels, (region,) = canvas.photograph(Camera(tilt=0.06, zoom=1.1, mirrored=True))
    rows, columns = np.nonzero(pixels[:, :, 0] > 127)
    assert region.left > 128, "a mirrored boat is on the other side"
    assert np.allclose(
        (region.left, region.top, region.right, region.bottom),
        (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1),
        atol=1.5,
    )


def test_what_is_hidden_or_outside_is_not_there() -> None:
    canvas = Canvas(256, 192)
    with canvas.object("tree"):
        canvas.box(20, 20, 60, 60, (0, 120, 0))
    with canvas.object("car"):
        canvas.box(300, 20, 340, 60, (0, 0, 120))
    with canvas.object("bird"):
        canvas.box(200, 20, 201, 21, (9, 9, 9))
    with canvas.object("house"):
        canvas.box(18, 18, 57, 62, (120, 0, 0))
    _, regions = canvas.photograph(Camera())
    assert [region.name for region in regions] == ["house"]


def test_parts_belong_to_the_whole() -> None:
    canvas = Canvas(256, 192)
    with canvas.object("boat"):
        canvas.box(50, 100, 90, 109, (120, 60, 0))
        with canvas.object("sail"):
            canvas.box(60, 40, 70, 99, (240, 240, 240))
    _, regions = canvas.photograph(Camera())
    boxes = {region.name: (region.top, region.bottom) for region in regions}
    assert boxes == {"boat": (40, 110), "sail": (40, 100)}


# -- captions --------------------------------------------------------------------------------------------------------


def test_captions_name_several_tags_and_nothing_absent(truth: list[dict]) -> None:
    # A word of the class is no claim about a tag: "a city street", "the mountains".
    for row in truth:
        caption = re.sub(r"\b(mountains|street in town|city street|the street)\b", "", row["caption"].lower())
        named = {
            tag
            for tag in TAGS
            if any(re.search(rf"\b{re.escape(_phrase(tag, count).split(' ', 1)[-1])}\b", caption) for count in (1, 2))
            or re.search(rf"\b{re.escape(tag)}s?\b", caption)
        }
        assert named <= set(row["tags"]), row["caption"]
        assert len(named) >= min(4, len(row["tags"])), row["caption"]
        assert row["caption"][0].isupper()
        assert row["caption"].endswith(".")


def test_captions_vary(truth: list[dict]) -> None:
    assert len({row["caption"] for row in truth}) == N_PICTURES
    assert len({row["caption"].split()[0] for row in truth}) > 8


# -- the collection --------------------------------------------------------------------------------------------------


def test_classes_are_balanced_and_not_in_the_path(truth: list[dict]) -> None:
    assert Counter(row["class"] for row in truth) == dict.fromkeys(CLASSES, N_PICTURES // len(CLASSES))
    assert [row["file_name"] for row in truth] == [f"pictures/{index:04d}.jpg" for index in range(N_PICTURES)]
    assert [row["class"] for row in truth] != sorted(row["class"] for row in truth)


def test_tags_are_not_a_function_of_the_class(truth: list[dict]) -> None:
    tags_of = {name: {tag for row in truth if row["class"] == name for tag in row["tags"]} for name in CLASSES}
    shared = [tag for tag in TAGS if sum(tag in tags for tags in tags_of.values()) >= 3]
    assert len(shared) >= 20
    assert len({tuple(row["tags"]) for row in truth}) > 0.9 * N_PICTURES


def test_a_fifth_is_unlabelled_and_a_fifth_has_its_class_only(labels: list[dict]) -> None:
    keys = Counter(tuple(sorted(row)) for row in labels)
    everything = ("caption", "class", "file_name", "regions", "split", "tags")
    assert keys == {
        everything: N_PICTURES * 3 // 5,
        ("class", "file_name", "split"): N_PICTURES // 5,
        ("file_name", "split"): N_PICTURES // 5,
    }
    assert Counter(row["split"] for row in labels) == {"train": N_PICTURES * 4 // 5, "test": N_PICTURES // 5}
    assert all("caption" in row for row in labels if row["split"] == "test")
    by_class = Counter(row["class"] for row in labels if tuple(sorted(row)) == everything)
    assert set(by_class.values()) == {N_PICTURES * 3 // 5 // len(CLASSES)}


def test_labels_are_part_of_the_truth(labels: list[dict], truth: list[dict]) -> None:
    for told, true in zip(labels, truth, strict=True):
        assert told.items() <= true.items()


def test_roles_are_stratified_for_any_seed() -> None:
    roles = Counter((class_of(index, 5), role_of(index, 5)) for index in range(100))
    assert all(count == (4 if role == "train" else 2) for (_, role), count in roles.items())


def test_files(series: PostcardsReport, truth: list[dict]) -> None:
    names = {path.name for path in series.folder.iterdir()}
    assert names == {"pictures", "metadata.jsonl", "truth.jsonl", "README.md", "postcards.json"}
    assert len(list((series.folder / "pictures").iterdir())) == N_PICTURES
    with Image.open(series.folder / truth[7]["file_name"]) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", (256, 192), "RGB")
        difference = np.asarray(image).astype(int) - paint(7).pixels
    assert np.abs(difference).mean() < 6
    readme = (series.folder / "README.md").read_text(encoding="utf-8")
    assert "synthetic" in readme
    assert "CC0" in readme


def test_the_same_files_however_the_work_is_spread(tmp_path: Path, series: PostcardsReport) -> None:
    one = make_postcards(tmp_path / "one", 25, engine=Engine(n_jobs=1))
    processes = make_postcards(tmp_path / "processes", 25, engine=Engine(backend="processes", n_jobs=2))
    assert _files(one.folder) == _files(processes.folder)
    assert (one.folder / "pictures/0024.jpg").read_bytes() == (series.folder / "pictures/0024.jpg").read_bytes()


def test_making_it_again_does_nothing(series: PostcardsReport) -> None:
    before = {path: path.stat().st_mtime_ns for path in series.folder.rglob("*")}
    again = make_postcards(series.folder, N_PICTURES)
    assert (again.painted, again.n_pictures) == (0, N_PICTURES)
    assert "already holds" in str(again)
    assert {path: path.stat().st_mtime_ns for path in series.folder.rglob("*")} == before


def test_what_is_missing_or_unfinished_is_made_again(tmp_path: Path) -> None:
    engine = Engine(n_jobs=1)
    make_postcards(tmp_path, 3, engine=engine)
    whole = _files(tmp_path)
    (tmp_path / "pictures/0001.jpg").unlink()
    assert make_postcards(tmp_path, 3, engine=engine).painted == 3
    (tmp_path / "postcards.json").write_text(json.dumps({"generator_version": GENERATOR_VERSION, "complete": False}))
    assert make_postcards(tmp_path, 3, engine=engine).painted == 3
    assert _files(tmp_path) == whole


def test_a_shorter_series_leaves_no_pictures_over(tmp_path: Path) -> None:
    engine = Engine(n_jobs=1)
    make_postcards(tmp_path, 4, engine=engine)
    (tmp_path / "pictures" / "mine.jpg").write_bytes(b"mine")
    make_postcards(tmp_path, 2, seed=1, engine=engine)
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["0000.jpg", "0001.jpg", "mine.jpg"]


@pytest.mark.parametrize("taken", ["metadata.jsonl", "README.md", "pictures"])
def test_files_of_something_else_are_not_painted_over(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(InputError, match=taken):
        make_postcards(tmp_path, 2)
    assert _files(tmp_path) == {taken: b"mine"}


@pytest.mark.parametrize("mark", ["", "[]", "{}", "\xff", "[" * 100_000])
def test_a_strange_mark_is_one_clear_error(tmp_path: Path, mark: str) -> None:
    (tmp_path / "postcards.json").write_text(mark, encoding="latin-1")
    with pytest.raises(InputError, match=r"postcards\.json"):
        make_postcards(tmp_path, 2)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        make_postcards(tmp_path / "file", 2)
    with pytest.raises(VistermError):
        make_postcards(tmp_path / "file" / "inside", 2)
    with pytest.raises(InputError, match="positive"):
        make_postcards(tmp_path / "none", 0)


# -- what the demo relies on -----------------------------------------------------------------------------------------


def test_every_tag_is_frequent_enough_to_learn(truth: list[dict]) -> None:
    counts = Counter(tag for row in truth for tag in row["tags"])
    assert set(counts) == set(TAGS)
    # Eight in the 400 pictures of the demo.
    assert min(counts.values()) >= 8 * N_PICTURES / 400
    assert 6 < np.mean([len(row["tags"]) for row in truth]) < 12


def test_colour_does_not_give_the_class_away_but_layout_does(series: PostcardsReport, truth: list[dict]) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pictures = []
    for row in truth:
        with Image.open(series.folder / row["file_name"]) as image:
            pictures.append(np.asarray(image, np.float32))
    y = np.array([row["class"] for row in truth])
    stacked = np.stack(pictures)
    colour = stacked.mean(axis=(1, 2))
    layout = np.stack([_gradients(picture) for picture in stacked])
    half = np.arange(N_PICTURES) % 20 < 10

    def accuracy(features: np.ndarray) -> float:
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        return float(model.fit(features[half], y[half]).score(features[~half], y[~half]))

    assert accuracy(colour) < 0.5
    assert accuracy(layout) > accuracy(colour) + 0.2


def _gradients(picture: np.ndarray) -> np.ndarray:
    """Histograms of the gradient's direction in 6 x 8 cells."""
    down, across = np.gradient(picture.mean(axis=2))
    strength, bins = np.hypot(down, across), ((np.arctan2(down, across) % np.pi) / np.pi * 8).astype(int) % 8
    planes = np.stack([np.where(bins == direction, strength, 0) for direction in range(8)], axis=2)
    cells = planes.reshape(6, 32, 8, 32, 8).sum(axis=(1, 3))
    return np.sqrt(cells / (np.linalg.norm(cells, axis=2, keepdims=True) + 20)).ravel()
