"""Arrays of a torch file of weights (``.pth``, the layout before torch 1.6), read without torch and without ``pickle``.

Such a file is five pickles (a magic number, the layout's number, the machine's sizes of numbers, the description of the
tensors, the names of the storages) and then the storages: their lengths and plain numbers. A pickle is a program, and
Python's interpreter of it can be made to call anything. This reader is safe because it never runs that interpreter:
:func:`_unpickled` is a stack machine of its own for the instructions that these files use, on which a program can only
put together numbers, strings, tuples, lists and dicts. It knows four names (``OrderedDict``, ``_rebuild_tensor_v2``,
``FloatStorage``, ``LongStorage``) as labels that are compared and never imported or called; any other name and any
other instruction is refused. The size of the file, the number of instructions and the size of every array are limited
before memory is taken. What is wrong raises :class:`~visterm.errors.InputError`.
"""

import pickletools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError

#: EfficientNet-Lite4, the largest of its family, has 53 MB and 30,000 instructions.
_MAX_BYTES = 256 * 2**20
_MAX_INSTRUCTIONS = 200_000
_MAX_DIMS = 8

_MAGIC, _LAYOUT = 0x1950A86A20F9469CFC6C, 1001


class _Name(Enum):
    """The names that a file may mention; the value is what the instruction GLOBAL says."""

    DICT = "collections OrderedDict"
    TENSOR = "torch._utils _rebuild_tensor_v2"
    FLOATS = "torch FloatStorage"
    INTEGERS = "torch LongStorage"


_TYPES: Mapping[Any, np.dtype[Any]] = {_Name.FLOATS: np.dtype("<f4"), _Name.INTEGERS: np.dtype("<i8")}


@dataclass(frozen=True, slots=True)
class _Storage:
    """Numbers in the last part of the file."""

    key: str
    dtype: np.dtype[Any]
    n_values: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A view of a storage; the offset and the strides count values."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _MalformedError(ValueError):
    """What is wrong with a file whose name the caller knows."""


def read_checkpoint(path: Path | str) -> dict[str, NDArray[Any]]:
    """The arrays of the file at ``path`` by name, each a copy of its own: float32 or int64."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > _MAX_BYTES:
        raise InputError(f"{path} has more than {_MAX_BYTES} bytes: too large for a file of weights")
    if data.startswith(b"PK"):
        raise InputError(f"{path} has the zip layout of torch 1.6 and later: only the layout before it can be read")
    try:
        return _arrays(BytesIO(data))
    except (ValueError, IndexError, KeyError, TypeError) as error:  # the last three: a program that makes no sense
        reason = str(error) if isinstance(error, _MalformedError) else "damaged, cut off, or of another kind"
        raise InputError(f"{path} cannot be read as torch weights: {reason}") from error


def _arrays(stream: BytesIO) -> dict[str, NDArray[Any]]:
    if _unpickled(stream) != _MAGIC or _unpickled(stream) != _LAYOUT:
        raise _MalformedError("it begins in another way")
    if _unpickled(stream)["little_endian"] is not True:
        raise _MalformedError("its numbers have the other byte order")
    tensors, keys = _unpickled(stream), _unpickled(stream)
    if not isinstance(tensors, dict) or not all(isinstance(tensor, _Tensor) for tensor in tensors.values()):
        raise _MalformedError("it holds something else than tensors")
    storages = _read_storages(stream, keys, (tensor.storage for tensor in tensors.values()))
    if sum(prod(tensor.shape) for tensor in tensors.values()) > sum(map(len, storages.values())):
        raise _MalformedError("its tensors have more values than it holds")
    return {name: _view(tensor, storages[tensor.storage.key]).copy() for name, tensor in tensors.items()}


def _read_storages(stream: BytesIO, keys: Any, described: Iterable[_Storage]) -> dict[str, NDArray[Any]]:
    """The storages in the order of ``keys``, exactly those that were described, up to the end of the file."""
    different = set(described)
    wanted = {storage.key: storage for storage in different}
    if type(keys) is not list or any(type(key) is not str for key in keys) or sorted(keys) != sorted(wanted):
        raise _MalformedError("its storages are not those of its tensors")
    if len(different) > len(wanted):
        raise _MalformedError("it describes one storage in two ways")
    found: dict[str, NDArray[Any]] = {}
    for key in keys:
        storage = wanted[key]
        length = int.from_bytes(stream.read(8), "little")
        values = stream.read(storage.n_values * storage.dtype.itemsize)
        if length != storage.n_values or len(values) != storage.n_values * storage.dtype.itemsize:
            raise _MalformedError("a storage has another length than its description says")
        found[key] = np.frombuffer(values, storage.dtype)
    if stream.read(1):
        raise _MalformedError("something follows its last storage")
    return found


def _view(tensor: _Tensor, values: NDArray[Any]) -> NDArray[Any]:
    """The values of a tensor, all of them inside its storage."""
    last = tensor.offset + sum((side - 1) * stride for side, stride in zip(tensor.shape, tensor.strides, strict=True))
    if last >= len(values):
        raise _MalformedError("a tensor reaches beyond its storage")
    strides = tuple(stride * values.itemsize for stride in tensor.strides)
    return np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, strides, writeable=False)


_CONSTANTS: Mapping[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"}


def _unpickled(stream: BytesIO) -> Any:
    """The value of the next pickle of ``stream``; see the module's docstring for what such a program can do."""
    stack: list[Any] = []
    below: list[list[Any]] = []  # what lies under each MARK
    memo: dict[int, Any] = {}
    argument: Any
    for n_before, (instruction, argument, _) in enumerate(pickletools.genops(stream)):
        if n_before >= _MAX_INSTRUCTIONS:
            raise _MalformedError(f"it has more than {_MAX_INSTRUCTIONS} instructions")
        match instruction.name:
            case "PROTO":
                if argument != 2:
                    raise _MalformedError(f"it uses protocol {argument} of pickles, not 2")
            case "STOP":
                (value,) = stack
                return value
            case "MARK":
                below.append(stack)
                stack = []
            case "TUPLE":
                stack = [*below.pop(), tuple(stack)]
            case "APPENDS":
                values, stack = stack, below.pop()
                if type(stack[-1]) is not list:
                    raise _MalformedError("it fills something else than a list")
                stack[-1].extend(values)
            case "SETITEMS":
                values, stack = stack, below.pop()
                _set_items(stack[-1], values)
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case name:
                _put(stack, name, argument)
    raise _MalformedError("it ends early")


