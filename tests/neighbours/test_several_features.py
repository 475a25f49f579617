"""Neighbour methods of several features, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from visterm.calibration import sigmoid
from visterm.distances import BaseDistances, base_distances, weighted_sum
from visterm.errors import InputError
from visterm.neighbours import (
    JEC,
    SUBSPACES,
    CodeAnnotator,
    KnnAnnotator,
    LikelihoodTwoPassKnn,
    TagProp,
    TwoPassKnn,
    _kernels,
    two_pass_knn,
)
from visterm.neighbours.two_pass_knn import DimensionPairs
from visterm.neighbours.voting.votes import Votes, fading

METHODS = [
    JEC(),
    TagProp(20),
    TagProp(20, weighting="rank"),
    TagProp(20, tag_power=1.0),
    TwoPassKnn(2),
    TwoPassKnn(2, weights="features"),
    LikelihoodTwoPassKnn(2),
]


def named(methods=METHODS):
    return pytest.mark.parametrize("method", methods, ids=lambda m: f"{m!r}".replace(" ", ""))


@pytest.fixture
def collection():
    """Sixty pictures of five tags by two features: one knows the tags, the other is noise."""
    rng = np.random.default_rng(5)
    tags = (rng.random((60, 5)) < 0.3).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = {
        "useful": rng.poisson(1 + 6 * (tags @ rng.random((5, 9)))).astype(float),
        "noise": rng.standard_normal((60, 3)),
    }
    return X, tags


def rows_of(X, rows):
    return {name: matrix[rows] for name, matrix in X.items()}


@named()
def test_features_may_be_of_any_kind(method, collection):
    from sklearn.base import clone

    X, tags = collection
    expected = clone(method).fit(X, tags).score_tags(rows_of(X, slice(7)))
    mixed = {"noise": np.asfortranarray(X["noise"]), "useful": sparse.csr_array(X["useful"])}
    ordered = {name: mixed[name] for name in X}
    np.testing.assert_allclose(
        clone(method).fit(ordered, tags).score_tags(rows_of(mixed, slice(7))), expected, atol=1e-6
    )


@named()
def test_blocks_do_not_matter(method, collection, monkeypatch):
    from sklearn.base import clone

    X, tags = collection
    expected = clone(method).fit(X, tags).score_tags(X)
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 1)
    np.testing.assert_allclose(clone(method).fit(X, tags).score_tags(X), expected, atol=1e-9)


@named()
def test_pictures_without_tags_are_no_neighbours(method, collection):
    from sklearn.base import clone

    X, tags = collection
    untagged = tags.copy()
    untagged[:10] = 0
    model = clone(method).fit(X, untagged)
    alone = clone(method).fit(rows_of(X, slice(10, None)), untagged[10:])
    np.testing.assert_allclose(model.score_tags(rows_of(X, slice(3))), alone.score_tags(rows_of(X, slice(3))))


@named()
def test_what_is_refused(method, collection):
    from sklearn.base import clone

    X, tags = collection
    model = clone(method).fit(X, tags)
    with pytest.raises(InputError, match="useful, noise"):
        model.score_tags(X["useful"])
    with pytest.raises(InputError, match="widths"):
        model.score_tags({"useful": X["useful"]})
    with pytest.raises(InputError, match="rows differ"):
        clone(method).fit({"a": X["useful"], "b": X["noise"][:3]}, tags)
    with pytest.raises(InputError, match="no feature"):
        clone(method).fit({}, tags)
    with pytest.raises(InputError, match=r"feature 'noise'.*NaN"):
        clone(method).fit(X | {"noise": X["noise"] * np.nan}, tags)
    with pytest.raises(InputError, match="'noise' has negative values"):
        clone(method).set_params(metric={"noise": "chi2"}).fit(X, tags)
    with pytest.raises(InputError, match="n_neighbors"):
        clone(method).set_params(n_neighbors=0).fit(X, tags)


@named()
def test_one_picture_is_enough(method):
    from sklearn.base import clone

    scores = clone(method).fit([[1.0, 2.0]], [[1, 0]]).score_tags([[3.0, 1.0], [1.0, 1.0]])
    assert (scores[:, 0] > scores[:, 1]).all()


def test_base_distances_count_the_same(collection):
    X, tags = collection
    model = JEC(metric="l1").fit(X, tags)
    expected = sum(
        cdist(X[name], X[name], "cityblock") / cdist(X[name], X[name], "cityblock").max() for name in X
    )  # fmt: skip
    rows = model._neighbours(X)
    np.testing.assert_array_equal(rows, np.argsort(expected, axis=1, kind="stable")[:, :5])


def test_greedy_transfer_by_hand(collection):
    X, tags = collection
    model = JEC(4).fit(X, tags)
    rows = model._neighbours(X)
    counts, together = tags.sum(axis=0), tags.T @ tags
    for scores, near in zip(model.score_tags(X), rows, strict=True):
        first = set(np.flatnonzero(tags[near[0]]))
        local = tags[near[1:]].sum(axis=0) * together[sorted(first)].sum(axis=0)
        expected = sorted(range(5), key=lambda t: (t not in first, -counts[t] if t in first else -local[t]))
        assert [expected.index(t) for t in np.argsort(-scores, kind="stable")] == sorted(range(5))


def test_kernels_of_votes_are_products(collection):
    _, tags = collection
    rng = np.random.default_rng(0)
    rows, shares, Y = rng.integers(0, 60, (8, 6)), rng.random((8, 6)), sparse.csr_array(tags)
    votes = np.empty((8, 5))
    _kernels.propagate(shares, rows, Y.indptr, Y.indices, votes)
    np.testing.assert_allclose(votes, np.einsum("ik,ikt->it", shares, tags[rows]))
    gradient, back = rng.standard_normal((8, 5)), np.empty((8, 6))
    _kernels.gather(gradient, rows, Y.indptr, Y.indices, back)
    np.testing.assert_allclose(back, np.einsum("it,ikt->ik", gradient, tags[rows]))


@pytest.mark.parametrize("with_sigmoids", [False, True])
def test_likelihood_and_its_slope(collection, with_sigmoids):
    _, tags = collection
    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(60, 12, replace=False) for _ in range(60)])
    votes = Votes(rows, sparse.csr_array(tags))
    slope, offset = (rng.random(5) * 4, rng.random(5)) if with_sigmoids else (np.full(5, np.inf), np.zeros(5))
    base = rng.random((60, 12, 3))

    def value(weights):
        shares = fading(base, weights)
        x = np.einsum("ik,ikt->it", shares, tags[rows])
        x = sigmoid(x, slope, offset) if with_sigmoids else x
        p = np.maximum(np.where(tags > 0, x, 1 - x), 1e-5)
        # All present tags together count as much as all absent ones.
        return np.log(p[tags > 0]).mean() + np.log(p[tags == 0]).mean()

    at = np.array([0.5, 1.0, 2.0])
    shares = fading(base, at)
    found, slopes = votes.likelihood(shares, slope, offset)
    np.testing.assert_allclose(found, value(at))
    pull = -shares * (slopes - (shares * slopes).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(np.einsum("ik,ikf->f", pull, base), approx_fprime(at, value, 1e-6), rtol=1e-4, atol=1e-7)


def test_a_probability_that_is_cut_off_has_no_slope():
    x = np.array([[0.0, 3e-6, 0.4, 1.0, 1 - 3e-6]])
    none = np.full(5, np.inf), np.zeros(5)
    for present in (np.ones((1, 5), bool), np.zeros((1, 5), bool)):

        def value(x, present=present):
            return _kernels.log_likelihood(x[None], present, 0.3, 0.7, *none, np.empty((1, 5)))

        slopes = np.empty((1, 5))
        _kernels.log_likelihood(x, present, 0.3, 0.7, *none, slopes)
        numeric = [(value(x[0] + step) - value(x[0] - step)) / 2e-7 for step in 1e-7 * np.eye(5)]
        np.testing.assert_allclose(slopes[0], numeric, rtol=1e-3, atol=1e-9)
        assert np.count_nonzero(slopes == 0) == 2


def test_targets_and_impostors_by_hand(collection):
    """Targets: the nearest of each tag of the picture; others count by the share of its tags that they lack."""
    X, tags = collection
    model = TwoPassKnn(2, metric="l1", weights="equal").fit(X, tags)
    joint = sum(cdist(X[name], X[name], "cityblock") / model.distances_.scales_[name] for name in X) / 2
    np.fill_diagonal(joint, np.inf)
    rows, base = model._sent(X)
    targets, gains = model._roles(rows, base)
    partial = 0
    for picture, distances in enumerate(joint):
        own = np.flatnonzero(tags[picture])
        expected = set()
        for tag in own:
            carriers = np.setdiff1d(np.flatnonzero(tags[:, tag]), picture)
            expected |= set(carriers[np.argsort(distances[carriers], kind="stable")[:2]].tolist())
        assert set(rows[picture, targets[picture]].tolist()) == expected
        others = ~targets[picture] & (base[picture, :, 0] < 1e3)
        np.testing.assert_allclose(gains[picture, others], 1 - tags[rows[picture, others]][:, own].mean(axis=1))
        assert not gains[picture, ~others].any()
        partial += np.count_nonzero((gains[picture] > 0) & (gains[picture] < 1))
    assert partial


@pytest.mark.parametrize("weighting", ["rank", "distance"])
def test_the_likelihood_rises(collection, weighting):
    X, tags = collection
    model = TagProp(30, weighting=weighting).fit(X, tags)
    assert len(model.objective_) > 1
    assert (np.diff(model.objective_) >= -1e-12).all()
    if weighting == "rank":
        np.testing.assert_allclose(model.rank_weights_.sum(), 1)
        assert (model.rank_weights_ >= 0).all()
    else:
        assert model.feature_weights_["useful"] > model.feature_weights_["noise"] >= 0


def test_rank_weights_are_at_their_optimum(collection):
    """The likelihood is concave in the weights of ranks: no weight moved to another rank raises it."""
    X, tags = collection
    model = TagProp(6, weighting="rank", max_iter=2000).fit(X, tags)
    rows, _ = model.distances_.nearest(X, 6, np.full(2, 0.5), leave_out_self=True)
    votes = Votes(rows, model.train_tags_)
    none = np.full(5, np.inf), np.zeros(5)
    best, _ = votes.likelihood(np.tile(model.rank_weights_, (60, 1)), *none)
    for target in np.eye(6):
        moved = 0.99 * model.rank_weights_ + 0.01 * target
        assert votes.likelihood(np.tile(moved, (60, 1)), *none)[0] <= best + 1e-4


def test_two_passes_by_hand(collection):
    X, tags = collection
    model = TwoPassKnn(2, metric="l1", bandwidth=0.3, weights="equal").fit(X, tags)
    joint = sum(cdist(X[name], X[name], "cityblock") / model.distances_.scales_[name] for name in X) / 2
    for scores, distances in zip(model.score_tags(X), joint, strict=True):
        sent = set()
        for tag in range(5):
            carriers = np.flatnonzero(tags[:, tag])
            sent |= set(carriers[np.argsort(distances[carriers], kind="stable")[:2]])
        sent = sorted(sent)
        votes = np.exp(-distances[sent] / 0.3)
        np.testing.assert_allclose(scores, votes @ tags[sent] / votes.sum(), rtol=1e-6)


def test_margins_by_hand_and_by_differences():
    rng = np.random.default_rng(0)
    D, targets, gains = rng.random((7, 6, 3)), rng.random((7, 6)) < 0.4, rng.random((7, 6))

    def loss(w):
        joint = D @ w
        return sum(
            gains[i, j] * max(0, 1 + joint[i, k] - joint[i, j])
            for i in range(7) for k in range(6) for j in range(6) if targets[i, k] and not targets[i, j]
        )  # fmt: skip

    at, slopes = np.array([1.0, 2.0, 0.5]), np.empty((7, 6))
    np.testing.assert_allclose(_kernels.margin_loss(D @ at, targets, gains, slopes), loss(at))
    np.testing.assert_allclose(np.tensordot(slopes, D, axes=2), approx_fprime(at, loss, 1e-7), rtol=1e-4)


@pytest.fixture
def histograms():
    """Ninety pictures of three tags: two dimensions of twenty know the tags; another feature is noise."""
    rng = np.random.default_rng(3)
    tags = np.eye(3)[np.arange(90) % 3]
    useful = rng.random((90, 20))
    useful[:, :2] += tags[:, :2]
    return {"useful": useful, "noise": rng.standard_normal((90, 6))}, tags


def test_distances_and_slopes_by_dimension(histograms):
    X, _ = histograms
    base = BaseDistances({"useful": "chi2", "noise": "l1"}).fit(X)
    rng = np.random.default_rng(0)
    rows, weights, counts = rng.integers(0, 90, (90, 4)), rng.random(26), rng.standard_normal((90, 4))
    pairs = DimensionPairs(base, rows)
    equal = weighted_sum(np.stack(list(base.transform(X).values())), np.ones(2))
    np.testing.assert_allclose(pairs.distances(np.ones(26)), np.take_along_axis(equal, rows, axis=1), atol=1e-5)
    numeric = approx_fprime(weights, lambda at: (counts * pairs.distances(at)).sum(), 1e-6)
    np.testing.assert_allclose(pairs.slopes(counts), numeric, atol=1e-4)
    weighed = base.with_dimension_weights({"useful": weights[:20], "noise": weights[20:]})
    joint = weighted_sum(np.stack(list(weighed.transform(X).values())), np.ones(2))
    np.testing.assert_allclose(pairs.distances(weights), np.take_along_axis(joint, rows, axis=1), atol=1e-5)
    bags = {"useful": sparse.csr_array(X["useful"]), "noise": X["noise"]}
    same = BaseDistances({"useful": "chi2", "noise": "l1"}).fit(bags)
    same = same.with_dimension_weights({"useful": weights[:20], "noise": weights[20:]})
    np.testing.assert_allclose(same.transform(bags)["useful"], weighed.transform(X)["useful"], atol=1e-5)
    assert not same.fit(bags).dimension_weights_


def test_weights_of_dimensions_find_those_that_know_the_tags(histograms):
    X, tags = histograms
    train, test = rows_of(X, slice(60)), rows_of(X, slice(60, 90))
    metrics = {"useful": "chi2", "noise": "l1"}
    plain = TwoPassKnn(3, metric=metrics, weights="features", bandwidth=0.2).fit(train, tags[:60])
    model = TwoPassKnn(3, bandwidth=0.2).fit(train, tags[:60])
    learned = model.distances_.dimension_weights_
    np.testing.assert_allclose([weights.mean() for weights in learned.values()], 1)
    assert learned["useful"][:2].min() > 2 * learned["useful"][2:].max()
    assert model.feature_weights_["useful"] > 1.5 * model.feature_weights_["noise"]
    np.testing.assert_allclose(sum(model.feature_weights_.values()), 1)
    assert (np.diff(model.objective_) <= 1e-12).all()
    assert model.objective_[-1] < plain.objective_[-1]  # it could have weighed all dimensions of a feature the same
    right = [(each.score_tags(test).argmax(axis=1) == tags[60:].argmax(axis=1)).mean() for each in (plain, model)]
    assert right[1] > right[0] + 0.1
    alone = TwoPassKnn(3, bandwidth=0.2).fit(train["useful"], tags[:60])
    assert alone.distances_.dimension_weights_["x"].argmax() < 2


def test_which_dimensions_can_be_weighed(histograms, monkeypatch):
    X, tags = histograms
    with pytest.raises(InputError, match=r"'noise' cannot be weighed with the metric euclidean: .* chi2, l1"):
        TwoPassKnn(metric={"noise": "euclidean"}).fit(X, tags)
    monkeypatch.setattr(two_pass_knn, "MOST_COMPARED", 10 * 26 * 40)
    pairs = DimensionPairs(BaseDistances("l1").fit(X), np.zeros((90, 40), np.intp))
    assert pairs.asked.tolist() == np.linspace(0, 89, 10).astype(int).tolist()


@pytest.mark.parametrize("method", [TwoPassKnn(3, weights="features"), LikelihoodTwoPassKnn(3)])
def test_learned_metrics_prefer_what_knows_the_tags(collection, method):
    X, tags = collection
    model = method.fit(X, tags)
    assert model.feature_weights_["useful"] > model.feature_weights_["noise"]
    np.testing.assert_allclose(sum(model.feature_weights_.values()), 1)
    steps = np.diff(model.objective_)
    assert (steps <= 1e-12).all() if type(method) is TwoPassKnn else (steps >= -1e-12).all()
    equal = TwoPassKnn(3, weights="equal").fit(X, tags)
    assert equal.feature_weights_ == {"useful": 0.5, "noise": 0.5}
    assert equal.bandwidth_ == 0.03
    assert len(equal.objective_) == 0  # no step was taken
    with pytest.raises(InputError, match=r"weights.*features"):
        TwoPassKnn(weights="words").fit(X, tags)


def test_who_is_sent_to_training_pictures(collection, monkeypatch):
    X, tags = collection
    model = TwoPassKnn(2, metric="l1", weights="equal").fit(X, tags)
    joint = sum(cdist(X[name], X[name], "cityblock") / model.distances_.scales_[name] for name in X) / 2
    np.fill_diagonal(joint, np.inf)
    rows, near = model._sent(X)
    for picture, distances in enumerate(joint):
        sent = set()
        for tag in range(5):
            carriers = np.setdiff1d(np.flatnonzero(tags[:, tag]), picture)
            sent |= set(carriers[np.argsort(distances[carriers], kind="stable")[:2]].tolist())
        somebody = near[picture, :, 0] < 1e3
        assert set(rows[picture, somebody].tolist()) == sent
        assert picture not in sent
        np.testing.assert_allclose(near[picture, somebody].mean(axis=1), np.sort(distances[sorted(sent)]), rtol=1e-6)
    monkeypatch.setattr(base_distances, "BLOCK_BYTES", 1)
    again, _ = model._sent(X)
    np.testing.assert_array_equal(again, rows)


@pytest.mark.parametrize("kernel", [None, "chi2"])
@pytest.mark.parametrize("subspace", SUBSPACES)
def test_annotation_by_codes(subspace, kernel, collection):
    X, tags = collection
    model = CodeAnnotator(subspace, n_dims=3, n_neighbors=4, kernel=kernel).fit(X["useful"], tags)
    scores = model.score_tags(X["useful"])
    assert scores.shape == (60, 5)
    assert scores[tags > 0].mean() > scores[tags == 0].mean() + 0.15
    near = model.neighbours_._neighbours(model.transform(X["useful"][:2]))
    np.testing.assert_allclose(tags[near].mean(axis=1), scores[:2])
    with pytest.raises(InputError, match=r"subspace.*ccd2"):
        CodeAnnotator("lda").fit(X["useful"], tags)


@pytest.mark.parametrize("model", [JEC(3), TagProp(10), TwoPassKnn(2)], ids=lambda model: type(model).__name__)
def test_halves_give_the_same_as_their_singles(model, collection):
    X, tags = collection
    halves = {name: block.astype(np.float16) for name, block in X.items()}
    singles = {name: block.astype(np.float32) for name, block in halves.items()}
    np.testing.assert_allclose(
        model.fit(halves, tags).score_tags(halves), model.fit(singles, tags).score_tags(singles), atol=1e-5
    )


@pytest.mark.parametrize("model", [JEC(3), TagProp(10), TwoPassKnn(2)], ids=lambda model: type(model).__name__)
def test_halves_are_widened_only_block_by_block(model, collection, monkeypatch):
    X, tags = collection
    halves = {name: block.astype(np.float16) for name, block in X.items()}
    model.fit(halves, tags)
    given, block_of = [], BaseDistances._block
    monkeypatch.setattr(
        BaseDistances, "_block", lambda self, X, rows: given.extend(map(id, X.values())) or block_of(self, X, rows)
    )
    model.score_tags(halves)
    assert set(given) == set(map(id, halves.values()))


def test_plain_neighbours_are_tagged_pictures(collection):
    X, tags = collection
    untagged = tags.copy()
    untagged[:5] = 0
    model = KnnAnnotator(3).fit(X["useful"], untagged)
    rows = model.train_rows_[model._neighbours(X["useful"][:2])]
    assert rows.shape == (2, 3)
    assert rows.min() >= 5


def test_blocks_of_pictures_change_no_vote(monkeypatch):
    from scipy import sparse

    from visterm.neighbours.voting import votes

    rng = np.random.default_rng(0)
    tags = sparse.csr_array((rng.random((30, 5)) < 0.4).astype(np.float32))
    neighbours, shares = rng.integers(30, size=(30, 4)), rng.dirichlet(np.ones(4), 30)
    slope, offset = np.full(5, 3.0), np.full(5, -1.0)

    def counted():
        all_votes = votes.Votes(neighbours, tags)
        return all_votes.tally(shares), *all_votes.likelihood(shares, slope, offset, expected=True)

    whole = counted()
    monkeypatch.setattr(votes, "_BLOCK", 7 * 5)
    for a, b in zip(whole, counted(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_only_very_many_votes_are_kept_in_single_precision(monkeypatch):
    from visterm.neighbours.voting import votes

    tags, neighbours = sparse.csr_array(np.eye(3)), np.array([[0, 1], [2, 0]])
    shares = np.array([[0.9, 0.1], [0.7, 0.3]])
    for limit, kind in [(7, np.float64), (6, np.float64), (5, np.float32)]:
        monkeypatch.setattr(votes, "_DOUBLE_UP_TO", limit)
        counted = votes.tally(shares, neighbours, tags)
        assert counted.dtype == kind
        np.testing.assert_array_equal(counted, np.array([[0.9, 0.1, 0], [0.3, 0, 0.7]], kind))


@pytest.mark.parametrize("weighting", ["distance", "rank"])
def test_a_sample_of_many_pictures_teaches_the_same_weights(weighting, monkeypatch):
    from visterm.neighbours.voting import votes

    rng = np.random.default_rng(0)
    tags = np.repeat(np.eye(4, dtype=int), 100, axis=0)
    X = {"good": tags + 0.5 * rng.standard_normal((400, 4)), "noise": rng.random((400, 4))}
    settings = {"n_neighbors": 20, "weighting": weighting, "metric": "l1"}
    every = TagProp(**settings).fit(X, tags)
    monkeypatch.setattr(votes, "_MAX_PAIRS", 200 * 4)
    asked = []
    likelihood = votes.Votes.likelihood
    monkeypatch.setattr(
        votes.Votes, "likelihood", lambda self, *args, **kw: asked.append(len(args[0])) or likelihood(self, *args, **kw)
    )
    some = TagProp(**settings).fit(X, tags)
    assert set(asked) == {200}
    kept, expected = (
        np.array(list(model.feature_weights_.values())) if weighting == "distance" else model.rank_weights_
        for model in (some, every)
    )
    np.testing.assert_allclose(kept / kept.sum(), expected / expected.sum(), atol=0.1)
    assert (some.score_tags(X).argmax(axis=1) == tags.argmax(axis=1)).mean() > 0.8
