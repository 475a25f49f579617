from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from visterm.vision import grid_colour_moments, to_lab


def test_equals_the_definition():
    rgb = np.random.default_rng(0).random((15, 20, 3))
    lab = to_lab(rgb).astype(float)
    moments = grid_colour_moments(rgb).reshape(5, 5, 3, 3)
    for i in range(5):
        for j in range(5):
            for channel in range(3):
                values = lab[3 * i : 3 * i + 3, 4 * j : 4 * j + 4, channel].ravel()
                third = np.mean((values - values.mean()) ** 3)
                expected = values.mean(), values.std(), np.sign(third) * abs(third) ** (1 / 3)
                np.testing.assert_allclose(moments[i, j, channel], expected, rtol=1e-4, atol=1e-4)


def test_third_moment_is_skewness():
    rgb = np.random.default_rng(1).beta(1, 5, (10, 10, 3))
    mean, deviation, third = np.moveaxis(grid_colour_moments(rgb).reshape(-1, 3), 1, 0)
    cells = to_lab(rgb).reshape(5, 2, 5, 2, 3).transpose(0, 2, 4, 1, 3).reshape(75, 4)
    np.testing.assert_allclose(third**3 / deviation**3, stats.skew(cells, axis=1), atol=2e-3)
    np.testing.assert_allclose(mean, cells.mean(axis=1), atol=1e-4)


@pytest.mark.parametrize("shape", [(10, 15), (13, 11)])
def test_flips_permute_cells_where_these_divide_evenly(shape):
    rgb = np.random.default_rng(2).random((*shape, 3))
    plain, upset = (grid_colour_moments(each).reshape(5, 5, 9) for each in (rgb, rgb[::-1, ::-1]))
    assert np.allclose(upset, plain[::-1, ::-1], atol=1e-4) == all(side % 5 == 0 for side in shape)


def test_plain_picture_has_only_means():
    moments = grid_colour_moments(np.full((31, 17, 3), (10, 200, 90), np.uint8)).reshape(25, 3, 3)
    np.testing.assert_allclose(moments[..., 1:], 0, atol=1e-4)
    np.testing.assert_allclose(moments[..., 0], moments[:1, :, 0].repeat(25, axis=0), atol=1e-4)


def test_picture_smaller_than_the_grid_repeats_its_pixels():
    rgb = np.random.default_rng(3).random((2, 1, 3))
    means = grid_colour_moments(rgb).reshape(5, 5, 3, 3)[..., 0]
    np.testing.assert_allclose(means[0], np.tile(to_lab(rgb)[0, 0], (5, 1)), atol=1e-4)
    np.testing.assert_allclose(means[4], np.tile(to_lab(rgb)[1, 0], (5, 1)), atol=1e-4)
