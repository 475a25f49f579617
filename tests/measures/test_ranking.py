from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import average_precision_score, ndcg_score

from visterm.errors import InputError
from visterm.measures import NDCG, AveragePrecision, BreakEvenPoint, PrecisionAt, evaluate

MEASURES = [AveragePrecision(), PrecisionAt(1), PrecisionAt(3), BreakEvenPoint(), NDCG(), NDCG(3)]
few = settings(max_examples=40, deadline=None)


def textbook(measure, gains: list[float]) -> float:
    """The measure of one ranking, given the gains from the first rank to the last."""
    relevant = [gain > 0 for gain in gains]
    n_relevant = sum(relevant)
    match measure:
        case AveragePrecision():
            return sum(sum(relevant[: i + 1]) / (i + 1) for i in range(len(gains)) if relevant[i]) / n_relevant
        case PrecisionAt(n):
            return sum(relevant[:n]) / n
        case BreakEvenPoint():
            return sum(relevant[:n_relevant]) / n_relevant
        case NDCG(n):
            discounted = [
                sum(gain / np.log2(i + 2) for i, gain in enumerate(order[:n]))
                for order in (gains, sorted(gains, reverse=True))
            ]
            return discounted[0] / discounted[1]
    raise AssertionError(measure)


def over_all_tie_orders(measure, gains, scores) -> float:
    values = [
        textbook(measure, [gains[i] for i in order])
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    return float(np.mean(values))


@st.composite
def rankings(draw, distinct: bool = False, max_pictures: int = 12):
    n_queries, n_pictures = draw(st.integers(1, 4)), draw(st.integers(1, max_pictures))
    gains = draw(hnp.arrays(np.int64, (n_queries, n_pictures), elements=st.integers(0, 3)))
    gains[:, draw(st.integers(0, n_pictures - 1))] = 1  # every query has a relevant picture
    if distinct:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        scores = np.stack([rng.permutation(n_pictures) for _ in range(n_queries)]).astype(np.float64)
    else:
        scores = draw(hnp.arrays(np.float64, (n_queries, n_pictures), elements=st.integers(0, 3)))
    return gains, scores


@few
@given(rankings(distinct=True))
def test_without_ties_equals_scikit_learn_and_the_textbook(data):
    gains, scores = data
    for measure in MEASURES:
        expected = [
            textbook(measure, row[np.argsort(-score)].tolist()) for row, score in zip(gains, scores, strict=True)
        ]
        np.testing.assert_allclose(measure.per_query(gains, scores), expected, atol=1e-12)
    np.testing.assert_allclose(
        AveragePrecision().per_query(gains, scores),
        [average_precision_score(row > 0, score) for row, score in zip(gains, scores, strict=True)],
        atol=1e-12,
    )


@few
@given(rankings())
def test_ndcg_averages_over_ties_as_scikit_learn_does(data):
    gains, scores = data
    if gains.shape[1] > 1:
        assert NDCG()(gains, scores) == pytest.approx(ndcg_score(gains, scores), abs=1e-12)
        assert NDCG(3)(gains, scores) == pytest.approx(ndcg_score(gains, scores, k=3), abs=1e-12)


@few
@given(rankings(max_pictures=6))
def test_ties_give_the_mean_over_all_their_orders(data):
    gains, scores = data
    for measure in MEASURES:
        expected = [over_all_tie_orders(measure, g.tolist(), s.tolist()) for g, s in zip(gains, scores, strict=True)]
        np.testing.assert_allclose(measure.per_query(gains, scores), expected, atol=1e-12)


@few
@given(rankings(), st.randoms(use_true_random=False))
def test_the_order_of_the_pictures_does_not_matter(data, random):
    gains, scores = data
    order = list(range(gains.shape[1]))
    random.shuffle(order)
    for measure in MEASURES:
        np.testing.assert_allclose(
            measure.per_query(gains[:, order], scores[:, order]), measure.per_query(gains, scores), atol=1e-12
        )


@few
@given(rankings())
def test_only_the_order_of_scores_counts_and_values_stay_within_bounds(data):
    gains, scores = data
    for measure in MEASURES:
        values = measure.per_query(gains, scores)
        np.testing.assert_array_equal(measure.per_query(gains, np.exp(scores) - 7), values)
        assert ((values >= 0) & (values <= 1)).all()


@few
@given(rankings())
def test_the_truth_itself_is_the_best_ranking(data):
    gains, _ = data
    for measure in (AveragePrecision(), BreakEvenPoint(), NDCG(), NDCG(2)):
        assert measure(gains, gains) == pytest.approx(1.0, abs=1e-12)


def test_a_moved_up_relevant_picture_never_lowers_a_measure():
    rng = np.random.default_rng(0)
    relevance = rng.random((20, 15)) < 0.3
    relevance[:, 0] = True
    scores = rng.permuted(np.tile(np.arange(15.0), (20, 1)), axis=1)
    better = scores.copy()
    better[:, 0] += 4.5
    for measure in MEASURES:
        assert (measure.per_query(relevance, better) >= measure.per_query(relevance, scores) - 1e-12).all()


def test_large_tie_groups_stay_accurate():
    relevance = np.zeros((1, 20_000))
    relevance[0, ::100] = 1
    n, r = 20_000, 200
    i = np.arange(1, n + 1)
    expected = np.mean((1 + (i - 1) * (r - 1) / (n - 1)) / i)
    assert AveragePrecision()(relevance, np.zeros_like(relevance)) == pytest.approx(expected, rel=1e-12)
    assert PrecisionAt(10)(relevance, np.zeros_like(relevance)) == pytest.approx(r / n)


def test_a_query_without_a_relevant_picture_is_left_out():
    relevance, scores = [[0, 0], [1, 0]], [[1.0, 2.0], [1.0, 2.0]]
    for measure, value in ((AveragePrecision(), 0.5), (PrecisionAt(1), 0.0), (BreakEvenPoint(), 0.0)):
        assert np.isnan(measure.per_query(relevance, scores)[0])
        assert measure(relevance, scores) == value
    with pytest.raises(InputError, match="queries with a relevant picture"):
        AveragePrecision()([[0, 0]], [[1.0, 2.0]])


def test_precision_counts_missing_places_as_not_relevant():
    assert PrecisionAt(10)([[1, 1]], [[1.0, 2.0]]) == 0.2


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_relevance_equals_dense(kind):
    rng = np.random.default_rng(1)
    relevance, scores = rng.integers(0, 3, (6, 9)), rng.integers(0, 4, (6, 9))
    assert evaluate(MEASURES, kind(relevance), scores) == evaluate(MEASURES, relevance, scores)


def test_explicit_zeros_are_not_relevant_and_the_input_is_untouched():
    relevance = sparse.csr_array((np.array([1.0, 0.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert AveragePrecision()(relevance, [[2.0, 1.0]]) == 0.5
    assert relevance.nnz == 2


def test_gains_may_be_small_and_given_in_parts():
    scores = [[3.0, 2.0, 1.0]]
    expected = (0.25 + 0.5 / np.log2(3)) / (0.5 + 0.25 / np.log2(3))
    assert NDCG()([[0.25, 0.5, 0.0]], scores) == pytest.approx(expected)
    parts = sparse.csr_array((np.array([0.25, 0.2, 0.3]), np.array([0, 1, 1]), np.array([0, 3])), shape=(1, 3))
    assert NDCG()(parts, scores) == pytest.approx(expected)
    assert parts.nnz == 3


def test_infinite_scores_rank_first_and_last():
    assert AveragePrecision()([[0, 1, 0]], [[-np.inf, np.inf, 5.0]]) == 1.0


@pytest.mark.parametrize(
    ("relevance", "scores", "message"),
    [
        ([[1, 0]], [[np.nan, 1.0]], "NaN at row 0, column 0"),
        ([[1, 0]], [[1.0, 2.0, 3.0]], r"\(1, 2\) and the prediction \(1, 3\)"),
        ([1, 0], [1.0, 2.0], "n_queries, n_pictures"),
        ([[1, -1]], [[1.0, 2.0]], "not negative"),
        ([[1, np.nan]], [[1.0, 2.0]], "not negative"),
        ([[1, np.inf]], [[1.0, 2.0]], "must be finite"),
        ([[1, 0]], [["a", "b"]], "numbers"),
        ([[1, 0], [1]], [[1.0, 2.0]], "cannot be read"),
        ([[1, 0]], [[1.0, 2.0], [1.0]], "cannot be read"),
        ([[1, 0]], sparse.csr_array([[1.0, 2.0]]), "dense"),
    ],
)
def test_unusable_input_is_refused(relevance, scores, message):
    with pytest.raises(InputError, match=message):
        AveragePrecision()(relevance, scores)


@pytest.mark.parametrize("make", [PrecisionAt, NDCG])
def test_a_depth_is_positive(make):
    with pytest.raises(InputError, match="at least 1"):
        make(0)
