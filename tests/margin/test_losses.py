"""Losses: conjugates by brute force, and steps that no other step beats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.margin.solver._kernels import best_dual
from visterm.margin.solver.losses import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, loss_named, smooth_hinge

LOSSES = [HINGE, smooth_hinge(1.0), smooth_hinge(0.3), SQUARED_HINGE, SQUARED, LOGISTIC]
by_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def range_of(loss):
    return max(loss.code.low, -4.0), min(loss.code.high, 6.0)


def test_values_are_their_definition():
    m = np.array([-2.0, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(SQUARED_HINGE.value(m), np.maximum(0, 1 - m) ** 2)
    np.testing.assert_allclose(SQUARED.value(m), (1 - m) ** 2)
    np.testing.assert_allclose(LOGISTIC.value(m), np.log(1 + np.exp(-m)))
    np.testing.assert_allclose(smooth_hinge(0.5).value(m), [2.75, 0.75, 0.25, 0.0, 0.0])


@by_loss
def test_conjugate_is_the_largest_distance_below_the_loss(loss):
    margins = np.linspace(-60, 60, 240_001)
    low, high = range_of(loss)
    for b in np.linspace(low, high, 9)[1:-1]:
        brute = np.max(-b * margins - loss.value(margins))  # l*(-b) = sup_m (-b m - l(m))
        assert loss.conjugate(b) == pytest.approx(brute, abs=1e-6)


@by_loss
def test_conjugate_is_infinite_outside_its_range(loss):
    low, high = loss.code.low, loss.code.high
    if np.isfinite(low):
        assert loss.conjugate(low - 0.1) == np.inf
        assert np.isfinite(loss.conjugate(low))
    if np.isfinite(high):
        assert loss.conjugate(high + 0.1) == np.inf
        assert np.isfinite(loss.conjugate(high))


@by_loss
@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1), margin=st.floats(-20, 20), q=st.floats(1e-3, 50))
@example(share=0.0, margin=-2.75, q=46.0)
def test_step_equals_a_line_search(loss, share, margin, q):
    low, high = range_of(loss)
    b = low + share * (high - low)

    def gain(after):
        return -loss.conjugate(after) - (after - b) * margin - 0.5 * (after - b) ** 2 * q

    after = best_dual(b, margin, q, loss.code)
    assert loss.code.low <= after <= loss.code.high
    around = np.clip(after + np.linspace(-8, 8, 2001), loss.code.low, loss.code.high)
    best = max(gain(around).max(), gain(after + 1e-4 * np.array([-1, 1])).max())
    assert gain(after) >= best - 1e-7 * (1 + abs(best))


@settings(max_examples=60, deadline=None)
@given(
    b=st.floats(0, 1), f=st.floats(-5, 5), y=st.sampled_from([-1.0, 1.0]), q=st.floats(0.01, 9), gamma=st.floats(0, 2)
)
def test_step_is_equation_7(b, f, y, q, gamma):
    alpha = y * b
    change = y * max(-y * alpha, min(1 - y * alpha, (1 - y * f - gamma * y * alpha) / (q + gamma)))
    loss = smooth_hinge(gamma) if gamma > 0 else HINGE
    assert best_dual(b, y * f, q, loss.code) == pytest.approx(y * (alpha + change), abs=1e-9)


@by_loss
@settings(max_examples=30, deadline=None)
@given(share=st.floats(0.01, 0.99), margin=st.floats(-20, 20))
def test_compiled_values_equal_the_objects(loss, share, margin):
    from visterm.margin.solver._kernels import conjugate, coordinate_gap, loss_value

    low, high = range_of(loss)
    b = low + share * (high - low)
    assert loss_value(margin, loss.code) == pytest.approx(float(loss.value(margin)), abs=1e-9)
    assert conjugate(b, loss.code) == pytest.approx(float(loss.conjugate(b)), abs=1e-9)
    assert coordinate_gap(b, margin, loss.code) >= -1e-9


def test_a_picture_without_features_gets_the_whole_loss():
    assert best_dual(0.0, 0.0, 0.0, HINGE.code) == 1.0
    assert best_dual(0.0, 0.0, 0.0, LOGISTIC.code) == pytest.approx(0.5)


def test_names():
    assert loss_named("hinge") == HINGE
    assert loss_named("smooth_hinge") == smooth_hinge(1.0)
    assert loss_named("smooth_hinge:0.25") == smooth_hinge(0.25)
    with pytest.raises(InputError, match=r"needs gamma > 0, not 0\.0: gamma = 0 is the hinge"):
        smooth_hinge(0.0)
    for wrong in ("hing", "smooth_hinge:x", "smooth_hinge:-1", "hinge:1", ""):
        with pytest.raises(InputError, match=r"loss|gamma"):
            loss_named(wrong)
