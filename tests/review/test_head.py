"""Heads that learn while a person reviews: against refits one by one, and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.review import head as reviewing
from visterm.review.head import (
    choose_questions,
    class_doubt,
    fit_classes,
    fit_head,
    fit_tags,
    group,
    tag_doubt,
)
from visterm.subspace import directions, reduced


@pytest.fixture
def pictures():
    """Sixty pictures of three kinds, the first thirty labelled."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 3
    X = (3 * np.eye(3, 12)[kinds] + rng.normal(0, 1, (60, 12))).astype(np.float32)
    return reduced(X, 6), np.arange(30), kinds[:30]


def one_hot(given, n):
    return np.eye(n)[given]


def ridge(A, Y, amount):
    return np.linalg.solve(A.T @ A + amount * np.eye(A.shape[1]), A.T @ Y)


def test_scores_without_the_own_label_are_those_of_refits(pictures, monkeypatch):
    Z, rows, given = pictures
    for factor in (0.03, 0.3, 3.0):
        monkeypatch.setattr(reviewing, "_RIDGES", (factor,))
        Y = one_hot(given, 3)
        head = fit_head(Z, rows, Y)
        A = Z[rows].astype(np.float64)
        values = np.linalg.eigvalsh(A.T @ A)
        amount = factor * values.sum() / np.count_nonzero(values > 1e-9)
        for i in range(len(rows)):
            others = np.delete(np.arange(len(rows)), i)
            assert np.allclose(head.left_out[i], A[i] @ ridge(A[others], Y[others], amount), atol=1e-6)
        assert np.allclose(head.scores, Z @ ridge(A, Y, amount), atol=1e-5)


def test_answers_are_rows_of_their_own_output(pictures, monkeypatch):
    Z, rows, given = pictures
    monkeypatch.setattr(reviewing, "_RIDGES", (0.3,))
    Y = one_hot(given, 3)
    answers = sparse.lil_array((60, 3))
    answers[[40, 50, 55], 1] = [-1, 1, -1]
    answers[45, 2] = -1
    head, plain = fit_head(Z, rows, Y, sparse.csc_array(answers)), fit_head(Z, rows, Y)
    A = Z[rows].astype(np.float64)
    values = np.linalg.eigvalsh(A.T @ A)
    amount = 0.3 * values.sum() / np.count_nonzero(values > 1e-9)
    others = [40, 45, 50, 55]
    for output, own in enumerate(([], [40, 50, 55], [45])):
        B = np.vstack([A, Z[own].astype(np.float64)])
        y = np.concatenate([Y[:, output], answers[own, output].toarray().ravel() > 0])
        assert np.allclose(head.scores[:, output], Z @ ridge(B, y, amount), atol=1e-5)
        for i in range(len(B)):
            kept = np.delete(np.arange(len(B)), i)
            expected = B[i] @ ridge(B[kept], y[kept], amount)
            found = head.left_out[i, output] if i < 30 else head.others_left_out[others.index(own[i - 30]), output]
            assert found == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(head.scores[:, 0], plain.scores[:, 0])
    assert plain.others_left_out.shape == (0, 3)


@pytest.mark.parametrize(("answer", "direction"), [(-1, -1), (1, 1)])
def test_answers_about_one_tag_change_it_elsewhere_and_no_other(pictures, answer, direction):
    Z, rows, given = pictures
    tags, tag = sparse.csr_array(one_hot(given, 3)), 1 if answer < 0 else 2
    answers = sparse.lil_array((60, 3))
    answers[np.arange(31, 46, 3), tag] = answer  # the pictures are of kind 1, so the person says otherwise
    plain, taught = fit_tags(Z, rows, tags, 0.8), fit_tags(Z, rows, tags, 0.8, sparse.csr_array(answers))
    elsewhere = np.arange(46, 60, 3)
    change = direction * (taught.p - plain.p)[elsewhere]
    assert (change[:, tag] > 0).all()
    assert change[:, tag].mean() > 0.2
    assert abs(taught.p[:, 0] - plain.p[:, 0]).mean() < 0.05, "what all tags share has changed a little"
    assert taught.others.tolist() == list(range(31, 46, 3))
    assert np.allclose(taught.without_own[taught.others], taught.others_left_out)
    assert np.allclose(taught.without_own[rows], taught.left_out)


