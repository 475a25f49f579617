"""One-vs-all estimators: explicit weights, support, probabilities, weights, warm starts, selection, hostile input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from visterm.errors import InputError
from visterm.margin.functions.expansion import folds, generator
from visterm.margin.functions.selection import choose_parameters
from visterm.margin.sdca import SDCAClassifier
from visterm.margin.sdca_stacked import StackedSDCA


@pytest.mark.parametrize("kernel", ["linear", "cosine", "hellinger", "chi2", "exp-chi2"])
def test_kernels_agree_with_their_matrix(kernel, blobs):
    from visterm.margin.functions.kernels import gram

    X = np.abs(blobs.X)
    given = SDCAClassifier(kernel="precomputed", tol=1e-6, calibration_folds=0, random_state=0)
    named = SDCAClassifier(kernel=kernel, tol=1e-6, calibration_folds=0, random_state=0).fit(X, blobs.y)
    given.fit(gram(X, kernel=kernel), blobs.y)
    np.testing.assert_allclose(named.decision_function(X), given.decision_function(gram(X, kernel=kernel)), atol=5e-3)
    assert hasattr(named, "coef_") == (kernel in ("linear", "cosine", "hellinger"))
    if kernel == "chi2":
        assert len(named.support_vectors_) == named.dual_coef_.shape[1] <= len(X)


def test_weights_are_those_of_linear_svc(blobs):
    ours = SDCAClassifier(C=0.5, loss="squared_hinge", tol=1e-7, random_state=0).fit(blobs.X, blobs.y)
    theirs = LinearSVC(C=0.5, loss="squared_hinge", tol=1e-9, max_iter=100_000).fit(blobs.X, blobs.y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_only_supporting_pictures_are_kept(many_blobs):
    data = many_blobs(n_pictures=150, spread=0.2)
    model = SDCAClassifier(C=10.0, kernel="exp-chi2", calibration_folds=0, random_state=0).fit(np.abs(data.X), data.y)
    assert len(model.support_) < 150


def test_top_classes_and_probabilities(blobs):
    model = SDCAClassifier(random_state=0).fit(blobs.X, blobs.y)
    top = model.predict_top(blobs.X, 3)
    np.testing.assert_array_equal(top[:, 0], model.predict(blobs.X))
    np.testing.assert_array_equal(np.sort(top, axis=1), np.tile([0, 1, 2], (len(blobs.X), 1)))
    probabilities = model.predict_proba(blobs.X)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(blobs.X))
    with pytest.raises(InputError, match="k must"):
        model.predict_top(blobs.X, 4)
    assert not hasattr(SDCAClassifier(calibration_folds=0), "predict_proba")


def test_probabilities_hold_on_new_pictures(many_blobs):
    data = many_blobs(n_pictures=900, spread=2.0)
    model = SDCAClassifier(C=0.1, random_state=0).fit(data.X[:450], data.y[:450])
    probabilities = model.predict_proba(data.X[450:])
    right = model.predict(data.X[450:]) == data.y[450:]
    assert abs(probabilities.max(axis=1).mean() - right.mean()) < 0.07


def test_class_and_picture_weights(blobs):
    few = np.flatnonzero((blobs.y != 0) | (np.arange(len(blobs.y)) < 9))
    X, y = blobs.X[few], blobs.y[few]
    plain, balanced = (SDCAClassifier(class_weight=w, random_state=0).fit(X, y) for w in (None, "balanced"))
    assert (balanced.predict(blobs.X) == 0).sum() > (plain.predict(blobs.X) == 0).sum()
    weighted = SDCAClassifier(random_state=0).fit(X, y, picture_weight=np.where(y == 0, 50.0, 1.0))
    assert (weighted.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    for wrong in (np.ones(3), np.full(len(y), -1.0), np.full(len(y), np.nan), np.zeros(len(y))):
        with pytest.raises(InputError, match="weight"):
            SDCAClassifier().fit(X, y, picture_weight=wrong)
    with pytest.raises(InputError, match="class_weight"):
        SDCAClassifier(class_weight="even").fit(X, y)


def test_warm_start_goes_on_from_the_last_solution(blobs):
    model = SDCAClassifier(C=1.0, warm_start=True, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    again = model.fit(blobs.X, blobs.y)
    assert len(again.objective_) == 1  # it was finished already
    model.fit(blobs.X[:60], blobs.y[:60])  # other pictures: from the beginning
    assert len(model.objective_) > 1
    cold = SDCAClassifier(C=1.0, calibration_folds=0, random_state=0).fit(blobs.X, blobs.y)
    assert len(cold.fit(blobs.X, blobs.y).objective_) > 1


def test_only_a_precomputed_kernel_is_of_pairs_of_pictures():
    for kernel, pairwise in [("precomputed", True), ("linear", False)]:
        assert SDCAClassifier(kernel=kernel).__sklearn_tags__().input_tags.pairwise == pairwise


def test_traces_are_monotone_and_the_gap_is_told(blobs):
    model = SDCAClassifier(C=5.0, random_state=0).fit(blobs.X, blobs.y)
    assert (np.diff(model.dual_objective_) >= -1e-9).all()
    assert (model.duality_gap_ <= 1e-3).all()
    assert model.objective_[-1] >= model.dual_objective_[-1]


def test_hostile_input(blobs):
    with pytest.raises(InputError, match="one class"):
        SDCAClassifier().fit(blobs.X, np.zeros(len(blobs.y)))
    for parameters in ({"C": -1.0}, {"tol": 0.0}, {"kernel": "rbf"}, {"loss": "none"}, {"intercept_scaling": -1.0}):
        with pytest.raises(InputError):
            SDCAClassifier(**parameters).fit(blobs.X, blobs.y)
    with pytest.raises(InputError, match="square"):
        SDCAClassifier(kernel="precomputed").fit(blobs.X, blobs.y)
    # A class of one picture, duplicates of different classes, more classes than dimensions.
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]]), np.array([0, 1, 1, 0, 2])
    assert np.isfinite(SDCAClassifier(random_state=0).fit(X, y).predict_proba(X)).all()


def test_choosing_parameters_is_cross_validation(blobs):
    grid = [10.0, 0.01, 1.0]
    choice = choose_parameters(
        SDCAClassifier(calibration_folds=0, tol=1e-5, random_state=0), blobs.X, blobs.y, {"C": grid}
    )
    assert [setting["C"] for setting, _ in choice.tried] == [0.01, 1.0, 10.0]
    assert choice.accuracy == max(accuracy for _, accuracy in choice.tried)
    codes = np.unique(blobs.y, return_inverse=True)[1]
    parts = folds(codes, 2, generator(0))
    for setting, accuracy in choice.tried:
        n_right = 0
        for train, held_out in (parts, parts[::-1]):
            model = SDCAClassifier(**setting, calibration_folds=0, tol=1e-5, random_state=0)
            n_right += np.count_nonzero(
                model.fit(blobs.X[train], blobs.y[train]).predict(blobs.X[held_out]) == blobs.y[held_out]
            )
        assert accuracy == pytest.approx(n_right / len(blobs.y), abs=1.5 / len(blobs.y))
    with pytest.raises(InputError, match="cross-validation"):
        choose_parameters(SDCAClassifier(), blobs.X, blobs.y, {"kernel": ["linear"]})
    with pytest.raises(InputError, match="n_folds"):
        choose_parameters(SDCAClassifier(), blobs.X, blobs.y, {"C": [1.0]}, n_folds=1)
    with pytest.raises(InputError, match="no values"):
        choose_parameters(SDCAClassifier(), blobs.X, blobs.y, {"C": []})


def test_choosing_parameters_needs_no_probabilities(blobs, monkeypatch):
    monkeypatch.setattr("visterm.margin.functions.one_vs_all.fit_temperature", None)
    assert choose_parameters(SDCAClassifier(), blobs.X, blobs.y, {"C": [1.0]}).parameters == {"C": 1.0}


def test_parameters_are_not_chosen_on_the_pictures_learned_from():
    """Classes at random can be learned by heart from many features, but not predicted."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 200)), np.arange(60) % 2
    assert SDCAClassifier(10.0, calibration_folds=0, random_state=0).fit(X, y).score(X, y) == 1
    assert choose_parameters(SDCAClassifier(random_state=0), X, y, {"C": [1.0, 10.0]}).accuracy < 0.75


@pytest.mark.parametrize("C_second", [0.003, 3.0])
def test_the_second_layer_learns_from_the_scores_of_the_first(blobs, C_second):
    X, y = blobs.X, blobs.y
    settings = {"tol": 1e-6, "calibration_folds": 0, "random_state": 0}
    first = SDCAClassifier(0.5, loss="smooth_hinge", **settings).fit(X, y)
    scores = first.decision_function(X)
    second = SDCAClassifier(C_second, loss="smooth_hinge", intercept_scaling=0, **settings).fit(scores, y)
    stacked = StackedSDCA(0.5, C_second=C_second, loss="smooth_hinge", **settings).fit(X, y)
    np.testing.assert_allclose(stacked.decision_function(X), second.decision_function(scores), atol=0.01)
    assert np.abs(stacked.decision_function(X) - scores).max() > 0.1
