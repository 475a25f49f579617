"""Sums over shards: any split gives the same, and the solution and leave-one-out scores are those of one regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.margin.solver import sums
from visterm.margin.solver.sums import LeftOut, Moments, Solved, Sums

ALPHA = 0.3


@pytest.fixture
def lesson():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 6)), sparse.csr_array((rng.random((40, 5)) < 0.3) * rng.random((40, 5)))


def solved(features, targets):
    total = Sums.nothing(features.shape[1], targets.shape[1], features.dtype)
    total += Sums.of(features, targets)
    solution = Solved.of(total, ALPHA)
    return solution, features @ solution.root


@pytest.mark.parametrize("cuts", [[40], [1, 40], [7, 8, 30, 40], list(range(1, 41))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_split_adds_up_to_one_pass(lesson, cuts, dtype):
    features, targets = lesson[0].astype(dtype), lesson[1].astype(dtype)
    parts = [Sums.of(features[a:b], targets[a:b]) for a, b in zip([0, *cuts], cuts, strict=False)]
    merged, in_place = parts[0], Sums.nothing(6, 5, dtype)
    for part in parts[1:]:
        merged = merged + part
    for part in parts:
        in_place += part
    for total in (merged, in_place):
        assert total.n_pictures == 40
        np.testing.assert_allclose(total.gram, lesson[0].T @ lesson[0], atol=1e-5, rtol=1e-6)
        np.testing.assert_allclose(total.cross[-3:], (lesson[1].T @ lesson[0])[-3:], atol=1e-5, rtol=1e-6)
    np.testing.assert_array_equal(in_place.targets, np.arange(5))


def test_adding_changes_neither_of_both(lesson):
    one, other = Sums.of(lesson[0][:9], lesson[1][:9]), Sums.of(lesson[0][9:], lesson[1][9:])
    before = one.gram.copy(), one.cross.copy()
    assert (one + other).n_pictures == 40
    np.testing.assert_array_equal(one.gram, before[0])
    np.testing.assert_array_equal(one.cross, before[1])


def test_a_shard_has_only_the_targets_that_occur():
    part = Sums.of(np.ones((2, 3)), sparse.csr_array(([1.0, 2.0], ([0, 1], [90_000, 7])), shape=(2, 100_000)))
    assert part.targets.tolist() == [7, 90_000]
    np.testing.assert_array_equal(part.cross, [[2.0] * 3, [1.0] * 3])


def test_the_solution_is_that_of_the_normal_equations(lesson):
    features, targets = lesson
    solution, rotated = solved(features, targets)
    expected = np.linalg.solve(features.T @ features + ALPHA * np.eye(6), features.T @ targets.toarray())
    np.testing.assert_allclose(solution.weights @ solution.root.T, expected.T, atol=1e-10)
    np.testing.assert_allclose(rotated @ solution.weights.T, features @ expected, atol=1e-10)


def left_out_by_hand(features, t):
    scores = []
    for i in range(len(features)):
        rest = np.delete(np.arange(len(features)), i)
        system = features[rest].T @ features[rest] + ALPHA * np.eye(features.shape[1])
        scores.append(features[i] @ np.linalg.solve(system, features[rest].T @ t[rest]))
    return np.array(scores)


@pytest.mark.parametrize("block", [2**21, 12])
def test_pictures_without_themselves_are_those_of_leaving_out(lesson, block, monkeypatch):
    monkeypatch.setattr(sums, "_BLOCK", block)
    features, targets = lesson
    solution, rotated = solved(features, targets)
    one = LeftOut.of(rotated[:11], targets[:11], solution.weights)
    found = one + LeftOut.of(rotated[11:], targets[11:], solution.weights)
    dense = targets.toarray()
    expected = np.stack([left_out_by_hand(features, t) for t in dense.T], axis=1)
    np.testing.assert_allclose(found.own, expected[dense.nonzero()], atol=1e-8)
    means, deviations = found.moments(solution.weights)
    np.testing.assert_allclose(means, expected.mean(axis=0), atol=1e-8)
    np.testing.assert_allclose(deviations, expected.std(axis=0), atol=1e-8)
    h, scores = found.leverages[:, None], rotated @ solution.weights.T
    np.testing.assert_allclose((scores - h * dense) / (1 - h), expected, atol=1e-8)


def test_moments_add_up():
    rng = np.random.default_rng(0)
    scores, has = rng.normal(size=(30, 4)), rng.random((30, 4)) < 0.4
    has[:, 3] = False

    def of(rows):
        own = (scores * has)[rows].sum(axis=0) / np.maximum(has[rows].sum(axis=0), 1)
        return Moments(
            len(scores[rows]), has[rows].sum(axis=0), scores[rows].mean(axis=0), scores[rows].std(axis=0), own
        )

    found, expected = of(slice(7)) + of(slice(7, 30)), of(slice(30))
    for name in ("n_pictures", "n_own", "means", "deviations", "own_means"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 9])
def test_known_negatives_are_learned_as_zeros(lesson, n):
    features, targets = lesson
    solution, _ = solved(features, targets)
    others = np.random.default_rng(1).normal(size=(n, 6))
    joint = np.vstack([features, others])
    t = np.append(targets[:, [2]].toarray()[:, 0], np.zeros(n))
    expected = np.linalg.solve(joint.T @ joint + ALPHA * np.eye(6), joint.T @ t)
    found = solution.with_negatives(2, others @ solution.root)
    np.testing.assert_allclose(solution.root @ found, expected, atol=1e-10)


def test_a_picture_that_alone_decides_its_score_has_one_without_itself():
    features, targets = np.array([[1e9, 0.0], [0.0, 1.0]]), sparse.csr_array([[1.0], [0.0]])
    solution, rotated = solved(features, targets)
    found = LeftOut.of(rotated, targets, solution.weights)
    assert found.leverages[0] == 1 - sums.LEAST_REST
    assert np.isfinite(found.own).all()


def test_a_system_without_an_inverse_is_refused():
    with pytest.raises(InputError, match="no kernel"):
        sums.inverse_factor(-np.eye(2), "no kernel")
