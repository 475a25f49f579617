"""What one computation gives is stored whole, and rows of an earlier precision stay valid."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from PIL import Image

from visterm.features import FeatureLibrary, features_of_files
from visterm.storage import RowSpec
from visterm.vision.recipes.base import Recipe


class Halves(Recipe):
    """The mean of each channel, stored in half precision; the hash is that of an earlier version."""

    name, summary, precision, hashed_dtype = "halves", "for tests", "float16", "float32"

    @property
    def outputs(self):
        return {"mean": RowSpec(3, self.precision)}

    def compute(self, rgb):
        return {"mean": rgb.mean(axis=(0, 1)).astype(np.float32) / 7}


class Singles(Halves):
    """The earlier version."""

    precision = "float32"


class Both(Recipe):
    """Computes two recipes at once, and counts."""

    name, summary = "both", "for tests"

    def __init__(self):
        self.stored = (Half(self, "first"), Half(self, "second"))
        self.n_computed = 0

    @property
    def stored_parts(self):
        return self.stored

    @property
    def outputs(self):
        return {"first": RowSpec(3), "second": RowSpec(3)}

    def compute(self, rgb):
        self.n_computed += 1
        mean = rgb.mean(axis=(0, 1)).astype(np.float32)
        return {"first": mean, "second": 2 * mean}


class Half(Recipe):
    """One of two recipes that are computed at once."""

    def __init__(self, whole, name):
        self.both, self.name, self.summary = whole, name, name

    @property
    def whole(self):
        return self.both

    @property
    def outputs(self):
        return {self.name: RowSpec(3)}


@pytest.fixture
def pictures(tmp_path):
    found = {}
    for i in range(6):
        file = tmp_path / f"{i}.png"
        Image.new("RGB", (8, 8), (40 * i, 200, 10)).save(file)
        found[sha256(file.read_bytes()).hexdigest()] = file
    return found


@pytest.fixture
def library(tmp_path):
    return FeatureLibrary(tmp_path / "state")


def test_what_one_computation_gives_is_stored_whole(library, pictures):
    both, keys = Both(), list(pictures)
    first, second = both.stored
    (done,) = library.describe(dict(list(pictures.items())[:4]), first)
    assert (done.recipe, done.n_computed, both.n_computed) == ("first", 4, 4)
    assert library.present(second, keys).tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(
        library.features(second, keys[:4])["second"], 2 * library.features(first, keys[:4])["first"]
    )
    library.describe(pictures, second, first)
    assert both.n_computed == 6
    assert not library.missing(first, keys)


def test_what_a_computation_would_also_give_is_not_computed_for_itself(library, pictures):
    both, keys = Both(), list(pictures)
    first, second = both.stored
    library.describe(pictures, first)
    library.store(second, "second").remove(keys[:2])
    library.describe(pictures, first)
    assert library.missing(second, keys) == set(keys[:2])
    library.describe(pictures, second)
    assert (both.n_computed, library.missing(second, keys)) == (8, set())


def test_the_inner_parts_of_networks_cost_no_more_beside_them(library, pictures):
    keys = list(pictures)
    networks = library.seconds_to_describe("deep+deep-lite2", keys)
    assert networks > library.seconds_to_describe("deep", keys) > 0
    assert library.seconds_to_describe("deep+deep-lite2+layers", keys) == networks
    assert library.seconds_to_describe("layers", keys) == networks


def test_rows_in_single_precision_stay_valid_where_halves_are_stored_now(library, pictures, tmp_path):
    keys = list(pictures)
    assert Singles().hash == Halves().hash
    library.describe(dict(list(pictures.items())[:3]), Singles())
    exact = library.features(Singles(), keys[:3])["mean"]
    later = FeatureLibrary(library.folder)
    (done,) = later.describe(pictures, Halves())
    assert (done.n_known, done.n_computed) == (3, 3)
    rows = later.features(Halves(), keys)["mean"]
    np.testing.assert_array_equal(rows[:3], exact)
    fresh = FeatureLibrary(tmp_path / "fresh")
    fresh.describe(pictures, Halves())
    (block,) = (rows for _, rows in fresh.store(Halves(), "mean").blocks(keys))
    assert block.dtype == np.float16
    halves = fresh.features(Halves(), keys)["mean"]
    assert halves.dtype == np.float32
    np.testing.assert_array_equal(halves, rows.astype(np.float16))
    (_, given), *_ = fresh.blocks(Halves(), "mean", keys)
    np.testing.assert_array_equal(given, halves)
    assert given.dtype == np.float32
    np.testing.assert_array_equal(features_of_files(Halves(), list(pictures.values()))[0]["mean"], halves)
