"""Where work runs: on NumPy's side, or in torch if it is installed and chosen; and products of matrices there."""

from __future__ import annotations

import os
import re
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.compute import memory
from visterm.compute.halves import singles
from visterm.compute.rows import slices
from visterm.errors import InputError, MissingExtraError

_VARIABLE = "VISTERM_DEVICE"
#: A tensor, or on NumPy's side an array.
Tensor = Any
#: Files of a driver: of NVIDIA, of Windows below Linux, of AMD.
_DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
#: Singles are scaled by a power of two to below two to this power before they become halves, of which the largest is
#: 65,504.
_LARGEST_POWER = 15
#: A GPU cuts off the last bit of every sum, so no more than this many numbers are added up at a time.
_DEEP = 8192
#: A GPU multiplies matrices fast whose widths are a multiple of this.
_WIDTHS = 64


class Parts(NamedTuple):
    """Singles as two halves: ``(high + low) / scale``, about as exact as the singles. ``scale`` is a power of two."""

    high: Tensor
    low: Tensor
    scale: Tensor

    @property
    def T(self) -> Parts:  # noqa: N802
        """The transposed matrix."""
        return Parts(self.high.T, self.low.T, self.scale)


@dataclass(frozen=True, slots=True)
class Device:
    """An array library and a place: ``numpy``, ``cpu`` (torch) or ``cuda[:N]`` (torch)."""

    name: str

    @property
    def uses_torch(self) -> bool:
        """Whether arrays are torch tensors."""
        return self.name != "numpy"

    def array(self, values: NDArray[Any]) -> Tensor:
        """The array there, in its own precision."""
        if not self.uses_torch:
            return values
        import torch

        given = np.ascontiguousarray(values)  # torch warns of arrays that cannot be written to, as those of memory maps
        return torch.from_numpy(given if given.flags.writeable else given.copy()).to(self.name)

    def host(self, values: Tensor) -> NDArray[Any]:
        """The array back in NumPy."""
        return np.asarray(values.cpu().numpy() if self.uses_torch else values)

    def constant(self, values: Tensor) -> Tensor | Parts:
        """What :meth:`product` needs of singles that are multiplied many times."""
        return parts(values) if self.uses_torch and _by_halves(values) else values

    def room(self) -> int:
        """Free bytes there."""
        if not self.name.startswith("cuda"):
            return memory.left()
        import torch

        unused = torch.cuda.memory_reserved(self.name) - torch.cuda.memory_allocated(self.name)
        return int(torch.cuda.mem_get_info(self.name)[0]) + unused

    def product(self, a: Tensor | Parts, b: Tensor | Parts) -> Tensor:
        """``a @ b`` of halves or singles in single precision, of doubles in double precision.

        A GPU multiplies halves many times as fast as singles and adds up in single precision. So halves are multiplied
        as they are, and singles as the sum of two halves each (:func:`parts`): the relative error is that of singles.

        >>> Device("numpy").product(np.array([[2.0]], np.float16), np.array([[0.5]], np.float32))
        array([[1.]], dtype=float32)
        """
        if not self.uses_torch:
            return _at_least_single(a) @ _at_least_single(b)
        if not (isinstance(a, Parts) or isinstance(b, Parts) or _by_halves(a)):
            return _at_least_single(a) @ _at_least_single(b)
        a, b = (x if isinstance(x, Parts) or _is_half(x) else parts(x) for x in (a, b))
        import torch

        if isinstance(a, Parts) and isinstance(b, Parts):
            if b.high.numel() > a.high.numel():  # the larger matrix is not copied
                both = _of_halves(torch.cat([a.high, a.low], 0), b.high)
                found = both[: len(a.high)].add_(both[len(a.high) :])
                return found.add_(_of_halves(a.high, b.low)).div_(a.scale * b.scale)
            left, right = torch.cat([a.high, a.high, a.low], 1), torch.cat([b.high, b.low, b.high], 0)
            return _of_halves(left, right).div_(a.scale * b.scale)
        if isinstance(b, Parts):
            return _of_halves(torch.cat([a, a], 1), torch.cat([b.high, b.low], 0)).div_(b.scale)
        if isinstance(a, Parts):
            return _of_halves(torch.cat([a.high, a.low], 1), torch.cat([b, b], 0)).div_(a.scale)
        return _of_halves(a, b)

    def gram(self, rows: Tensor) -> Tensor:
        """``rows.T @ rows``, as exact as :meth:`product`, with fewer products.

        >>> Device("numpy").gram(np.array([[1.0], [2.0]]))
        array([[5.]])
        """
        if not self.uses_torch or not _by_halves(rows):
            return self.product(rows.T, rows)
        if _is_half(rows):
            return _of_halves(rows.T, rows)
        import torch

        high, low, scale = parts(rows)
        found = _of_halves(high.T, torch.cat([high, low], 1)).div_(scale * scale)
        whole, rest = found[:, : rows.shape[1]], found[:, rows.shape[1] :]
        return whole + rest + rest.T


