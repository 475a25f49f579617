"""Small problems shared by the tests of the margin methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Blobs:
    """Overlapping classes in a few dimensions."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray  # (n_classes, n_pictures) of -1 and 1


def make_blobs(n_pictures: int = 90, n_dims: int = 6, n_classes: int = 3, spread: float = 1.2, seed: int = 0) -> Blobs:
    rng = np.random.default_rng(seed)
    y = np.arange(n_pictures) % n_classes
    X = rng.normal(size=(n_classes, n_dims))[y] + spread * rng.normal(size=(n_pictures, n_dims))
    return Blobs(X, y, np.where(y == np.arange(n_classes)[:, None], 1.0, -1.0))


@pytest.fixture(scope="session")
def blobs() -> Blobs:
    return make_blobs()


@pytest.fixture(scope="session")
def many_blobs():
    return make_blobs