def _put(stack: list[Any], instruction: str, argument: Any) -> None:
    """An instruction that works on the top of the stack only."""
    match instruction:
        case name if name in _LITERALS:
            stack.append(argument)
        case name if name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        case "EMPTY_DICT":
            stack.append({})
        case "EMPTY_LIST":
            stack.append([])
        case "TUPLE1" | "TUPLE2":
            parts = [stack.pop() for _ in range(int(instruction[-1]))]
            stack.append(tuple(reversed(parts)))
        case "SETITEM":
            key, value = stack.pop(-2), stack.pop()
            _set_items(stack[-1], [key, value])
        case "GLOBAL":
            if argument not in {name.value for name in _Name}:
                raise _MalformedError(f"it asks for {argument.replace(' ', '.')[:80]!r}, which is refused")
            stack.append(_Name(argument))
        case "BINPERSID":
            stack.append(_storage(*stack.pop()))
        case "REDUCE":
            arguments, called = stack.pop(), stack.pop()
            stack.append(_made(called, arguments))
        case "BUILD":
            stack.pop()  # torch's notes on a state dict
        case _:
            raise _MalformedError(f"it has the instruction {instruction}, which is refused")


def _set_items(target: Any, values: list[Any]) -> None:
    """Keys and values in turn go into the dict ``target``; keys are strings."""
    keys = values[::2]
    if type(target) is not dict or len(values) % 2 or not all(type(key) is str for key in keys):
        raise _MalformedError("it fills something else than a dict of strings")
    target.update(zip(keys, values[1::2], strict=True))


def _storage(what: Any, kind: Any, key: Any, _device: Any, n_values: Any, view: Any) -> _Storage:
    names_are_known = what == "storage" and type(key) is str and type(kind) is _Name and kind in _TYPES
    if not names_are_known or not _counts([n_values]) or view is not None:
        raise _MalformedError("it describes a storage in an unknown way")
    return _Storage(key, _TYPES[kind], n_values)


def _made(name: Any, arguments: Any) -> dict[str, Any] | _Tensor:
    """What torch would get by calling ``name``: an empty dict, or the description of a tensor."""
    if name is _Name.DICT and arguments == ():
        return {}
    if name is _Name.TENSOR:
        storage, offset, shape, strides, _needs_gradient, _hooks = arguments
        lengths_fit = type(shape) is type(strides) is tuple and len(shape) == len(strides) <= _MAX_DIMS
        if isinstance(storage, _Storage) and lengths_fit and _counts([offset, *shape, *strides]) and all(shape):
            return _Tensor(storage, offset, shape, strides)
    raise _MalformedError("it makes something else than tensors")


def _counts(values: Iterable[Any]) -> bool:
    """Whether all are whole numbers that can count the values of a file."""
    return all(type(value) is int and 0 <= value <= _MAX_BYTES for value in values)
