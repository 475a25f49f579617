"""One pass, many passes, pictures that come and go: always the same sums."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.contracts import inputs
from visterm.errors import InputError
from visterm.subspace import Moments
from visterm.subspace.linear import moments

PARTS = ("x_mean_", "y_mean_", "xx_", "x_squares_", "xy_", "yy_")


def collection(n, p=5, q=4, seed=0, offset=100.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + offset, (rng.random((n, q)) < 0.4).astype(np.float32)


def assert_equal(a, b, rtol=1e-9, atol=1e-8):
    assert a.n_pictures_ == b.n_pictures_
    for part in PARTS:
        np.testing.assert_allclose(getattr(a, part), getattr(b, part), rtol=rtol, atol=atol, err_msg=part)


def test_moments_are_those_of_numpy():
    X, tags = collection(300)
    found = Moments().fit(X, tags)
    both = np.cov(np.hstack([X, tags]).T, bias=True)
    np.testing.assert_allclose(found.C_xx, both[:5, :5], atol=1e-10)
    np.testing.assert_allclose(found.C_xy, both[:5, 5:], atol=1e-10)
    np.testing.assert_allclose(found.C_yy, both[5:, 5:], atol=1e-7)
    np.testing.assert_allclose(found.x_mean_, X.mean(axis=0))
    np.testing.assert_allclose(found.x_variance, X.var(axis=0))
    np.testing.assert_allclose(found.y_variance, tags.astype(np.float64).var(axis=0))
    few = Moments().fit(X[:3] / 1000, [[1], [0], [0]])
    np.testing.assert_allclose(few.x_variance, (X[:3] / 1000).var(axis=0))
    np.testing.assert_allclose(few.y_variance, 2 / 9)


def test_moments_of_scaled_features():
    X, tags = collection(40)
    factors = np.array([0.5, 2.0, 3.0, 0.1, 7.0])
    for covariance in (True, False):
        found, expected = (
            Moments(covariance=covariance).fit(X, tags).scaled(factors),
            Moments(covariance=covariance).fit(X * factors, tags),
        )
        for part in PARTS:
            if getattr(expected, part) is None:
                assert getattr(found, part) is None
            else:
                np.testing.assert_allclose(getattr(found, part), getattr(expected, part), atol=1e-8, err_msg=part)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_merged_moments_are_those_of_one_pass(n, m, seed):
    X, tags = collection(n + m, seed=seed)
    first, second = Moments().fit(X[:n], tags[:n]), Moments().fit(X[n:], tags[n:])
    whole = Moments().fit(X, tags)
    assert_equal(first + second, whole)
    assert_equal(second + first, whole)
    assert_equal(Moments().fit(X[:n], tags[:n]).partial_fit(X[n:], tags[n:]), whole)


def test_merging_leaves_its_parts_alone():
    X, tags = collection(30)
    first, second = Moments().fit(X[:9], tags[:9]), Moments().fit(X[9:], tags[9:])
    before = first.xx_.copy(), second.xx_.copy()
    _ = first + second
    np.testing.assert_array_equal(first.xx_, before[0])
    np.testing.assert_array_equal(second.xx_, before[1])


def test_blocks_and_shards_do_not_matter(monkeypatch):
    X, tags = collection(200)
    whole = Moments().fit(X, tags)
    monkeypatch.setattr(moments, "BLOCK", 7)
    monkeypatch.setattr(moments, "_SHARD", 21)
    assert_equal(Moments().fit(X, tags), whole)
    assert_equal(Moments().fit(sparse.csr_array(X), sparse.csr_array(tags)), whole)
    monkeypatch.setattr(moments, "_SHARD", 150)  # two
    assert_equal(Moments().fit(X, tags), whole)


def test_no_tags_are_needed():
    X, tags = collection(20)
    found = Moments().fit(X)
    assert found.C_xy.shape == (5, 0)
    assert found.C_yy.shape == (0, 0)
    np.testing.assert_allclose(found.C_xx, Moments().fit(X, tags).C_xx)


def test_single_precision_survives_a_large_mean():
    X, tags = collection(5000, offset=1000.0)
    single = X.astype(np.float32)
    np.testing.assert_allclose(
        Moments().fit(single, tags).C_xx, np.cov(single.astype(np.float64).T, bias=True), rtol=1e-5, atol=1e-5
    )


def test_a_vocabulary_that_grows():
    X, tags = collection(50)
    early = tags.copy()
    early[:20, 3] = 0
    grown = Moments().fit(X[:20], early[:20, :3]).partial_fit(X[20:], early[20:])
    assert_equal(grown, Moments().fit(X, early))


def test_variances_alone():
    X, tags = collection(60)
    slim, full = Moments(covariance=False).fit(X, tags), Moments().fit(X, tags)
    assert slim.xx_ is None
    np.testing.assert_allclose(slim.x_variance, full.x_variance)
    np.testing.assert_allclose(slim.C_xy, full.C_xy, atol=1e-12)
    np.testing.assert_allclose((slim + slim).x_variance, full.x_variance)
    with pytest.raises(InputError, match="covariance=True"):
        slim.C_xx  # noqa: B018
    with pytest.raises(InputError, match="with and without"):
        slim + full


def test_what_cannot_be_added():
    X, tags = collection(10)
    whole = Moments().fit(X, tags)
    with pytest.raises(InputError, match=r"5.*and.*3.*cannot be added"):
        whole + Moments().fit(X[:, :3], tags)


def test_features_of_another_width_and_impossible_parameters_are_refused():
    X, tags = collection(10)
    whole = Moments().fit(X, tags)
    with pytest.raises(InputError, match="expecting 5 features"):
        whole.partial_fit(X[:, :3], tags)
    assert whole.partial_fit(X, tags).n_pictures_ == 20
    with pytest.raises(InputError, match="covariance"):
        Moments(covariance="yes").fit(X, tags)


def test_halves_are_not_copied(monkeypatch):
    monkeypatch.setattr(moments, "BLOCK", 32)
    monkeypatch.setattr(inputs, "_BLOCK", 2**15)
    X = np.random.default_rng(0).random((256, 1024), dtype=np.float32).astype(np.float16)
    found = Moments(covariance=False).fit(X[:40]).partial_fit(X[:40])  # imports take memory, too
    tracemalloc.start()
    Moments(covariance=False).fit(X)
    fitting = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    found.partial_fit(X)
    adding = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(fitting, adding) < 1.2 * X.nbytes  # a copy in float32 is 2


def test_some_rows_are_those_pictures_without_a_copy(monkeypatch):
    monkeypatch.setattr(moments, "BLOCK", 64)
    rng = np.random.default_rng(0)
    X, tags = rng.random((3000, 400), dtype=np.float32), (rng.random((3000, 3)) < 0.5).astype(np.float32)
    rows = np.setdiff1d(np.arange(3000), [7, 1500])
    expected = Moments(covariance=False).fit(X[rows], tags[rows])
    tracemalloc.start()  # everything that is imported was imported above
    found = Moments(covariance=False).fit(X, tags, rows=rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes
    assert found.n_pictures_ == 2998
    np.testing.assert_allclose(found.C_xy, expected.C_xy, atol=1e-6)
    np.testing.assert_allclose(found.partial_fit(X, tags, rows=rows[:5]).n_pictures_, 3003)


def test_the_rounding_of_a_large_mean_does_not_count_as_variance():
    """The mean of a block in single precision is off by about the deviation of the features."""
    X = (1e5 + np.random.default_rng(0).random((2000, 3))).astype(np.float32)
    expected = X.astype(np.float64).var(axis=0)
    np.testing.assert_allclose(Moments(covariance=False).fit(X).x_variance, expected, rtol=1e-3)
    np.testing.assert_allclose(np.diag(Moments().fit(X).C_xx), expected, rtol=1e-3)


def test_the_rounding_of_a_large_mean_does_not_count_as_covariance():
    rng = np.random.default_rng(0)
    tags = (rng.random((500, 2)) < 0.7).astype(np.float32)
    X = (1e5 + tags @ rng.random((2, 3)) + rng.random((500, 3))).astype(np.float32)
    exact = np.cov(np.hstack([X.astype(np.float64), tags]).T, bias=True)
    found = Moments().fit(X, tags)
    np.testing.assert_allclose(found.x_mean_, X.mean(axis=0, dtype=np.float64), atol=1e-4)
    np.testing.assert_allclose(found.C_xy, exact[:3, 3:], atol=1e-5)
    np.testing.assert_allclose(found.C_xx, exact[:3, :3], atol=1e-5)
    np.testing.assert_allclose(Moments(covariance=False).fit(X).x_variance, np.diag(exact)[:3], atol=1e-5)
