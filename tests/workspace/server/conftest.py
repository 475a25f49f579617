"""A server over a small trained collection, asked inside this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.workspace import Workspace

HOSTS = frozenset(LOOPBACK)
TOKEN = "the-token-of-this-workspace"


def client_of(photos: Workspace, token: str | None = None, **rules) -> TestClient:
    """A client that asks a server in this process, without the work of its first seconds.

    It has the token, unless the test names a token: then it is a client that knows nothing.
    """
    if token is None:
        rules = {"open_reading": True} | rules
    app = application(photos, Rules(HOSTS, token or TOKEN, **rules))
    known = {} if token else {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(app, base_url="http://localhost", headers=known, raise_server_exceptions=False)


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
