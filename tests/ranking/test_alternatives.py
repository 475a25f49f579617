"""CMRM, CMTT and one machine a word, against their formulas."""

from __future__ import annotations

import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from visterm.errors import InputError
from visterm.measures import AveragePrecision
from visterm.ranking.cmrm import CMRM
from visterm.ranking.cmtt import CMTT
from visterm.ranking.concept_svm import ConceptSVM
from visterm.ranking.queries import from_tags, query_vectors
from visterm.ranking.spaces.visterms import visterm_idf, weighed
from visterm.ranking.tag_ranker import FLOOR, TagRanker

COUNTS = np.array([[3.0, 0, 1, 0], [0, 2, 2, 1], [1, 1, 0, 4]])
TAGS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])
NEW = np.array([[2.0, 0, 1, 0], [0, 0, 0, 3], [0, 0, 0, 0]])


@pytest.mark.parametrize("make", [CMRM, lambda: CMTT(5), lambda: ConceptSVM(kernel="hellinger", random_state=0)])
def test_they_rank_unseen_pictures(make, captioned):
    model = make().fit(captioned.X, captioned.tags)
    queries = from_tags(captioned.tags_test)
    Q = query_vectors(queries.words, model.idf_)
    chance = AveragePrecision()(queries.relevance, np.zeros((len(queries), 30)))
    assert AveragePrecision()(queries.relevance, model.score_queries(captioned.X_test, Q)) > chance + 0.12


def test_cmrm_is_the_smoothed_expectation_over_training_pictures():
    alpha, beta = 0.4, 0.2
    of_words = (1 - alpha) * TAGS / TAGS.sum(axis=1, keepdims=True) + alpha * TAGS.sum(axis=0) / TAGS.sum()
    of_visterms = (1 - beta) * COUNTS / COUNTS.sum(axis=1, keepdims=True) + beta * COUNTS.sum(axis=0) / COUNTS.sum()
    joint = np.array([(of_words * np.prod(of_visterms**p, axis=1)[:, None]).mean(axis=0) for p in NEW])
    expected = joint / joint.sum(axis=1, keepdims=True)
    model = CMRM(alpha, beta).fit(COUNTS, TAGS)
    np.testing.assert_allclose(model.score_tags(NEW), expected, rtol=1e-10)
    scaled = CMRM(alpha, beta, n_tokens=3).fit(COUNTS / 100, TAGS)
    np.testing.assert_allclose(scaled.score_tags(NEW / 7), model.score_tags(NEW), rtol=1e-10)  # NEW has 3 tokens


def test_a_cmrm_of_an_earlier_version_scores_tags_alike():
    model = CMRM(0.4, 0.2).fit(COUNTS, TAGS)
    scores = model.score_tags(NEW)
    model.tag_shares_ = model.tag_shares_.toarray() + model.tag_background_  # the background was part of the shares
    del model.tag_background_
    np.testing.assert_allclose(model.score_tags(NEW), scores, rtol=1e-12)


def test_cmtt_translates_by_cosines_of_smoothed_columns():
    M = np.hstack([weighed(A, visterm_idf(A)) for A in (TAGS.astype(float), COUNTS)])
    U, s, V = np.linalg.svd(M, full_matrices=False)
    smoothed = (U[:, :2] * s[:2]) @ V[:2]
    words, visterms = smoothed[:, :3], smoothed[:, 3:]
    cosines = (visterms.T @ words) / (np.linalg.norm(visterms, axis=0)[:, None] * np.linalg.norm(words, axis=0))
    table = np.maximum(cosines, 0)
    table /= table.sum(axis=1, keepdims=True)
    model = CMTT(2).fit(COUNTS, TAGS)
    np.testing.assert_allclose(model.translation_, table, atol=1e-10)
    scores = model.score_tags(NEW)
    np.testing.assert_allclose(scores[0], (2 * table[0] + table[2]) / 3)
    np.testing.assert_allclose(scores[1], table[3])
    np.testing.assert_allclose(scores[2], TAGS.sum(axis=0) / TAGS.sum())  # no visterm: what is known without looking
    np.testing.assert_allclose(scores.sum(axis=1), 1)


def test_a_visterm_of_every_picture_means_no_word():
    counts = np.hstack([COUNTS, np.ones((3, 1))])
    model = CMTT(2).fit(counts, TAGS)
    np.testing.assert_allclose(model.translation_[:4], CMTT(2).fit(COUNTS, TAGS).translation_, atol=1e-10)
    np.testing.assert_allclose(model.translation_[4], TAGS.sum(axis=0) / TAGS.sum())


