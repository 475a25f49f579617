"""The choice between NumPy and torch, with a stand-in for torch."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

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
    return module


def test_auto_is_numpy_without_torch(without_torch):
    assert choose_device() == choose_device("auto") == Device("numpy")
    assert not choose_device().uses_torch


def test_auto_is_the_gpu_where_torch_finds_one(torch):
    assert choose_device() == Device("cuda")
    torch.gpus = 0
    assert choose_device() == Device("numpy")


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
