from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from visterm.errors import InputError
from visterm.vision import lbp_blocks, lbp_codes, palette_indices, to_grey
from visterm.vision.local.lbp import N_PATTERNS

modest = settings(max_examples=20, deadline=None)
pictures = hnp.arrays(np.uint8, st.tuples(st.integers(5, 12), st.integers(5, 12)), elements=st.integers(0, 255))


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


def uniform_patterns():
    """The patterns whose bits change at most twice around the circle, by looking at their digits."""
    circles = [f"{pattern:08b}" for pattern in range(256)]
    return [
        p for p, bits in enumerate(circles) if sum(a != b for a, b in zip(bits, bits[1:] + bits[0], strict=True)) <= 2
    ]


def slow_codes(grey):
    """The definition, by interpolation of SciPy."""
    height, width = grey.shape
    y, x = np.mgrid[2 : height - 2, 2 : width - 2]
    patterns = np.zeros(y.shape, int)
    for k in range(8):
        angle = k * np.pi / 4
        places = [y - 2 * np.sin(angle), x + 2 * np.cos(angle)]
        values = ndimage.map_coordinates(grey.astype(np.float64), places, order=1, mode="nearest")
        patterns |= (values - grey[2:-2, 2:-2] >= -1e-12) << k
    labels = {pattern: label for label, pattern in enumerate(uniform_patterns())}
    return np.vectorize(lambda pattern: labels.get(pattern, 58))(patterns)


def test_there_are_58_uniform_patterns_and_one_label_for_the_rest():
    assert len(uniform_patterns()) + 1 == N_PATTERNS


def test_equals_the_definition():
    grey = noise(40, 50)
    codes = lbp_codes(grey)
    assert codes.shape == (36, 46)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, slow_codes(grey))
    assert len(np.unique(codes)) > 50


def test_brighter_dot_has_the_empty_pattern_and_darker_the_full_one():
    dot = np.zeros((5, 5))
    dot[2, 2] = 1
    assert lbp_codes(dot) == [[0]]
    assert lbp_codes(-dot) == [[57]]


def test_edge_has_the_bits_of_its_bright_side():
    step = np.zeros((5, 5))
    step[:, 3:] = 1
    step[2, 2] = 0.5
    assert uniform_patterns()[int(lbp_codes(step)[0, 0])] == 0b10000011


@modest
@given(grey=pictures, shift=st.integers(-50, 50), exponent=st.integers(-3, 3))
def test_brightness_and_contrast_do_not_matter(grey, shift, exponent):
    values = grey.astype(np.float64)
    np.testing.assert_array_equal(lbp_codes((values + shift) * 2.0**exponent), lbp_codes(values))


@modest
@given(grey=pictures)
def test_monotone_curve_keeps_the_bits_on_the_axes(grey):
    # Points on the axes are pixels; those on the diagonals are interpolated, and kept darker than any centre here.
    axes = np.zeros((5, 5), bool)
    axes[2, ::2] = axes[::2, 2] = True
    values = grey[:5, :5] / 255
    np.testing.assert_array_equal(lbp_codes(np.where(axes, values**3, -1)), lbp_codes(np.where(axes, values, -1)))


def test_constant_picture_has_one_pattern_whatever_its_value():
    for value in (0.0, 0.1, 1 / 3):
        assert np.all(lbp_codes(np.full((9, 9), value)) == 57)


@pytest.mark.parametrize("shape", [(0, 0), (4, 9), (9, 3)])
def test_picture_without_a_complete_circle_has_no_codes(shape):
    assert lbp_codes(np.zeros(shape, np.uint8)).size == 0


