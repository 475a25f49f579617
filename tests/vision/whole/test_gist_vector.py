from __future__ import annotations

import numpy as np
import pytest

from visterm.vision import gist
from visterm.vision.whole.structure import SIDE


def slow_gist(plane):
    """The published algorithm step by step, in double precision with full complex transforms."""
    levels = 255 * (plane - plane.min()) / np.ptp(plane)
    mirrored = np.pad(np.log(levels + 1), 5, mode="symmetric")
    side = len(mirrored)
    fx, fy = np.meshgrid(np.arange(side) - side // 2, np.arange(side) - side // 2)
    low_pass = np.fft.ifftshift(np.exp(-(fx**2 + fy**2) / (4 / np.sqrt(np.log(2))) ** 2))
    detail = mirrored - np.fft.ifft2(np.fft.fft2(mirrored) * low_pass).real
    contrast = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(detail**2) * low_pass)))
    evened = (detail / (0.2 + contrast))[5:-5, 5:-5]

    side = SIDE + 64
    fx, fy = np.meshgrid(np.arange(side) - side // 2, np.arange(side) - side // 2)
    radius, angle = np.fft.ifftshift(np.hypot(fx, fy)), np.fft.ifftshift(np.arctan2(fy, fx))
    features = []
    spectrum = np.fft.fft2(np.pad(evened, 32, mode="symmetric"))
    for scale in range(4):
        for j in range(8):
            turn = angle + np.pi / 8 * j
            turn = turn + 2 * np.pi * (turn < -np.pi) - 2 * np.pi * (turn > np.pi)
            relative = radius / side / (0.3 / 1.85**scale) - 1
            gabor = np.exp(-10 * 0.35 * relative**2 - 2 * (16 * 8**2 / 32**2) * np.pi * turn**2)
            magnitude = np.abs(np.fft.ifft2(spectrum * gabor))[32:-32, 32:-32]
            for rows in np.array_split(magnitude, 4, axis=0):
                features += [block.mean() for block in np.array_split(rows, 4, axis=1)]
    return np.array(features)


def test_equals_the_definition():
    grey = np.random.default_rng(0).random((SIDE, SIDE))
    np.testing.assert_allclose(gist(grey), slow_gist(grey), atol=2e-5)


def smooth_noise(seed: int) -> np.ndarray:
    from scipy import ndimage

    return ndimage.gaussian_filter(np.random.default_rng(seed).random((SIDE, SIDE)), 1.5)


def test_flip_mirrors_blocks_and_orientations():
    picture = smooth_noise(2)
    plain = gist(picture).reshape(4, 8, 4, 4)
    flipped = gist(picture[:, ::-1]).reshape(4, 8, 4, 4)
    np.testing.assert_allclose(flipped, plain[:, -np.arange(8) % 8, :, ::-1], atol=2e-4)


def test_light_and_exposure_do_not_matter():
    picture = smooth_noise(3)
    np.testing.assert_allclose(gist(0.3 * picture + 0.1), gist(picture), atol=1e-3)


@pytest.mark.parametrize("orientation", range(8))
def test_stripes_answer_to_their_orientation(orientation):
    angle = np.pi * orientation / 8  # of their normal, from right towards up
    y, x = np.mgrid[:SIDE, :SIDE]
    stripes = 0.5 + 0.5 * np.cos(2 * np.pi * 0.162 * (x * np.cos(angle) - y * np.sin(angle)))
    energy = gist(stripes).reshape(4, 8, 16).mean(axis=2)
    assert np.unravel_index(energy.argmax(), energy.shape) == (1, orientation)


def test_blocks_say_where_texture_is():
    picture = np.full((SIDE, SIDE), 0.5)
    picture[:32, 96:] += 0.3 * np.random.default_rng(0).uniform(-1, 1, (32, 32))
    energy = gist(picture).reshape(32, 4, 4).sum(axis=0)
    assert np.unravel_index(energy.argmax(), energy.shape) == (0, 3)


def test_plain_picture_has_no_energy():
    assert not gist(np.full((30, 20), 0.4)).any()


def test_the_whole_picture_counts_whatever_its_shape():
    picture = np.full((100, 300), 0.5)
    picture[:, 270:] = np.random.default_rng(0).random((100, 30))
    energy = gist(picture).reshape(32, 4, 4).sum(axis=(0, 1))
    assert energy.argmax() == 3
