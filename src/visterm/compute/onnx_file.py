"""ONNX models as bytes: the few messages of the format that a network of convolutions needs.

An ONNX file is one protocol buffer message; https://github.com/onnx/onnx/blob/main/onnx/onnx.proto gives the numbers of
the fields. The package ``onnx`` would add 33 MB to the installation for what these functions do.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

#: Operators of opset 13 in files of version 8: what onnxruntime has read since 1.10.
_OPSET, _FILE_VERSION = 13, 8
#: TensorProto.DataType
FLOAT32, INT64, FLOAT16 = 1, 7, 10
_DATA_TYPES = {np.dtype("<f4"): FLOAT32, np.dtype("<i8"): INT64, np.dtype("<f2"): FLOAT16}
#: AttributeProto.AttributeType
_INT, _STRING, _INTS = 2, 3, 7


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a message: a whole number that is not negative, or a string of bytes, text or another message.

    >>> field(1, 300), field(2, "ab")
    (b'\\x08\\xac\\x02', b'\\x12\\x02ab')
    """
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return beginning(number, len(data)) + data


def beginning(number: int, n_bytes: int) -> bytes:
    """What stands before the ``n_bytes`` bytes of a field.

    >>> beginning(2, 2) + b"ab" == field(2, "ab")
    True
    """
    return _varint(number << 3 | 2) + _varint(n_bytes)


def tensor(name: str, values: NDArray[np.generic]) -> bytes:
    """A constant: a TensorProto with its numbers inside."""
    shape = b"".join(field(1, side) for side in values.shape)
    return shape + field(2, _DATA_TYPES[values.dtype]) + field(8, name) + field(9, values.tobytes())


def tensor_info(name: str, shape: Sequence[int | str], kind: int = FLOAT32) -> bytes:
    """An input or output: a ValueInfoProto. A side is a number, or a name where it may have any length."""
    dims = b"".join(field(1, field(1 if isinstance(side, int) else 2, side)) for side in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


def node(operator: str, inputs: Iterable[str], output: str, **attributes: int | str | Sequence[int]) -> bytes:
    """An operator with one output: a NodeProto."""
    settings = b"".join(field(5, field(1, name) + _attribute(value)) for name, value in attributes.items())
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, operator) + settings


def model(
    nodes: Iterable[bytes], constants: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """A ModelProto; ``nodes`` are in an order in which they can be computed."""
    parts = [(1, nodes), (5, constants), (11, inputs), (12, outputs)]
    graph = field(2, "network") + b"".join(field(number, part) for number, group in parts for part in group)
    return field(1, _FILE_VERSION) + field(2, "visterm") + field(8, field(2, _OPSET)) + field(7, graph)


def _attribute(value: int | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return field(3, value) + field(20, _INT)
    if isinstance(value, str):
        return field(4, value) + field(20, _STRING)
    return b"".join(field(8, one) for one in value) + field(20, _INTS)


def _varint(n: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    low = b""
    while n > 127:
        low += bytes([n & 127 | 128])
        n >>= 7
    return low + bytes([n])