def test_a_visterm_that_seldom_occurs_with_a_word_still_means_it():
    X, tags = [[1, 1], [1, 2], [1, 0], [0, 3]], [[1, 1], [1, 0], [1, 0], [1, 0]]  # the first word tells nothing
    np.testing.assert_allclose(CMTT(4).fit(X, tags).translation_, [[0, 1], [0, 1]], atol=1e-10)


def test_all_singular_values_smooth_nothing(monkeypatch):
    M = np.hstack([weighed(A, visterm_idf(A)) for A in (TAGS.astype(float), COUNTS)])
    M /= np.linalg.norm(M, axis=0)
    cosines = M[:, 3:].T @ M[:, :3]  # none is below zero
    for smallest in (400, 0):
        monkeypatch.setattr("visterm.ranking.cmtt._WHOLE", smallest)
        for n_values in (3, 50):
            table = CMTT(n_values).fit(COUNTS, TAGS).translation_
            np.testing.assert_allclose(table, cosines / cosines.sum(axis=1, keepdims=True), atol=1e-10)


def test_the_leading_singular_values_are_those_of_the_whole(monkeypatch, captioned):
    whole = CMTT(4).fit(captioned.X, captioned.tags).translation_
    monkeypatch.setattr("visterm.ranking.cmtt._WHOLE", 5)
    np.testing.assert_allclose(CMTT(4).fit(captioned.X, captioned.tags).translation_, whole, atol=1e-8)


@pytest.mark.parametrize("model", [CMRM(), CMTT(2)])
def test_distributions_are_matched_like_texts(model):
    model.fit(COUNTS, TAGS)
    texts = model.score_tags(NEW) * model.idf_
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    Q = query_vectors([[1, 0, 1], [0, 1, 0]], model.idf_)
    np.testing.assert_allclose(model.score_queries(NEW, Q), Q.toarray() @ texts.T)
    explained = model.explain(NEW[:1], Q[[0]])
    assert sum(part for _, part in explained.words) == pytest.approx(explained.score)
    assert explained.evidence == []


def unusual(A, form):
    """A sparse matrix with stored zeros, or with every entry in two halves."""
    if form == "zeros":
        made = sparse.csr_array(np.ones_like(A))
        made.data = A.ravel()
        return made
    once = sparse.csr_array(A)
    return sparse.csr_array((np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), once.indptr * 2), once.shape)


@pytest.mark.parametrize("model", [CMRM(), CMTT(2)])
@pytest.mark.parametrize("form", ["zeros", "twice"])
def test_zeros_and_repeated_entries_do_not_matter(model, form):
    counts, new = (np.hstack([A, np.zeros((3, 1))]) for A in (COUNTS, NEW))
    expected = model.fit(counts, TAGS).score_tags(new)
    for dtype in (np.float32, np.float64):
        X, X_new = (unusual(A.astype(dtype), form) for A in (counts, new))
        np.testing.assert_allclose(model.fit(X, TAGS).score_tags(X_new), expected, rtol=1e-6)
        np.testing.assert_array_equal(X.toarray(), counts)  # and they are left as they are
        np.testing.assert_array_equal(X_new.toarray(), new)


@pytest.mark.parametrize("model", [CMRM(n_tokens=10), CMTT(2)])
def test_histograms_are_counts(model):
    histograms = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    model.fit(histograms, TAGS)
    np.testing.assert_allclose(model.score_tags(NEW / 3), model.score_tags(NEW))
    assert np.ptp(model.score_tags(NEW)[:2], axis=0).max() > 0.05


@pytest.mark.parametrize("model", [CMRM(), CMTT(2)])
def test_distributions_are_of_counts_and_multiply_like_probabilities(model):
    model.fit(COUNTS, TAGS)
    ranker = TagRanker.of_fitted(model, COUNTS, 3)
    np.testing.assert_allclose(ranker.word_scores(NEW), np.log(np.maximum(model.score_tags(NEW), FLOOR)))
    assert get_tags(model).input_tags.positive_only
    with pytest.raises(InputError, match="X has 3 features, but"):
        model.score_tags(NEW[:, :3])
    assert not model.fit(COUNTS, np.ones((3, 3))).word_scores(NEW).any()  # words of all pictures tell nothing


