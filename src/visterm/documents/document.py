"""Documents: what the workspace answers with, in Python a dataclass, for machines the same as JSON."""

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

#: Items of a list, and entries of a mapping, that ``print`` shows.
_SHOWN = 3
_MAX_LINE = 160
#: Values of these types, and not of types derived from them, are JSON values already.
_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


def json_name(field: str) -> str:
    """What a field is called in JSON: a trailing underscore only keeps Python's own words apart.

    >>> json_name("class_")
    'class'
    """
    return field.rstrip("_")


class Document:
    """A dataclass whose fields are the JSON document that ``--json`` prints and the service sends."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"alias_generator": json_name, "populate_by_name": True}

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON values."""
        document: dict[str, Any] = plain(self)
        return document

    def __str__(self) -> str:
        """A few lines for a person: one for each field that says something, long lists cut short."""
        lines = [type(self).__name__]
        for item in fields(self):  # type: ignore[arg-type]  # every document is a dataclass
            value = getattr(self, item.name)
            if value is not None and value not in ("", [], {}, ()):
                lines.append(shorten(f"  {json_name(item.name)}: {short(value)}"))
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython and notebooks without pictures show."""
        printer.text("..." if cycle else str(self))

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of the document."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).json_schema()


def short(value: Any) -> str:
    """``value`` in one line, for a person.

    >>> short({"boat": 3, "sea": 2}), short(["a", "b", "c", "d", "e"]), short(0.25)
    ('boat 3, sea 2', 'a, b, c, and 2 more', '0.25')
    """
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return _cut([f"{short(key)} {short(item)}" for key, item in list(value.items())[:_SHOWN]], len(value))
    if isinstance(value, (list, tuple)):
        return _cut([short(item) for item in value[:_SHOWN]], len(value))
    if is_dataclass(value) and not isinstance(value, type) and type(value).__str__ is object.__str__:
        said = [(json_name(item.name), getattr(value, item.name)) for item in fields(value)]
        # the first field names the thing
        inside = [short(item) if i == 0 else f"{name} {short(item)}" for i, (name, item) in enumerate(said) if item]
        return f"({', '.join(inside)})"
    return str(value)


def shorten(line: str) -> str:
    """``line`` cut to a length that a terminal shows in two lines."""
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 3]}..."


def _cut(shown: list[str], number: int) -> str:
    more = [f"and {number - len(shown)} more"] if number > len(shown) else []
    return ", ".join([*shown, *more])


def plain(value: Any) -> Any:
    """``value`` as JSON values: dataclasses by their fields, paths as text; numbers that are not finite become null.

    >>> plain({"file": Path("a.jpg"), "scores": (1.0, math.inf)})
    {'file': 'a.jpg', 'scores': [1.0, None]}
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {json_name(item.name): plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if _AS_THEY_ARE.issuperset(map(type, value)):  # a long column
            return list(value)
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no JSON form")
