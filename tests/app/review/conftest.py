"""Workspaces for reviews."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from visterm.app.workspace import Workspace


@pytest.fixture
def photos(looked_at) -> Iterator[Workspace]:
    """A workspace that a test may change."""
    with Workspace(looked_at()) as opened:
        yield opened


@pytest.fixture(scope="module")
def kept(looked_at) -> Iterator[Workspace]:
    """A workspace that the tests of a module share and do not change."""
    with Workspace(looked_at()) as opened:
        yield opened
