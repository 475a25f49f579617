"""Multitask learning: what classes and tags become as tasks, what is calibrated, and what a new fit keeps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from visterm.calibration import fit_temperature, tag_scales
from visterm.errors import InputError
from visterm.margin import mtl_sdca
from visterm.margin.mtl_sdca import MultitaskSDCA

OF_TAGS = ("tag_means_", "tag_scales_", "shared_tags_", "n_tags_", "tag_counts_", "mean_n_tags_")


@pytest.fixture
def problem():
    """Pictures of three classes with as many tags; some have no class, others no tags."""
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    X = rng.normal(size=(3, 5))[y] + rng.normal(size=(36, 5))
    tags = np.stack([y == 0, rng.random(36) < 0.6, rng.random(36) < 0.3], axis=1).astype(int)
    tags[~tags.any(axis=1), 1] = 1
    y[::6], tags[1::6] = -1, 0
    return X, y, tags


def test_a_tag_that_says_the_same_as_a_class_scores_the_same(problem):
    X, y, _ = problem
    same = np.eye(4)[y][:, :3]  # without a class, no tag
    settings = {"loss": "smooth_hinge", "tol": 1e-7, "max_iter": 2, "calibration_folds": 0, "random_state": 0}
    model = MultitaskSDCA(**settings).fit(X, y=y, tags=same)
    np.testing.assert_allclose(model.score_tags(X), model.decision_function(X), atol=1e-3)
    assert MultitaskSDCA(**settings).fit(X, y=y).decision_function(X).shape == (36, 3)
    assert np.abs(model.decision_function(X)).max() > 0.1


def test_calibration_is_that_of_the_scores_of_held_out_pictures(problem, monkeypatch):
    X, y, tags = problem
    seen, cross_scores = [], mtl_sdca.cross_scores

    def keep(*given):
        seen.append(cross_scores(*given).T)
        return seen[-1].T

    monkeypatch.setattr(mtl_sdca, "cross_scores", keep)
    model = MultitaskSDCA(max_iter=2, tag_power=0.5, random_state=0).fit(X, y=y, tags=tags)
    (scores,), known, tagged = seen, y >= 0, tags.any(axis=1)
    np.testing.assert_allclose(model.task_similarity_, np.corrcoef(scores.T), atol=1e-9)
    assert model.predict_proba(X).shape == (36, 3)
    assert model.temperature_ == pytest.approx(fit_temperature(scores[known, :3], y[known]))
    of_tags, present = scores[tagged, 3:], tags[tagged] > 0
    means, scales = tag_scales(of_tags, present, 0.5)
    np.testing.assert_allclose(model.tag_means_, means)
    np.testing.assert_allclose(model.tag_scales_, scales)


def test_tags_learned_alone_are_scaled_by_scores_of_pictures_left_out(problem):
    X, y, tags = problem
    model = MultitaskSDCA(C=2.0, max_work=1.0, random_state=0).fit(X, y=y, tags=tags)
    assert model.shared_tags_.tolist() == [tags.sum(axis=0).argmax()]  # one is always shared
    alone, tagged = np.setdiff1d(np.arange(3), model.shared_tags_), tags.any(axis=1)
    labels, G = 2 * tags[np.ix_(tagged, alone)] - 1, X[tagged] @ X[tagged].T + 1
    left_out = np.empty(labels.shape)
    for i in range(len(labels)):
        rest = np.delete(np.arange(len(labels)), i)
        left_out[i] = G[i, rest] @ np.linalg.solve(G[np.ix_(rest, rest)] + np.eye(len(rest)) / 2.0, labels[rest])
    means, scales = tag_scales(left_out, labels > 0, 1.0)
    np.testing.assert_allclose(model.tag_means_[alone], means, atol=1e-5)
    np.testing.assert_allclose(model.tag_scales_[alone], scales, rtol=1e-4)


def test_a_new_fit_forgets_tasks_that_it_does_not_have(problem):
    X, y, tags = problem
    model = MultitaskSDCA(max_iter=1, random_state=0).fit(X, y=y, tags=tags)
    assert {*OF_TAGS, "classes_", "temperature_"} <= vars(model).keys()
    model.fit(X, tags=tags)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "temperature_")
    with pytest.raises(InputError, match="tags only"):
        model.predict_top(X, 1)
    model.fit(X, y=y)
    assert not vars(model).keys() & set(OF_TAGS)
    with pytest.raises(InputError, match="classes only"):
        model.score_tags(X)


def test_only_a_warm_start_begins_at_the_last_dual_variables(problem):
    X, y, _ = problem
    model = MultitaskSDCA(max_iter=1, calibration_folds=0, warm_start=True, random_state=0).fit(X, y=y)
    before = model.duals_["alone"]
    again = model.set_params(random_state=1).fit(X, y=y)
    np.testing.assert_array_equal(again.duals_["alone"], before)
    cold = MultitaskSDCA(max_iter=1, calibration_folds=0, warm_start=True, random_state=1).fit(X, y=y)
    assert np.abs(cold.duals_["alone"] - before).max() > 0
    assert not hasattr(model.set_params(warm_start=False).fit(X, y=y), "duals_")


def test_before_fitting_there_are_no_scores(problem):
    model = MultitaskSDCA()
    for scores in (model.score_tags, model.decision_function, lambda X: model.predict_top(X, 1)):
        with pytest.raises(NotFittedError):
            scores(problem[0])


def test_without_any_label_there_is_nothing_to_learn(problem):
    X, y, tags = problem
    with pytest.raises(InputError, match="no picture has a class or a tag"):
        MultitaskSDCA().fit(X, y=np.full_like(y, -1), tags=np.zeros_like(tags))


def test_a_single_picture_is_enough_for_tags():
    model = MultitaskSDCA(random_state=0).fit([[1.0, 2.0]], tags=[[1, 0]])
    assert (np.diff(model.score_tags([[1.0, 2.0]])) < 0).all()


def test_every_tag_keeps_its_place_whether_it_is_shared_or_not(problem):
    X, y, _ = problem
    tags = np.eye(4, dtype=int)[y]  # each class its own tag; tag 3 if the class is not known
    tags[y == 0, 0] = 0
    tags[np.flatnonzero(y == 0)[:5], 0] = 1
    tags[~tags.any(axis=1), 3] = 1
    model = MultitaskSDCA(max_work=(3 + 2) * 36**2, max_iter=1, calibration_folds=0, random_state=0)
    scores, classes = model.fit(X, y=y, tags=tags).score_tags(X), model.decision_function(X)
    assert model.shared_tags_.tolist() == [1, 2]
    for tag in range(3):
        assert np.argmax([np.corrcoef(scores[:, tag], column)[0, 1] for column in classes.T]) == tag


def test_scores_of_tags_are_no_probabilities():
    assert not MultitaskSDCA.scores_are_probabilities


def test_inner_products_as_cosines():
    M = np.array([[4.0, 0.1, 0.0], [0.1, 0.01, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(mtl_sdca._cosines(M), [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
