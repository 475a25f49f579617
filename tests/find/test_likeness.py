"""How likely pictures that look alike are labelled alike."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import expit

from visterm.calibration import fit_platt
from visterm.find.rank.likeness import Likeness


def test_probabilities_follow_the_labelled_pictures():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 5, 300)
    similar = np.where(kinds[:, None] == kinds, 0.7, 0.4) + 0.15 * rng.standard_normal((300, 300))
    likeness = Likeness().fit(lambda rows: similar[rows], [f"kind {k}" for k in kinds], np.zeros((300, 3)))
    p = np.exp(likeness.log_probabilities(similar))
    same = kinds[:, None] == kinds
    for low, high in ((0.0, 0.1), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (p >= low) & (p < high)
        assert abs(same[inside].mean() - p[inside].mean()) < 0.06


def test_tags_count_where_classes_are_unknown():
    tags = np.repeat(np.eye(4, 8, dtype=int), 20, axis=0)
    kinds = np.repeat(np.arange(4), 20)
    similar = np.where(kinds[:, None] == kinds, 0.9, 0.1)
    likeness = Likeness().fit(lambda rows: similar[rows], [None] * 80, tags)
    assert np.exp(likeness.log_probabilities(np.array([0.9]))) > 0.9
    assert np.exp(likeness.log_probabilities(np.array([0.1]))) < 0.1


def test_without_labels_it_is_a_guess_that_rises():
    for classes in ([None] * 3, ["a"] * 3, ["a", None, None]):
        likeness = Likeness().fit(lambda rows: np.eye(3)[rows], classes, np.zeros((3, 2)))
        p = np.exp(likeness.log_probabilities(np.array([0.0, 1 / 3, 1.0])))
        np.testing.assert_allclose(p, [expit(-4.0), 0.5, expit(8.0)], rtol=1e-5)


def test_a_few_pairs_are_not_learned_from():
    def learned(n_pictures):
        classes = ["a", "b"] * n_pictures
        similar = np.where(np.equal.outer(classes, classes), 0.9, 0.8)
        likeness = Likeness().fit(lambda rows: similar[rows], classes, np.zeros((2 * n_pictures, 1)))
        return float(np.exp(likeness.log_probabilities(np.array([0.8])))[0])

    assert learned(2) > 0.9  # the prior curve
    assert learned(4) < 0.5


def test_similarities_that_mislead_are_not_turned_round():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 60)
    similar = np.where(kinds[:, None] == kinds, 0.1, 0.9)
    likeness = Likeness().fit(lambda rows: similar[rows], [str(k) for k in kinds], np.zeros((60, 1)))
    assert likeness.slope_ > 0


def test_pairs_are_alike_by_class_or_else_by_at_least_half_of_the_tags_of_the_one_with_fewer():
    rng = np.random.default_rng(1)
    n = 40
    classes = [["coast", "street", None, None][k] for k in rng.integers(0, 4, n)]
    tags = (rng.random((n, 5)) < 0.3).astype(int)
    similar = 20 * (tags @ tags.T) + 40 * rng.standard_normal((n, n))
    seen, alike = [], []
    for i, j in itertools.permutations(range(n), 2):
        classed = classes[i] is not None and classes[j] is not None
        fewer = min(tags[i].sum(), tags[j].sum())
        if classed or fewer:
            seen.append([similar[i, j]])
            alike.append([classes[i] == classes[j] if classed else (tags[i] & tags[j]).sum() >= fewer / 2])
    slope, offset = fit_platt(np.array(seen), np.array(alike))[0]
    assert 0 < slope < 1
    likeness = Likeness().fit(lambda rows: similar[rows], classes, tags)
    np.testing.assert_allclose([likeness.slope_, likeness.offset_], [slope, offset], rtol=1e-5)


def test_only_labelled_pictures_are_compared_each_once():
    n, compared = 1000, []
    classes = ["a", "b"] * 4 + [None] * (n - 8)
    tags = np.zeros((n, 2), int)
    tags[500:504, 0] = 1
    kinds = np.arange(n) % 2

    def similarities(rows):
        compared.extend(rows.tolist())
        return np.where(kinds[rows][:, None] == kinds, 0.9, 0.1)

    Likeness().fit(similarities, classes, tags)
    assert sorted(compared) == [*range(8), *range(500, 504)]


def test_what_is_nearly_always_alike_or_says_nothing_is_not_learned_from():
    unmeasured = [12.0, -4.0]
    classes = ["a"] * 4 + ["b"]  # four pairs of which the pictures are not alike, each twice
    similar = np.where(np.equal.outer(classes, classes), 0.9, 0.1)
    same = Likeness().fit(lambda rows: similar[rows], classes, np.zeros((5, 1)))
    level = Likeness().fit(lambda rows: np.zeros((len(rows), 40)), ["a", "b"] * 20, np.zeros((40, 1)))
    nobody = Likeness().fit(lambda rows: np.eye(3)[rows], [None] * 3, np.zeros((3, 1)))
    assert [[one.slope_, one.offset_] for one in (same, level, nobody)] == [unmeasured] * 3
