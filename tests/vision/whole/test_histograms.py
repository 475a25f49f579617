from __future__ import annotations

import colorsys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.errors import InputError
from visterm.vision import colour_histogram, to_lab

pictures = arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6), st.just(3)))


@pytest.mark.parametrize(("space", "convert"), [("rgb", lambda *rgb: rgb), ("hsv", colorsys.rgb_to_hsv)])
def test_equals_counting(space, convert):
    rgb = np.random.default_rng(0).random((9, 8, 3))
    bins = (5, 3, 4)
    counts = Counter()
    for pixel in rgb.reshape(-1, 3):
        i, j, k = (min(int(value * n), n - 1) for value, n in zip(convert(*pixel), bins, strict=True))
        counts[(i * 3 + j) * 4 + k] += 1
    expected = np.array([counts[box] for box in range(60)]) / 72
    np.testing.assert_allclose(colour_histogram(rgb, space, bins), expected, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(pictures, st.sampled_from(["hsv", "rgb", "lab"]))
def test_sums_to_one_and_forgets_places(picture, space):
    histogram = colour_histogram(picture, space)
    assert histogram.sum() == pytest.approx(1, abs=1e-5)
    assert histogram.min() >= 0
    np.testing.assert_array_equal(colour_histogram(picture[::-1].swapaxes(0, 1), space), histogram)


def test_lab_extent_is_that_of_srgb():
    steps = np.linspace(0, 1, 32)
    lab = to_lab(np.stack(np.meshgrid(steps, steps, steps), axis=-1)).reshape(-1, 3)
    assert (lab.min(axis=0) >= [-0.001, -87, -108]).all()
    assert (lab.max(axis=0) <= [100.001, 99, 95]).all()
    assert (lab.min(axis=0) <= [0.001, -86, -107]).all()
    assert (lab.max(axis=0) >= [99.999, 98, 94]).all()


def test_white_is_the_last_box_of_rgb():
    assert colour_histogram(np.full((2, 2, 3), 255, np.uint8), "rgb")[-1] == 1


@pytest.mark.parametrize(
    ("space", "bins"),
    [("cmyk", (4, 4, 4)), ("rgb", (4, 4)), ("rgb", (4, 0, 4)), ("rgb", (4.0, 4, 4)), ("rgb", (10**4,) * 3)],
)
def test_impossible_settings_are_refused(space, bins):
    with pytest.raises(InputError):
        colour_histogram(np.zeros((3, 3, 3)), space, bins)
