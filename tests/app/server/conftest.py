"""A server over a small trained collection, asked inside this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from visterm.app.server.application import application
from visterm.app.server.guard import LOOPBACK, Rules
from visterm.app.workspace import Workspace

HOSTS = frozenset(LOOPBACK)


def client_of(photos: Workspace, **rules) -> TestClient:
    """A client that asks a server in this process, without the work of its first seconds."""
    app = application(photos, Rules(HOSTS, **rules))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture
def client(photos) -> TestClient:
    return client_of(photos)


@pytest.fixture(scope="module")
def reading(kept) -> TestClient:
    """A client for tests that only read."""
    return client_of(kept)


@pytest.fixture
def serving() -> Callable[..., TestClient]:
    """Make a client of a server with other rules."""
    return client_of


@pytest.fixture
def outside(tmp_path) -> Path:
    """A picture that is in no collection."""
    import numpy as np
    from PIL import Image

    pixels = np.random.default_rng(5).integers(0, 255, (40, 60, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "outside.jpg")
    return tmp_path / "outside.jpg"
