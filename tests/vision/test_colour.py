from __future__ import annotations

import colorsys
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.vision import to_grey, to_hsv, to_lab

channel = st.integers(0, 255)


@given(red=channel, green=channel, blue=channel)
def test_hsv_equals_the_standard_library(red, green, blue):
    expected = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    hsv = to_hsv(np.array([red, green, blue], np.uint8))
    np.testing.assert_allclose(hsv, expected, atol=1e-5)
    assert 0 <= hsv[0] < 1


def test_hue_just_below_a_turn_stays_below_one():
    assert to_hsv(np.array([1.0, 0.0, 1e-9]))[0] < 1


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((255, 255, 255), (100, 0, 0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((128, 128, 128), (53.59, 0, 0)),
        ((5, 5, 5), (1.37, 0, 0)),
    ],
)
def test_lab_of_known_colours(rgb, lab):
    np.testing.assert_allclose(to_lab(np.array(rgb, np.uint8)), lab, atol=0.01)


@given(level=channel)
def test_greys_have_no_colour(level):
    grey = np.full(3, level, np.uint8)
    assert to_grey(grey) == pytest.approx(level / 255, abs=1e-6)
    assert to_hsv(grey)[1] == 0
    np.testing.assert_allclose(to_lab(grey)[1:], 0, atol=2e-4)


def test_lightness_grows_with_grey():
    greys = np.arange(256, dtype=np.uint8)[:, None].repeat(3, axis=1)
    assert np.all(np.diff(to_lab(greys)[:, 0]) > 0)


@pytest.mark.parametrize("convert", [to_hsv, to_lab])
def test_pictures_of_bytes_and_floats_agree(convert):
    rgb = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    expected = convert(rgb)
    assert expected.shape == (4, 5, 3)
    assert expected.dtype == np.float32
    np.testing.assert_allclose(convert(rgb / 255), expected, atol=1e-4)
    np.testing.assert_array_equal(convert(rgb[::-1])[::-1], expected)


def test_grey_of_a_picture():
    rgb = np.random.default_rng(0).integers(0, 256, (4, 5, 3), np.uint8)
    assert to_grey(rgb).dtype == np.float32
    np.testing.assert_allclose(to_grey(rgb), rgb @ np.array([0.299, 0.587, 0.114]) / 255, atol=1e-6)


@pytest.mark.parametrize("convert", [to_grey, to_hsv, to_lab])
@pytest.mark.parametrize("bad", [np.zeros((4, 4)), np.array(0.5), np.full((2, 2, 3), np.nan), np.zeros((2, 3), int)])
def test_what_has_no_colours_is_refused(convert, bad):
    with pytest.raises(InputError):
        convert(bad)


@pytest.mark.parametrize("name", ["local.sift", "local.colours", "local.lbp", "colour"])
def test_importing_does_not_load_the_compiler(name):
    code = f"import sys, visterm.vision.{name}; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
