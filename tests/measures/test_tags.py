from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import average_precision_score, coverage_error, precision_recall_fscore_support

from visterm.errors import InputError
from visterm.measures import (
    CompleteLength,
    MeanPrecision,
    MeanRecall,
    NPlus,
    PictureF,
    PicturePrecision,
    PictureRecall,
    TagAccuracy,
    WordAveragePrecision,
    WordF,
    evaluate,
    predict_tags,
    tags,
)

AT_DEPTH = [MeanPrecision, MeanRecall, WordF, NPlus, PicturePrecision, PictureRecall, PictureF]
MEASURES = [kind(n) for kind in AT_DEPTH for n in (1, 3)] + [TagAccuracy(), CompleteLength(), WordAveragePrecision()]
few = settings(max_examples=40, deadline=None)


@st.composite
def tagged(draw):
    """Truth with untagged pictures and unused words, scores with ties, and training frequencies with ties."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    truth = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 1)))
    truth[draw(st.integers(0, shape[0] - 1)), draw(st.integers(0, shape[1] - 1))] = 1
    scores = draw(hnp.arrays(np.float64, shape, elements=st.integers(0, 3)))
    frequencies = draw(st.none() | hnp.arrays(np.int64, shape[1], elements=st.integers(0, 2)))
    return truth, scores, frequencies


def brute_force(truth, scores, frequencies, n):
    """Every measure by its words: loops over pictures and words, nothing shared with the implementation."""
    n_tags = truth.shape[1]
    frequencies = [0] * n_tags if frequencies is None else frequencies
    pictures = [i for i in range(len(truth)) if truth[i].any()]
    orders = {i: sorted(range(n_tags), key=lambda t: (-scores[i, t], frequencies[t], t)) for i in pictures}
    best = {i: set(orders[i][:n]) for i in pictures}
    true = {i: {t for t in range(n_tags) if truth[i, t]} for i in pictures}
    precisions, recalls = [], []
    for word in set().union(*true.values()):
        right = sum(word in best[i] and word in true[i] for i in pictures)
        given_to = sum(word in best[i] for i in pictures)
        precisions.append(right / given_to if given_to else 0.0)
        recalls.append(right / sum(word in true[i] for i in pictures))
    mp, mr = np.mean(precisions), np.mean(recalls)
    overlap = {i: len(best[i] & true[i]) for i in pictures}
    return {
        f"mean precision@{n}": mp,
        f"mean recall@{n}": mr,
        f"word F@{n}": 2 * mp * mr / (mp + mr) if mp + mr else 0.0,
        f"N+@{n}": sum(recall > 0 for recall in recalls),
        f"picture precision@{n}": np.mean([overlap[i] / len(best[i]) for i in pictures]),
        f"picture recall@{n}": np.mean([overlap[i] / len(true[i]) for i in pictures]),
        f"picture F@{n}": np.mean([2 * overlap[i] / (len(best[i]) + len(true[i])) for i in pictures]),
        "tag accuracy": np.mean([len(set(orders[i][: len(true[i])]) & true[i]) / len(true[i]) for i in pictures]),
        "complete length": np.mean([1 + max(orders[i].index(t) for t in true[i]) for i in pictures]),
    }


@few
@given(tagged(), st.integers(1, 7))
def test_equals_brute_force_with_ties_untagged_pictures_and_unused_words(data, n):
    truth, scores, frequencies = data
    measures = [kind(n) for kind in AT_DEPTH] + [TagAccuracy(), CompleteLength()]
    expected = brute_force(truth, scores, frequencies, n)
    assert evaluate(measures, truth, scores, frequencies=frequencies) == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def random_case():
    rng = np.random.default_rng(3)
    truth = (rng.random((60, 20)) < 0.2).astype(int)
    truth[np.arange(60), rng.integers(20, size=60)] = 1
    return truth, rng.random((60, 20))


def test_equals_scikit_learn(random_case):
    truth, scores = random_case
    n = 5
    predicted = np.zeros_like(truth)
    np.put_along_axis(predicted, np.argsort(-scores, axis=1)[:, :n], 1, axis=1)
    for kinds, average in (
        ((MeanPrecision, MeanRecall), "macro"),
        ((PicturePrecision, PictureRecall, PictureF), "samples"),
    ):
        expected = precision_recall_fscore_support(truth, predicted, average=average, zero_division=0.0)
        for kind, value in zip(kinds, expected, strict=False):
            assert kind(n)(truth, scores) == pytest.approx(value)
    assert CompleteLength()(truth, scores) == pytest.approx(coverage_error(truth, scores))
    assert WordAveragePrecision()(truth, scores) == pytest.approx(average_precision_score(truth, scores))


def test_blocks_do_not_change_the_answer(random_case, monkeypatch):
    truth, scores = random_case
    whole, best = evaluate(MEASURES, truth, scores), predict_tags(scores, 4)
    monkeypatch.setattr(tags, "_BLOCK", 7 * 20)
    assert evaluate(MEASURES, truth, scores) == whole
    np.testing.assert_array_equal(predict_tags(scores, 4), best)


@few
@given(tagged())
def test_sparse_truth_equals_dense(data):
    truth, scores, frequencies = data
    assert evaluate(MEASURES, sparse.csr_matrix(truth), scores, frequencies=frequencies) == evaluate(
        MEASURES, truth.astype(bool), scores, frequencies=frequencies
    )


@few
@given(tagged(), st.randoms(use_true_random=False))
def test_the_order_of_pictures_and_the_scale_of_scores_do_not_matter(data, random):
    truth, scores, frequencies = data
    order = list(range(len(truth)))
    random.shuffle(order)
    expected = evaluate(MEASURES, truth, scores, frequencies=frequencies)
    assert evaluate(MEASURES, truth[order], scores[order], frequencies=frequencies) == pytest.approx(expected)
    assert evaluate(MEASURES, truth, np.exp(3 * scores) - 5, frequencies=frequencies) == expected


@few
@given(tagged())
def test_untagged_pictures_count_nowhere(data):
    truth, scores, frequencies = data
    tagged_rows = truth.any(axis=1)
    assert evaluate(MEASURES, truth[tagged_rows], scores[tagged_rows], frequencies=frequencies) == pytest.approx(
        evaluate(MEASURES, truth, scores, frequencies=frequencies)
    )
    for measure in (TagAccuracy(), CompleteLength()):
        assert (np.isnan(measure.values(measure.read(truth, scores))) == ~tagged_rows).all()
    assert (np.isnan(MeanRecall(1).per_word(truth, scores)) == ~truth.any(axis=0)).all()


def test_the_truth_as_scores_is_perfect(random_case):
    truth, _ = random_case
    values = evaluate(MEASURES, truth, truth)
    assert values["tag accuracy"] == values["word average precision"] == values["picture precision@1"] == 1.0
    assert values["complete length"] == truth.sum(axis=1).mean()
    everything = truth.shape[1]
    assert MeanRecall(everything)(truth, -truth) == PictureRecall(everything)(truth, -truth) == 1.0


def test_a_word_never_predicted_has_precision_zero():
    truth, scores = [[1, 0], [0, 1]], [[0.9, 0.1], [0.9, 0.1]]
    np.testing.assert_array_equal(MeanPrecision(1).per_word(truth, scores), [0.5, 0.0])
    assert WordF(1)([[0, 1]], [[0.9, 0.1]]) == 0.0


def test_of_equal_scores_the_rarer_tag_comes_first_then_the_lower_column():
    scores = np.ones((1, 4))
    np.testing.assert_array_equal(predict_tags(scores, 4), [[0, 1, 2, 3]])
    np.testing.assert_array_equal(predict_tags(scores, 4, frequencies=[5, 1, 5, 1]), [[1, 3, 0, 2]])
    assert PicturePrecision(1)([[0, 1, 0, 0]], scores) == 0.0
    assert PicturePrecision(1)([[0, 1, 0, 0]], scores, frequencies=[5, 1, 5, 1]) == 1.0


@pytest.mark.parametrize("kind", [np.uint8, np.bool_, np.int64, np.float32, np.float16])
def test_scores_may_be_numbers_of_any_kind(kind):
    np.testing.assert_array_equal(predict_tags(np.array([[0, 1, 0]], kind), 3), [[1, 0, 2]])
    assert WordAveragePrecision()([[1, 1], [0, 1]], np.array([[0, 1], [1, 0]], kind)) == 0.75


def test_only_complete_length_is_better_when_lower():
    assert [measure.name for measure in MEASURES if not measure.higher_is_better] == ["complete length"]


@pytest.mark.parametrize(
    ("truth", "scores", "context", "message"),
    [
        ([[1, 0]], [[np.nan, 1.0]], {}, "NaN at row 0, column 0"),
        ([[1, 0]], [[1.0], [2.0]], {}, r"\(1, 2\) and the prediction \(2, 1\)"),
        ([[2, 0]], [[1.0, 2.0]], {}, "0 or 1, but holds 2"),
        ([[0, 0]], [[1.0, 2.0]], {}, "there are none"),
        ([[1, 0]], [[1.0, 2.0]], {"frequencies": [1, 2, 3]}, "each of the 2 tags"),
        (np.zeros((0, 2)), np.zeros((0, 2)), {}, "there are none"),
    ],
)
def test_unusable_input_is_refused(truth, scores, context, message):
    with pytest.raises(InputError, match=message):
        TagAccuracy()(truth, scores, **context)


@pytest.mark.parametrize("kind", AT_DEPTH)
def test_a_depth_is_positive(kind):
    with pytest.raises(InputError, match="at least 1"):
        kind(0)
    with pytest.raises(InputError, match="a list of tags needs a depth of at least 1"):
        predict_tags([[1.0]], 0)