def test_blocks_are_histograms_of_patterns_and_colours():
    rgb, palette = noise(17, 25, 3), noise(7, 3)
    frames, histograms = lbp_blocks(rgb, block=8, palette=palette)
    grey = to_grey(rgb)
    codes = np.full(grey.shape, -1)
    codes[2:-2, 2:-2] = slow_codes(grey)
    nearest = ((rgb[:, :, None] - palette) ** 2).sum(axis=3).argmin(axis=2)
    expected, places = [], []
    for top in (0, 4, 8):
        for left in (0, 4, 8, 12, 16):
            block = np.s_[top : top + 8, left : left + 8]
            patterns = np.array([(codes[block] == label).sum() for label in range(59)])
            colours = np.array([(nearest[block] == label).sum() for label in range(7)])
            expected.append([*patterns / patterns.sum(), *colours / 64])
            places.append((left + 3.5, top + 3.5, 8))
    np.testing.assert_array_equal(frames, places)
    np.testing.assert_allclose(histograms, expected, atol=1e-6)


def test_blocks_without_a_palette_need_no_colour():
    grey = noise(64, 96)
    frames, histograms = lbp_blocks(grey)
    assert frames.tolist() == [[31.5, 31.5, 64], [63.5, 31.5, 64]]
    assert histograms.shape == (2, 59)
    np.testing.assert_allclose(histograms.sum(axis=1), 1, rtol=1e-5)


def test_block_of_odd_side_steps_by_half_of_it_rounded_down():
    assert lbp_blocks(noise(9, 9), block=7)[0].tolist() == [[3, 3, 7]]
    assert len(lbp_blocks(noise(10, 7), block=7)[0]) == 2


def test_picture_smaller_than_a_block_has_none():
    frames, histograms = lbp_blocks(np.zeros((63, 200, 3), np.uint8), palette=np.zeros((50, 3)))
    assert (frames.shape, histograms.shape) == ((0, 3), (0, 109))


def test_palettes_of_bytes_and_of_floats_agree():
    palette = np.random.default_rng(1).integers(0, 256, (50, 3), np.uint8)
    rgb = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)
    expected = ((rgb[:, :, None].astype(int) - palette.astype(int)) ** 2).sum(axis=3).argmin(axis=2)
    for same in (palette, palette / 255):
        nearest = palette_indices(rgb, same)
        distances = ((rgb.astype(int) - palette[nearest].astype(int)) ** 2).sum(axis=2)
        shortest = ((rgb.astype(int) - palette[expected].astype(int)) ** 2).sum(axis=2)
        np.testing.assert_array_equal(distances, shortest)


@pytest.mark.parametrize(
    ("palette", "message"),
    [
        (np.full((2, 3), 200.0), "0 to 1"),
        (np.zeros((0, 3)), "n_colours"),
        (np.zeros(3), "n_colours"),
        ([[np.nan] * 3], "finite"),
    ],
)
def test_wrong_palette_is_refused(palette, message):
    with pytest.raises(InputError, match=message):
        lbp_blocks(noise(64, 64, 3), palette=palette)


@pytest.mark.parametrize(
    ("picture", "options"),
    [
        (noise(64, 64), {"palette": np.zeros((2, 3))}),
        (noise(64, 64, 4), {}),
        (noise(64), {}),
        (np.full((64, 64), np.nan), {}),
        (noise(64, 64), {"block": 4}),
        (noise(64, 64), {"block": 16.5}),
    ],
)
def test_wrong_use_is_refused(picture, options):
    with pytest.raises(InputError):
        lbp_blocks(picture, **options)


def test_colours_may_be_told_apart_in_another_space():
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:, 32:] = 255
    swapped = 1 - picture / 255  # a colour space in which black is white
    palette = np.array([[0.0, 0, 0], [1.0, 1, 1]])
    _, plain = lbp_blocks(picture, 32, palette=palette)
    _, other = lbp_blocks(picture, 32, palette=palette, colours=swapped)
    np.testing.assert_array_equal(plain[:, :N_PATTERNS], other[:, :N_PATTERNS])
    np.testing.assert_array_equal(plain[:, N_PATTERNS:], other[:, :-3:-1])
