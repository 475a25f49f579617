"""CMRM, CMTT and one machine a word, against their formulas."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from visterm.errors import InputError
from visterm.measures import AveragePrecision
from visterm.ranking.cmrm import CMRM
from visterm.ranking.cmtt import CMTT
from visterm.ranking.concept_svm import ConceptSVM
from visterm.ranking.queries import from_tags, query_vectors
from visterm.ranking.visterms import visterm_idf, weighed

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
    scaled = CMRM(alpha, beta, n_tokens=3).fit(COUNTS, TAGS)
    np.testing.assert_allclose(scaled.score_tags(NEW / 7), scaled.score_tags(NEW), rtol=1e-10)


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
    np.testing.assert_allclose(scores[2], TAGS.sum(axis=0) / TAGS.sum())  # no visterm: what is known without looking
    np.testing.assert_allclose(scores.sum(axis=1), 1)


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


def test_machines_are_support_vector_machines_in_deviations(captioned):
    X = weighed(captioned.X, visterm_idf(captioned.X))
    model = ConceptSVM(C=2.0, kernel="visterm", tol=1e-7, random_state=0).fit(captioned.X, captioned.tags)
    extended = np.hstack([X, np.ones((50, 1))])  # the intercept is the weight of a constant
    test = np.hstack([weighed(captioned.X_test, model.visterm_idf_), np.ones((30, 1))])
    for word in range(5):
        machine = SVC(C=2.0, kernel="linear", tol=1e-8).fit(extended @ np.eye(21), captioned.tags.toarray()[:, word])
        ours = model.word_scores(captioned.X_test)[:, word] * model.tag_scales_[word] + model.tag_means_[word]
        assert np.corrcoef(ours, machine.decision_function(test))[0, 1] > 0.99
    assert (model.C_ == 2.0).all()
    assert model.duality_gap_.max() <= 1e-7


def test_words_count_as_much_as_they_are_wanted(captioned):
    model = ConceptSVM(kernel="hellinger", random_state=0).fit(captioned.X, captioned.tags)
    words = np.array([[1, 1, 0, 0, 0], [0, 2, 1, 0, 0], [0, 1, -1, 0, 0]])
    weights = model.query_weights(query_vectors(words, model.idf_)).toarray()
    np.testing.assert_allclose(weights[0], [0.5, 0.5, 0, 0, 0])
    np.testing.assert_allclose(weights[1], [0, 2 / 3, 1 / 3, 0, 0])
    np.testing.assert_allclose(weights[2], [0, 0.5, -0.5, 0, 0])


def test_every_word_chooses_its_own_c(captioned):
    model = ConceptSVM(C=[1e-4, 1.0, 100.0], kernel="hellinger", random_state=0).fit(captioned.X, captioned.tags)
    assert set(model.C_) <= {1e-4, 1.0, 100.0}
    assert model.C_.shape == (5,)


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


def test_the_gram_matrix_is_freed_before_the_last_inverse_is_computed(captioned, monkeypatch):
    from visterm.margin import kernel_ridge

    inverse, compute, kept, is_freed = kernel_ridge._inverse, ConceptSVM._training_gram, [], []

    def watched_gram(self, *arguments):
        G = compute(self, *arguments)
        kept.append(weakref.ref(G))
        return G

    def watched_inverse(system):
        is_freed.append(kept[0]() is None)
        return inverse(system)

    monkeypatch.setattr("visterm.ranking.concept_svm.MAX_WORK", 2 * 50**2)
    monkeypatch.setattr(ConceptSVM, "_training_gram", watched_gram)
    monkeypatch.setattr(kernel_ridge, "_inverse", watched_inverse)
    ConceptSVM(C=[1.0, 2.0], kernel="exp-chi2", random_state=0).fit(captioned.X, captioned.tags)
    assert is_freed == [False, True]


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
