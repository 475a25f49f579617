from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from visterm.vision import edge_direction_histogram
from visterm.vision._filters import smooth
from visterm.vision.whole._kernels import STRONG, follow, gradients, ridges
from visterm.vision.whole.structure import _canny


def ramp(angle: float, side: int = 61) -> np.ndarray:
    """An edge through the middle, whose brighter side lies ``angle`` degrees from right towards down."""
    y, x = np.mgrid[:side, :side] - side // 2
    return 1 / (1 + np.exp(-2 * (x * np.cos(np.deg2rad(angle)) + y * np.sin(np.deg2rad(angle)))))


@pytest.mark.parametrize("angle", [2.5, 47.5, 92.5, 137.5, 182.5, 227.5, 272.5, 317.5, 357.5])
def test_an_edge_is_counted_for_its_direction(angle):
    histogram = edge_direction_histogram(ramp(angle))
    assert histogram[:72].argmax() == int(angle // 5)
    assert histogram[int(angle // 5)] > 0.85  # near the border the picture's repeated rows turn the gradient


def test_shares_of_edges_sum_to_one_and_the_last_is_of_all_pixels():
    picture = np.random.default_rng(0).random((40, 50))
    histogram = edge_direction_histogram(picture)
    assert histogram[:72].sum() == pytest.approx(1, abs=1e-5)
    assert histogram[72] == pytest.approx(1 - _canny(picture.astype(np.float32))[0].mean(), abs=1e-6)


def test_plain_and_faint_pictures_have_no_edge():
    faint = 0.5 + 0.01 * (np.arange(40) > 20) * np.ones((40, 1))
    for picture in (np.full((40, 40), 0.7), faint):
        histogram = edge_direction_histogram(picture)
        assert not histogram[:72].any()
        assert histogram[72] == 1


@pytest.mark.parametrize(("angle", "doubled"), [(0, 0), (45, 0), (90, 0), (180, 0), (225, 0), (200, 0.3), (70, 0.3)])
def test_a_straight_edge_is_one_pixel_wide(angle, doubled):
    edges = _canny(ramp(angle).astype(np.float32))[0]
    per_line = edges.sum(axis=1 if abs(np.cos(np.deg2rad(angle))) > 0.7 else 0)[3:-3]
    assert set(per_line) <= {1, 2}
    assert (per_line == 2).mean() <= doubled  # where an oblique edge steps to the next line it may have both pixels


def test_a_disc_has_all_directions():
    y, x = np.mgrid[:201, :201] - 100
    histogram = edge_direction_histogram(1 / (1 + np.exp(np.hypot(y, x) - 80)))
    assert histogram[:72].min() > 0.5 / 72
    assert histogram[:72].max() < 2 / 72


def test_brightness_does_not_matter():
    picture = 0.5 * np.random.default_rng(1).random((30, 30))
    np.testing.assert_allclose(
        edge_direction_histogram(picture + 0.25), edge_direction_histogram(picture), rtol=0, atol=5e-3
    )


def test_flip_mirrors_directions():
    picture = ndimage.gaussian_filter(np.random.default_rng(2).random((80, 90)), 1) * 3 - 1
    plain, flipped = edge_direction_histogram(picture), edge_direction_histogram(picture[:, ::-1])
    np.testing.assert_allclose(flipped[(35 - np.arange(72)) % 72], plain[:72], atol=2e-3)


def test_gradients_equal_differences():
    grey = np.random.default_rng(3).random((7, 9)).astype(np.float32)
    padded = np.pad(grey, 1, mode="edge")
    dx, dy = np.empty_like(grey), np.empty_like(grey)
    gradients(grey, dx, dy)
    np.testing.assert_allclose(dx, (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2, atol=1e-6)
    np.testing.assert_allclose(dy, (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2, atol=1e-6)


def test_ridges_equal_interpolated_comparison():
    grey = smooth(np.random.default_rng(4).random((30, 40)).astype(np.float32), 1.0)
    dx, dy = np.empty_like(grey), np.empty_like(grey)
    gradients(grey, dx, dy)
    strength = np.zeros(grey.shape, np.uint8)
    ridges(dx, dy, 0.02, 0.05, strength)
    length = np.hypot(dx, dy)
    y, x = np.indices(grey.shape)
    ahead, behind = (
        ndimage.map_coordinates(length, (y + s * dy / length, x + s * dx / length), order=1, mode="grid-constant")
        for s in (1, -1)
    )
    expected = np.where((length >= ahead) & (length >= behind) & (length >= 0.02), 1 + (length >= 0.05), 0)
    assert (strength == expected).mean() > 0.998  # equal but for rounding


def test_following_keeps_what_hangs_on_a_strong_pixel():
    strength = np.random.default_rng(5).choice([0, 1, STRONG], (40, 40), p=[0.7, 0.27, 0.03]).astype(np.uint8)
    parts, _ = ndimage.label(strength, np.ones((3, 3)))
    expected = np.isin(parts, np.unique(parts[strength == STRONG]))
    np.testing.assert_array_equal(follow(strength), expected)
