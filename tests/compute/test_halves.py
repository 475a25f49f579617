"""Halves taken for singles by their bits are the same numbers."""

from __future__ import annotations

import numpy as np

from visterm.compute import halves as module
from visterm.compute.halves import singles


def test_every_finite_half_is_the_same_number():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = halves[np.isfinite(halves)]
    np.testing.assert_array_equal(singles(finite).view(np.uint32), finite.astype(np.float32).view(np.uint32))


def test_singles_are_left_as_they_are():
    values = np.array([1.5, -2.0], np.float32)
    assert singles(values) is values


def test_blocks_and_layouts_change_nothing(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 10)
    halves = np.random.default_rng(0).standard_normal((7, 6)).astype(np.float16)
    for some in (halves, halves[:, 1:3], halves.T, halves[::2], halves[:0], halves[:, :0], np.asfortranarray(halves)):
        np.testing.assert_array_equal(singles(some), some.astype(np.float32))
