"""Compressed features: inner products are kept, exactly if there are fewer pictures than axes."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision import TrainingPictures
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.combined import CompressedRecipe


class Pixels(Recipe):
    """The pixels themselves, a histogram of them, and their mean."""

    name, summary, pixel_budget = "pixels", "for tests", 64

    @property
    def outputs(self):
        return {"flat": RowSpec(192), "bins": RowSpec(256, sparse=True), "mean": RowSpec(3)}

    def compute(self, rgb):
        flat = rgb.astype(np.float32).ravel() - 100
        counts = np.bincount(rgb.ravel() // 4, minlength=256).astype(np.float32)
        return {"flat": flat, "bins": sparse.csr_array(counts[np.newaxis]), "mean": rgb.mean(axis=(0, 1))}


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    return sorted(tmp_path.glob("*.png"))


def decoded(files):
    return [np.asarray(Image.open(file)) for file in files]


def trained(files, n_axes):
    recipe = CompressedRecipe(Pixels(), n_axes=n_axes)
    recipe.train(TrainingPictures(files, pixel_budget=64))
    return recipe


def test_of_few_pictures_all_inner_products_are_kept(files):
    recipe = trained(files[:10], 20)
    rows = recipe.compute_many(decoded(files))
    flat = np.stack([Pixels().compute(rgb)["flat"] for rgb in decoded(files)])
    ours = np.stack([row["flat"] for row in rows])
    assert ours.shape == (12, 20)
    exact = flat @ flat[:10].T
    # Also of pictures it did not learn from, with those it did; axes are kept in half precision.
    np.testing.assert_allclose(ours @ ours[:10].T, exact, atol=2e-3 * np.abs(exact).max())
    assert (ours[:, 10:] == 0).all()


def test_histograms_are_compared_by_their_roots(files):
    recipe = trained(files, 20)
    ours = np.stack([row["bins"] for row in recipe.compute_many(decoded(files))])
    counts = np.stack([Pixels().compute(rgb)["bins"].toarray()[0] for rgb in decoded(files)])
    roots = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(ours @ ours.T, roots @ roots.T, atol=3e-3)


def test_the_axes_are_the_main_ones(files):
    recipe = trained(files, 4)
    flat = np.stack([Pixels().compute(rgb)["flat"] for rgb in decoded(files)])
    ours = np.stack([row["flat"] for row in recipe.compute_many(decoded(files))])
    largest = np.linalg.svd(flat, compute_uv=False)[:4]
    np.testing.assert_allclose(np.linalg.svd(ours, compute_uv=False), largest, rtol=1e-3)


def test_short_features_stay_as_they_are(files):
    recipe = trained(files, 20)
    (row,) = recipe.compute_many(decoded(files)[:1])
    assert row["mean"].shape == (3,)
    assert {name: spec.n_dims for name, spec in recipe.outputs.items()} == {"flat": 20, "bins": 20, "mean": 3}


def test_what_was_learned_is_restored(files):
    recipe = trained(files, 20)
    again = CompressedRecipe(Pixels(), n_axes=20)
    assert not again.state()
    with pytest.raises(InputError, match="train it first"):
        again.compute(decoded(files)[0])
    again.restore(recipe.state())
    assert again.hash == recipe.hash
    for one, other in zip(again.compute_many(decoded(files)), recipe.compute_many(decoded(files)), strict=True):
        np.testing.assert_array_equal(one["flat"], other["flat"])
    other = trained(files[:6], 20)
    assert other.hash != recipe.hash
