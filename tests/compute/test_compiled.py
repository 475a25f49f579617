"""How loops are compiled."""

from __future__ import annotations

import numpy as np

from visterm.compute.compiled import SUMS, compiled


@compiled
def share(part: float, whole: float) -> float:
    return part / whole


@compiled(fastmath=SUMS)
def total(values: np.ndarray) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


def test_divisions_do_not_check_for_zero():
    assert share(1.0, 4.0) == 0.25
    assert share(1.0, 0.0) == np.inf


def test_liberties_with_floating_point_hold_for_the_function_that_takes_them():
    values = np.random.default_rng(0).random(1000)
    np.testing.assert_allclose(total(values), values.sum(), rtol=1e-13)
    assert total.targetoptions["fastmath"] == SUMS
    assert "fastmath" not in share.targetoptions


def test_compiled_code_runs_without_the_lock_and_is_kept():
    share(1.0, 4.0)
    assert share.targetoptions["nogil"]
    assert share.stats.cache_path
