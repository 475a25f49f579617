"""PAMIR: kernels agree, what is learned generalises, what it says can be explained."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.margin.functions import kernels
from visterm.margin.functions.product_kernel import ProductKernel
from visterm.measures import AveragePrecision
from visterm.ranking.pamir import PAMIR
from visterm.ranking.queries import Queries, from_tags, query_vectors
from visterm.ranking.spaces.visterms import damped, visterm_idf, weighed


def pamir(**parameters):
    return PAMIR(**{"kernel": "visterm", "n_steps": 20_000, "random_state": 0, "held_out_share": 0} | parameters)


def precision(model, captioned):
    queries = from_tags(captioned.tags_test)
    Q = query_vectors(queries.words, model.idf_)
    return AveragePrecision()(queries.relevance, model.score_queries(captioned.X_test, Q))


@pytest.mark.parametrize("parameters", [{}, {"loss": "warp"}, {"sampling": "queries"}, {"averaged": False}])
def test_it_ranks_unseen_pictures(parameters, captioned):
    untrained = precision(pamir(n_steps=1, aggressiveness=1e-12).fit(captioned.X, captioned.tags), captioned)
    assert precision(pamir(**parameters).fit(captioned.X, captioned.tags), captioned) > untrained + 0.25


@pytest.mark.parametrize("parameters", [{"averaged": False}, {"averaged": True}, {"loss": "warp"}])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_kernels_with_explicit_features_are_the_linear_model(captioned, parameters, kind):
    X, tags = captioned.X, captioned.tags
    for kernel in ("linear", "hellinger"):
        direct = pamir(kernel=kernel, **parameters).fit(kind(X), tags)
        by_kernel = pamir(kernel="precomputed", **parameters).fit(kernels.gram(X, kernel=kernel), tags)
        across = kernels.gram(captioned.X_test, X, kernel=kernel)
        np.testing.assert_allclose(direct.word_scores(kind(captioned.X_test)), by_kernel.word_scores(across), atol=1e-9)


def test_wide_dense_features_are_learned_through_their_kernel(captioned):
    wide = np.hstack([captioned.X, np.zeros((50, 60))])
    test = np.hstack([captioned.X_test, np.zeros((30, 60))])
    through_kernel = pamir(kernel="linear").fit(wide, captioned.tags)
    direct = pamir(kernel="linear").fit(sparse.csr_array(wide), captioned.tags)
    assert through_kernel.coef_.shape == (5, 80)
    np.testing.assert_allclose(through_kernel.word_scores(test), direct.word_scores(test), atol=1e-9)


def test_visterms_are_weighed_by_their_idf(captioned):
    model = pamir(kernel="visterm").fit(captioned.X, captioned.tags)
    weights = visterm_idf(captioned.X)
    by_hand = pamir(kernel="linear").fit(weighed(captioned.X, weights), captioned.tags)
    np.testing.assert_allclose(
        model.word_scores(captioned.X_test), by_hand.word_scores(weighed(captioned.X_test, weights))
    )
    lengths = np.linalg.norm(weighed(sparse.csr_array(captioned.X), weights).toarray(), axis=1)
    np.testing.assert_allclose(lengths, 1)
    assert not weighed(np.zeros((1, 20)), weights).any()
    counts = np.array([[0.0, 0.5, 1.0, 10.0]])
    np.testing.assert_allclose(damped(sparse.csr_array(counts)).toarray(), damped(counts))
    logs = pamir(kernel="log-visterm").fit(captioned.X, captioned.tags)
    by_hand = pamir(kernel="linear").fit(weighed(damped(captioned.X), weights), captioned.tags)
    np.testing.assert_allclose(
        logs.word_scores(captioned.X_test), by_hand.word_scores(weighed(damped(captioned.X_test), weights))
    )
    with pytest.raises(InputError, match="Negative values"):
        pamir(kernel="visterm").fit(-captioned.X, captioned.tags)
    with pytest.raises(InputError, match="cannot tell pictures apart"):  # network features are never zero
        pamir(kernel="visterm").fit(captioned.X + 1, captioned.tags)


def test_several_features_by_their_product_kernel(captioned):
    model = pamir(n_steps=3000, kernel="auto")
    X = {"colours": captioned.X[:, :12], "edges": captioned.X[:, 8:]}
    X_test = {"colours": captioned.X_test[:, :12], "edges": captioned.X_test[:, 8:]}
    model.fit(X, captioned.tags)
    assert model.word_scores(X_test).shape == (30, 5)
    explained = model.explain({name: matrix[:1] for name, matrix in X_test.items()}, [[1.0, 0, 0, 0, 0]], 50)
    assert explained.evidence_kind == "picture"
    assert sum(part for _, part in explained.evidence) == pytest.approx(explained.score, rel=1e-4)


@pytest.mark.parametrize("kernel", ["visterm", "exp-chi2", "precomputed"])
def test_explanations_add_up(captioned, kernel):
    X, x = captioned.X, captioned.X_test[:1]
    if kernel == "precomputed":
        X, x = kernels.gram(X, kernel="chi2"), kernels.gram(x, X, kernel="chi2")
    model = pamir(kernel=kernel, n_steps=2000).fit(X, captioned.tags)
    q = query_vectors([[1, 0, 1, 0, 0]], model.idf_)
    explained = model.explain(x, q, n_best=1000)
    assert explained.score == pytest.approx(model.score_queries(x, q)[0, 0])
    assert {word for word, _ in explained.words} == {0, 2}
    assert sum(part for _, part in explained.words) == pytest.approx(explained.score)
    assert sum(part for _, part in explained.evidence) == pytest.approx(explained.score)
    assert explained.evidence_kind == ("dimension" if kernel == "visterm" else "picture")
    sizes = [abs(part) for _, part in explained.evidence]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(InputError, match="one picture and one query"):
        model.explain(captioned.X_test, q)


def test_aggressiveness_and_steps_are_found_on_held_out_pictures(captioned):
    model = pamir(aggressiveness=[1e-9, 0.1], held_out_share=0.3).fit(captioned.X, captioned.tags)
    assert model.aggressiveness_ == 0.1
    assert 0 < model.n_steps_ <= 20_000
    assert len(model.validation_precision_) >= 1
    again = pamir(aggressiveness=0.1, n_steps=model.n_steps_).fit(captioned.X, captioned.tags)
    np.testing.assert_array_equal(model.coef_, again.coef_)  # the steps found are taken anew on all pictures


def test_pictures_without_tags_are_not_looked_at(captioned):
    X = np.vstack([captioned.X, captioned.X_test])
    tags = sparse.vstack([captioned.tags, sparse.csr_array((30, 5))])
    more, fewer = (pamir(kernel="linear").fit(*data) for data in ((X, tags), (captioned.X, captioned.tags)))
    np.testing.assert_array_equal(more.coef_, fewer.coef_)


def test_better_pictures_lead_by_their_gain():
    X = np.eye(3)
    gains = sparse.csr_array([[3.0, 1.0, 0.0]])
    queries = Queries(sparse.csr_array([[True]]), gains)
    model = pamir(kernel="linear", averaged=False, aggressiveness=1.0).fit(X, [[1], [1], [0]], queries)
    scores = model.score_queries(X, [[1.0]])[0]
    assert scores[0] - scores[1] >= 2 / 3 - 1e-6
    assert scores[1] - scores[2] >= 1 / 3 - 1e-6
    assert scores[0] - scores[2] >= 1 - 1e-6


def test_given_queries_are_learned_from_and_no_others(captioned):
    first = Queries(sparse.csr_array([[True, False, False, False, False]]), captioned.tags.T.tocsr()[[0]])
    model = pamir().fit(captioned.X, captioned.tags, first)
    assert model.coef_[0].any()
    assert not model.coef_[1:].any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"aggressiveness": 0.0}, "'aggressiveness' parameter"),
        ({"aggressiveness": []}, "aggressiveness must be one positive number"),
        ({"aggressiveness": [0.1, -1.0]}, "aggressiveness must be one positive number"),
        ({"n_steps": 0}, "'n_steps' parameter"),
        ({"loss": "square"}, "'loss' parameter"),
        ({"sampling": "all"}, "'sampling' parameter"),
        ({"held_out_share": 1.0}, "held_out_share"),
        ({"kernel": "cubic"}, "unknown kernel"),
    ],
)
def test_unusable_parameters_are_refused(parameters, message, captioned):
    with pytest.raises(InputError, match=message):
        pamir(**parameters).fit(captioned.X, captioned.tags)


def test_too_few_pictures_to_hold_any_out_are_all_learned_from():
    model = pamir(held_out_share=0.5, kernel="linear").fit(np.eye(2), [[1, 0], [0, 1]])
    assert model.n_steps_ == 20_000
    assert (model.score_queries(np.eye(2), np.eye(2)).argmax(axis=1) == [0, 1]).all()


def test_queries_must_be_of_the_same_words_and_pictures(captioned):
    with pytest.raises(InputError, match="queries have 1 words and 50 pictures, but there are 5 tags"):
        pamir().fit(captioned.X, captioned.tags, Queries(sparse.csr_array([[1]]), captioned.tags.T.tocsr()[[0]]))


def test_weights_are_averaged_unless_told_otherwise(captioned):
    given = {"n_steps": 100, "kernel": "linear", "held_out_share": 0, "random_state": 0}
    default, averaged, last = (
        PAMIR(**given, **more).fit(captioned.X, captioned.tags).coef_
        for more in ({}, {"averaged": True}, {"averaged": False})
    )
    np.testing.assert_array_equal(default, averaged)
    assert np.abs(default - last).max() > 1e-3


def test_scores_have_no_intercept(captioned):
    model = pamir(kernel="chi2", n_steps=500).fit(captioned.X, captioned.tags)
    np.testing.assert_array_equal(model.intercept_, np.zeros(5))


def test_idf_counts_the_tagged_pictures():
    X, tags = np.eye(4), [[1, 0], [1, 1], [0, 0], [1, 0]]
    model = pamir(kernel="linear", n_steps=10).fit(X, tags)
    np.testing.assert_allclose(model.idf_, [0, np.log(3)])


def test_features_are_weighed_by_the_tags(captioned):
    X, X_test = ({"colours": A[:, :12], "edges": A[:, 8:]} for A in (captioned.X, captioned.X_test))
    kernel = ProductKernel(weights="likelihood")
    G = kernel.fit_transform(X, captioned.tags.toarray() > 0)
    assert 0.1 < kernel.feature_weights_["colours"] < 0.9
    model = pamir(n_steps=500, kernel="weighted-product").fit(X, captioned.tags)
    by_hand = pamir(n_steps=500, kernel="precomputed").fit(G, captioned.tags)
    np.testing.assert_allclose(model.word_scores(X_test), by_hand.word_scores(kernel.transform(X_test)), atol=1e-5)
    X_test["edges"] = X_test["edges"][:, 1:]
    with pytest.raises(InputError, match="X has features of widths"):
        model.word_scores(X_test)


def test_few_pictures_are_learned_from_in_double_precision(captioned):
    model = pamir(kernel="linear", n_steps=10).fit(captioned.X.astype(np.float32), captioned.tags)
    assert model.coef_.dtype == np.float64


def test_a_new_fit_forgets_the_support_of_the_last(captioned):
    model = pamir(kernel="chi2", n_steps=100).fit(captioned.X, captioned.tags)
    assert len(model.support_vectors_)
    model.set_params(kernel="linear").fit(captioned.X, captioned.tags)
    assert not {"dual_coef_", "support_", "support_vectors_"} & vars(model).keys()


def test_what_learned_nothing_has_no_evidence():
    model = pamir(kernel="precomputed", n_steps=10).fit(np.ones((3, 3)), [[1, 0], [0, 1], [1, 1]])  # all alike
    explained = model.explain(np.ones((1, 3)), [[1.0, 0.0]])
    assert (explained.score, explained.evidence) == (0, [])


@pytest.mark.parametrize("kernel", ["precomputed", "chi2", "product"])
def test_evidence_is_rows_of_the_training_pictures(captioned, kernel):
    X, tags = captioned.X[:6], captioned.tags[:6].toarray()
    tags[[0, 3]] = 0  # these are not learned from
    G = kernels.gram(X, kernel="chi2")
    X = G if kernel == "precomputed" else X
    model = pamir(kernel=kernel, n_steps=200).fit(X, tags)
    explained = model.explain(X[:1], np.eye(5)[[1]])
    assert {row for row, _ in explained.evidence} <= {1, 2, 4, 5}
    assert sum(part for _, part in explained.evidence) == pytest.approx(explained.score, rel=1e-5)
    if kernel != "product":
        assert dict(explained.evidence) == pytest.approx(
            dict(zip(model.support_, model.dual_coef_[1] * G[0, model.support_], strict=True))
        )
