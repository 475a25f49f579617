"""Known negatives of ridge regressions: the same as a regression of every tag on rows of its own."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from visterm.contracts import check_tags
from visterm.errors import InputError
from visterm.margin import GramInnerProducts, KernelRidgeAnnotator
from visterm.margin.solver import ridge as kernel_ridge
from visterm.margin.solver.ridge import LessonRidge, Lessons
from visterm.ranking import CaptionRidge

ALPHA, N_TAGS = 0.3, 3


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=[4, 40], ids=["fewer dimensions than pictures", "more"])
def X(request, rng):
    return rng.normal(size=(14, request.param))


@pytest.fixture
def tags(rng):
    """Every third picture is not tagged."""
    tags = (rng.random((14, N_TAGS)) < 0.5).astype(int)
    tags[:, 0] |= ~tags.any(axis=1)
    tags[::3] = 0
    return tags


@pytest.fixture
def denied(tags):
    """Some untagged pictures do not have tag 1, one of them not tag 2 either; a tagged one is denied what it lacks."""
    denied = np.zeros_like(tags)
    denied[[0, 3, 9], 1] = 1
    denied[9, 2] = 1
    denied[1] = 1 - tags[1]
    return denied


def brute(X, tags, denied, tag, *, without=None):
    """The function of one tag by its own normal equations, over the tagged pictures and its known negatives."""
    tagged = tags.any(axis=1)
    rows = np.flatnonzero(tagged | (denied[:, tag] > 0))
    rows = rows[rows != without]
    A = np.hstack([X[rows], np.ones((len(rows), 1))])
    w = np.linalg.solve(A.T @ A + ALPHA * np.eye(A.shape[1]), A.T @ tags[rows, tag])
    return lambda Z: np.hstack([Z, np.ones((len(Z), 1))]) @ w


def test_every_tag_has_rows_of_its_own(X, tags, denied):
    model = KernelRidgeAnnotator(ALPHA, kernel="linear", tag_power=0).fit(X, tags, denied=denied)
    scores = model.score_tags(X) * model.tag_scales_ + model.tag_means_
    for tag in range(N_TAGS):
        np.testing.assert_allclose(scores[:, tag], brute(X, tags, denied, tag)(X), atol=1e-9)
    ranker = CaptionRidge(ALPHA, kernel="linear").fit(X, tags, denied=denied)
    np.testing.assert_allclose(ranker._task_scores(X)[:, :N_TAGS], scores, atol=1e-9)
    plain = CaptionRidge(ALPHA, kernel="linear").fit(X, tags)
    sets = ranker._task_scores(X)[:, N_TAGS:]
    assert sets.shape[1]
    np.testing.assert_allclose(sets, plain._task_scores(X)[:, N_TAGS:], atol=1e-9)
    np.testing.assert_array_equal(ranker.idf_, plain.idf_)


def test_left_out_scores_are_those_of_fits_without_the_picture(X, tags, denied, monkeypatch):
    seen = {}

    def keep(left_out, present, _power):
        seen["left_out"] = left_out
        return np.zeros(present.shape[1]), np.ones(present.shape[1])

    monkeypatch.setattr("visterm.margin.ridge_tags.tag_scales", keep)
    KernelRidgeAnnotator(ALPHA, kernel="linear").fit(X, tags, denied=denied)
    for place, row in enumerate(np.flatnonzero(tags.any(axis=1))):
        for tag in range(N_TAGS):
            expected = brute(X, tags, denied, tag, without=row)(X[[row]])[0]
            assert seen["left_out"][place, tag] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("method", [KernelRidgeAnnotator, CaptionRidge])
def test_a_denied_tag_is_less_likely_there_and_others_stay(method, rng, tags, denied):
    X = {"a": rng.random((14, 5)), "b": rng.normal(size=(14, 6))}
    plain, taught = method().fit(X, tags), method().fit(X, tags, denied=denied)
    before, after = plain._task_scores(X), taught._task_scores(X)
    assert (np.abs(after[[0, 3, 9], 1]) < np.abs(before[[0, 3, 9], 1])).all(), "nearer to 0"
    np.testing.assert_allclose(after[:, 0], before[:, 0], atol=0.05, err_msg="only the mean distance differs a little")
    nothing = method().fit(X, tags, denied=np.zeros_like(tags))
    np.testing.assert_array_equal(nothing._task_scores(X), before)
    only_of_tagged = np.where(tags.any(axis=1, keepdims=True), denied, 0)
    np.testing.assert_array_equal(method().fit(X, tags, denied=only_of_tagged)._task_scores(X), before)


def test_what_pictures_teach(tags, denied):
    lessons = Lessons.of(check_tags(tags, len(tags)), denied)
    assert lessons.rows.tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13]  # 6 and 12 have no tag and no denied one
    assert lessons.rows[lessons.tagged].tolist() == np.flatnonzero(tags.any(axis=1)).tolist()
    expected = np.where(tags.T > 0, 1, -1)[:, lessons.rows]
    np.testing.assert_array_equal(lessons.labels, expected)
    np.testing.assert_array_equal(
        lessons.denied.toarray() > 0, (denied * (~tags.any(axis=1))[:, None])[lessons.rows] > 0
    )
    plain = Lessons.of(check_tags(tags, len(tags)))
    np.testing.assert_array_equal(plain.rows, np.flatnonzero(tags.any(axis=1)))
    assert plain.denied.shape == (len(plain.rows), N_TAGS)
    assert plain.denied.nnz == 0


def test_without_negatives_the_gram_matrix_is_freed_before_the_inverse_is_computed(tags, monkeypatch):
    kept, is_freed, inverse = [], [], kernel_ridge._inverse

    def products():
        G = np.eye(len(lessons.rows)) + 0.1
        kept.append(weakref.ref(G))
        return GramInnerProducts(G, 1.0)

    def watched(system):
        is_freed.append(kept[0]() is None)
        return inverse(system)

    monkeypatch.setattr(kernel_ridge, "_inverse", watched)
    lessons = Lessons.of(check_tags(tags, len(tags)), np.zeros_like(tags))
    LessonRidge(lessons, products, ALPHA)
    assert is_freed == [True]


def test_what_contradicts_itself_is_refused(X, tags):
    with pytest.raises(InputError, match="both has and is denied tag"):
        KernelRidgeAnnotator().fit(X, tags, denied=tags)
    with pytest.raises(InputError, match="no picture has a tag"):
        KernelRidgeAnnotator().fit(X, np.zeros_like(tags), denied=tags)
