from __future__ import annotations

import colorsys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.vision import colour_correlogram, named_colours
from visterm.vision.whole.colours import DISTANCES, N_COLOURS

few_colours = np.array([[255, 0, 0], [0, 0, 255], [255, 255, 255]], np.uint8)


def slow_correlogram(colours):
    """The definition: all pairs of pixels, one after the other."""
    height, width = colours.shape
    correlogram = np.zeros((N_COLOURS, len(DISTANCES)))
    pixels = [(y, x) for y in range(height) for x in range(width)]
    for d, distance in enumerate(DISTANCES):
        for colour in range(N_COLOURS):
            same = met = 0
            for y, x in pixels:
                for v, u in pixels:
                    if colours[y, x] == colour and max(abs(y - v), abs(x - u)) == distance:
                        met += 1
                        same += colours[v, u] == colour
            correlogram[colour, d] = same / met if met else 0
    return correlogram.ravel()


def slow_name(red, green, blue):
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    if value < 0.2:
        return 0
    if saturation < 0.2:
        return 7 if value >= 0.8 else int(10 * value) - 1
    hues = [i for i, end in enumerate((22, 45, 70, 155, 186, 278, 330)) if 360 * hue <= end]
    return 8 + 4 * (hues[0] if hues else 0) + 2 * (saturation >= 0.65) + (value >= 0.7)


@pytest.mark.parametrize("shape", [(8, 9), (2, 11), (1, 1), (1, 9)])
def test_equals_the_definition(shape):
    picture = few_colours[np.random.default_rng(0).integers(0, 3, shape)]
    np.testing.assert_allclose(colour_correlogram(picture), slow_correlogram(named_colours(picture)), atol=1e-6)


def test_names_equal_the_definition():
    rgb = np.random.default_rng(0).random((40, 40, 3))
    expected = [[slow_name(*pixel) for pixel in row] for row in rgb.astype(np.float32).astype(float)]
    assert (named_colours(rgb) != expected).mean() < 0.002  # some lie on a limit, but for rounding


def test_every_name_is_used():
    steps = np.linspace(0, 1, 24)
    every_colour = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(24, -1, 3)
    assert np.unique(named_colours(every_colour)).tolist() == list(range(N_COLOURS))


@settings(max_examples=25, deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(1, 20), st.integers(1, 20)), elements=st.integers(0, 2)))
def test_probabilities_that_flips_and_turns_leave_alone(indices):
    picture = few_colours[indices]
    correlogram = colour_correlogram(picture)
    assert correlogram.min() >= 0
    assert correlogram.max() <= 1
    for other in (picture[::-1], picture[:, ::-1], picture.swapaxes(0, 1)):
        np.testing.assert_allclose(colour_correlogram(other), correlogram, atol=1e-6)


def test_one_colour_is_met_everywhere():
    correlogram = colour_correlogram(np.full((10, 12, 3), (0, 200, 0), np.uint8)).reshape(N_COLOURS, 4)
    assert correlogram[correlogram.any(axis=1)].tolist() == [[1, 1, 1, 1]]


def test_tells_a_patch_from_scattered_pixels_of_the_same_histogram():
    patch = np.zeros((16, 16), int)
    patch[:, :8] = 1
    scattered = np.random.default_rng(0).permutation(patch.ravel()).reshape(16, 16)
    together, apart = (colour_correlogram(few_colours[indices]).reshape(36, 4)[:, 0] for indices in (patch, scattered))
    assert (together[together > 0] > apart[apart > 0] + 0.3).all()
