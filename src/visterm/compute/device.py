"""Where networks run: on NumPy's side, by onnxruntime, or in torch if it is installed and chosen."""

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec

from visterm.errors import InputError, MissingExtraError


@dataclass(frozen=True, slots=True)
class Device:
    """An array library and a place: ``numpy``, ``cpu`` (torch) or ``cuda[:N]`` (torch)."""

    name: str

    @property
    def uses_torch(self) -> bool:
        """Whether arrays are torch tensors."""
        return self.name != "numpy"


def choose_device(name: str | None = None) -> Device:
    """The device called ``name``, else that in ``VISTERM_DEVICE``, else ``auto``: a GPU if torch finds one, or NumPy.

    >>> choose_device("numpy")
    Device(name='numpy')
    """
    name = name or os.environ.get("VISTERM_DEVICE", "auto")
    if name == "numpy":
        return Device("numpy")
    if name == "auto":
        return Device("cuda") if find_spec("torch") and _cuda_available() else Device("numpy")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise InputError(f"unknown device {name!r}: choose auto, numpy, cpu, cuda or cuda:N")
    if not find_spec("torch"):
        raise MissingExtraError("torch", "gpu", f"the device {name!r}")
    if name.startswith("cuda") and not _cuda_available():
        raise InputError(f"the device {name!r} needs a GPU, but torch finds none: use numpy or cpu")
    return Device(name)


def _cuda_available() -> bool:
    import torch

    return bool(torch.cuda.is_available())