@pytest.fixture(scope="module")
def machines():
    """14 pictures and their two words; and the scores of each picture by machines of others, for two C."""
    rng = np.random.default_rng(37)
    tags = np.array([[1, 0]] * 5 + [[0, 1]] * 6 + [[1, 1]] * 3)
    X = rng.normal(size=(14, 3)) + tags @ rng.normal(size=(2, 3))
    extended = np.hstack([X, np.ones((14, 1))])  # the intercept is the weight of a constant

    def machine(kept, word, C):
        learner = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0)
        return learner.fit(extended[kept], tags[kept, word]).coef_[0]

    left_out = {
        C: np.array([[extended[i] @ machine(np.arange(14) != i, word, C) for i in range(14)] for word in range(2)])
        for C in (0.02, 2.0)
    }
    whole = {C: np.array([machine(np.arange(14) >= 0, word, C) for word in range(2)]) for C in (0.02, 2.0)}
    return SimpleNamespace(X=X, tags=tags, extended=extended, left_out=left_out, whole=whole)


def test_machines_are_support_vector_machines_in_deviations(machines):
    given = {"kernel": "linear", "n_folds": 14, "tol": 1e-7, "random_state": 0}  # every picture is a fold
    model = ConceptSVM(C=2.0, **given).fit(machines.X, machines.tags)
    left_out = machines.left_out[2.0]
    np.testing.assert_allclose(model.tag_means_, left_out.mean(axis=1), atol=1e-3)
    np.testing.assert_allclose(model.tag_scales_, left_out.std(axis=1), atol=2e-3)
    expected = machines.extended @ machines.whole[2.0].T
    np.testing.assert_allclose(
        model.word_scores(machines.X), (expected - model.tag_means_) / model.tag_scales_, atol=1e-3
    )
    assert (model.C_ == 2.0).all()
    assert model.duality_gap_.max() <= 1e-7
    # Every word gets the C that ranks pictures best that its machine has not seen.
    several = ConceptSVM(C=[2.0, 0.02], **given).fit(machines.X, machines.tags)
    precisions = np.array([AveragePrecision().per_query(machines.tags.T, machines.left_out[C]) for C in (2.0, 0.02)])
    assert (precisions[0] != precisions[1]).all()
    assert set(several.C_) == {2.0, 0.02}
    np.testing.assert_array_equal(several.C_, np.where(precisions[0] > precisions[1], 2.0, 0.02))
    np.testing.assert_allclose(several.duality_gap_, 0, atol=1e-7)


def test_words_count_as_much_as_they_are_wanted(captioned):
    model = ConceptSVM(kernel="hellinger", random_state=0).fit(captioned.X, captioned.tags)
    words = np.array([[1, 1, 0, 0, 0], [0, 2, 1, 0, 0], [0, 1, -1, 0, 0], [0, 0, 0, 3, 0], [0, 0, 0, 0, 0]])
    weights = model.query_weights(query_vectors(words, model.idf_)).toarray()
    np.testing.assert_allclose(weights[0], [0.5, 0.5, 0, 0, 0])
    np.testing.assert_allclose(weights[1], [0, 2 / 3, 1 / 3, 0, 0])
    np.testing.assert_allclose(weights[2], [0, 0.5, -0.5, 0, 0])
    np.testing.assert_allclose(weights[3:], [[0, 0, 0, 1, 0], [0, 0, 0, 0, 0]])


def test_of_equally_good_c_a_rare_word_takes_the_first(machines, monkeypatch):
    monkeypatch.setattr("visterm.ranking.concept_svm.MAX_WORK", 0)
    model = ConceptSVM(C=[2.0, 2.0 + 1e-12], kernel="linear", random_state=0).fit(machines.X, machines.tags)
    assert (model.duality_gap_ == 0).tolist() == [True, False]  # the most frequent word has its machine all the same
    assert model.C_[0] == 2.0


def test_rare_words_get_least_squares_machines_if_words_are_many(captioned, monkeypatch):
    monkeypatch.setattr("visterm.ranking.concept_svm.MAX_WORK", 2 * 50**2)
    X, counts = captioned.X, np.asarray(captioned.tags.sum(axis=0)).ravel()
    model = ConceptSVM(C=2.0, kernel="hellinger", random_state=0).fit(X, captioned.tags)
    rare = np.sort(np.argsort(-counts, kind="stable")[2:])
    assert np.flatnonzero(model.duality_gap_ == 0).tolist() == rare.tolist()

    def gram(a, b):
        return np.sqrt(a / a.sum(axis=1, keepdims=True)) @ np.sqrt(b / b.sum(axis=1, keepdims=True)).T + 1

    labels = 2 * captioned.tags.toarray()[:, rare] - 1
    theta = np.linalg.solve(gram(X, X) + np.eye(50) / 2.0, labels)
    expected = gram(captioned.X_test, X) @ theta
    ours = model.word_scores(captioned.X_test)[:, rare] * model.tag_scales_[rare] + model.tag_means_[rare]
    np.testing.assert_allclose(ours, expected, atol=1e-6)
    # Scores are in deviations over pictures that a machine has not seen.
    kept = np.arange(50) != 7
    left_out = gram(X[7:8], X[kept]) @ np.linalg.solve(gram(X[kept], X[kept]) + np.eye(49) / 2.0, labels[kept])
    means = [model.tag_means_[rare], model.tag_scales_[rare]]
    assert (np.abs(left_out[0] - means[0]) < 5 * means[1]).all()
    several = ConceptSVM(C=[1e-4, 2.0], kernel="hellinger", random_state=0).fit(X, captioned.tags)
    assert set(several.C_) <= {1e-4, 2.0}
    same = rare[several.C_[rare] == 2.0]
    assert len(same)
    np.testing.assert_allclose(several.tag_means_[same], model.tag_means_[same])


