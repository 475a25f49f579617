"""Cuts an ONNX model with both halves of a pair in two, so that a text does not cost a picture.

Of the messages of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto only the names that connect operators are
read. Everything else is copied as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from visterm.compute.onnx_file import beginning
from visterm.errors import InputError

#: What people can do about a folder that is no pair.
HELP = "take a folder that optimum wrote or transformers.js uses, see 'visterm encoder install --help'"
#: Numbers of fields. ModelProto: the graph. GraphProto: nodes, constants, inputs, outputs, what is known of values.
_GRAPH = 7
_NODE, _CONSTANT, _INPUT, _OUTPUT, _VALUE = 1, 5, 11, 12, 13
#: The name in a TensorProto and in a ValueInfoProto.
_NAME_IN = {_CONSTANT: 8, _INPUT: 1, _OUTPUT: 1, _VALUE: 1}
#: NodeProto: the names that it takes and gives, its attributes. AttributeProto: one graph or several.
_TAKES, _GIVES, _ATTRIBUTE, _GRAPHS = 1, 2, 5, (6, 11)
_MAX_DEPTH = 20
#: The bytes of a number of fixed size, by the kind of field.
_FIXED = {1: 8, 5: 4}

#: A field: its number, all of its bytes, and its content (empty if it is a number).
Field = tuple[int, memoryview, memoryview]


def cut(model: Path, output: str, target: Path) -> None:
    """Write to ``target`` what the output called ``output`` of the ONNX file ``model`` needs."""
    try:
        pieces = _needed(memoryview(model.read_bytes()), output)
    except _NoOutputError as error:
        raise InputError(f"{model.name} has no output {output}, so it is no image-text pair: {HELP}") from error
    except _NoModelError as error:
        raise InputError(f"{model.name} is not a usable ONNX model: {error}") from error
    with target.open("xb") as file:
        file.writelines(pieces)


class _NoModelError(Exception):
    """Bytes that are no ONNX model."""


class _NoOutputError(Exception):
    """An ONNX model without the output that was asked for."""


def _needed(model: memoryview, output: str) -> list[bytes | memoryview]:
    """The bytes of a model with a part of the graph."""
    fields = list(_fields(model))
    graphs = [content for number, _, content in fields if number == _GRAPH]
    if len(graphs) != 1:
        raise _NoModelError(f"it has {len(graphs)} graphs")
    graph = _part(list(_fields(graphs[0])), output.encode())
    others = [whole for number, whole, _ in fields if number != _GRAPH]
    return [*others, beginning(_GRAPH, sum(map(len, graph))), *graph]


def _part(graph: list[Field], output: bytes) -> list[memoryview]:
    """The fields of a graph that one output needs. Nodes come after those whose results they take."""
    if output not in {_name(content, _NAME_IN[_OUTPUT]) for number, _, content in graph if number == _OUTPUT}:
        raise _NoOutputError
    names, kept = {output}, set()
    for place in range(len(graph) - 1, -1, -1):
        number, _, node = graph[place]
        if number == _NODE and names & set(_texts(node, _GIVES)):
            kept.add(place)
            names |= _taken(node)
    parts = []
    for place, (number, whole, content) in enumerate(graph):
        if number == _OUTPUT:
            wanted = _name(content, _NAME_IN[_OUTPUT]) == output
        elif number in _NAME_IN:
            wanted = _name(content, _NAME_IN[number]) in names
        else:
            wanted = number != _NODE or place in kept
        if wanted:
            parts.append(whole)
    return parts


def _taken(node: memoryview, depth: int = 0) -> set[bytes]:
    """The names that a node takes, those inside its own graphs (loops, branches) included."""
    if depth > _MAX_DEPTH:
        raise _NoModelError("its graphs are nested too deep")
    names = set(_texts(node, _TAKES))
    for attribute in _contents(node, (_ATTRIBUTE,)):
        for graph in _contents(attribute, _GRAPHS):
            for inner in _contents(graph, (_NODE,)):
                names |= _taken(inner, depth + 1)
    return names


def _name(message: memoryview, number: int) -> bytes:
    return next(_texts(message, number), b"")


def _texts(message: memoryview, number: int) -> Iterator[bytes]:
    return map(bytes, _contents(message, (number,)))


def _contents(message: memoryview, numbers: tuple[int, ...]) -> Iterator[memoryview]:
    return (content for number, _, content in _fields(message) if number in numbers)


def _fields(message: memoryview) -> Iterator[Field]:
    """The fields of a protocol buffer message in their order."""
    place, end = 0, len(message)
    while place < end:
        start = place
        key, place = _varint(message, place)
        kind, content = key & 7, message[:0]
        if kind == 0:
            _, place = _varint(message, place)
        elif kind == 2:
            length, place = _varint(message, place)
            content = message[place : place + length]
            place += length
        elif kind in _FIXED:
            place += _FIXED[kind]
        else:
            raise _NoModelError("its fields cannot be read")
        if place > end:
            raise _NoModelError("it is cut off")
        yield key >> 3, message[start:place], content


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise _NoModelError("it is cut off")
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise _NoModelError("its numbers cannot be read")
