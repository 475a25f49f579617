from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.catalogue.records import Reading, Record
from visterm.exchange.readers import READERS


@pytest.fixture
def read() -> Callable[..., tuple[list[Record], Reading]]:
    """Read everything at a path in a named format."""

    def read_all(format: str, path: Path) -> tuple[list[Record], Reading]:
        reading = Reading(str(path), format)
        return list(READERS[format].read(path, reading)), reading

    return read_all
