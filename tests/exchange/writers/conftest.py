"""Catalogued pictures to export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from visterm.catalogue.pictures import Label, Picture


@pytest.fixture
def make_picture() -> Callable[..., Picture]:
    """A function that makes a picture with accepted ``tags`` (names or labels), and any other field as given."""

    def make(path: str = "a.jpg", *, tags: Any = (), class_label: Any = None, **fields: Any) -> Picture:
        if isinstance(class_label, str):
            class_label = accepted(class_label)
        values: dict[str, Any] = {
            "id": 1,
            "sha256": "0" * 64,
            "paths": (path,),
            "size": 100,
            "width": 40,
            "height": 30,
            "orientation": 1,
            "state": "ok",
            "reason": None,
            "split": None,
            "caption": None,
            "classes": () if class_label is None else (class_label,),
            "regions": (),
            "missing": False,
        }
        labels = tuple(accepted(tag) if isinstance(tag, str) else tag for tag in tags)
        return Picture(**values | fields, class_label=class_label, tags=labels)

    return make


def accepted(name: str) -> Label:
    return Label(name, "person", "accepted", None, "2024-01-01T00:00:00Z")
