"""The choice between NumPy and torch, with a stand-in for torch."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from visterm.compute import Device, choose_device, device
from visterm.errors import InputError, MissingExtraError


@pytest.fixture(autouse=True)
def no_preference(monkeypatch):
    monkeypatch.delenv("VISTERM_DEVICE", raising=False)


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)


@pytest.fixture
def torch(monkeypatch):
    """``torch.gpus`` says how many GPUs there are."""
    module = ModuleType("torch")
    module.__spec__ = ModuleSpec("torch", None)
    module.gpus = 1
    module.cuda = SimpleNamespace(is_available=lambda: module.gpus > 0)
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setattr(device, "_has_driver", lambda: True)
    return module


def test_auto_is_numpy_without_torch(without_torch):
    assert choose_device() == choose_device("auto") == Device("numpy")
    assert not choose_device().uses_torch


def test_auto_is_the_gpu_where_torch_finds_one(torch):
    assert choose_device() == Device("cuda")
    torch.gpus = 0
    assert choose_device() == Device("numpy")


def test_auto_asks_torch_only_where_a_driver_is(torch, tmp_path, monkeypatch):
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(device, "find_spec", lambda name: asked.append(name))
    monkeypatch.setattr(device, "_DRIVERS", (str(tmp_path / "none"), str(tmp_path / "driver")))
    monkeypatch.setattr(sys, "platform", "linux")
    assert choose_device("auto") == Device("numpy")
    assert not asked
    (tmp_path / "driver").touch()
    assert choose_device("auto") == Device("numpy")
    assert asked == ["torch"]


def test_the_environment_decides_unless_a_name_is_given(torch, monkeypatch):
    monkeypatch.setenv("VISTERM_DEVICE", "cpu")
    assert choose_device() == Device("cpu")
    assert choose_device("numpy") == Device("numpy")


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:3"])
def test_torch_devices_need_torch(name, without_torch):
    with pytest.raises(MissingExtraError, match=r"torch.*visterm\[gpu\]"):
        choose_device(name)


@pytest.mark.parametrize("name", ["cuda", "cuda:3"])
def test_named_gpus_need_a_gpu(name, torch):
    assert choose_device(name) == Device(name)
    torch.gpus = 0
    with pytest.raises(InputError, match="needs a GPU"):
        choose_device(name)
    assert choose_device("cpu").uses_torch


@pytest.mark.parametrize("name", ["tpu", "gpu", "cuda:", "cuda:one", "cudax", "cpu:0", "NUMPY", "cuda:0; rm"])
def test_unknown_devices_are_refused(name, torch):
    with pytest.raises(InputError, match="unknown device"):
        choose_device(name)


@pytest.fixture(params=["numpy", "cpu", "halves"])
def there(request, monkeypatch):
    """Every kind of device; ``halves``: with the products of a GPU."""
    if request.param != "numpy":
        pytest.importorskip("torch", reason="torch is not installed")
    if request.param == "halves":
        monkeypatch.setattr(device, "_by_halves", lambda values: "64" not in str(values.dtype))
    return Device("numpy" if request.param == "numpy" else "cpu")


@pytest.mark.parametrize("kinds", ["ee", "ef", "fe", "ff", "dd"])
def test_products_are_as_exact_as_singles_or_doubles(there, kinds):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(kind) for shape, kind in zip([(5, 300), (300, 7)], kinds, strict=True))
    if kinds[1] == "f":
        b *= np.float32(1e-9) * 10.0 ** rng.integers(0, 4, size=b.shape).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    left, right = there.array(a), there.array(b)
    near = 1e-15 if kinds == "dd" else 1e-6
    for found in (there.product(left, right), there.product(left, there.constant(right) if kinds[1] == "f" else right)):
        assert (np.abs(there.host(found) - exact) <= near * size).all()


def test_a_gram_matrix_is_as_exact(there):
    rows = (np.random.default_rng(0).normal(size=(400, 6)) * 10.0 ** np.arange(-3, 3)).astype(np.float32)
    exact = rows.T.astype(np.float64) @ rows
    size = np.outer(*[np.linalg.norm(rows, axis=0)] * 2)
    assert (np.abs(there.host(there.gram(there.array(rows))) - exact) <= 1e-6 * size).all()
    nothing = there.array(np.zeros((3, 2), np.float32))
    np.testing.assert_array_equal(there.host(there.gram(nothing)), np.zeros((2, 2)))


def test_arrays_come_back_as_they_were(there, tmp_path):
    given = np.arange(12, dtype=np.float16).reshape(3, 4)
    np.save(tmp_path / "X.npy", given)
    for values in (given, given[:, ::2], np.load(tmp_path / "X.npy", mmap_mode="r")[1:]):
        back = there.host(there.array(values))
        np.testing.assert_array_equal(back, values)
        assert back.dtype == np.float16
    assert there.room() > 0
