"""Features at an address: the rows of the array, read when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.compute import AddressedRows, addressed, travelling
from visterm.errors import InputError, MissingExtraError
from visterm.margin import KernelRidgeAnnotator
from visterm.subspace.linear.moments import Moments

fsspec = pytest.importorskip("fsspec", reason="fsspec is optional and is not installed")


@pytest.fixture
def X():
    return (np.random.default_rng(0).random((60, 8)) ** 3).astype(np.float32)


@pytest.fixture
def address(X, request):
    with fsspec.open(f"memory://{request.node.name}/X.npy", "wb") as file:
        np.save(file, X)
    return f"memory://{request.node.name}/X.npy"


@pytest.mark.parametrize("gap", [0, 100, 2**20])
@pytest.mark.parametrize(
    "rows", [slice(None), slice(7, 19), slice(50, 2, -6), np.array([40, 3, 3, 59]), np.array([], int)]
)
def test_rows_are_those_of_the_array(X, address, rows, gap, monkeypatch):
    monkeypatch.setattr(addressed, "_GAP_BYTES", gap)
    found = AddressedRows(address)
    assert (len(found), found.shape, found.dtype) == (60, X.shape, X.dtype)
    np.testing.assert_array_equal(found[rows], X[rows])


def test_methods_learn_from_an_address_and_workers_are_told_it(X, address, far_workers):
    tags = sparse.csr_array((np.random.default_rng(1).random((60, 5)) < 0.3).astype(np.float32))
    found = KernelRidgeAnnotator(landmarks=20).fit(AddressedRows(address), tags)
    assert len(far_workers) == 2
    assert len(travelling.packed(AddressedRows(address))) < 500
    np.testing.assert_allclose(
        found.score_tags(X), KernelRidgeAnnotator(landmarks=20).fit(X, tags).score_tags(X), atol=1e-5
    )
    np.testing.assert_allclose(Moments().fit(AddressedRows(address), tags).C_xx, Moments().fit(X, tags).C_xx, atol=1e-9)
    exact = KernelRidgeAnnotator(landmarks=None)
    np.testing.assert_array_equal(exact.fit(AddressedRows(address), tags).dual_coef_, exact.fit(X, tags).dual_coef_)
    with pytest.raises(InputError, match="8 features"):
        exact.fit(X[:, :7], tags).score_tags(AddressedRows(address))


def test_what_cannot_be_read_is_said(X, tmp_path, monkeypatch):
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "words.npy", np.array([["sea"]]))
    X[5, 5] = np.nan
    np.save(tmp_path / "hole.npy", X)
    for name, message in (("text", "not a .npy file"), ("cube", "must hold rows"), ("words", "must hold rows")):
        with pytest.raises(InputError, match=message):
            AddressedRows(f"file://{tmp_path}/{name}.npy")
    with pytest.raises(InputError, match=r"cannot read .*gone.npy"):
        AddressedRows(f"file://{tmp_path}/gone.npy")
    with pytest.raises(InputError, match="NaN"):
        AddressedRows(f"file://{tmp_path}/hole.npy")[2:9]
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"visterm\[s3\]"):
        AddressedRows("s3://bucket/X.npy")