def test_the_ridge_has_the_least_error_without_the_own_label(pictures, monkeypatch):
    Z, rows, given = pictures
    Y = one_hot(given, 3)
    best = fit_head(Z, rows, Y).left_out
    errors = {}
    for factor in reviewing._RIDGES:
        monkeypatch.setattr(reviewing, "_RIDGES", (factor,))
        left_out = fit_head(Z, rows, Y).left_out
        errors[factor] = (((left_out - Y) ** 2).mean(), left_out)
    assert np.array_equal(best, min(errors.values(), key=lambda each: each[0])[1])


def test_few_rows_are_reduced_as_many_are():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(10, 30)).astype(np.float32)
    few, many = reduced(X, 5), reduced(np.hstack([X[:, :9], np.zeros((10, 0), np.float32)]), 5)
    assert few.shape == (10, 6)
    assert many.shape == (10, 6)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    unit -= unit.mean(axis=0)
    _, directions = np.linalg.eigh(unit.T @ unit)
    Z = unit @ directions[:, ::-1][:, :5]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    assert np.allclose(few[:, :-1] @ few[:, :-1].T, Z @ Z.T, atol=1e-5)


def test_the_directions_of_many_rows_are_those_of_a_sample(monkeypatch):
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(400, 3)) @ rng.normal(size=(3, 20)) + 0.01 * rng.normal(size=(400, 20))).astype(np.float32)
    whole = reduced(X, 3)
    monkeypatch.setattr(directions, "_BLOCK", 64)
    assert np.allclose(np.abs(reduced(X, 3)), np.abs(whole), atol=1e-5)
    monkeypatch.setattr(directions, "_MOST_COMPARED", 200)
    some = reduced(X, 3)
    assert some.shape == whole.shape
    assert not np.allclose(some[:, :-1] @ some[:, :-1].T, whole[:, :-1] @ whole[:, :-1].T, atol=1e-4)
    assert np.abs(some[:, :-1] @ some[:, :-1].T - whole[:, :-1] @ whole[:, :-1].T).max() < 0.2


@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (5, 4), (4, 1)])
def test_pictures_that_are_all_alike_can_be_reduced(shape):
    Z = reduced(np.ones(shape, np.float32), 3)
    assert np.isfinite(Z).all()
    assert (Z[:, -1] == 1).all()


def test_classes_are_learned_and_measured_without_the_own_label(pictures):
    Z, rows, given = pictures
    head = fit_classes(Z, rows, given, 3)
    assert np.allclose(head.p.sum(axis=1), 1, atol=1e-5)
    assert head.accuracy == (head.left_out.argmax(axis=1) == given).mean() > 0.8
    assert (head.p[30:].argmax(axis=1) == np.arange(30, 60) % 3).mean() > 0.8
    noise = fit_classes(Z, rows, np.random.default_rng(2).permutation(given), 3)
    assert noise.accuracy < 0.6


def test_tags_are_learned(pictures):
    Z, rows, given = pictures
    head = fit_tags(Z, rows, sparse.csr_array(one_hot(given, 3)), 0.8)
    assert head.p.shape == (60, 3)
    assert ((head.p >= 0) & (head.p <= 1)).all()
    assert head.left_out.shape == (30, 3)
    assert head.accuracy > 0.8
    assert head.thresholds.shape == (3,)