def test_rare_words_choose_their_own_c(machines, monkeypatch):
    """Brute force: least squares of the other pictures, for each picture."""
    monkeypatch.setattr("visterm.ranking.concept_svm.MAX_WORK", 0)
    monkeypatch.setattr("visterm.margin.solver.ridge._BLOCK_BYTES", 8 * 14)  # one word
    X, candidates = machines.extended, (0.001, 3.0)
    tags = np.hstack([np.ones((14, 1), int), machines.tags, 1 - machines.tags])

    def left_out(i, C):
        kept = np.arange(14) != i
        theta = np.linalg.solve(X[kept] @ X[kept].T + np.eye(13) / C, 2 * tags[kept, 1:] - 1)
        return X[i] @ X[kept].T @ theta

    scores = np.array([[left_out(i, C) for i in range(14)] for C in candidates])
    precisions = np.array([AveragePrecision().per_query(tags[:, 1:].T, one.T) for one in scores])
    best = np.argmax(precisions, axis=0)
    assert set(best) == {0, 1}
    model = ConceptSVM(candidates, kernel="linear", random_state=0).fit(machines.X, tags)
    assert model.C_[1:].tolist() == np.array(candidates)[best].tolist()
    chosen = scores[best, :, np.arange(4)]
    np.testing.assert_allclose(model.tag_means_[1:], chosen.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(model.tag_scales_[1:], chosen.std(axis=1), atol=2e-3)


def test_the_gram_matrix_is_freed_before_the_last_inverse_is_computed_and_before_machines_are_kept(
    captioned, monkeypatch
):
    from visterm.margin.solver import ridge as kernel_ridge

    inverse, compute, keep = kernel_ridge._inverse, ConceptSVM._training_gram, ConceptSVM._keep
    kept, is_freed = [], []

    def watched_gram(self, *arguments):
        G = compute(self, *arguments)
        kept.append(weakref.ref(G))
        return G

    def watched_inverse(system):
        is_freed.append(kept[0]() is None)
        return inverse(system)

    def watched_keep(self, *arguments):
        is_freed.append(kept[0]() is None)
        keep(self, *arguments)

    monkeypatch.setattr("visterm.ranking.concept_svm.MAX_WORK", 2 * 50**2)
    monkeypatch.setattr(ConceptSVM, "_training_gram", watched_gram)
    monkeypatch.setattr(kernel_ridge, "_inverse", watched_inverse)
    monkeypatch.setattr(ConceptSVM, "_keep", watched_keep)
    ConceptSVM(C=[1.0, 2.0], kernel="exp-chi2", random_state=0).fit(captioned.X, captioned.tags)
    assert is_freed == [False, True, True]
    kept.clear()
    is_freed.clear()
    ConceptSVM(kernel="exp-chi2", random_state=0).fit(captioned.X, captioned.tags[:, [0]])
    assert is_freed == [True]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CMRM(alpha=0.0), "'alpha' parameter"),
        (CMRM(beta=2.0), "'beta' parameter"),
        (CMTT(0), "n_singular_values"),
        (ConceptSVM(C=[]), "C must be one positive number or a list"),
        (ConceptSVM(n_folds=1), "'n_folds' parameter"),
        (ConceptSVM(C=-1.0), "'C' parameter"),
    ],
)
def test_unusable_parameters_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        model.fit(COUNTS, TAGS)


@pytest.mark.parametrize("model", [CMRM(), CMTT(), ConceptSVM()])
def test_without_tags_there_is_nothing_to_learn(model):
    with pytest.raises(InputError, match="no picture has a tag"):
        model.fit(COUNTS, sparse.csr_array((3, 3)))
    if not isinstance(model, ConceptSVM):
        with pytest.raises(InputError, match="Negative"):
            model.fit(-COUNTS, TAGS)
