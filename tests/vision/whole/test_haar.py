from __future__ import annotations

import numpy as np
import pytest

from visterm.vision import haar_wavelet
from visterm.vision.whole.structure import HAAR_SIDE


def slow_haar(grey):
    """Half the difference of means within every block, block by block."""
    responses = []
    for size in (2, 4, 8):
        half = size // 2
        planes = np.zeros((3, HAAR_SIDE // size, HAAR_SIDE // size))
        for i in range(HAAR_SIDE // size):
            for j in range(HAAR_SIDE // size):
                block = grey[i * size : (i + 1) * size, j * size : (j + 1) * size]
                diagonal = (block[:half, :half].mean() + block[half:, half:].mean()) / 2
                other = (block[:half, half:].mean() + block[half:, :half].mean()) / 2
                planes[:, i, j] = (
                    (block[:, :half].mean() - block[:, half:].mean()) / 2,
                    (block[:half].mean() - block[half:].mean()) / 2,
                    (diagonal - other) / 2,
                )
        responses.append(planes.ravel())
    return np.concatenate(responses)


def test_equals_the_definition():
    grey = np.random.default_rng(0).random((HAAR_SIDE, HAAR_SIDE))
    np.testing.assert_allclose(haar_wavelet(grey), np.abs(slow_haar(grey)), atol=1e-6)


def test_quantised_responses_are_their_signs():
    grey = np.random.default_rng(1).integers(0, 256, (HAAR_SIDE, HAAR_SIDE), np.uint8)
    responses, signs = slow_haar(grey / 255), haar_wavelet(grey, quantised=True)
    certain = np.abs(np.abs(responses) - 0.5 / 255) > 1e-6
    np.testing.assert_array_equal(signs[certain], np.where(abs(responses) < 0.5 / 255, 0, np.sign(responses))[certain])


@pytest.mark.parametrize("quantised", [False, True])
def test_flip_mirrors_blocks_and_turns_signs(quantised):
    grey = np.random.default_rng(2).random((HAAR_SIDE, HAAR_SIDE), np.float32)
    plain, flipped = haar_wavelet(grey, quantised=quantised), haar_wavelet(grey[:, ::-1], quantised=quantised)
    signs = np.array([-1, 1, -1])[:, None, None] if quantised else 1
    first = 3 * 32 * 32
    np.testing.assert_allclose(
        flipped[:first].reshape(3, 32, 32), signs * plain[:first].reshape(3, 32, 32)[..., ::-1], atol=1e-6
    )


def test_brightness_does_not_matter_and_plain_is_zero():
    grey = 0.5 * np.random.default_rng(3).random((HAAR_SIDE, HAAR_SIDE))
    np.testing.assert_allclose(haar_wavelet(grey + 0.5), haar_wavelet(grey), atol=1e-6)
    assert not haar_wavelet(np.full((90, 70), 0.3), quantised=True).any()