def test_doubt():
    p = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.4, 0.4, 0.2]], np.float32)
    assert np.allclose(class_doubt(p), [0.8, 0.0, 1.0])
    assert class_doubt(np.ones((2, 1), np.float32)).tolist() == [1, 1]
    many = np.array([[0.5, 0.5, 0.5, 0.5, 0.0], [0.9, 0.0, 0.0, 0.0, 0.0]], np.float32)
    assert np.allclose(tag_doubt(many), [1.0, 0.36 / 3])
    assert np.allclose(tag_doubt(np.array([[0.5]], np.float32)), [1.0])
    assert tag_doubt(np.ones((2, 0), np.float32)).tolist() == [1, 1]


def naive_questions(Z, candidates, doubt, n, settled=()):
    """What choose_questions says, word by word."""
    left = {c: float(d) for c, d in zip(candidates, doubt, strict=True)}
    alike = {(a, b): max(0.0, float(Z[a, :-1] @ Z[b, :-1])) ** 3 for a in [*candidates, *settled] for b in candidates}
    chosen = []
    for one in settled:
        left = {c: max(1e-6, d * (1 - alike[one, c])) for c, d in left.items()}
    while len(chosen) < min(n, len(candidates)):
        worth = {c: left[c] * sum(alike[c, o] * left[o] for o in candidates) for c in candidates if c not in chosen}
        best = max(worth, key=lambda c: worth[c])
        chosen.append(best)
        left = {c: max(1e-6, d * (1 - alike[best, c])) for c, d in left.items()}
    return chosen


def test_questions_are_those_of_a_plain_loop(pictures):
    Z, _, _ = pictures
    candidates = np.arange(20, 60)
    doubt = np.random.default_rng(3).uniform(0.1, 1, 40).astype(np.float32)
    chosen = choose_questions(Z, candidates, doubt, 8)
    assert chosen.tolist() == naive_questions(Z, candidates.tolist(), doubt, 8)
    later = choose_questions(Z, candidates, doubt, 8, settled=[3, 7, 11])
    assert later.tolist() == naive_questions(Z, candidates.tolist(), doubt, 8, [3, 7, 11]) != chosen.tolist()
    assert len(set(choose_questions(Z, candidates, doubt, 1000).tolist())) == 40


def test_questions_of_many_pictures_are_of_a_sample(pictures, monkeypatch):
    Z, _, _ = pictures
    monkeypatch.setattr(reviewing, "_MOST_CANDIDATES", 10)
    candidates, doubt = np.arange(60), np.ones(60, np.float32)
    a, b = (choose_questions(Z, candidates, doubt, 5, random_state=seed) for seed in (0, 0))
    assert a.tolist() == b.tolist()
    assert len(choose_questions(Z, candidates, doubt, 50)) == 10
    others = {tuple(choose_questions(Z, candidates, doubt, 5, random_state=seed)) for seed in range(5)}
    assert len(others) > 1


def test_the_first_questions_are_of_different_kinds(pictures):
    Z, _, _ = pictures
    first = choose_questions(Z, np.arange(30, 60), np.ones(30, np.float32), 3)
    assert sorted(first % 3) == [0, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_every_picture_is_in_one_group(pictures, n):
    Z, _, _ = pictures
    rows = np.arange(60)[60 - n :]
    found = group(Z, rows)
    assert sorted(row for each in found for row in each.rows) == rows.tolist()
    assert all(-1 <= each.tightness <= 1.001 for each in found)
    for each in found:
        centre = Z[each.rows, :-1].mean(axis=0)
        near = Z[each.rows, :-1] @ centre
        assert near[0] >= near.max() - 1e-5 * len(near)


def test_groups_are_kinds(pictures):
    Z, _, _ = pictures
    found = group(Z, np.arange(60), 3)
    assert np.mean([np.bincount(each.rows % 3).max() / len(each.rows) for each in found]) > 0.8


def test_few_pictures_and_many_give_the_same_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40)).astype(np.float32)
    padded = np.vstack([X, X]).astype(np.float32)  # each picture twice: the same directions, more pictures than numbers
    few, many = reduced(X, 5), reduced(padded, 5)[:30]
    assert few.shape == many.shape == (30, 6)
    np.testing.assert_allclose(few @ few.T, many @ many.T, atol=1e-4)
