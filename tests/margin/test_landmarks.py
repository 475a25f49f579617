"""Landmarks: with all pictures the exact regression, with some of them nearly; the same pictures are left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from visterm.calibration import tag_scales
from visterm.compute import memory
from visterm.contracts import take
from visterm.errors import InputError
from visterm.margin import KernelRidgeAnnotator, SDCAClassifier, sdca
from visterm.margin.functions import by_landmarks, kernels, landmarks, one_vs_all
from visterm.margin.functions.landmarks import near_centres, times_agreement
from visterm.ranking import CaptionRidge

KERNELS = ["linear", "cosine", "hellinger", "chi2", "exp-chi2", "exp-chi2:4", "product", "weighted-product"]
N = 60


@pytest.fixture
def X():
    made = np.random.default_rng(0).random((N, 8)) ** 3
    return made.astype(np.float32).astype(np.float64)


@pytest.fixture
def tags():
    found = np.random.default_rng(1).random((N, 5)) < 0.3
    found[:4] = False  # not tagged, so not learned from
    return sparse.csr_array(found.astype(np.float32))


def features(X, kernel):
    return {"a": X[:, :5], "b": X[:, 5:]} if "product" in kernel else X


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [2048, 17])
def test_with_all_pictures_as_landmarks_it_is_the_exact_regression(X, tags, kernel, size, monkeypatch):
    monkeypatch.setattr(landmarks, "SHARD_ROWS", size)
    given, new = features(X, kernel), features(X[:9] + 0.1, kernel)
    exact = KernelRidgeAnnotator(kernel=kernel, landmarks=None).fit(given, tags)
    found = KernelRidgeAnnotator(kernel=kernel, landmarks=1000).fit(given, tags)
    close = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(found._task_scores(new), exact._task_scores(new), **close)
    np.testing.assert_allclose(found.tag_means_, exact.tag_means_, **close)
    np.testing.assert_allclose(found.tag_scales_, exact.tag_scales_, **close)
    np.testing.assert_allclose(found.score_tags(new), exact.score_tags(new), rtol=1e-3, atol=1e-3)
    if exact.can_leave_out:
        left_out = exact.as_if_left_out()._task_scores(given)
        np.testing.assert_allclose(found.as_if_left_out()._task_scores(given), left_out, **close)


@pytest.mark.parametrize("kernel", ["exp-chi2", "linear", "product"])
def test_few_landmarks_are_near_and_know_their_left_out_scores(X, tags, kernel):
    given = features(X, kernel)
    exact = KernelRidgeAnnotator(kernel=kernel, landmarks=None).fit(given, tags)
    few = KernelRidgeAnnotator(kernel=kernel, landmarks=25).fit(given, tags)
    if kernel != "linear":
        assert few.dual_coef_.shape == (5, 25)
    ours, theirs = few._task_scores(given), exact._task_scores(given)
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.8
    tagged = np.diff(tags.indptr) > 0
    left_out = few.as_if_left_out()._task_scores(given)
    np.testing.assert_array_equal(left_out[~tagged], ours[~tagged])
    assert np.abs(left_out - ours)[tagged].max(axis=1).min() > 1e-3
    means, scales = tag_scales(left_out[tagged], tags[tagged].toarray() > 0, 1.0)
    np.testing.assert_allclose(few.tag_means_, means, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(few.tag_scales_, scales, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", [sparse.csr_array, np.float32, np.asfortranarray, np.ndarray.tolist])
def test_a_picture_is_known_by_its_features_in_any_form(X, tags, form):
    model = KernelRidgeAnnotator(landmarks=30).fit(X, tags).as_if_left_out()
    some = X[[9, 3, 50]].copy()
    np.testing.assert_allclose(model._task_scores(form(some)), model._task_scores(X)[[9, 3, 50]], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model._task_scores(some + 1e-3), clone(model).fit(X, tags)._task_scores(some + 1e-3))


def test_half_precision_is_read_a_block_at_a_time(X, tags, tmp_path, monkeypatch):
    monkeypatch.setattr(landmarks, "SHARD_ROWS", 16)
    np.save(tmp_path / "X.npy", X.astype(np.float16))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = KernelRidgeAnnotator(landmarks=20).fit(mapped, tags)
    same = KernelRidgeAnnotator(landmarks=20).fit(X.astype(np.float16).astype(np.float32), tags)
    np.testing.assert_allclose(found.score_tags(X[:5]), same.score_tags(X[:5]), rtol=1e-5)


def test_denied_tags_count(X, tags):
    denied = np.zeros(tags.shape)
    denied[[0, 1], 2] = 1
    plain, taught = (KernelRidgeAnnotator(kernel="linear", landmarks=50) for _ in range(2))
    plain.fit(X, tags)
    taught.fit(X, tags, denied=denied)
    exact = KernelRidgeAnnotator(kernel="linear", landmarks=None).fit(X, tags, denied=denied)
    np.testing.assert_allclose(taught._task_scores(X), exact._task_scores(X), atol=1e-8)
    assert (taught._task_scores(X[:2])[:, 2] < plain._task_scores(X[:2])[:, 2]).all()


def test_auto_is_exact_up_to_a_size(X, tags, monkeypatch):
    exact = KernelRidgeAnnotator(landmarks=None).fit(X, tags)
    auto = KernelRidgeAnnotator().fit(X, tags)
    np.testing.assert_array_equal(auto.dual_coef_, exact.dual_coef_)
    monkeypatch.setattr(by_landmarks, "EXACT_UP_TO", 40)
    monkeypatch.setattr(by_landmarks, "N_LANDMARKS", 12)
    auto.fit(X, tags)
    assert auto.dual_coef_.shape == (5, 12)
    assert not hasattr(auto, "own_weights_")
    monkeypatch.undo()
    assert not hasattr(auto.fit(X, tags), "own_prints_")
    given = KernelRidgeAnnotator(kernel="precomputed", landmarks=12).fit(X @ X.T, tags)
    assert given.dual_coef_.shape == (5, 48)


def test_a_kernel_that_does_not_fit_is_known_by_landmarks_or_refused(X, tags, monkeypatch):
    monkeypatch.setattr(by_landmarks, "N_LANDMARKS", 12)
    n_tagged = np.count_nonzero(np.diff(tags.indptr))
    monkeypatch.setattr(memory, "left", lambda: 20 * n_tagged**2 - 1)
    assert KernelRidgeAnnotator().fit(X, tags).n_landmarks_ == 12
    with pytest.raises(memory.TooLittleMemoryError, match="comparing 57 pictures with each other would need about"):
        KernelRidgeAnnotator(landmarks=None).fit(X, np.repeat([[1.0], [0.0]], [57, 3], axis=0))
    assert not hasattr(KernelRidgeAnnotator(kernel="linear").fit(X, tags), "n_landmarks_")
    monkeypatch.setattr(memory, "left", lambda: 20 * n_tagged**2)
    assert KernelRidgeAnnotator().fit(X, tags).dual_coef_.shape[1] == n_tagged


@pytest.mark.parametrize("kernel", ["linear", "exp-chi2", "product"])
@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_pictures_added_later_count_as_much(X, tags, kernel, constant):
    given, first, second = features(X, kernel), np.arange(40), np.arange(40, N)
    model = KernelRidgeAnnotator(kernel=kernel, intercept_scaling=constant, landmarks=25)
    model.partial_fit(take(given, first), tags[first])
    raw = model._kept_features().raw(given)
    model.partial_fit(take(given, second[:7]), tags[second[:7]]).partial_fit(take(given, second[7:]), tags[second[7:]])
    tagged = np.flatnonzero(np.diff(tags.indptr))
    if kernel == "linear":  # the features themselves: the same as one fit
        whole = KernelRidgeAnnotator(kernel=kernel, intercept_scaling=constant, landmarks=25).fit(X, tags)
        np.testing.assert_allclose(model._task_scores(X), whole._task_scores(X), atol=1e-6)
        np.testing.assert_allclose(model.tag_scales_, whole.tag_scales_, rtol=0.5)  # as known when they were added
        np.testing.assert_array_equal(model.own_prints_, whole.own_prints_)
        assert model.own_leverages_.sum() == pytest.approx(whole.own_leverages_.sum(), rel=0.05)
    else:  # with the landmarks of the first pictures
        several = isinstance(given, dict)
        gram = model.product_kernel_.gram() if several else kernels.gram(model.support_vectors_, kernel=kernel)
        phi = raw @ np.linalg.inv(np.linalg.cholesky(gram + 1e-9 * np.eye(25))).T
        phi = np.hstack([phi, np.full((N, 1), constant)])[tagged]
        weights = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(26), phi.T @ tags[tagged].toarray())
        np.testing.assert_allclose(model._task_scores(given)[tagged], phi @ weights, atol=1e-4)
    np.testing.assert_array_equal(model.tag_counts_, np.bincount(tags.indices))
    assert model.mean_n_tags_ == pytest.approx(tags.nnz / len(tagged))
    late = take(given, np.intersect1d(second, tagged))
    assert np.abs(model.as_if_left_out()._task_scores(late) - model._task_scores(late)).max(axis=1).min() > 1e-3


@pytest.mark.parametrize("kernel", ["hellinger", "product"])
def test_words_and_sets_of_pictures_added_later_count_as_much(X, tags, kernel):
    given, first, second = features(X, kernel), np.arange(40), np.arange(40, N)
    model = CaptionRidge(0.1, kernel=kernel, landmarks=25).fit(take(given, first), tags[first])
    raw, sets = model._kept_features().raw(given), model.set_words_
    before = model.tag_platt_.copy()
    model.partial_fit(take(given, second), tags[second])
    tagged = np.flatnonzero(np.diff(tags.indptr))
    if kernel == "product":
        gram = model.product_kernel_.gram()
        raw = raw @ np.linalg.inv(np.linalg.cholesky(gram + 1e-9 * np.eye(25))).T
    phi = np.hstack([raw, np.ones((N, 1))])[tagged]
    having = ((tags[tagged] @ sets.T).toarray() == np.diff(sets.indptr)).astype(float)
    targets = np.hstack([tags[tagged].toarray(), having])
    assert having.any()
    weights = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(phi.shape[1]), phi.T @ targets)
    np.testing.assert_allclose(model._task_scores(given)[tagged], phi @ weights, atol=1e-4)
    np.testing.assert_array_equal(model.tag_counts_, np.bincount(tags.indices))
    n_before = np.asarray(tags[first].sum(axis=0)).ravel()
    is_new = model.tag_counts_ - n_before > n_before
    np.testing.assert_array_equal((model.tag_platt_ != before).any(axis=1), is_new)


def test_what_was_not_learned_is_found(X, tags):
    tagged = np.flatnonzero(np.diff(tags.indptr))
    X[tagged[-1]] = X[tagged[0]]  # a copy that comes later
    tags = sparse.csr_array(tags)
    earlier, all_rows = tagged[:-3], np.arange(N)
    model = KernelRidgeAnnotator(landmarks=20).fit(X[earlier], tags[earlier])
    np.testing.assert_array_equal(model.not_learned(X, tags), tagged[-3:])
    assert model.not_learned(np.delete(X, tagged[3], axis=0), tags[all_rows != tagged[3]]) is None  # one is gone
    changed = tags.tolil()
    changed[tagged[5], 0] = 1 - changed[tagged[5], 0]
    assert model.not_learned(X, sparse.csr_array(changed)) is None
    assert KernelRidgeAnnotator(landmarks=None).fit(X, tags).not_learned(X, tags) is None


def test_pictures_are_added_to_landmarks_only(X, tags):
    exact = KernelRidgeAnnotator(landmarks=None).fit(X, tags)
    with pytest.raises(InputError, match="landmarks"):
        exact.partial_fit(X, tags)
    by_landmarks = KernelRidgeAnnotator(landmarks=20).fit(X, tags)
    with pytest.raises(InputError, match="columns"):
        by_landmarks.partial_fit(X, tags[:, :3])


@pytest.mark.parametrize("kernel", ["auto", "chi2", "weighted-product"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_by_all_pictures_as_landmarks_are_those_of_the_exact_kernel(X, kernel, n_classes):
    y, given = np.arange(N) % n_classes, features(X, kernel)
    X[:, 0] += 0.5 * y
    exact = SDCAClassifier(10.0, kernel=kernel, tol=1e-6, landmarks=None, random_state=0).fit(given, y)
    found = SDCAClassifier(10.0, kernel=kernel, tol=1e-6, landmarks=N, random_state=0).fit(given, y)
    new = features(X[:9] + 0.1, kernel)
    np.testing.assert_allclose(found.decision_function(new), exact.decision_function(new), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("kernel", ["auto", "exp-chi2"])
def test_c_and_temperature_of_many_pictures_come_from_some(X, kernel, monkeypatch):
    monkeypatch.setattr(sdca, "_CHOOSING_PICTURES", 30)
    monkeypatch.setattr(one_vs_all, "_ENOUGH_ASKED", 12)
    y, sizes = np.arange(N) % 3, []
    X[np.arange(N), y] += 1.0
    choose_c, cross_scores = sdca.choose_c, one_vs_all.cross_scores
    monkeypatch.setattr(sdca, "choose_c", lambda by, *a, **k: sizes.append(a[0].shape) or choose_c(by, *a, **k))
    monkeypatch.setattr(
        one_vs_all,
        "cross_scores",
        lambda p, parts, *a: sizes.append([len(q) for q in parts]) or cross_scores(p, parts, *a),
    )
    model = SDCAClassifier("auto", kernel=kernel, loss="logistic", landmarks=20, random_state=0).fit(X, y)
    assert sizes == [(3, 30), [12]]
    assert (model.predict(X) == y).mean() > 0.9
    assert model.predict_proba(X)[np.arange(N), y].mean() > 0.6


def test_pictures_with_other_labels_are_not_averaged():
    X = np.repeat([[1.0, 0.2], [0.2, 1.0]], 10, axis=0) + 0.05 * np.random.default_rng(0).random((20, 2))
    y = np.arange(20) % 2
    plain = X @ X.T
    near = times_agreement(plain.copy(), sparse.csr_array(np.eye(2)[y]))
    for gram, mixes in ((plain, True), (near, False)):
        groups = near_centres(gram, 6, np.random.default_rng(3))
        assert any(len(set(y[groups == group])) > 1 for group in range(6)) is mixes


def test_copies_of_a_picture_may_all_be_landmarks(tags):
    X = np.ones((N, 3))
    X[1::2, 0] = 5
    model = KernelRidgeAnnotator(landmarks=40).fit(X, tags)
    assert np.isfinite(model.score_tags(X)).all()
    assert sorted(set(near_centres(X @ X.T, 40, np.random.default_rng(0)))) == list(range(40))


def test_centres_lie_apart_and_gather_what_is_near():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(6), 50, axis=0) + 1e-3 * rng.normal(size=(300, 6))
    for seed in range(5):
        groups = near_centres(X @ X.T, 6, np.random.default_rng(seed))
        np.testing.assert_array_equal(groups, np.repeat(np.arange(6), 50))


@pytest.mark.parametrize("kernel", ["exp-chi2", "product"])
def test_landmarks_are_means_of_what_is_near(kernel, tags):
    one = np.random.default_rng(0).random((20, 6))
    X = np.repeat(one, 3, axis=0) * np.random.default_rng(1).uniform(0.999, 1.001, (N, 6))
    model = KernelRidgeAnnotator(kernel=kernel, landmarks=20).fit(X, sparse.csr_array(np.ones((N, 1))))
    found = model.support_vectors_ if kernel == "exp-chi2" else model.product_kernel_.distances_.train_features_["x"]
    shares = X / X.sum(axis=1, keepdims=True)
    expected = shares.reshape(20, 3, 6).mean(axis=1)
    np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), expected, atol=1e-6)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(InputError, match="positive definite"):
        landmarks._whitening(np.array([[1.0, 3.0], [3.0, 1.0]]), np.dtype(np.float64))
