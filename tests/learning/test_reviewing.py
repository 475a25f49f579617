"""Heads that learn while a person reviews."""

from __future__ import annotations

import numpy as np

from visterm.learning import reduced


def test_few_pictures_and_many_give_the_same_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 40)).astype(np.float32)
    padded = np.vstack([X, X]).astype(np.float32)  # each picture twice: the same directions, and more pictures than numbers
    few, many = reduced(X, 5), reduced(padded, 5)[:30]
    assert few.shape == many.shape == (30, 6)
    np.testing.assert_allclose(few @ few.T, many @ many.T, atol=1e-4)
