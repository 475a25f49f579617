"""Products with halves are those of the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.search import _halves
from visterm.search._halves import products


@pytest.mark.parametrize(("n_rows", "n_columns"), [(1, 1), (7, 0), (5, 33), (130, 40)])
def test_products_are_those_of_singles(n_rows, n_columns, monkeypatch):
    monkeypatch.setattr(_halves, "_BLOCK", 70)
    rng = np.random.default_rng(n_rows)
    query = rng.standard_normal(n_rows).astype(np.float32)
    columns = (1000 * rng.standard_normal((n_rows, 2 * n_columns))).astype(np.float16)
    for some in (columns, columns[:, n_columns // 2 : n_columns // 2 + n_columns]):
        expected = query.astype(np.float64) @ some.astype(np.float64)
        np.testing.assert_allclose(products(query, some), expected, rtol=1e-4, atol=0.1)


def test_products_of_the_largest_and_smallest():
    columns = np.array([[65504.0, 6e-8, 0.0]], np.float16)
    np.testing.assert_allclose(
        products(np.array([1e30], np.float32), columns), 1e30 * columns[0].astype(np.float64), 1e-6
    )
    np.testing.assert_allclose(
        products(np.array([1e-6], np.float32), columns), 1e-6 * columns[0].astype(np.float64), 1e-6
    )
