"""Tables of distances: what they hold, and that they are computed once."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.distances import BaseDistances
from visterm.research.picture_distances import DEEP, distance_tables


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return {"hsv": rng.random((6, 5)), "gist": rng.normal(size=(6, 4)), DEEP: rng.normal(size=(6, 3))}


def test_every_feature_has_its_metric(features, tmp_path):
    tables = distance_tables(features, tmp_path / "tables")
    metrics = {"hsv": "chi2", "gist": "l1", DEEP: "cosine"}
    expected = BaseDistances(metrics).fit(features).transform_training()
    assert list(tables) == list(features)
    for name, table in tables.items():
        np.testing.assert_allclose(table, expected[name], rtol=1e-6)


def test_what_is_kept_is_not_computed_again(features, tmp_path):
    first = distance_tables(features, tmp_path)
    changed = {name: np.ones_like(X) for name, X in features.items()}
    again = distance_tables(changed, tmp_path)
    for name, table in first.items():
        np.testing.assert_array_equal(table, again[name])
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(f"{name}.npy" for name in features)
