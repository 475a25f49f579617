from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.vision import dense_hue, dense_sift


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random((*shape, 3), np.float32)


def slow_hue(rgb, step, size, n_hues):
    """The definition, pixel by pixel."""
    height, width = rgb.shape[:2]
    rows = []
    for top in range(0, height - 3 * size, step):
        for left in range(0, width - 3 * size, step):
            histogram = np.zeros(n_hues)
            for y in range(height):
                for x in range(width):
                    inside = 1.0
                    for place, begin in ((y, top - size / 2), (x, left - size / 2)):
                        inside *= max(0.0, min(place + 0.5, begin + 4 * size) - max(place - 0.5, begin))
                    red, green, blue = rgb[y, x]
                    first, second = (red - green) / 2**0.5, (red + green - 2 * blue) / 6**0.5
                    position = np.arctan2(first, second) / (2 * np.pi) * n_hues % n_hues
                    saturation = np.sqrt(
                        2 / 3 * (red**2 + green**2 + blue**2 - red * green - red * blue - green * blue)
                    )
                    histogram[int(position) % n_hues] += inside * saturation * (1 - position % 1)
                    histogram[(int(position) + 1) % n_hues] += inside * saturation * (position % 1)
            rows.append(histogram / np.linalg.norm(histogram))
    return np.array(rows)


@pytest.mark.parametrize(
    ("shape", "step", "size", "n_hues"), [((14, 16), 4, 3, 36), ((15, 14), 2, 4, 37), ((8, 7), 3, 1, 2)]
)
def test_equals_the_definition(shape, step, size, n_hues):
    rgb = noise(*shape)
    _, histograms = dense_hue(rgb, step, [size], n_hues=n_hues)
    np.testing.assert_allclose(histograms, slow_hue(rgb.astype(np.float64), step, size, n_hues), atol=2e-6)


def test_frames_are_those_of_sift():
    rgb = noise(60, 50)
    np.testing.assert_array_equal(dense_hue(rgb)[0], dense_sift(rgb[..., 0])[0])


@pytest.mark.parametrize(
    ("colour", "hue"),
    [((1, 1, 0), 0), ((1, 0, 0), 1), ((1, 0, 1), 2), ((0, 0, 1), 3), ((0, 1, 1), 4), ((0, 1, 0), 5)],
)
def test_pure_colours_have_the_six_hues(colour, hue):
    _, histograms = dense_hue(np.tile(np.float32(colour), (13, 13, 1)), bin_sizes=[4], n_hues=6)
    np.testing.assert_allclose(histograms, np.eye(6)[[hue]], atol=1e-5)


def test_grey_picture_has_no_hue():
    grey = np.random.default_rng(0).integers(0, 256, (40, 40, 1), np.uint8).repeat(3, axis=2)
    assert not dense_hue(grey)[1].any()


def test_grey_light_and_exposure_do_not_matter():
    rgb = noise(20, 20) / 2
    _, plain = dense_hue(rgb)
    np.testing.assert_allclose(dense_hue(rgb + 0.3)[1], plain, atol=1e-4)
    np.testing.assert_allclose(dense_hue(rgb * 1.7)[1], plain, atol=1e-4)


def test_picture_smaller_than_a_patch_has_none():
    frames, histograms = dense_hue(np.zeros((12, 40, 3), np.uint8))
    assert (frames.shape, histograms.shape) == ((0, 3), (0, 36))


@pytest.mark.parametrize("rgb", [np.zeros((20, 20)), np.full((20, 20, 3), np.inf)])
def test_what_is_no_colour_picture_is_refused(rgb):
    with pytest.raises(InputError):
        dense_hue(rgb)


def test_fewer_than_two_hues_are_refused():
    with pytest.raises(InputError, match="at least 2"):
        dense_hue(noise(20, 20), n_hues=1)
