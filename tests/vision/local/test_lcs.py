from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.vision import dense_sift, local_colour_statistics


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random((*shape, 3), np.float32)


def slow_statistics(rgb, step, size):
    """The definition: every pixel by the share of it that lies in the cell, in float64."""
    height, width = rgb.shape[:2]
    rows = []
    for top in range(0, height - 3 * size, step):
        for left in range(0, width - 3 * size, step):
            values = []
            for a in range(4):
                for b in range(4):
                    cy, cx = top + a * size, left + b * size
                    share_y, share_x = (
                        np.clip(size / 2 + 0.5 - np.abs(np.arange(side) - centre), 0, 1)
                        for side, centre in ((height, cy), (width, cx))
                    )
                    weights = np.outer(share_y, share_x)
                    weights /= weights.sum()
                    mean = np.einsum("yx,yxc->c", weights, rgb)
                    variance = np.einsum("yx,yxc->c", weights, (rgb - mean) ** 2)
                    values.extend([*mean, *np.sqrt(variance)])
            rows.append(values)
    return np.array(rows)


@pytest.mark.parametrize(
    ("shape", "step", "size"), [((14, 18), 3, 4), ((16, 13), 4, 3), ((20, 20), 4, 6), ((5, 5), 1, 1)]
)
def test_equals_the_definition(shape, step, size):
    rgb = noise(*shape)
    _, descriptors = local_colour_statistics(rgb, step, [size], power=False, l2=False)
    np.testing.assert_allclose(descriptors, slow_statistics(rgb.astype(np.float64), step, size), atol=1e-6)


def test_normalisations():
    rgb = noise(30, 30)
    _, plain = local_colour_statistics(rgb, power=False, l2=False)
    _, rooted = local_colour_statistics(rgb, l2=False)
    _, both = local_colour_statistics(rgb)
    np.testing.assert_allclose(rooted, np.sqrt(plain), atol=1e-6)
    np.testing.assert_allclose(both, rooted / np.linalg.norm(rooted, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize(
    ("step", "bin_sizes"), [(4, (4, 6, 8, 10, 12)), (3, (5, 2)), ((4, 6, 8, 12, 16), (6, 8, 12, 16, 24))]
)
def test_rows_belong_to_the_patches_of_sift(step, bin_sizes):
    rgb = noise(110, 120)
    frames, descriptors = local_colour_statistics(rgb, step, bin_sizes)
    sift_frames, sift = dense_sift(rgb[..., 0], step, bin_sizes)
    np.testing.assert_array_equal(frames, sift_frames)
    assert np.concatenate((sift, descriptors), axis=1).shape == (len(frames), 224)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7])
def test_constant_picture_has_no_deviation_at_all(value):
    _, descriptors = local_colour_statistics(np.full((60, 60, 3), value))
    cells = descriptors.reshape(-1, 16, 6)
    assert not cells[..., 3:].any()
    np.testing.assert_allclose(cells[..., :3], 1 / np.sqrt(48), rtol=1e-5)


def test_black_picture_is_zero_without_nan():
    assert not local_colour_statistics(np.zeros((60, 60, 3), np.uint8))[1].any()


def test_faintest_texture_of_eight_bits_is_seen():
    rgb = np.full((60, 60, 3), 255, np.uint8)
    rgb[30, 30] = 254
    _, descriptors = local_colour_statistics(rgb, bin_sizes=[12], power=False, l2=False)
    assert descriptors.reshape(-1, 16, 6)[..., 3:].max() == pytest.approx(np.sqrt(1 / 144) / 255, rel=0.01)


def test_mirroring_mirrors_cells():
    rgb = noise(17, 17)
    _, plain = local_colour_statistics(rgb, step=1, bin_sizes=[4])
    _, mirror = local_colour_statistics(rgb[:, ::-1], step=1, bin_sizes=[4])
    grid_of_cells = (5, 5, 4, 4, 6)
    np.testing.assert_allclose(mirror.reshape(grid_of_cells)[:, ::-1, :, ::-1], plain.reshape(grid_of_cells), atol=1e-6)


def test_brightness_moves_means_only():
    rgb = noise(20, 20) / 2
    plain, brighter = (
        local_colour_statistics(picture, power=False, l2=False)[1].reshape(-1, 16, 6) for picture in (rgb, rgb + 0.25)
    )
    np.testing.assert_allclose(brighter[..., :3], plain[..., :3] + 0.25, atol=1e-6)
    np.testing.assert_allclose(brighter[..., 3:], plain[..., 3:], atol=1e-6)


def test_kinds_of_input_agree():
    rgb = (255 * noise(20, 20)).astype(np.uint8)
    _, expected = local_colour_statistics(rgb)
    for same in (rgb / 255, np.asfortranarray(rgb), rgb.repeat(2, axis=1)[:, ::2]):
        np.testing.assert_allclose(local_colour_statistics(same)[1], expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 0), (12, 40), (40, 12)])
def test_picture_smaller_than_a_patch_has_none(shape):
    frames, descriptors = local_colour_statistics(np.zeros((*shape, 3), np.uint8))
    assert (frames.shape, descriptors.shape) == ((0, 3), (0, 96))


@pytest.mark.parametrize(
    "rgb", [np.zeros((20, 20)), np.zeros((20, 20, 4)), np.full((20, 20, 3), np.nan), np.zeros((9, 3))]
)
def test_what_is_no_colour_picture_is_refused(rgb):
    with pytest.raises(InputError):
        local_colour_statistics(rgb)
