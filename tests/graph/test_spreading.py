"""Beliefs spread over the graph of all pictures, after any classifier or annotator."""

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import word_scores
from visterm.errors import UsageError
from visterm.graph import Neighbourhood, SpreadAnnotator, SpreadClassifier, Strangers
from visterm.margin import KernelRidgeAnnotator, SDCAClassifier
from visterm.models.state import pack, unpack
from visterm.neighbours import KnnAnnotator, Prototypes


def clusters(n_classes, n_each, spread=0.25, seed=0):
    """Pictures around random directions, and their classes."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((n_classes, 12))
    y = np.repeat(np.arange(n_classes), n_each)
    return (centres[y] + spread * 3 * rng.standard_normal((len(y), 12))).astype(np.float32), y


def first_of_each(y, n, n_classes):
    """The class of the first n pictures of some classes, -1 for the others."""
    given = np.full(len(y), -1)
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)[:n]
        given[rows] = k
    return given


def test_beliefs_are_the_weighted_means_of_the_inverse():
    X, _ = clusters(3, 10)
    near = Neighbourhood(3).fit(X)
    links = near.graph_.links_.toarray()
    roots = np.diag(1 / np.sqrt(links.sum(axis=1)))
    walks = np.linalg.inv(np.eye(30) - 0.6 * roots @ links @ roots)
    shares = walks / walks.sum(axis=1, keepdims=True)
    beliefs = np.random.default_rng(0).random((30, 4))
    np.testing.assert_allclose(near.spread(beliefs, 0.6), shares @ beliefs, atol=1e-6)
    np.testing.assert_allclose(near.returning(0.3), np.diag(walks_of(roots @ links @ roots, 0.3)), rtol=0.02)
    assert near.spread(beliefs, 0) is beliefs


def walks_of(normal, alpha):
    walks = np.linalg.inv(np.eye(len(normal)) - alpha * normal)
    return walks / walks.sum(axis=1, keepdims=True)


def test_known_and_new_pictures_are_told_apart():
    X, _ = clusters(3, 10)
    near = Neighbourhood(3).fit(X)
    assert near.places(X[[4, 2]]).tolist() == [4, 2]
    assert near.places(X[:1] + 1e-4).tolist() == [-1]
    spread = near.spread(np.eye(3)[np.repeat(np.arange(3), 10)], 0.5)
    own = np.full((1, 3), 1 / 3)
    new = near.of_new(X[:1] + 1e-4, own, spread, 0.5)
    assert new[0, 0] > 0.6
    np.testing.assert_allclose(new.sum(), 1)


def test_one_label_a_class_is_enough_and_says_how_sure_it_is():
    right, sure = [], []
    for seed in range(3):
        X, y = clusters(5, 24, seed=seed)
        given = first_of_each(y, 1, 5)
        model = SpreadClassifier(Prototypes()).fit(X, given)
        p = model.predict_proba(X)[given < 0]
        right.append((p.argmax(axis=1) == y[given < 0]).mean())
        sure.append(p.max(axis=1).mean())
    alone = SDCAClassifier(calibration_folds=0).fit(X[given >= 0], given[given >= 0])
    assert np.mean(right) > (alone.predict(X) == y).mean()
    assert abs(np.mean(right) - np.mean(sure)) < 0.15


def test_the_reach_with_the_least_held_out_loss_is_taken():
    X, y = clusters(4, 20, spread=0.4)
    model = SpreadClassifier(registry.get("sdca").create(C=1.0, kernel="cosine")).fit(X, first_of_each(y, 6, 4))
    assert model.reach_ == model.losses_[model.losses_[:, 1].argmin(), 0]
    assert set(model.losses_[:, 0]) >= {0.0, 0.5}
    assert model.reach_ > 0


def test_spreading_is_left_out_where_look_alikes_disagree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6)).astype(np.float32)
    X[:, 0] = np.tile([-0.3, 0.3], 40)  # the class, in a direction that neighbours do not share
    model = SpreadClassifier(registry.get("sdca").create(kernel="linear", C=100.0)).fit(X, np.tile([0, 1], 40))
    assert model.reach_ == 0


def test_pictures_of_unlabelled_classes_are_strangers():
    X, y = clusters(6, 24, spread=0.15)
    model = SpreadClassifier(Prototypes()).fit(X, first_of_each(y, 4, 4))
    none = 1 - model.predict_proba(X).sum(axis=1)
    assert none[y >= 4].mean() > 0.6
    assert none[y < 4].mean() < 0.2
    assert abs(model.strangers_.share_ - (y >= 4).sum() / (len(y) - 16)) < 0.15
    right, measured = model.strangers_.left_out_
    assert measured == 16
    assert right > 8


def test_without_strangers_nobody_is_one():
    X, y = clusters(6, 24)
    model = SpreadClassifier(Prototypes()).fit(X, first_of_each(y, 4, 6))
    assert model.strangers_.share_ < 0.03
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, atol=0.05)


def test_the_reach_does_not_depend_on_how_many_labels_a_class_has():
    X, y = clusters(4, 30, spread=0.1)
    near, given = Neighbourhood.of(X), first_of_each(y, 2, 4)
    given[np.flatnonzero(y == 0)[:20]] = 0
    rows = np.flatnonzero(given >= 0)
    reach = Strangers().fit(near, rows, given[rows]).reach_
    means = [reach[(y == k) & (given < 0)].mean() for k in range(4)]
    assert max(means) / min(means) < 2


def test_new_pictures_believe_what_their_neighbours_do():
    X, y = clusters(4, 20)
    model = SpreadClassifier(Prototypes()).fit(X, first_of_each(y, 2, 4))
    assert (model.predict(X + 1e-3) == model.predict(X)).mean() > 0.95
    assert model.predict_proba(X[:0]).shape == (0, 4)


def test_names_of_classes_stay_names():
    X, y = clusters(3, 10)
    names = np.array(["fog", "sea", "wood"])[y].astype(object)
    names[np.arange(30) % 10 > 2] = None
    assert (SpreadClassifier(Prototypes()).fit(X, names).predict(X) == np.array(["fog", "sea", "wood"])[y]).mean() > 0.9


def tagged(seed=0):
    X, y = clusters(6, 24, spread=0.3, seed=seed)
    truth = sparse.csr_array(np.column_stack([y < 2, y % 2 == 0, y == 5, y > 2]).astype(np.float32))
    given = sparse.csr_array(sparse.diags_array((np.arange(len(y)) % 3 == 0).astype(np.float32)) @ truth)
    return X, truth, given


def test_tags_without_reach_are_those_of_the_annotator():
    X, _, given = tagged()
    rows = np.flatnonzero(np.diff(given.indptr))
    alone = KernelRidgeAnnotator().fit(X[rows], given[rows])
    model = SpreadAnnotator(KernelRidgeAnnotator(), reach=0.0).fit(X, given)
    np.testing.assert_allclose(model.score_tags(X), word_scores(alone.as_if_left_out(), X), atol=1e-6)


def test_spreading_brings_tags_of_look_alikes_together():
    X, truth, given = tagged()
    hidden, T = np.diff(given.indptr) == 0, truth.toarray() > 0
    alone = SpreadAnnotator(KnnAnnotator(3), reach=0.0).fit(X, given).score_tags(X)
    spread = SpreadAnnotator(KnnAnnotator(3), reach=0.7).fit(X, given).score_tags(X)

    def ordered(scores):
        pairs = (scores[hidden & T[:, t], t][:, None] - scores[hidden & ~T[:, t], t] for t in range(4))
        return np.mean([(gap > 0).mean() for gap in pairs])

    assert ordered(spread) > ordered(alone)


def test_a_tagged_picture_is_scored_without_what_it_said_of_itself():
    X, _, given = tagged()
    odd = int(np.flatnonzero(given[:, [0]].toarray().ravel() == 0)[9])
    wrong = given.tolil()
    wrong[odd, 0] = 1
    model = SpreadAnnotator(KernelRidgeAnnotator(), reach=0.5).fit(X, sparse.csr_array(wrong))
    right = SpreadAnnotator(KernelRidgeAnnotator(), reach=0.5).fit(X, given)
    before, after = right.score_tags(X[[odd]])[0, 0], model.score_tags(X[[odd]])[0, 0]
    lowest_true = np.quantile(model.score_tags(X)[:48, 0], 0.2)
    assert after < lowest_true
    assert after - before < 1


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_a_stored_model_says_the_same(kind):
    X, _, given = tagged()
    y = first_of_each(np.repeat(np.arange(6), 24), 3, 4)
    model = (
        SpreadClassifier(Prototypes()).fit(X, y)
        if kind == "classes"
        else SpreadAnnotator(KernelRidgeAnnotator(), reach=0.5).fit(X, given)
    )
    tensors = {}
    again = unpack(pack(model, "", tensors), tensors)
    ask = "predict_proba" if kind == "classes" else "score_tags"
    np.testing.assert_array_equal(getattr(again, ask)(X), getattr(model, ask)(X))


def test_any_method_is_followed_by_spreading():
    method = registry.get("ridge-tags+graph")
    made = method.create(alpha=0.3, reach=0.5)
    assert (made.estimator.alpha, made.reach, method.name) == (0.3, 0.5, "ridge-tags+graph")
    for name in ("tag-frequency+graph", "slda+graph"):
        with pytest.raises(UsageError, match="cannot be spread"):
            registry.get(name)