def choose_device(name: str | None = None) -> Device:
    """The device called ``name``, else that in ``VISTERM_DEVICE``, else ``auto``: a GPU if torch finds one, or NumPy.

    >>> choose_device("numpy")
    Device(name='numpy')
    """
    name = name or os.environ.get(_VARIABLE, "auto")
    if name == "numpy":
        return Device("numpy")
    if name == "auto":
        # torch takes seconds to import, so the driver is looked for first.
        found = _has_driver() and find_spec("torch") and _cuda_available()
        return Device("cuda" if found else "numpy")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise InputError(f"unknown device {name!r}: choose auto, numpy, cpu, cuda or cuda:N")
    if not find_spec("torch"):
        raise MissingExtraError("torch", "gpu", f"the device {name!r}")
    if name.startswith("cuda") and not _cuda_available():
        raise InputError(f"the device {name!r} needs a GPU, but torch finds none: use numpy or cpu")
    return Device(name)


def use(name: str | None) -> None:
    """Say which device this process and those that it starts use; None, the default: ``auto``."""
    if name is None:
        os.environ.pop(_VARIABLE, None)
    else:
        choose_device(name)  # an error if there is none
        os.environ[_VARIABLE] = name


def padded(width: int) -> int:
    """The next width that a GPU multiplies fast.

    >>> padded(2001)
    2048
    """
    return -(-width // _WIDTHS) * _WIDTHS


def parts(values: Tensor) -> Parts:
    """Singles as the sum of two halves each: the relative error is below 2^-21, and 2^-38 of the largest number."""
    import torch

    largest = torch.linalg.vector_norm(values, ord=torch.inf).clamp_min(torch.finfo(torch.float32).tiny)
    scale = torch.exp2(_LARGEST_POWER - 1 - torch.floor(torch.log2(largest)).clamp(-100, 100))
    scaled = values * scale
    high = scaled.half()
    return Parts(high, scaled.sub_(high).half(), scale)


def _by_halves(values: Tensor) -> bool:
    """Whether products of these are computed from halves."""
    import torch

    return bool(values.is_cuda and values.dtype != torch.float64)


def _is_half(values: Tensor) -> bool:
    import torch

    return bool(values.dtype == torch.float16)


def _at_least_single(values: Tensor) -> Tensor:
    if isinstance(values, np.ndarray):
        return singles(values) if values.dtype == np.float16 else values
    return values.float() if _is_half(values) else values


def _of_halves(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` of halves, in single precision."""
    import torch

    found = None
    for part in slices(a.shape[1], _DEEP):
        some = (
            torch.mm(a[:, part], b[part], out_dtype=torch.float32)
            if a.is_cuda
            else a[:, part].float() @ b[part].float()
        )
        found = some if found is None else found.add_(some)
    return found


def _has_driver() -> bool:
    """Whether a GPU's driver is installed: cheap to know, and without it torch finds no GPU."""
    if sys.platform == "win32":
        return find_library("nvcuda") is not None
    return any(Path(driver).exists() for driver in _DRIVERS)


def _cuda_available() -> bool:
    import torch

    return bool(torch.cuda.is_available())
