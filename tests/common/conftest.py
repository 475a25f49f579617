"""One known-answer collection shared by every method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse


@dataclass(frozen=True)
class Known:
    """Bags of 24 codewords in three classes; each class and each of four tags has codewords of its own."""

    X: np.ndarray
    y: np.ndarray
    tags: sparse.csr_array
    train: np.ndarray
    test: np.ndarray


@pytest.fixture(scope="session")
def known() -> Known:
    rng = np.random.default_rng(7)
    n_pictures, n_classes, n_tags, n_codewords = 120, 3, 4, 24
    y = np.arange(n_pictures) % n_classes
    tags = rng.random((n_pictures, n_tags)) < 0.4
    tags[np.arange(n_pictures), y] = True  # the class decides one tag; the fourth is independent of it
    rates = np.full((n_pictures, n_codewords), 0.5)
    for c in range(n_classes):
        rates[y == c, 3 * c : 3 * c + 3] += 6
    for t in range(n_tags):
        rates[tags[:, t], 9 + 3 * t : 12 + 3 * t] += 6
    X = rng.poisson(rates).astype(np.float64)
    order = rng.permutation(n_pictures)
    return Known(X, y, sparse.csr_array(tags.astype(np.float32)), order[:80], order[80:])
