"""Models over graphs: themselves at strength 0, smoother with it, right about what they have not been told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import digamma, gammaln
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from visterm.calibration import TagConfidence
from visterm.errors import InputError
from visterm.graph import GraphMixture, GraphRegularized, LapVar, PictureGraph
from visterm.graph.inference import allocation, aspects
from visterm.graph.inference.held_out import hide_tags
from visterm.graph.inference.supervised import PulledInference
from visterm.graph.regularized import case_of
from visterm.models import Model, ModelInfo, load_model, save_model
from visterm.topics import (
    LDA,
    PLSA,
    Aspects,
    JointTopics,
    Labelled,
    LinkLDA,
    RefinedSupervisedLDA,
    SupervisedLDA,
    UnigramMixture,
    infer_labelled,
    infer_topics,
)
from visterm.vision.recipes import recipe

MODELS = {
    "mixture": UnigramMixture(3, random_state=0),
    "plsa": PLSA(3, asymmetric=False, held_out_share=0, random_state=0),
    "lda": LDA(3, random_state=0),
    "slda": SupervisedLDA(3, alpha=0.5, random_state=0),
}
#: The same models, not run to convergence, and a refined one.
UNFINISHED = {name: clone(model).set_params(max_iter=4) for name, model in MODELS.items()} | {
    "slda-refined": RefinedSupervisedLDA(3, alpha=0.5, refine=3, random_state=0)
}


@pytest.fixture(params=MODELS)
def model(request):
    return clone(MODELS[request.param])


def over_graph(model, **settings):
    return GraphRegularized(model, PictureGraph(5), **({"held_out_share": 0} | settings))


def plainly(model, X, tags):
    if isinstance(model, LDA):
        return clone(model).fit(X)
    return clone(model).fit(X, tags=tags)


@pytest.mark.parametrize("strength", [0.0, 1e-9])
@pytest.mark.parametrize(
    "model", [*MODELS.values(), *UNFINISHED.values()], ids=[*MODELS, *(f"{n}*" for n in UNFINISHED)]
)
def test_strength_0_is_the_model_itself(model, counts, strength):
    """A strength near 0 takes every step over the graph, without an effect."""
    X, tags, _ = counts
    regularised, plain = over_graph(model, strength=strength).fit(X, tags), plainly(model, X, tags)
    tolerance = {"rtol": 1e-9} if strength == 0 else {"atol": 0.02}
    np.testing.assert_allclose(regularised.model_.topic_codewords_, plain.topic_codewords_, **tolerance)
    if strength == 0:
        np.testing.assert_allclose(regularised.objective_, plain.objective_, rtol=1e-12)
    new, untagged = X[:7] + 1, np.flatnonzero(np.diff(tags.indptr) == 0)
    np.testing.assert_allclose(regularised.transform(new), plain.transform(new), **tolerance)
    np.testing.assert_allclose(regularised.proportions_[untagged], plain.transform(X[untagged]), **tolerance)
    if isinstance(model, LDA):
        return
    np.testing.assert_allclose(regularised.topic_tags_, plain.topic_tags_, **tolerance)
    chances = plain.transform(new) @ plain.topic_tags_  # sLDA scores at least one of several draws
    np.testing.assert_allclose(regularised.transform(new) @ regularised.topic_tags_, chances, **tolerance)


@pytest.mark.parametrize("strength", [0.2, 2.0])
def test_the_objective_of_lapvar1_never_falls(model, counts, strength):
    X, tags, _ = counts
    objective = over_graph(model, strength=strength).fit(X, tags).objective_
    assert len(objective) > 2
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[1:])).all()


def test_neighbours_agree_more_the_stronger(model, counts):
    X, tags, _ = counts
    rough = []
    for strength in (0.0, 1.0, 20.0):
        fitted = over_graph(model, strength=strength).fit(X, tags)
        links, p = fitted.graph_.links_, fitted.proportions_
        rough.append((links.sum(axis=1) @ (p**2).sum(axis=1)) - (p * (links @ p)).sum())
        np.testing.assert_allclose(p.sum(axis=1), 1)
    assert rough[0] > rough[1] > rough[2]


def test_infinite_strength_makes_components_agree(model, counts):
    X, tags, _ = counts
    fitted = GraphRegularized(model, PictureGraph(25), strength=np.inf, held_out_share=0).fit(X, tags)
    assert fitted.graph_.n_components_ == 1
    compared = fitted.proportions_ if fitted.compared_ is None else fitted.compared_
    np.testing.assert_allclose(compared, np.tile(compared[:1], (60, 1)))
    assert np.isfinite(fitted.score_tags(X)).all()


@pytest.mark.parametrize("method", ["lapvar1", "lapvar2"])
def test_untagged_pictures_get_the_tags_of_their_group(model, counts, method):
    X, tags, groups = counts
    fitted = over_graph(model, strength=1.0, method=method).fit(X, tags)
    untagged = np.diff(tags.indptr) == 0
    assert (fitted.score_training()[untagged, :3].argmax(axis=1) == groups[untagged]).mean() > 0.9
    np.testing.assert_allclose(fitted.score_tags(X), fitted.score_training())  # they are known again
    new = X[:30] + (np.arange(30)[:, None] % 2)
    assert (fitted.score_tags(new)[:, :3].argmax(axis=1) == groups[:30]).mean() > 0.8


def test_the_graph_helps_where_bags_say_little(rng):
    """Groups have the same codewords but different look-alikes: only the graph can tell them apart."""
    n = 120
    groups = np.arange(n) % 2
    X = {"bags": rng.poisson(1.0, (n, 10)) + 0.0, "looks": groups[:, None] * 5 + rng.normal(size=(n, 3))}
    tags = np.zeros((n, 2))
    tags[np.arange(30), groups[:30]] = 1
    graph = PictureGraph(8, metric="euclidean")
    names = {"model_feature": "bags", "graph_feature": "looks", "held_out_share": 0}
    right = {}
    for strength in (0.0, 3.0):
        tagger = GraphRegularized(UnigramMixture(4, random_state=0), graph, strength=strength, **names)
        right[strength] = (tagger.fit(X, tags).score_training().argmax(axis=1) == groups)[30:].mean()
    assert right[3.0] > 0.95
    assert right[0.0] < 0.8


def test_new_pictures_take_part_of_their_topics_from_their_neighbours(model, rng):
    """Their bags are the same: only the graph can tell them apart."""
    n = 60
    groups = np.arange(n) % 2
    bags = rng.poisson(1.0, (n, 10)) + 2.0 * (np.arange(10) // 5 == groups[:, None])
    X = {"bags": bags, "looks": groups[:, None] * 9 + rng.normal(size=(n, 3))}
    tags = np.eye(2)[groups] * (np.arange(n) < 20)[:, None]
    names = {"model_feature": "bags", "graph_feature": "looks", "held_out_share": 0}
    model = clone(model).set_params(n_topics=2)
    tagger = GraphRegularized(model, PictureGraph(8, metric="euclidean"), strength=50.0, **names).fit(X, tags)
    new = {"bags": np.ones((2, 10)), "looks": np.array([[0.0] * 3, [9.0] * 3])}
    first, second = tagger.transform(new)
    assert np.abs(first - second).max() > 0.1
    assert tagger.score_tags(new).argmax(axis=1).tolist() == [0, 1]


def test_aspects_are_left_when_they_hardly_change(links, rng, monkeypatch):
    counts, words = sparse.csr_array(rng.poisson(2.0, (12, 6)) + 1.0), rng.dirichlet(np.ones(6), 2).T
    start = np.full((12, 2), 0.5)

    def pull(variables, _):
        return variables.free()

    once = Aspects(start, words).step(counts)[0].picture_topics
    assert 0.01 < np.abs(once - start).max() < 0.5
    settled = aspects.settled_aspects(counts, words, start, pull, LapVar(links, 1.0))
    assert np.abs(settled - once).max() > 0.01
    monkeypatch.setattr(aspects, "_SETTLED", 0.5)
    np.testing.assert_allclose(aspects.settled_aspects(counts, words, start, pull, LapVar(links, 1.0)), once)


def test_posteriors_are_left_when_they_hardly_change(links, rng, monkeypatch):
    bags, topics, alpha = sparse.csr_array(rng.poisson(2.0, (12, 6)) + 1.0), rng.dirichlet(np.ones(6), 2), np.ones(2)
    start = rng.gamma(5, size=(12, 2))

    def pull(variables, _):
        return variables.free()

    def settled():
        return allocation.Settled.of(bags, topics, alpha, start, pull, LapVar(links, 1.0))

    once = infer_topics(bags, topics, alpha, start=start, max_sweeps=1).gamma
    assert np.abs(settled().gamma - once).max() > 0.01
    np.testing.assert_allclose(settled().gamma, infer_topics(bags, topics, alpha).gamma, atol=0.02)
    monkeypatch.setattr(allocation, "_SETTLED", 0.5)
    np.testing.assert_allclose(settled().gamma, once)
    np.testing.assert_allclose(settled().means, once / once.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(settled().targets, infer_topics(bags, topics, alpha, start=once, max_sweeps=1).gamma)


def test_the_objective_of_aspects_pays_for_differences_of_the_start(counts):
    """The start does not depend on the strength, so its objective falls in proportion."""
    X, tags, _ = counts
    model = PLSA(3, asymmetric=False, held_out_share=0, max_iter=1, random_state=0)
    free, once, twice = (over_graph(model, strength=s).fit(X, tags).objective_[0] for s in (0.0, 50.0, 100.0))
    assert free - once > 1
    assert free - twice == pytest.approx(2 * (free - once))


def test_the_objective_of_allocation_is_the_bound_of_the_pulled_posteriors_minus_their_price(rng):
    X, tags = rng.poisson(2.0, (12, 5)) + 1.0, np.eye(12, 2)
    model = LDA(2, max_sweeps=10, tol=1e-6, random_state=0)
    fitted = GraphRegularized(model, PictureGraph(3), strength=5.0, held_out_share=0).fit(X, tags)
    topics, alpha, links = fitted.model_.topic_codewords_, fitted.model_.alpha_, fitted.graph_.links_.toarray()
    bags, gamma = sparse.csr_array(X), rng.gamma(5, size=(12, 2))
    for _ in range(100):  # the only maximum under these topics
        gamma = allocation.pulled(bags, topics, alpha, gamma, LapVar(links, 5.0))
    bound = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=0).statistics.bound
    p = gamma / gamma.sum(axis=1, keepdims=True)
    price = 5.0 / 2 * np.trace(p.T @ (np.diag(links.sum(axis=1)) - links) @ p)
    assert price > 0.5
    assert fitted.objective_[-1] == pytest.approx(bound + model.smoothing * np.log(topics).sum() - price, abs=1e-3)


@pytest.mark.parametrize("tol", [10.0, 3e-3, 1e-3])
def test_aspects_end_with_the_first_step_that_hardly_rises(counts, tol):
    X, tags, _ = counts
    model = PLSA(3, asymmetric=False, held_out_share=0, tol=tol, random_state=0)
    fitted = over_graph(model, strength=1.0).fit(X, tags)
    objective = fitted.objective_
    rises = np.diff(objective) / np.abs(objective[1:])
    assert (rises[:-1] > tol).all()
    assert rises[-1] <= tol
    assert fitted.n_iter_ == fitted.model_.n_iter_ == len(objective)
    assert (len(objective) == 2) == (tol == 10)
    assert fitted.model_.power_ == 1
    assert fitted.model_.schedule_.tolist() == [[1, model.max_iter]]


def test_the_curvature_of_tiny_bags_is_that_of_one_token(counts):
    X, _, _ = counts
    for model, expected in (
        (PLSA(3), 1),
        (LDA(3, alpha=0.2), 1.6),
        (PLSA(3, n_tokens=0.5), 1),
        (PLSA(3, n_tokens=7), 7),
    ):
        assert case_of(model).curvature(model, sparse.csr_array(X / 1000)) == pytest.approx(expected)


def test_new_pictures_are_checked_for_the_model_and_for_the_graph(model, counts):
    X, tags, _ = counts
    names = {"model_feature": "bags", "graph_feature": "looks", "held_out_share": 0}
    tagger = GraphRegularized(clone(model).set_params(max_iter=2), PictureGraph(5), strength=1.0, **names)
    tagger.fit({"bags": X, "looks": X[:, :4] + 1}, tags)
    for wrong in ({"bags": X[:, 1:], "looks": X[:, :4]}, {"bags": X, "looks": X[:, :3]}):
        with pytest.raises(InputError, match="features"):
            tagger.transform(wrong)
    assert tagger.transform({"bags": X[:2], "looks": X[:2, :4]}).shape == (2, 3)
    assert tagger.n_features_in_ == 15


def test_the_objective_of_supervised_lda_is_that_of_the_pulled_posteriors(links, rng):
    bags = sparse.csr_array(rng.poisson(2.0, (12, 6)) + 1.0)
    data = Labelled(bags, rng.integers(-1, 2, 12), np.ones(12), sparse.csr_array((rng.random((12, 3)) < 0.4) + 0.0))
    of_codewords, of_tags = rng.dirichlet(np.ones(6), 3), rng.dirichlet(np.ones(3), 3)
    joint = JointTopics(of_codewords, of_tags, rng.normal(size=(2, 3)), np.full(3, 0.5))
    lapvar = LapVar(links, 5.0)
    gamma = rng.gamma(2, size=(12, 3)) + 0.5
    targets = gamma.copy()
    alone = infer_labelled(data, joint, targets, max_sweeps=1).statistics.bound
    found = PulledInference(lapvar)(data, joint, gamma, max_sweeps=1).statistics

    def own(at):  # the terms of the bound that depend on gamma, given the expected counts
        logs = digamma(at) - digamma(at.sum(axis=1, keepdims=True))
        return ((targets - at) * logs + gammaln(at)).sum() - gammaln(at.sum(axis=1)).sum()

    means = gamma / gamma.sum(axis=1, keepdims=True)
    assert own(gamma) < own(targets) - 0.1
    assert found.bound == pytest.approx(alone + own(gamma) - own(targets) - lapvar.penalty(means))
    logs = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.log_proportions, logs.sum(axis=0))


def test_probabilities_are_calibrated_on_the_hidden_tags(counts):
    X, tags, _ = counts
    fitted = GraphRegularized(UnigramMixture(3, random_state=0), PictureGraph(5), strength=1.0).fit(X, tags)
    hidden = hide_tags(tags, 0.2, 0)
    shown = over_graph(UnigramMixture(3, random_state=0), strength=1.0).fit(X, hidden.shown)
    chances = shown.proportions_[hidden.rows] @ shown.topic_tags_
    expected = TagConfidence().fit(chances, hidden.tags)
    assert expected.slope_ > 0
    assert fitted.confidence_.slope_ == pytest.approx(expected.slope_)
    assert fitted.confidence_.offset_ == pytest.approx(expected.offset_)
    without = over_graph(UnigramMixture(3, random_state=0), strength=1.0).fit(X, tags)
    assert without.confidence_.slope_ == 0


@pytest.mark.parametrize(
    ("name", "curvature"), [("mixture", lambda _: 1.0), ("plsa", lambda n: n), ("lda", lambda n: n + 0.3)]
)
def test_strengths_are_relative_to_the_curvature_of_the_model(counts, name, curvature):
    X, tags, _ = counts
    model = clone(MODELS[name]).set_params(max_iter=3)
    tried = GraphRegularized(model, PictureGraph(5), strengths=(0, 0.5)).fit(X, tags).held_out_[:, 0]
    np.testing.assert_allclose(tried[:2], [0, 0.5 * curvature(X.sum() / 60)])


def test_a_graph_of_ones_own(counts):
    X, tags, _ = counts
    graph = PictureGraph(5).fit(X)
    given = over_graph(UnigramMixture(3, random_state=0), strength=1.0).fit(X, tags, graph=graph)
    built = over_graph(UnigramMixture(3, random_state=0), strength=1.0).fit(X, tags)
    np.testing.assert_allclose(given.score_training(), built.score_training())
    with pytest.raises(InputError, match="links 60 pictures, but there are 50"):
        over_graph(UnigramMixture(3), strength=1.0).fit(X[:50], tags[:50], graph=graph)


def test_strength_is_chosen_on_hidden_tags(counts):
    X, tags, _ = counts
    fitted = GraphRegularized(UnigramMixture(3, random_state=0), PictureGraph(5), strengths=(0, 1, 5)).fit(X, tags)
    tried, scores = fitted.held_out_.T
    # The largest is the best, so more are tried until that is no longer better.
    assert tried.tolist() == [0, 1, 5, 15]
    assert fitted.strength_ == tried[scores.argmax()] == 5
    few = sparse.csr_array(tags.toarray() * (np.arange(60) < 9)[:, None])
    assert GraphRegularized(UnigramMixture(3, random_state=0)).fit(X, few).strength_ == 1.0


def test_small_strengths_grow_too(counts):
    X, tags, _ = counts
    fitted = GraphRegularized(UnigramMixture(3, random_state=0), PictureGraph(5), strengths=(0.01, 0.02)).fit(X, tags)
    tried, scores = fitted.held_out_.T
    assert len(tried) > 3
    np.testing.assert_allclose(tried, [0.01, *0.02 * 3.0 ** np.arange(len(tried) - 1)])
    assert fitted.strength_ == tried[scores.argmax()]


def test_of_equally_good_strengths_the_first_is_taken(counts):
    """Without links, all are the same."""
    X, tags, _ = counts
    apart = PictureGraph(5).fit(X)
    apart.links_ = sparse.csr_array(apart.links_.shape)
    model = GraphRegularized(UnigramMixture(3, random_state=0), strengths=(0.5, 2.0, 1.0))
    fitted = model.fit(X, tags, graph=apart)
    assert np.ptp(fitted.held_out_[:, 1]) == 0
    assert fitted.strength_ == 0.5


def test_without_hidden_tags_nothing_is_tried(counts):
    X, tags, _ = counts
    for strength, chosen in (("auto", 1.0), (0.3, 0.3)):
        fitted = over_graph(UnigramMixture(3, max_iter=2, random_state=0), strength=strength).fit(X, tags)
        assert fitted.held_out_.shape == (0, 2)
        assert fitted.strength_ == chosen
        assert fitted.tag_counts_.tolist() == tags.sum(axis=0).tolist()


def test_a_graph_mixture_is_a_regularised_mixture(counts):
    X, tags, _ = counts
    ours = GraphMixture(
        4, n_neighbors=3, metric="hellinger", weights="cosine", strength=2.0, method="lapvar2", smoothing=0.3,
        n_tokens=9, held_out_share=0.4, max_iter=3, tol=0.0, random_state=3,
    ).fit(X, tags)  # fmt: skip
    mixture = UnigramMixture(4, smoothing=0.3, n_tokens=9, n_restarts=1, max_iter=3, tol=0.0, random_state=3)
    graph = PictureGraph(3, metric="hellinger", weights="cosine")
    settings = {"strength": 2.0, "method": "lapvar2", "held_out_share": 0.4, "random_state": 3}
    parts = GraphRegularized(mixture, graph, **settings).fit(X, tags)
    np.testing.assert_array_equal(ours.objective_, parts.objective_)
    np.testing.assert_array_equal(ours.score_tags(X + 1), parts.score_tags(X + 1))
    np.testing.assert_array_equal(ours.transform(X), parts.proportions_)
    assert ours.n_iter_ == 3
    assert ours.n_features_in_ == 15


@pytest.mark.parametrize("kind", [GraphMixture, GraphRegularized])
def test_taggers_over_graphs_say_what_they_take_and_give(kind, counts):
    X, tags, _ = counts
    assert kind.scores_are_probabilities
    assert get_tags(kind()).input_tags.positive_only
    for ask in (kind().transform, kind().score_tags):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(X)
    with pytest.raises(InputError, match=f"'strength' parameter of {kind.__name__} must be"):
        kind(strength=-1).fit(X, tags)
    assert GraphMixture.learns_from_untagged


def test_confidence_is_calibrated(rng):
    """Of the suggestions called 30 % sure, 30 % are right, though the chances they come from are nothing like it."""
    chances = rng.dirichlet(np.full(20, 0.3), size=4000)
    true = 1 / (1 + np.exp(-(1.5 * np.log(np.maximum(chances, 1e-12)) + 2)))
    tags = rng.random(chances.shape) < true
    said = TagConfidence().fit(chances[:2000], sparse.csr_array(tags[:2000])).probabilities(chances[2000:])
    for low in (0.02, 0.1, 0.3, 0.6):
        chosen = (said > low) & (said < low * 1.5)
        assert tags[2000:][chosen].mean() == pytest.approx(said[chosen].mean(), abs=0.05)
    order = np.argsort(chances[2000])
    assert (np.diff(said[0][order]) >= 0).all()


def test_confidence_does_not_trust_noise(rng):
    chances = rng.dirichlet(np.ones(5), size=40)
    upside_down = sparse.csr_array(chances < np.median(chances))
    said = TagConfidence().fit(chances, upside_down).probabilities(chances)
    np.testing.assert_array_equal(np.argsort(said, axis=1), np.argsort(chances, axis=1))


def test_classes_take_part(counts):
    X, tags, groups = counts
    y = np.where(np.arange(60) < 20, groups, -1)
    fitted = over_graph(clone(MODELS["slda"]), strength=0.5).fit(X, tags, y)
    assert (fitted.model_.predict(X) == groups).mean() > 0.8


def test_a_fitted_tagger_survives_the_disk(counts, tmp_path):
    X, tags, _ = counts
    fitted = GraphMixture(3, n_neighbors=5, random_state=0).fit(X, tags)
    chosen = recipe("bow-240")
    info = ModelInfo("test", 1, "graph-mixture", ("tag",), (), (), (), 0, chosen.name, chosen.hash)
    save_model(Model.of(info, fitted, chosen), tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    np.testing.assert_array_equal(loaded.score_tags(X), fitted.score_tags(X))
    np.testing.assert_array_equal(loaded.score_tags(X + 1), fitted.score_tags(X + 1))


def test_wrong_settings_are_refused(counts):
    X, tags, _ = counts
    for settings, words in [
        ({"strength": -1}, "'strength' parameter .* must be"),
        ({"strength": "strong"}, "'strength' parameter .* must be"),
        ({"method": "newton"}, "method.* among .*lapvar2"),
        ({"held_out_share": 1.0}, "held_out_share"),
        ({"strengths": ()}, "strengths to try"),
    ]:
        with pytest.raises(InputError, match=words):
            GraphRegularized(UnigramMixture(2), **settings).fit(X, tags)
    for model, words in [
        (LinkLDA(2), "cannot be regularised"),
        (PLSA(2), "asymmetric=False"),
        (LDA(2, learn_alpha=True), "learn_alpha=False"),
        (RefinedSupervisedLDA(2, held_out_share=0.1), "held_out_share=0"),
        (SupervisedLDA(2, n_restarts=2), "set held_out_share=0, n_restarts=1"),
        (UnigramMixture(0), "n_topics.* range \\[1, inf"),
        (PLSA(0, asymmetric=False, held_out_share=0), "n_topics.* range \\[1, inf"),
        (LDA(0), "n_topics.* range \\[1, inf"),
    ]:
        with pytest.raises(InputError, match=words):
            over_graph(model, strength=1.0).fit(X, tags)
    with pytest.raises(InputError, match="set model_feature to one of a, b"):
        over_graph(UnigramMixture(2), strength=1.0).fit({"a": X, "b": X}, tags)
    with pytest.raises(InputError, match="no picture has a tag"):
        over_graph(UnigramMixture(2), strength=1.0).fit(X, sparse.csr_array(tags.shape))
