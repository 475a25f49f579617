"""Recipes that learn from the collection: reproducible, storable, and of the promised shape."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.postcards import paint
from visterm.vision import (
    BagRecipe,
    ColourHistogram,
    CombinedRecipe,
    DenseGrid,
    FisherRecipe,
    GlobalsRecipe,
    PatternBlocks,
    PlacedColours,
    PlacedHistograms,
    SegmentedRegions,
    SharedDescriptors,
    TrainingPictures,
    recipe,
    recipe_names,
)

GRID = DenseGrid(("sift",), steps=(16,), bin_sizes=(6,))


def small(kind):
    """A small recipe of each kind."""
    match kind:
        case "bag":
            return BagRecipe("bag", "", GRID, 20, max_sample=500)
        case "hue":
            return BagRecipe("hue", "", DenseGrid(("hue",), steps=(16,), bin_sizes=(6,)), 10, max_sample=500)
        case "visterms":
            return BagRecipe("visterms", "", PatternBlocks(), 40, max_sample=500)
        case "regions":
            return BagRecipe("regions", "", SegmentedRegions(), 15, max_sample=500)
        case "cells":  # more words than are compared one by one
            return BagRecipe("cells", "", GRID, 4500, max_sample=6000)
        case "fisher":
            grid = DenseGrid(("sift", "lcs"), steps=(16,), bin_sizes=(6,))
            return FisherRecipe("fisher", "", grid, n_axes=8, n_components=4, max_sample=800)
    raise AssertionError(kind)


KINDS = ["bag", "hue", "visterms", "regions", "fisher"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for index in range(8):
        Image.fromarray(paint(index).pixels).save(folder / f"{index}.png")
    (folder / "broken.png").write_bytes(b"not a picture")
    return TrainingPictures(sorted(folder.iterdir()), pixel_budget=100_000)


@pytest.fixture(scope="module")
def rgb():
    return paint(99).pixels


def same(a, b):
    a, b = (value.toarray() if hasattr(value, "toarray") else value for value in (a, b))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_learning_is_reproducible_and_survives_storage(kind, pictures, rgb, monkeypatch):
    first, second, restored = small(kind), small(kind), small(kind)
    untrained = first.hash
    first.train(pictures)
    monkeypatch.setenv("VISTERM_ENGINE", "threads:1")
    second.train(pictures)
    restored.restore({name: array.copy() for name, array in first.state().items()})
    assert first.hash == second.hash == restored.hash != untrained
    for output in first.outputs:
        same(first.compute(rgb)[output], second.compute(rgb)[output])
        same(first.compute(rgb)[output], restored.compute(rgb)[output])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_as_promised(kind, pictures, rgb):
    made = small(kind)
    assert not made.state()
    with pytest.raises(InputError, match="train"):
        made.compute(rgb)
    made.train(pictures)
    assert made.state()
    (output, spec), *_ = made.outputs.items()
    row = made.compute(rgb)[output]
    assert str(row.dtype) == spec.dtype
    assert row.shape == ((1, spec.n_dims) if spec.sparse else (spec.n_dims,))


def test_bags_count_every_descriptor(pictures, rgb):
    made = small("bag")
    made.train(pictures)
    frames, words = made.codewords(rgb)
    row = made.compute(rgb)["bag"].toarray().ravel()
    np.testing.assert_array_equal(row, np.bincount(words, minlength=20))
    assert len(frames) == row.sum() > 0


def test_a_small_collection_gets_a_smaller_codebook(pictures, rgb):
    made = small("cells")
    made.train(pictures)
    n_words = len(made.state()["codebook.words_"])
    assert n_words < 4500
    assert made.compute(rgb)["cells"].shape == (1, 4500)


def test_words_are_counted_where_they_are(pictures, rgb):
    whole, stripes = small("bag"), BagRecipe("stripes", "", GRID, 20, cells="1x1+3x1", max_sample=500)
    whole.train(pictures)
    stripes.train(pictures)
    cells = stripes.compute(rgb)["stripes"].toarray().reshape(4, 20)
    np.testing.assert_array_equal(cells[0], whole.compute(rgb)["bag"].toarray().ravel())
    np.testing.assert_array_equal(cells[0], cells[1:].sum(axis=0))
    frames, words = stripes.codewords(rgb)
    below = frames[:, 1] * 3 >= 2 * rgb.shape[0]
    np.testing.assert_array_equal(cells[3], np.bincount(words[below], minlength=20))


def test_shared_descriptors_give_what_each_encoding_gives(pictures, rgb):
    def encodings():
        return [
            BagRecipe("words", "", GRID, 20, cells="3x1", max_sample=500),
            FisherRecipe("vectors", "", GRID, n_axes=8, n_components=4, max_sample=500),
        ]

    both, restored = (SharedDescriptors("both", GRID, encodings()) for _ in range(2))
    assert not both.state()
    both.train(pictures)
    restored.restore({name: array.copy() for name, array in both.state().items()})
    assert restored.hash == both.hash
    rows = both.compute(rgb)
    for alone in encodings():
        alone.train(pictures)
        same(rows[alone.name], alone.compute(rgb)[alone.name])
        same(rows[alone.name], restored.compute(rgb)[alone.name])
        assert both.outputs[alone.name] == alone.outputs[alone.name]


def test_placed_histograms_say_where_colours_are(rgb):
    made = PlacedHistograms()
    rows = made.compute(rgb)
    assert rows.keys() == made.outputs.keys()
    for name, spec in made.outputs.items():
        assert rows[name].shape == ((1, spec.n_dims) if spec.sparse else (spec.n_dims,))
    np.testing.assert_allclose(rows["hsv-stripes"].toarray().reshape(3, -1).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(rows["lbp-stripes"].sum(), 1, rtol=1e-5)
    flag = np.zeros((90, 60, 3), np.uint8)
    flag[:30], flag[30:60] = (255, 0, 0), (0, 255, 0)
    turned = made.compute(flag[::-1])["rgb-stripes"].toarray().reshape(3, -1)
    np.testing.assert_array_equal(made.compute(flag)["rgb-stripes"].toarray().reshape(3, -1), turned[::-1])
    for shape in ((1, 1, 3), (2, 40, 3)):
        tiny = made.compute(np.full(shape, 7, np.uint8))
        assert all(np.isfinite(row.sum()) for row in tiny.values())


def test_every_kind_of_descriptor_lies_on_the_same_grid(rgb):
    kinds = ("sift", "root-sift", "opponent-sift", "lcs", "lab-statistics", "hue")
    described = {kind: DenseGrid((kind,), (16,), (6,)).describe(rgb) for kind in kinds}
    for frames, descriptors in described.values():
        same(frames, described["sift"][0])
        assert len(frames) == len(descriptors)
        assert np.isfinite(descriptors).all()
    side_by_side = DenseGrid(kinds, (16,), (6,)).describe(rgb)[1]
    same(side_by_side, np.concatenate([descriptors for _, descriptors in described.values()], axis=1))


def test_fisher_vectors_have_cells_of_unit_length(pictures, rgb):
    made = small("fisher")
    made.train(pictures)
    cells = made.compute(rgb)["fisher"].astype(np.float64).reshape(4, -1)
    np.testing.assert_allclose(np.linalg.norm(cells, axis=1), 1, rtol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (1, 90), (28, 28)])
def test_a_picture_too_small_for_a_patch_is_enlarged(kind, shape, pictures):
    made = small(kind)
    made.train(pictures)
    tiny = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    row = next(iter(made.compute(tiny).values()))
    assert abs(row).sum() > 0


@pytest.mark.parametrize("kind", ["bag", "fisher"])
def test_what_was_learned_before_pictures_were_enlarged_goes_on_as_it_was(kind, pictures, rgb):
    new, old = small(kind), small(kind)
    new.train(pictures)
    old.restore({name: array for name, array in new.state().items() if name != "least_side"})
    assert old.hash != new.hash
    assert "least_side" not in old.state()
    dot = np.full((3, 3, 3), 9, np.uint8)
    assert abs(next(iter(old.compute(dot).values()))).sum() == 0
    for output in new.outputs:  # larger pictures are as they were
        same(new.compute(rgb)[output], old.compute(rgb)[output])


def test_codewords_of_an_enlarged_picture_lie_inside_it(pictures):
    made = small("bag")
    made.train(pictures)
    tiny = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    frames, words = made.codewords(tiny)
    assert len(frames) == len(words) == made.compute(tiny)["bag"].sum() > 1
    assert (frames[:, :2] >= -0.5).all()
    assert (frames[:, 0] < 30).all()
    assert (frames[:, 1] < 20).all()
    assert frames[:, 0].max() - frames[:, 0].min() > 10


def test_a_descriptor_counts_for_its_nearest_codewords(pictures, rgb):
    one, three = small("bag"), BagRecipe("bag", "", GRID, 20, n_nearest=3, max_sample=500)
    one.train(pictures)
    three.restore(one.state())
    counts, more = (made.compute(rgb)["bag"].toarray().ravel() for made in (one, three))
    assert more.sum() == 3 * counts.sum()
    assert (more >= counts).all()
    assert one.hash != three.hash


def test_fast_tagging_shrinks_pictures_and_has_few_dimensions():
    made = recipe("tagging-fast")
    seen = []
    for part in made.inner.parts:
        part.compute_many = lambda pictures: seen.extend(rgb.size // 3 for rgb in pictures) or [{} for _ in pictures]
    made.inner.compute(np.zeros((450, 600, 3), np.uint8))
    assert len(seen) == 3
    assert all(39_000 < n_pixels <= 40_000 for n_pixels in seen)
    assert sum(spec.n_dims for spec in made.outputs.values()) <= 5 * 256
    both = recipe("deep+tagging-fast")
    assert both.outputs.keys() == {"deep", *made.outputs}


def test_fast_tagging_is_decoded_with_the_larger_network():
    assert recipe("tagging-fast").pixel_budget == recipe("deep-lite2").pixel_budget


def test_a_combination_with_a_name_hashes_the_pixels_of_its_parts():
    def made(n_pixels, name="both"):
        return CombinedRecipe([PlacedColours(pixel_budget=n_pixels), ColourHistogram()], name=name).hash

    assert made(20_000) != made(30_000)
    assert made(20_000, None) == made(30_000, None)  # it is stored as its parts, which have hashes of their own


def test_placed_colours_are_those_of_the_larger_recipes(rgb):
    made = PlacedColours(pixel_budget=100_000)
    rows = made.compute(rgb)
    assert rows.keys() == made.outputs.keys()
    for name, full in (
        ("hsv", PlacedHistograms()),
        ("hsv-stripes", PlacedHistograms()),
        ("correlogram", GlobalsRecipe()),
    ):
        same(rows[name], full.compute(rgb)[name])
        assert made.outputs[name] == full.outputs[name]


def test_globals_are_of_their_sizes(rgb):
    made = GlobalsRecipe()
    rows = made.compute(rgb)
    assert rows.keys() == made.outputs.keys()
    for name, spec in made.outputs.items():
        assert rows[name].shape == (spec.n_dims,)
        assert np.isfinite(rows[name]).all()
    tiny = made.compute(np.full((1, 1, 3), 7, np.uint8))
    assert all(np.isfinite(row).all() for row in tiny.values())


def test_presets_are_what_their_names_say():
    for name in recipe_names():
        made = recipe(name)
        assert made.name == name
        assert made.summary
        assert made.bytes_per_picture > 0
        assert made.seconds_per_picture > 0
    assert recipe("fisher").outputs["fisher"].n_dims == 262_144
    assert recipe("fisher-32k").outputs["fisher-32k"].n_dims == 32_768
    assert recipe("visterms-10k").outputs["visterms-10k"].n_dims == 10_000
    hashes = [recipe(name).hash for name in recipe_names()]
    assert len(set(hashes)) == len(hashes)


def test_settings_change_the_hash():
    assert BagRecipe("a", "", GRID, 20).hash != BagRecipe("a", "", GRID, 21).hash
    assert BagRecipe("a", "", GRID, 20).hash != BagRecipe("a", "", DenseGrid(("hue",), (16,), (6,)), 20).hash


def test_unreadable_pictures_are_left_out_of_the_sample(pictures):
    assert len(pictures) == 9
    assert len(list(pictures.map(np.mean, "Looking"))) == 8
    with pytest.raises(InputError, match="nothing to learn from"):
        TrainingPictures(pictures.files[-1:], pixel_budget=100).sample_rows(
            lambda rgb: np.zeros((0, 3), np.float32), 10, seed=0, description="Looking"
        )


def test_unknown_kinds_are_refused(rgb):
    with pytest.raises(InputError, match="unknown kind"):
        DenseGrid(("smell",)).describe(rgb)


def test_recipes_combine(pictures, rgb):
    both, restored = (CombinedRecipe([small("bag"), small("fisher"), recipe("colour")]) for _ in range(2))
    assert both.name == "bag+fisher+colour"
    assert list(both.outputs) == ["bag", "fisher", "colour"]
    assert not both.state()
    both.train(pictures)
    assert both.state()
    restored.restore(both.state())
    assert restored.hash == both.hash
    alone = small("bag")
    alone.train(pictures)
    rows, (again,) = both.compute(rgb), restored.compute_many([rgb])
    same(rows["bag"], alone.compute(rgb)["bag"])
    for output in both.outputs:
        same(rows[output], again[output])
    assert recipe("colour+globals").outputs.keys() == {"colour", *recipe("globals").outputs}
    with pytest.raises(InputError, match="the same name"):
        recipe("colour+colour")
    with pytest.raises(InputError, match="unknown recipe"):
        recipe("colour+magic")


def test_parts_see_pictures_of_their_own_size(rgb):
    class Half(ColourHistogram):
        name = "half"
        pixel_budget = rgb.shape[0] * rgb.shape[1] // 4
        seen = ()

        @property
        def outputs(self):
            return {"half": super().outputs["colour"]}

        def compute(self, rgb):
            Half.seen = rgb.shape
            return {"half": super().compute(rgb)["colour"]}

    CombinedRecipe([Half(), recipe("colour")]).compute(rgb)
    assert Half.seen == (rgb.shape[0] // 2, rgb.shape[1] // 2, 3)


def gratings(n_classes, n_each, side, seed=0):
    """Small noisy pictures of stripes; a class is a direction and a width of the stripes."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    pictures, classes = [], np.repeat(np.arange(n_classes), n_each)
    for chosen in classes:
        angle, period = np.pi * (chosen % 5) / 5, (4, 8)[chosen // 5]
        wave = np.sin(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / period + rng.uniform(0, 2 * np.pi))
        grey = 128 + 60 * wave + rng.normal(0, 15, (side, side))
        pictures.append(np.repeat(grey.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2))
    return pictures, classes


@pytest.mark.parametrize("name", ["bow-240", "visterms-10k"])
@pytest.mark.parametrize("side", [12, 32])
def test_tiny_pictures_are_told_apart(name, side, tmp_path):
    tiny, classes = gratings(10, 6, side)
    for i, rgb in enumerate(tiny):
        Image.fromarray(rgb).save(tmp_path / f"{i:02}.png")
    made = recipe(name)
    made.train(TrainingPictures(sorted(tmp_path.iterdir()), pixel_budget=made.pixel_budget))
    bags = np.concatenate([row[name].toarray() for row in made.compute_many(tiny)]).astype(float)
    assert bags.any(axis=1).all()
    roots = np.sqrt(bags / bags.sum(axis=1, keepdims=True))
    is_known = np.arange(len(classes)) % 2 == 0
    means = np.stack([roots[is_known & (classes == c)].mean(axis=0) for c in range(10)])
    found = (roots[~is_known] @ means.T).argmax(axis=1)
    assert (found == classes[~is_known]).mean() >= 0.4  # chance: 0.1
