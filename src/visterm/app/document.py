"""Documents: what the workspace answers with, in Python a dataclass, for machines the same as JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar


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

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of the document."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).json_schema()


def plain(value: Any) -> Any:
    """``value`` as JSON values: dataclasses by their fields, paths as text; what is no finite number is null.

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
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no JSON form")
