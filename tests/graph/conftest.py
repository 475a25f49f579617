"""Small collections with known structure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def counts(rng):
    """Sixty bags of fifteen codewords in three groups, of which every third picture is tagged."""
    groups = np.arange(60) % 3
    rates = np.full((60, 15), 0.4)
    for g in range(3):
        rates[groups == g, 5 * g : 5 * g + 5] = 2.5
    X = rng.poisson(rates).astype(float)
    X[:, 0] += 1  # no picture is empty
    tags = np.zeros((60, 4))
    tags[np.arange(60), groups] = 1
    tags[:, 3] = rng.random(60) < 0.3
    tags[(np.arange(60) // 3) % 3 != 0] = 0
    return X, sparse.csr_array(tags), groups


@pytest.fixture
def links(rng):
    """A random connected weighted graph of twelve pictures."""
    weights = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    weights[np.arange(11), np.arange(1, 12)] = 0.5
    return sparse.csr_array(weights + weights.T)
