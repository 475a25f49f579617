"""Models over graphs: themselves at strength 0, smoother with it, right about what they have not been told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from visterm.calibration import TagConfidence
from visterm.errors import InputError
from visterm.graph import GraphMixture, GraphRegularized, PictureGraph
from visterm.graph.held_out import hide_tags, tag_surprise
from visterm.models import Model, ModelInfo, load_model, save_model
from visterm.topics import LDA, PLSA, LinkLDA, SupervisedLDA, UnigramMixture
from visterm.vision.recipes import recipe

MODELS = {
    "mixture": UnigramMixture(3, random_state=0),
    "plsa": PLSA(3, asymmetric=False, held_out_share=0, random_state=0),
    "lda": LDA(3, random_state=0),
    "slda": SupervisedLDA(3, alpha=0.5, refine=0, random_state=0),
}
#: The same models, not run to convergence, and a refined one.
UNFINISHED = {name: clone(model).set_params(max_iter=4) for name, model in MODELS.items()} | {
    "slda-refined": SupervisedLDA(3, alpha=0.5, refine=3, random_state=0)
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
    np.testing.assert_allclose(regularised.tag_chances(new), chances, **tolerance)


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


def test_hidden_tags_are_a_share_of_the_tagged(counts):
    _, tags, _ = counts
    hidden = hide_tags(tags, 0.3, 0)
    n_tagged = np.count_nonzero(np.diff(tags.indptr))
    assert len(hidden.rows) == round(0.3 * n_tagged)
    assert hidden.shown.nnz + hidden.tags.nnz == tags.nnz
    assert not hidden.shown[hidden.rows].nnz
    assert hide_tags(tags[:9], 0.3, 0) is None
    sure, unsure = np.eye(2), np.full((2, 2), 0.5)
    truth = sparse.csr_array(np.eye(2))
    assert tag_surprise(sure, truth) > tag_surprise(unsure, truth) > tag_surprise(sure[::-1], truth)


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
        (SupervisedLDA(2, held_out_share=0.1), "held_out_share=0"),
        (UnigramMixture(0), "n_topics.* range \\[1, inf"),
    ]:
        with pytest.raises(InputError, match=words):
            over_graph(model, strength=1.0).fit(X, tags)
    with pytest.raises(InputError, match="set model_feature to one of a, b"):
        over_graph(UnigramMixture(2), strength=1.0).fit({"a": X, "b": X}, tags)
    with pytest.raises(InputError, match="no picture has a tag"):
        over_graph(UnigramMixture(2), strength=1.0).fit(X, sparse.csr_array(tags.shape))
