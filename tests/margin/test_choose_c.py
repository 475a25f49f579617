"""C="auto": the same choice as plain cross-validation, the same model as with that C, and few or odd pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity

from visterm.calibration import fit_temperature, surprise
from visterm.errors import InputError
from visterm.margin import GramInnerProducts, Logistic, SDCAClassifier, choose_c, folds, gram, selection, solve


def plain_search(G, labels, codes, weights):
    """Every C of the path with every fold from zero: ``(surprise, C, temperature)`` of each."""
    found = []
    for C in selection.C_PATH:
        held_out, lengths = np.zeros(labels.shape), []

        def learn(rows, C=C):
            every = np.broadcast_to(C * weights[rows], (len(labels), len(rows)))
            inner = GramInnerProducts(G[np.ix_(rows, rows)], 1.0)
            return solve(inner, labels[:, rows], every, Logistic(), tol=1e-6, rng=np.random.default_rng(1))

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
    choice = choose_c({"cosine": GramInnerProducts(G, 1.0)}, labels, data.y, weights, Logistic(), rng=rng)
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
