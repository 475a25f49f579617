"""Recipes: the hash covers all that decides the numbers; colours are counted where they are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.errors import InputError
from visterm.storage import RowSpec
from visterm.vision import ColourHistogram, Recipe, recipe, recipe_names, recipes, register_recipe

PICTURES = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)))


class Learned(Recipe):
    """A recipe that learns the mean picture value."""

    name = "learned"
    summary = "a test"
    n_training_pictures: ClassVar[int] = 3

    def __init__(self):
        self.learned = {}

    @property
    def outputs(self):
        return {"mean": RowSpec(1)}

    def compute(self, rgb):
        return {"mean": np.array([rgb.mean() - self.learned["mean"][0]], np.float32)}

    def train(self, pictures):
        self.learned = {"mean": np.array([np.mean([picture.mean() for picture in pictures])])}

    def state(self):
        return self.learned

    def restore(self, state):
        self.learned = dict(state)


@pytest.fixture(autouse=True)
def same_recipes_afterwards(monkeypatch):
    monkeypatch.setattr(recipes, "_TARGETS", recipes._TARGETS.copy())


def test_recipes_are_found_by_name():
    assert recipe_names() == sorted(recipe_names())
    for name in recipe_names():
        made = recipe(name)
        assert made.name == name
        assert made.summary
        assert made is not recipe(name)


def test_unknown_recipes_are_refused_with_the_choice():
    with pytest.raises(InputError, match=r"unknown recipe 'colours': choose one of .*colour"):
        recipe("colours")


def test_a_name_belongs_to_one_recipe():
    register_recipe("second", "visterm.vision.recipes.global_features:ColourHistogram")
    register_recipe("second", "visterm.vision.recipes.global_features:ColourHistogram")  # the same again is no conflict
    assert isinstance(recipe("second"), ColourHistogram)
    with pytest.raises(InputError, match="two recipes are called 'second'"):
        register_recipe("second", "visterm.vision.recipes.base:Recipe")


def test_the_hash_is_the_same_in_every_process():
    assert recipe("colour").hash == "aaec249f823445c3"


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("name", "color"), ("version", 2), ("pixel_budget", 5), ("levels", 5), ("n_stripes", 2)],
)
def test_whatever_changes_the_numbers_changes_the_hash(attribute, value):
    changed = type("Changed", (ColourHistogram,), {attribute: value})()
    assert changed.hash != ColourHistogram().hash
    assert len(changed.hash) == 16


def test_the_hash_covers_what_was_learned():
    state = {"mean": np.array([1.0, 2.0])}
    hashes = set()
    for learned in (
        {},
        state,
        {"means": state["mean"]},
        {"mean": state["mean"].reshape(2, 1)},
        {"mean": state["mean"].astype(np.float32)},
        {"mean": state["mean"] + 1e-12},
    ):
        made = Learned()
        made.restore(learned)
        hashes.add(made.hash)
    assert len(hashes) == 6
    backwards = Learned()
    backwards.restore({"mean": np.array([2.0, 1.0])[::-1]})
    same = Learned()
    same.restore(state)
    assert backwards.hash == same.hash


def test_recipes_that_learn_have_a_state_once_they_know_something():
    made = Learned()
    assert not made.state()
    made.train([np.full((2, 2, 3), 10, np.uint8), np.full((2, 2, 3), 20, np.uint8)])
    assert made.state()
    again = Learned()
    again.restore(made.state())
    assert again.hash == made.hash
    assert again.compute(np.full((1, 1, 3), 17, np.uint8))["mean"] == 2.0


def test_recipes_that_learn_nothing_stay_as_they_are():
    made = recipe("colour")
    before = made.hash
    made.train([])
    made.restore({})
    assert made.state() == {}
    assert made.hash == before


def test_parameters_are_optional():
    assert Learned().parameters() == {}


def colours(rgb):
    return ColourHistogram().compute(np.asarray(rgb, np.uint8))["colour"].reshape(4, 4, 4, 4)


def test_colours_are_counted_in_the_whole_and_in_stripes():
    rgb = np.zeros((6, 4, 3), np.uint8)
    rgb[:2] = [255, 0, 0]
    rgb[2:4] = [0, 128, 0]
    rgb[4:] = [63, 63, 64]
    whole, top, middle, bottom = colours(rgb)
    assert whole[3, 0, 0] == whole[0, 2, 0] == whole[0, 0, 1] == np.float32(1 / 3)
    assert top[3, 0, 0] == middle[0, 2, 0] == bottom[0, 0, 1] == 1


@given(PICTURES)
@settings(max_examples=60, deadline=None)
def test_histograms_equal_plain_counting(rgb):
    parts = colours(rgb)
    expected = np.zeros((4, 4, 4))
    for red, green, blue in rgb.reshape(-1, 3) // 64:
        expected[red, green, blue] += 1
    np.testing.assert_allclose(parts[0], expected / len(rgb.reshape(-1, 3)), rtol=1e-6)
    np.testing.assert_allclose(parts.sum(axis=(1, 2, 3)), 1, rtol=1e-5)


@given(PICTURES)
@settings(max_examples=30, deadline=None)
def test_mirroring_changes_nothing_and_turning_swaps_the_outer_stripes(rgb):
    np.testing.assert_array_equal(colours(rgb), colours(rgb[:, ::-1]))
    if len(rgb) % 3 == 0:
        np.testing.assert_array_equal(colours(rgb), colours(rgb[::-1])[[0, 3, 2, 1]])


@pytest.mark.parametrize("height", [1, 2])
def test_low_pictures_have_stripes_too(height):
    rgb = np.zeros((height, 5, 3), np.uint8)
    rgb[-1] = 255
    whole, top, _, bottom = colours(rgb)
    assert bottom[3, 3, 3] == 1
    assert top[0, 0, 0] == height - 1
    assert whole.sum() == 1


def test_rows_are_of_the_promised_kind():
    made = recipe("colour")
    spec = made.outputs["colour"]
    row = made.compute(np.zeros((3, 3, 3), np.uint8))["colour"]
    assert row.shape == (spec.n_dims,)
    assert row.dtype == spec.dtype
