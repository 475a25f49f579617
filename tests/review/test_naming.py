"""Words for groups: the word that fits best, generic ones before their kinds, one group for each word."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.review.naming import fits, named_groups
from visterm.vision.network.everyday_words import everyday_words


def test_what_takes_in_more_kinds_wins_where_it_is_seen():
    near = np.zeros((2, 4))
    collie = np.array([0.5, 0.1, 0.0, 0.0])
    dog = collie + np.array([0.4, 0.7, 0.0, 0.0])  # with all its kinds
    fit = fits(near, np.stack([collie, dog]))
    assert (fit[1, :2] > fit[0, :2]).all()


def test_nearness_decides_between_words_that_no_network_sees():
    near = np.array([[3.0, 3.1, 0.0, 0.1], [0.0, 0.1, 2.0, 2.1]])
    fit = fits(near, np.zeros((2, 4)))
    assert fit.argmax(axis=0).tolist() == [0, 0, 1, 1]
    assert np.allclose(fit.mean(axis=1), 0)


def test_nearness_alone_can_suggest_a_word():
    near = np.r_[np.full(5, 2.0), np.zeros(20)][None] + np.linspace(0, 0.01, 25)
    nothing = np.zeros((1, 25))
    groups = [np.arange(5), np.arange(5, 25)]
    (found,) = named_groups(fits(near, nothing), groups)
    assert set(found.rows.tolist()) == set(range(5))
    assert named_groups(fits(near, nothing + 1e-9), groups) == []  # a network looked, and saw nothing of it


def test_a_word_that_is_usual_in_a_collection_counts_less_there():
    seen = np.array([[0.9, 0.9, 0.9, 0.9], [0.9, 0.0, 0.0, 0.0]])
    fit = fits(np.zeros((2, 4)), seen)
    assert fit[1, 0] > fit[0, 0] > 0


def test_groups_with_the_same_word_are_one_and_a_word_that_fits_badly_names_nothing():
    fit = np.full((2, 15), 0.5)
    fit[0, :10] = np.r_[np.full(5, 6.0), np.full(4, 4.0), 1.0]  # the last looks like the others, and is not the word
    groups = [np.arange(5), np.arange(5, 10), np.arange(10, 15)]
    (found,) = named_groups(fit, groups)
    assert found.word == 0
    assert found.rows.tolist() == list(range(9))  # the best fit first
    assert found.fit == pytest.approx(fit[0, :10].mean())
    assert named_groups(fit, [np.arange(2)]) == []  # two pictures are too few
    assert named_groups(fit[:0], groups) == named_groups(fit, []) == []


def test_the_best_fit_comes_first():
    fit = np.zeros((2, 8))
    fit[0, :4], fit[1, 4:] = 3.0, 5.0
    assert [each.word for each in named_groups(fit, [np.arange(4), np.arange(4, 8)])] == [1, 0]


def test_everyday_words_take_in_classes_of_their_kind():
    from visterm.vision.network.imagenet_classes import imagenet_names

    names, words = imagenet_names(), everyday_words()
    assert names[min(words["dog"])] == "Chihuahua"
    for word, name in {
        "tiger": "tiger", "car": "sports car", "train": "steam locomotive", "bird": "flamingo", "church": "church",
        "boat": "gondola", "fruit": "banana", "monkey": "baboon", "plane": "airliner", "snake": "sea snake",
    }.items():  # fmt: skip
        assert names.index(name) in words[word], word
    assert all(0 <= number < 1000 for numbers in words.values() for number in numbers)
    assert len(words) > 150
    assert not set(words["dog"]) & set(words["cat"])
