"""The calculus of beliefs by hand: words, exclusions, alternatives, and which rows can matter."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.calibration import together
from visterm.find.rank import row_sets
from visterm.find.rank.beliefs import (
    UNKNOWN,
    Belief,
    Beliefs,
    Every,
    Leaf,
    Some,
    Without,
    among,
    believe,
    believed_unheard,
    complement,
    heard,
    in_either,
    possible_rows,
    uncertain_rows,
)
from visterm.find.rank.omission import RATES, Doubts
from visterm.index.index import Index

KEYS = [f"{i}.jpg" for i in range(8)]
P = np.random.default_rng(0).uniform(0.05, 0.95, (8, 3))


def model(keys=KEYS, names=("C++", "C#", "sea"), dtype="float32"):
    index = Index(3, dtype=dtype)
    index.add(keys, np.log(P))
    return Beliefs(index.snapshot(), names, KEYS)


def certain(p, told=()):
    """The belief that rows match with these probabilities."""
    mask = np.zeros(len(p), bool)
    mask[list(told)] = True
    return Belief(np.log(np.asarray(p)), mask)


# What a model says


def test_of_several_names_of_a_word_the_likeliest_counts():
    known = model()
    assert {*known.words} == {"c++", "c#", "c", "sea"}
    np.testing.assert_allclose(known.log_p("c"), np.log(P[:, :2].max(axis=1)), rtol=1e-5)
    np.testing.assert_allclose(known.log_p("c", np.array([5, 2])), np.log(P[[5, 2], :2].max(axis=1)), rtol=1e-5)
    np.testing.assert_allclose(known.log_p("c#"), np.log(P[:, 1]), rtol=1e-5)


def test_stored_halves_are_those_of_one_name_in_the_order_of_the_rows():
    known = model(dtype="float16")
    np.testing.assert_array_equal(known.halves("c#"), np.log(P[:, 1]).astype(np.float16))
    assert known.halves("c") is None  # two names
    assert model().halves("sea") is None  # single precision
    assert model(KEYS[::-1], dtype="float16").halves("sea") is None  # in another order


def test_rows_may_be_in_any_order_and_some_unknown():
    index = Index(3)
    index.add([*KEYS[::-1], "other.jpg"], np.log(np.vstack([P[::-1], P[:1]])))
    shuffled = Beliefs(index.snapshot(), ["a", "b", "c"], KEYS)
    np.testing.assert_allclose(shuffled.log_p("b"), np.log(P[:, 1]), rtol=1e-5)
    np.testing.assert_allclose(shuffled.log_p("b", np.array([7, 0])), np.log(P[[7, 0], 1]), rtol=1e-5)
    index.remove(["7.jpg", "3.jpg"])  # the first slot, and another
    expected = np.log(P[:, 1])
    expected[[3, 7]] = UNKNOWN
    fewer = Beliefs(index.snapshot(), ["a", "b", "c"], KEYS)
    np.testing.assert_allclose(fewer.log_p("b"), expected, rtol=1e-5)
    np.testing.assert_allclose(fewer.log_p("b", np.array([7, 6])), expected[[7, 6]], rtol=1e-5)


def test_a_replaced_vector_is_that_of_the_picture():
    index = Index(1)
    index.add(KEYS, np.zeros((8, 1)))
    index.add(["1.jpg"], [[-2.0]])
    known = Beliefs(index.snapshot(), ["boat"], KEYS)
    np.testing.assert_array_equal(known.log_p("boat"), [0, -2, 0, 0, 0, 0, 0, 0])


# A word


def test_a_word_is_certain_where_people_spoke_doubted_where_they_left_it_out_and_else_the_models():
    known = model()
    doubts = Doubts(np.array([0, 3, 0, 0, 15, 0, 7, 2], np.uint8))
    leaf = Leaf(
        "word",
        8,
        {"tag": np.array([0, 1]), "caption": np.array([1, 2])},
        np.array([2, 3]),
        ((known, "c#"), (known, "sea")),
        doubts,
    )
    p = P[:, 1:].max(axis=1)
    r = RATES[doubts.levels]
    expected = p * r / (p * r + 1 - p)
    expected[[0, 1]], expected[[2, 3]] = 1, 0  # where people contradict each other, no counts
    every = leaf.everywhere()
    assert leaf.told.tolist() == [0, 1]
    np.testing.assert_allclose(np.exp(every.log_p), expected, rtol=1e-4)
    assert np.flatnonzero(every.told).tolist() == [0, 1]
    for rows in (np.array([6, 1, 3, 4]), np.arange(8)):
        some = leaf.at(rows)
        np.testing.assert_allclose(np.exp(some.log_p), expected[rows], rtol=1e-4)
        np.testing.assert_array_equal(some.told, np.isin(rows, [0, 1]))
        unheard = leaf.unheard(rows)
        np.testing.assert_allclose(np.exp(unheard.log_p), p[rows], rtol=1e-4)
        assert not unheard.told.any()


def test_to_ask_about_some_rows_changes_nothing_that_is_stored():
    likeness = np.array([-1.0, -2.0, -3.0], np.float32)
    leaf = Leaf("like", 3, {"tag": np.array([1])}, np.array([2]), likeness=likeness)
    for belief in (leaf.everywhere(), leaf.at(np.arange(3))):
        np.testing.assert_array_equal(belief.log_p, [-1, 0, -np.inf])
    np.testing.assert_array_equal(likeness, [-1, -2, -3])


def test_a_closed_word_matches_only_where_it_is_written():
    leaf = Leaf("file", 4, {"file name": np.array([1, 3])}, closed=True)
    np.testing.assert_array_equal(leaf.everywhere().log_p, [-np.inf, 0, -np.inf, 0])
    np.testing.assert_array_equal(leaf.unheard(np.array([0, 1])).log_p, [-np.inf, 0])
    assert leaf.unheard(np.array([0, 1])).told.tolist() == [False, True]
    assert leaf.halves() is None


# Several words


@pytest.mark.parametrize("dependence", [0.0, 0.3, 1.0])
def test_parts_that_must_hold_count_by_their_weights(dependence):
    words = [Leaf(str(i), 8) for i in range(3)]
    weights = (1.0, 2.0, 0.5)
    found = believe(Every(tuple(words), weights), {w: certain(P[:, i]) for i, w in enumerate(words)}, dependence)
    powers = P**weights
    expected = powers.min(axis=1) ** dependence * powers.prod(axis=1) ** (1 - dependence)
    np.testing.assert_allclose(np.exp(found.log_p), expected, rtol=1e-9)


def test_alternatives_count_by_their_weights():
    words = [Leaf(str(i), 8) for i in range(3)]
    of_words = {w: certain(P[:, i], told=[i]) for i, w in enumerate(words)}
    found = believe(Some(tuple(words), (1.0, 2.0, 0.5)), of_words, 0.3)
    expected = 1 - (1 - P[:, 0]) * (1 - P[:, 1]) ** 2 * (1 - P[:, 2]) ** 0.5
    np.testing.assert_allclose(np.exp(found.log_p), expected, rtol=1e-9)
    assert np.flatnonzero(found.told).tolist() == [0, 1, 2]
    excluded = believe(Without(Some(tuple(words), (1.0, 2.0, 0.5))), of_words, 0.3)
    np.testing.assert_allclose(np.exp(excluded.log_p), 1 - expected, rtol=1e-9)


def test_what_is_impossible_stays_impossible_whatever_the_dependence():
    for dependence in (0.0, 0.5, 1.0):
        np.testing.assert_array_equal(together([np.zeros(2), np.array([0.0, -np.inf])], dependence), [0, -np.inf])


def test_a_complement_is_exact_near_both_ends():
    tiny = np.array([1e-18, 1e-9, 0.3])
    np.testing.assert_allclose(complement(np.log(tiny)), np.log1p(-tiny), rtol=1e-9)
    np.testing.assert_allclose(complement(np.log1p(-tiny[1:])), np.log(tiny[1:]), rtol=1e-6)
    np.testing.assert_array_equal(complement(np.array([0.0, -np.inf])), [-np.inf, 0.0])
    assert complement(np.array([1e-9]))[0] == -np.inf  # a rounding error above certainty


def test_people_told_all_words_if_they_gave_each_and_what_is_excluded_is_unlikely():
    boat, sea, dog = (Leaf(text, 4) for text in ("boat", "sea", "dog"))
    of_words = {
        boat: certain([1, 1, 1, 0.9], told=[0, 1, 2]),
        sea: certain([1, 0.9, 1, 1], told=[0, 2, 3]),
        dog: certain([0.2, 0.2, 0.6, 0.2]),
    }
    both = believe(Every((boat, sea, Without(dog)), (1.0,) * 3), of_words, 0.5)
    assert both.told.tolist() == [True, False, False, False]
    without = believe(Without(boat), {boat: Belief(np.array([-np.inf, -1.0]), np.array([False, False]))}, 0.5)
    assert without.told.tolist() == [True, False]
    denied = Belief(np.array([-np.inf, -np.inf, -1.0, -1.0]), np.zeros(4, bool))
    other = Belief(np.array([-np.inf, -1.0, -np.inf, -1.0]), np.zeros(4, bool))
    neither = believe(Every((Without(boat), Without(sea)), (1.0, 1.0)), {boat: denied, sea: other}, 0.5)
    assert neither.told.tolist() == [True, False, False, False]


def test_what_a_model_would_believe_of_a_query():
    known = model()
    sea = Leaf("sea", 8, {"tag": np.array([0, 1])}, sources=((known, "sea"),))
    other = Leaf("c#", 8, {"tag": np.array([1])}, sources=((known, "c#"),))
    found = believed_unheard(Every((sea, other), (1.0, 1.0)), np.array([1, 0]), 0.0)
    np.testing.assert_allclose(np.exp(found), P[[1, 0], 1] * P[[1, 0], 2], rtol=1e-4)
    assert heard(sea)[sea].told.tolist() == [True, True] + [False] * 6


# Which rows can matter


def test_possible_rows_are_those_of_closed_words():
    a, b = (
        Leaf(str(i), 9, {"file name": np.array(rows)}, closed=True) for i, rows in enumerate(([1, 2, 5], [2, 5, 7]))
    )
    free = Leaf("boat", 9, {"tag": np.array([3])})

    def possible(asked):
        rows = possible_rows(asked)
        return None if rows is None else rows.tolist()

    assert possible(a) == [1, 2, 5]
    assert possible(free) is None
    assert possible(Without(a)) is None
    assert possible(Every((a, b, free), (1.0,) * 3)) == [2, 5]
    assert possible(Every((free, free), (1.0,) * 2)) is None
    assert possible(Some((a, b), (1.0,) * 2)) == [1, 2, 5, 7]
    assert possible(Some((a, free), (1.0,) * 2)) is None


def test_rows_of_what_people_said_are_uncertain_only_beside_what_is_excluded():
    a, b = (Leaf(str(i), 9, {"tag": np.array(rows)}) for i, rows in enumerate(([1, 2, 5], [2, 5, 7])))

    def uncertain(asked):
        rows = uncertain_rows(asked)
        return None if rows is None else rows.tolist()

    ones = (1.0, 1.0)
    assert uncertain(a) == uncertain(Without(a)) == uncertain(Every((a, b), ones)) == []
    assert uncertain(Every((Without(a), Without(b)), ones)) == []
    assert uncertain(Every((a, Without(b)), ones)) == [1, 2, 5]
    assert uncertain(Every((a, b, Without(b)), (1.0,) * 3)) == [2, 5]
    assert uncertain(Some((Every((a, Without(b)), ones), Every((b, Without(a)), ones)), ones)) == [1, 2, 5, 7]
    assert uncertain(Every((Some((a, b), ones), Without(a)), ones)) == [1, 2, 5, 7]
    assert uncertain(Every((Every((a, b), ones), Without(a)), ones)) == [2, 5]
    assert uncertain(Every((Every((Without(a), Without(b)), ones), Without(a)), ones)) is None
    assert uncertain(Every((Some((Without(a), b), ones), Without(a)), ones)) is None


@pytest.mark.parametrize("few", [1, 1000])
def test_members_are_found_by_either_way(monkeypatch, few):
    monkeypatch.setattr(row_sets, "_FEW", few)
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.integers(0, 20, rng.integers(0, 12))
        members = np.unique(rng.integers(0, 20, rng.integers(0, 12)))
        np.testing.assert_array_equal(among(rows, members), np.isin(rows, members))


def test_lists_are_joined_in_order_without_repeats():
    lists = [np.array(rows, np.intp) for rows in ([2, 5], [], [1, 2, 9], [1, 5])]
    assert in_either(*lists).tolist() == [1, 2, 5, 9]
    assert in_either(*lists[:2]).tolist() == [2, 5]
    assert in_either().tolist() == []
