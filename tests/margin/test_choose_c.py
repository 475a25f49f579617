"""C="auto": the same choice as plain cross-validation, the same model as with that C, and few or odd pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity

from visterm.calibration import fit_temperature, surprise
from visterm.errors import InputError
from visterm.margin import (
    HINGE,
    LOGISTIC,
    GramInnerProducts,
    Problem,
    SDCAClassifier,
    TopKSDCA,
    choose_c,
    choose_parameters,
    folds,
    gram,
    solve,
)
from visterm.margin.functions import selection


def plain_search(G, labels, codes, weights):
    """Every C of the path with every fold from zero: ``(surprise, C, temperature)`` of each."""
    found = []
    for C in selection.C_PATH:
        held_out, lengths = np.zeros(labels.shape), []

        def learn(rows, C=C):
            every = np.broadcast_to(C * weights[rows], (len(labels), len(rows)))
            inner = GramInnerProducts(G[np.ix_(rows, rows)], 1.0)
            return solve(Problem(inner, labels[:, rows], every, LOGISTIC), tol=1e-6, rng=np.random.default_rng(1))

        for part in folds(codes, selection.N_FOLDS, np.random.default_rng(0)):
            rest = np.setdiff1d(np.arange(len(codes)), part)
            without = learn(rest)
            held_out[:, part] = without.theta @ (G[np.ix_(rest, part)] + 1.0)
            lengths.append((without.theta * without.scores).sum())
        temperature = fit_temperature(held_out.T, codes, prior=selection.PRIOR_PICTURES)
        of_all = learn(np.arange(len(codes)))
        growth = ((of_all.theta * of_all.scores).sum() / np.mean(lengths)) ** 0.5
        found.append((surprise(held_out.T, codes, temperature), C, temperature * growth**selection.GROWTH_POWER))
    return found


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_it_is_the_c_of_plain_cross_validation(many_blobs, spread, monkeypatch):
    monkeypatch.setattr(selection, "PATH_TOL", 1e-4)  # so that values of C that are almost equal are told apart
    data = many_blobs(n_pictures=60, spread=spread)
    G = gram(data.X, kernel="cosine")
    labels = np.where(data.y == np.unique(data.y)[:, None], 1.0, -1.0)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(data.y))
    rng = np.random.default_rng(0)
    choice = choose_c({"cosine": GramInnerProducts(G, 1.0)}, labels, data.y, weights, LOGISTIC, rng=rng)
    least, C, temperature = min(plain_search(G, labels, data.y, weights))
    assert choice.C == C
    assert min(value for _, _, value in choice.tried) == pytest.approx(least, abs=0.01)
    assert choice.temperature == pytest.approx(temperature, rel=0.01)


def test_it_is_the_model_of_that_c(many_blobs):
    data = many_blobs(n_pictures=90, spread=1.0)
    auto = SDCAClassifier("auto", kernel="auto", loss="logistic", tol=1e-10, random_state=0).fit(data.X, data.y)
    assert auto.get_params()["C"] == "auto"
    given = SDCAClassifier(auto.C_, kernel=auto.kernel_, loss="logistic", tol=1e-10, random_state=0)
    given.fit(data.X, data.y)
    assert given.C_ == auto.C_
    np.testing.assert_allclose(auto.coef_, given.coef_, atol=1e-3)
    np.testing.assert_array_equal(auto.predict(data.X), given.predict(data.X))


def test_the_better_kernel_is_chosen():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1, 2], 30)
    # One huge dimension says nothing: roots take it lightly, lengths do not.
    counts = np.abs(rng.normal(size=(90, 6))) + 3.0 * (np.arange(6) % 3 == y[:, None])
    loud = np.column_stack([counts, rng.exponential(200.0, 90)])
    auto = SDCAClassifier("auto", kernel="auto", loss="logistic", random_state=0)
    assert auto.fit(loud, y).kernel_ == "hellinger"
    signed = rng.normal(size=(90, 12)) + 1.5 * (np.arange(12) % 3 == y[:, None])
    assert auto.fit(signed, y).kernel_ == "cosine"
    assert SDCAClassifier(10.0, kernel="auto").fit(signed, y).kernel_ == "hellinger"
    assert SDCAClassifier("auto", kernel="linear").fit(signed, y).kernel_ == "linear"


def test_the_scale_of_the_features_does_not_matter(many_blobs):
    data = many_blobs(n_pictures=90, spread=1.0)
    model = SDCAClassifier("auto", loss="logistic", intercept_scaling=0.0, tol=1e-6, random_state=0)
    near = model.fit(data.X, data.y).predict_proba(data.X)
    C = model.C_
    far = model.fit(100 * data.X, data.y).predict_proba(100 * data.X)
    assert pytest.approx(C / 1e4, rel=0.01) == model.C_
    np.testing.assert_allclose(near, far, atol=0.01)


def test_many_pictures_are_only_swept_to_the_solution_of_logistic_regression(many_blobs):
    data = many_blobs(n_pictures=400, spread=2.0)
    y = (data.y == 0).astype(int)
    ours = SDCAClassifier(0.5, loss="logistic", intercept_scaling=0.0, tol=1e-7, random_state=0).fit(data.X, y)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-9, max_iter=1000).fit(data.X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize("counts", [(2, 2, 2), (1, 6, 6), (1, 1, 1), (300, 5, 5), (1, 1)])
def test_few_and_uneven_pictures(counts):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = np.eye(len(counts))[y] + 0.1 * rng.random((len(y), len(counts)))
    model = SDCAClassifier("auto", kernel="auto", loss="logistic", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(np.eye(len(counts))), np.arange(len(counts)))
    probabilities = model.predict_proba(np.eye(len(counts)))
    assert np.isfinite(probabilities).all()
    assert probabilities.max() < 1.0 - 1e-4  # so few pictures make nothing certain


def test_no_probabilities_and_one_class(blobs):
    assert not hasattr(SDCAClassifier("auto", calibration_folds=0).fit(blobs.X, blobs.y), "predict_proba")
    with pytest.raises(InputError, match=r"only one class, sea: give some pictures another class"):
        SDCAClassifier("auto").fit(blobs.X, ["sea"] * len(blobs.X))
    with pytest.raises(InputError, match="'C' parameter"):
        SDCAClassifier("best").fit(blobs.X, blobs.y)


def test_cosine_kernel(many_blobs):
    from scipy import sparse

    X = many_blobs(n_pictures=30, spread=1.0).X
    X[3] = 0.0
    np.testing.assert_allclose(gram(X, kernel="cosine"), cosine_similarity(X), atol=1e-12)
    np.testing.assert_allclose(gram(sparse.csr_array(X), kernel="cosine"), cosine_similarity(X), atol=1e-12)


@pytest.fixture
def twelve():
    """Inner products of a few pictures of length 1, their labels and classes."""
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 3
    X = np.eye(3)[codes] + 0.5 * rng.random((12, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return GramInnerProducts(X @ X.T), np.where(codes == np.arange(3)[:, None], 1.0, -1.0), codes


@pytest.mark.parametrize(
    ("surprises", "tried", "best"),
    [
        ([5, 4, 3], [10, 3, 1], 1),
        ([5, 4, 4.5], [10, 3, 1], 3),
        ([5, 6, 4], [10, 3, 30], 30),
        ([5, 6, 7], [10, 3, 30], 10),
        ([5, 5, 5], [10, 3, 30], 10),  # in case of a tie, the first
        ([5, 4, 4], [10, 3, 1], 3),
    ],
)
def test_the_search_goes_on_while_the_surprise_falls(twelve, surprises, tried, best, monkeypatch):
    products, labels, codes = twelve
    told = iter(surprises)
    monkeypatch.setattr(selection, "N_FOLDS", 2)
    monkeypatch.setattr(selection, "surprise", lambda *_: next(told))
    found = choose_c({"a": products}, labels, codes, np.ones(12), HINGE, rng=np.random.default_rng(0))
    assert found.tried == tuple(zip("aaa", tried, surprises, strict=True))
    assert (found.kernel, found.C) == ("a", best)
    told = iter([9, *surprises])
    found = choose_c({"b": products, "a": products}, labels, codes, np.ones(12), HINGE, rng=np.random.default_rng(0))
    assert found.tried == (("b", 10, 9), *zip("aaa", tried, surprises, strict=True))
    assert (found.kernel, found.C) == ("a", best)
    assert found.surprise == surprises[-1]


@pytest.mark.parametrize(("many", "n_folds"), [(12, selection.N_FOLDS), (11, selection.N_FOLDS_OF_MANY)])
def test_folds_and_the_pictures_that_are_asked(twelve, many, n_folds, monkeypatch):
    products, _, _ = twelve
    codes = np.array([0] * 6 + [1] * 3 + [2] * 2 + [3])
    labels = np.where(codes == np.arange(4)[:, None], 1.0, -1.0)
    seen, counts, surprise_of, folds_of = [], [], selection.surprise, selection.folds

    def keep(scores, classes, temperature):
        seen.append(classes)
        return surprise_of(scores, classes, temperature)

    def count(codes, n_folds, rng):
        counts.append(n_folds)
        return folds_of(codes, n_folds, rng)

    monkeypatch.setattr(selection, "surprise", keep)
    monkeypatch.setattr(selection, "folds", count)
    monkeypatch.setattr(selection, "MANY_PICTURES", many)
    choose_c({"a": products}, labels, codes, np.ones(12), HINGE, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(seen[0], [0] * 6 + [1] * 3 + [2] * 2 + [-1])  # a class of one picture is not asked
    assert counts == [n_folds]


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_the_temperature_rises_with_the_growth_of_the_functions(twelve, scale, monkeypatch):
    products, labels, codes = twelve
    products = GramInnerProducts(scale * products.G)
    temperatures, lengths, temperature_of, solve_of = [], [], selection.fit_temperature, selection.solve

    def keep(*given, **named):
        temperatures.append(temperature_of(*given, **named))
        return temperatures[-1]

    def measure(*given, **named):
        solution = solve_of(*given, **named)
        lengths.append((solution.theta * solution.scores).sum())
        return solution

    monkeypatch.setattr(selection, "fit_temperature", keep)
    monkeypatch.setattr(selection, "solve", measure)
    monkeypatch.setattr(selection, "surprise", lambda *_: 1.0)  # the first C is the best
    choice = choose_c({"a": products}, labels, codes, np.ones(12), HINGE, rng=np.random.default_rng(0))
    of_all, *without = lengths[: 1 + selection.N_FOLDS]
    growth = np.sqrt(of_all / np.mean(without))
    assert growth > 1.01
    assert choice.temperature == pytest.approx(temperatures[0] * growth**selection.GROWTH_POWER, rel=1e-5)
    # Nothing can be learned without the only picture that counts: there is no growth.
    temperatures.clear()
    only = np.where(np.arange(12) == 0, 1.0, 0.0)
    choice = choose_c({"a": products}, labels, codes, only, HINGE, rng=np.random.default_rng(0))
    assert choice.temperature == temperatures[0]


def test_c_varies_fastest_and_each_is_a_start_for_the_next(blobs):
    starts = []

    class Kept(SDCAClassifier):
        def fit(self, X, y):
            starts.append(hasattr(self, "dual_") and self.warm_start)
            return super().fit(X, y)

    X, y, grid = blobs.X[:30], blobs.y[:30], {"C": [1.0, 0.1], "loss": ["squared_hinge", "hinge"]}
    choice = choose_parameters(Kept(random_state=0), X, y, grid)
    assert [(setting["loss"], setting["C"]) for setting, _ in choice.tried] == [
        ("squared_hinge", 0.1), ("squared_hinge", 1.0), ("hinge", 0.1), ("hinge", 1.0),
    ]  # fmt: skip
    assert starts == 2 * [False, True, True, True]
    without = choose_parameters(TopKSDCA(random_state=0), X, y, {"k": [2, 1]})  # it has no warm start
    assert [setting for setting, _ in without.tried] == [{"k": 2}, {"k": 1}]
    for wrong in ("kernel", "depth"):
        with pytest.raises(InputError, match=f"'{wrong}' cannot be chosen by cross-validation over one kernel matrix"):
            choose_parameters(SDCAClassifier(), X, y, {wrong: ["linear"]})
