"""One numerical contract: sums over shards in torch are those of NumPy, also where products are made of halves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.compute import device
from visterm.margin import KernelRidgeAnnotator, ProductKernel
from visterm.margin.functions import kernels, on_device

#: From 2,049 pictures on, learning is in single precision: what the kernel of landmarks rounds, their features magnify.
N, NEAR = 2200, 2e-4


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setenv("VISTERM_DEVICE", "numpy")


@pytest.fixture(params=["singles", "halves"])
def on_torch(request, monkeypatch):
    """Switches to torch's CPU; ``halves``: with the products of a GPU."""

    def switch():
        monkeypatch.setenv("VISTERM_DEVICE", "cpu")
        monkeypatch.setattr(on_device, "_NUMBERS", 30_000)  # several shards, and several parts of a shard's entries
        if request.param == "halves":
            monkeypatch.setattr(device, "_by_halves", lambda values: "64" not in str(values.dtype))

    return switch


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    made = rng.random((N, 24)) ** 3 + 2.0 * rng.random((8, 24))[rng.integers(8, size=N)] ** 4
    made[7] = 0
    return made.astype(np.float16)


@pytest.fixture(scope="module")
def tags(X):
    looks = X @ np.random.default_rng(1).standard_normal((24, 30))
    found = looks > np.quantile(looks, 0.95, axis=0)
    found[:, 0] = True  # every picture is tagged
    return sparse.csr_array(found.astype(np.float32))


def features(X, kernel):
    signed = X.copy()
    signed[:, ::3] *= -1
    if "product" in kernel:
        return {"a": signed[:, :10], "b": X[:, 10:]}
    return signed if kernel in ("linear", "cosine", "hellinger") else X


@pytest.mark.parametrize(
    ("kernel", "landmarks"),
    [("linear", 30), ("cosine", 9), ("hellinger", 9), ("hellinger", 30), ("exp-chi2:3", 40), ("product", 12)],
)
def test_torch_gives_the_numbers_of_numpy(X, tags, kernel, landmarks, on_torch):
    given = features(X, kernel)
    ours = KernelRidgeAnnotator(kernel=kernel, landmarks=landmarks).fit(given, tags)
    on_torch()
    theirs = KernelRidgeAnnotator(kernel=kernel, landmarks=landmarks).fit(given, tags)
    assert (ours._task_scores(given) != theirs._task_scores(given)).any()  # computed elsewhere
    assert_near(theirs._task_scores(given), ours._task_scores(given))
    assert_near(theirs.as_if_left_out()._task_scores(given), ours.as_if_left_out()._task_scores(given))
    np.testing.assert_allclose(theirs.tag_means_, ours.tag_means_, atol=1e-5)
    np.testing.assert_allclose(theirs.tag_scales_[1:], ours.tag_scales_[1:], rtol=1e-3)  # all pictures have tag 0


def assert_near(found, expected):
    assert np.linalg.norm(found - expected) <= NEAR * np.linalg.norm(expected)


@pytest.mark.parametrize("rows", [None, np.arange(2100)[::-1]])
@pytest.mark.parametrize("kernel", ["linear", "cosine", "hellinger"])
@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_gram_matrices_are_those_of_numpy(X, kernel, rows, kind, on_torch, monkeypatch):
    given = features(X, kernel).astype(kind)
    ours = kernels.gram(given, kernel=kernel, dtype=np.float32, rows=rows)
    on_torch()
    monkeypatch.setattr(on_device, "_GRAM_NUMBERS", 7 * N)
    monkeypatch.setattr(kernels, "_column_blocks", None)  # not computed here
    np.testing.assert_allclose(
        kernels.gram(given, kernel=kernel, dtype=np.float32, rows=rows), ours, rtol=2e-5, atol=2e-5
    )


@pytest.mark.parametrize(("kernel", "landmarks"), [("hellinger", 30), ("exp-chi2:3", 40), ("product", 12)])
def test_scores_are_those_of_numpy(X, tags, kernel, landmarks, on_torch, monkeypatch):
    given = features(X, kernel)
    model = KernelRidgeAnnotator(kernel=kernel, landmarks=landmarks).fit(given, tags)
    ours, some = model._task_scores(given), model._task_scores(given, slice(3, 5))
    on_torch()
    monkeypatch.setattr(kernels, "gram", None)  # not computed here
    monkeypatch.setattr(kernels, "mapped_blocks", None)
    monkeypatch.setattr(ProductKernel, "transform", None)
    np.testing.assert_allclose(model._task_scores(given), ours, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(model._task_scores(given, slice(3, 5)), some, rtol=1e-4, atol=1e-4)
