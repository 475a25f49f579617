"""Where in a picture what counts lies: known regions are found, painted objects far more often than by chance."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.reasons import Reason, Regions
from visterm.compute.parallel import Engine
from visterm.contracts import Task, word_scores
from visterm.errors import MissingExtraError
from visterm.find import searching
from visterm.find.rank.searcher import Hit
from visterm.find.regions import grid_of, hidden, regions_of
from visterm.find.sheets import heated
from visterm.postcards import make_postcards, role_of
from visterm.storage import RowSpec
from visterm.vision.decode import decode_rgb
from visterm.vision.recipes.base import Recipe
from visterm.workspace import Workspace


class Reds(Recipe):
    """How much of a picture is red, dense and as a bag."""

    name, summary = "reds", "for tests"

    @property
    def outputs(self):
        return {"share": RowSpec(1), "bag": RowSpec(2, sparse=True)}

    def compute(self, rgb):
        red = (rgb[..., 0] > 200) & (rgb[..., 1] < 60)
        share = np.array([red.mean()], np.float32)
        return {"share": share, "bag": sparse.csr_array(np.array([[share[0], 0]], np.float32))}


def picture(top, left, height=40, width=50, shape=(240, 360)):
    rgb = np.full((*shape, 3), 90, np.uint8)
    rgb[top : top + height, left : left + width] = (255, 0, 0)
    return rgb


def redness(_, X):
    assert X["bag"].toarray()[:, 0] == pytest.approx(X["share"][:, 0])
    return np.log(0.01 + X["share"][:, 0] / max(float(X["share"][0, 0]), 1e-9))


@pytest.mark.parametrize(
    ("top", "left", "where"),
    [
        (190, 5, "lower left"),
        (10, 300, "upper right"),
        (100, 155, "middle"),
        (5, 155, "top"),
        (100, 300, "right"),
        (190, 155, "bottom"),
    ],
)
def test_what_counts_is_found(top, left, where):
    rgb = picture(top, left)
    (regions,) = regions_of(Reds(), [rgb], redness)
    assert np.sum(regions.shares) == pytest.approx(1)
    assert np.shape(regions.shares) == grid_of(rgb) == (4, 6)
    first, last, begin, end = regions.box()
    assert first * 60 <= top + 20 <= last * 60
    assert begin * 60 <= left + 25 <= end * 60
    assert re.match(rf"seen mostly (at|in) the {where}: \d+% of the picture gives \d+% of the reason$", str(regions))
    assert regions.fall > 0.5


def test_several_pictures_are_looked_at_together():
    pictures = [picture(190, 5), picture(10, 20, 12, 14, shape=(60, 40)), picture(10, 300)]
    together = regions_of(Reds(), pictures, redness)
    assert together == [regions_of(Reds(), [rgb], redness)[0] for rgb in pictures]
    assert np.shape(together[1].shares) == (6, 4)


def test_where_nothing_counts_by_itself_that_is_said():
    (none,) = regions_of(Reds(), [np.zeros((30, 30, 3), np.uint8)], lambda _, X: np.zeros(len(X["share"])))
    assert none.fall == 0
    assert np.sum(none.shares) == 0
    assert "as a whole" in str(none)
    assert "as a whole" in str(Regions(((0.25, 0.25), (0.25, 0.25)), fall=0.5))
    assert regions_of(Reds(), [], redness) == []


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (2, 3), (7, 5), (100, 101)])
def test_pictures_of_any_shape(shape):
    rgb = np.zeros((*shape, 3), np.uint8)
    (regions,) = regions_of(Reds(), [rgb], lambda _, X: np.linspace(0, -1, len(X["share"])))
    assert np.shape(regions.shares) == grid_of(rgb)
    assert all(cells <= pixels for cells, pixels in zip(grid_of(rgb), shape, strict=True))


def test_hiding_changes_the_region_and_nothing_else():
    rgb = np.random.default_rng(0).integers(0, 256, (240, 360, 3)).astype(np.uint8)
    before = rgb.copy()
    for copy, (row, column) in zip(hidden(rgb, [(0, 0), (2, 3)]), [(0, 0), (2, 3)], strict=True):
        changed = (copy != rgb).any(axis=2)
        inside = np.zeros_like(changed)
        inside[max(0, row * 60 - 30) : row * 60 + 90, max(0, column * 60 - 30) : column * 60 + 90] = True
        assert not changed[~inside].any()
        cell = copy[row * 60 : row * 60 + 60, column * 60 : column * 60 + 60]
        assert cell.std() < 0.3 * rgb.std()  # noise is blurred away
        assert cell.mean() == pytest.approx(rgb.mean(), abs=5)
    assert np.array_equal(rgb, before)


def test_what_counts_is_drawn_warm_and_the_rest_grey():
    from PIL import Image

    drawn = np.asarray(
        heated(Image.new("RGB", (90, 60), (40, 80, 200)), Regions(((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)), 0.5))
    )
    assert np.ptp(drawn[5, 5].astype(int)) == 0
    assert int(drawn[45, 75, 0]) > int(drawn[45, 75, 2])
    assert heated(Image.new("RGB", (9, 6)), Regions(((0.0,),), 0.0)).size == (9, 6)


# Painted objects, of which we know where they are

THINGS = ("boat", "sail", "car", "tower", "cactus", "pier", "lighthouse", "bus", "truck", "windmill", "crane", "house")


@pytest.fixture(scope="module")
def painted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("painted")
    make_postcards(folder, 120, engine=Engine(n_jobs=1))
    with Workspace.create(folder) as workspace:
        workspace.add([folder])
        workspace.train("ridge-tags")
        workspace.search("boat")  # looks at all pictures, so that no test does
        yield workspace


def test_painted_objects_are_found_far_more_often_than_by_chance(painted):
    model = painted.shelf.model(Task.RANK)
    truth = map(json.loads, (painted.folder / "truth.jsonl").read_text(encoding="utf-8").splitlines())
    cases = [
        (row["file_name"], thing, [region["box"] for region in row["regions"] if region["name"] == thing])
        for i, row in enumerate(truth)
        for thing in THINGS
        if role_of(i) != "train" and thing in row["tags"]
    ][:30]
    pictures = [decode_rgb(painted.folder / path) for path, *_ in cases]

    def believe(i, X):
        column = model.info.tags.index(cases[i][1])
        return model.relevance.log_probabilities(word_scores(model.estimator, X))[:, column]

    lifts = []
    for rgb, (*_, boxes), regions in zip(pictures, cases, regions_of(model.recipe, pictures, believe), strict=True):
        there = np.zeros(rgb.shape[:2])
        for left, top, right, bottom in boxes:
            there[int(top) : int(bottom), int(left) : int(right)] = 1
        rows, across = (
            np.arange(n) * cells // n for n, cells in zip(there.shape, np.shape(regions.shares), strict=True)
        )
        heat = np.array(regions.shares)[rows][:, across]
        if regions.fall > 0.02 and there.mean() < 0.3:
            lifts.append(float((heat * there).sum() / heat.sum() / there.mean()))
    assert len(lifts) >= 15
    assert np.mean(lifts) > 1.4  # 1 would be chance


def test_a_search_says_where_and_draws_it(painted, visterm_json, visterm, tmp_path):
    document = visterm_json("search", "boat", "--why", "--all", "-n", 40, "-w", painted.folder)
    looked_at = [item for item in document["found"] if item["regions"] is not None]
    assert len(looked_at) == 5
    for item in looked_at:
        assert not item["told"]
        assert np.sum(item["regions"]["shares"]) == pytest.approx(1)
        assert any("of the picture" in line or "as a whole" in line for line in item["evidence"])
    sheets = [tmp_path / "why.png", tmp_path / "plain.png"]
    for sheet, options in zip(sheets, (["--why"], []), strict=True):
        visterm("search", "boat", "--all", "-n", 40, "--sheet", sheet, *options, "-w", painted.folder)
    with_heat, without = (decode_rgb(sheet, pixel_budget=None) for sheet in sheets)
    assert with_heat.shape == without.shape
    assert (with_heat != without).any()


def test_nothing_is_stored_and_pictures_that_are_gone_are_passed_over(painted, monkeypatch):
    before = {path: path.stat().st_size for path in (painted.state / "features").rglob("*") if path.is_file()}
    found = painted.search("boat", limit=40, unlikely=True, why=True).found
    assert {path: path.stat().st_size for path in (painted.state / "features").rglob("*") if path.is_file()} == before
    first, second = [item.path for item in found if item.regions is not None][:2]
    hidden_file = painted.folder / first
    kept = hidden_file.read_bytes()
    hidden_file.write_bytes(b"no picture any more")
    try:
        found = painted.search("boat", limit=40, unlikely=True, why=True).found
    finally:
        hidden_file.write_bytes(kept)
    again = {item.path: item.regions for item in found}
    assert again[first] is None
    assert again[second] is not None
    assert sum(regions is not None for regions in again.values()) == 5


def test_alternatives_that_are_unlikely_do_not_count():
    def believed(probability, *reasons):
        return searching._believed(Hit(0, probability, False, True, tuple(Reason(*reason) for reason in reasons)))

    assert believed(0.5, ("boat", "model", 0.8), ("sea", "model", 0.6)) == ["boat", "sea"]  # both
    assert believed(0.82, ("boat", "model", 0.8), ("ship", "model", 0.1)) == ["boat"]  # either
    assert believed(0.8, ("boat", "tag", 1.0), ("sea", "model", 0.8), ("snow", "model", 0.9, True)) == ["sea"]
    assert believed(1.0, ("boat", "tag", 1.0)) == []


def test_without_what_made_the_features_there_are_no_regions(painted, monkeypatch):
    model = painted.shelf.model(Task.RANK)

    def compute_many(self, pictures):
        raise MissingExtraError("onnxruntime", "deep", "describing pictures")

    monkeypatch.setattr(type(model.recipe), "compute_many", compute_many)
    found = painted.search("boat", limit=40, unlikely=True, why=True).found
    assert all(item.regions is None for item in found)


def test_excluded_words_and_words_of_people_need_no_regions(painted):
    found = painted.search("-boat", limit=40, unlikely=True, why=True).found
    assert all(item.regions is None for item in found)
