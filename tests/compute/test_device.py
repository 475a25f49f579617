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
    """Arrays that remember where they were put; ``torch.gpus`` says how many GPUs there are."""

    class Tensor:
        def __init__(self, array, place):
            self.array, self.device = array, place

        def detach(self):
            return self

        def cpu(self):
            return Tensor(self.array, "cpu")

        def numpy(self):
            assert self.device == "cpu"
            return self.array

    module = ModuleType("torch")
    module.__spec__ = ModuleSpec("torch", None)
    module.gpus = 1
    module.float32, module.float64 = np.float32, np.float64
    module.cuda = SimpleNamespace(is_available=lambda: module.gpus > 0)
    module.as_tensor = lambda array, dtype, device: Tensor(np.asarray(array, dtype), device)
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


def test_numpy_arrays_are_copied_only_when_they_must_be():
    single, double = np.ones(3, np.float32), np.ones(3)
    place = Device("numpy")
    assert place.asarray(single) is single
    assert place.asarray(double).dtype == np.float32
    assert place.asarray(double, "float64") is double
    assert place.to_numpy(single) is single


def test_arrays_go_to_torch_and_come_back(torch):
    place = choose_device("cuda:0")
    tensor = place.asarray([[1, 2], [3, 4]], "float64")
    assert tensor.device == "cuda:0"
    back = place.to_numpy(tensor)
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, [[1, 2], [3, 4]])
