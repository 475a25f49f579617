"""Small captioned pictures whose words can be seen."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse


@pytest.fixture
def captioned():
    """80 pictures of 20 visterms and 5 words, each word with four visterms of its own; the last 30 are for testing."""
    rng = np.random.default_rng(3)
    tags = rng.random((80, 5)) < 0.35
    tags[np.arange(80), np.arange(80) % 5] = True
    rates = np.full((80, 20), 0.4)
    for t in range(5):
        rates[tags[:, t], 4 * t : 4 * t + 4] += 3.0
    X = rng.poisson(rates).astype(np.float64)
    tags = sparse.csr_array(tags.astype(np.float32))
    return SimpleNamespace(X=X[:50], tags=tags[:50], X_test=X[50:], tags_test=tags[50:])
