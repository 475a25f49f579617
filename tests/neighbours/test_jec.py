"""Greedy label transfer on a line of pictures, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.neighbours import JEC

#          a  b  c  d  e
TAGS = [
    [1, 1, 0, 0, 0],  # at 0
    [0, 1, 1, 0, 0],  # at 1
    [0, 0, 1, 1, 0],  # at 2
    [0, 0, 0, 0, 1],  # at 9
]  # fmt: skip


def test_scores_by_hand():
    """The nearest carries a and b. The next two carry b, c, c, d. With a or b stand a twice, b thrice, c once."""
    model = JEC(3, metric="l1").fit([[0.0], [1.0], [2.0], [9.0]], TAGS)
    a, b, c, d, e = model.score_tags([[0.1]])[0]
    assert (a, b) == (0.5 + 0.5 * 1 / 2, 1.0)  # of the two tags used most, two pictures each
    assert c == pytest.approx(0.5 * (2 * 1) / (1 * 3))
    assert (d, e) == (0, 0)


def test_a_tag_of_the_others_stays_below_those_of_the_nearest():
    """h is the only tag of the second picture, and stands once with f, far away."""
    f, g, h = np.eye(3, dtype=int)
    model = JEC(2, metric="l1").fit([[0.0], [1.0], [50.0], [60.0], [70.0]], [f, h, f + h, g, g])
    scores = model.score_tags([[0.1]])[0]
    assert scores.tolist() == [1.0, 0.0, pytest.approx(0.5)]
    assert scores[2] < 0.5


def test_nothing_is_given_that_never_stands_with_the_tags_of_the_nearest():
    model = JEC(3, metric="l1").fit([[0.0], [1.0], [2.0], [9.0]], TAGS)
    assert model.score_tags([[9.0]]).tolist() == [[0, 0, 0, 0, 0.75]]


def test_neighbours_are_the_nearest_first():
    rows = JEC(4, metric="l1").fit([[0.0], [1.0], [2.0], [9.0]], TAGS)._neighbours([[1.9], [0.1]])
    assert rows.tolist() == [[2, 1, 0, 3], [0, 1, 2, 3]]
