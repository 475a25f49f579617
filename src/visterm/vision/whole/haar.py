"""Haar wavelets: where a picture changes sideways, downwards and diagonally, at three scales."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._global_inputs import squeezed, whole_grey

#: Pictures are resized to squares of this side; each of the scales is half as fine as the one before.
SIDE, N_SCALES = 64, 3
#: Responses under half a level of 256 have no sign.
_FLAT = 0.5 / 255


def haar_wavelet(picture: ArrayLike, *, quantised: bool = False) -> NDArray[np.float32]:
    """Haar responses of a picture squeezed into 64 x 64 pixels: 3 (32² + 16² + 8²) = 4032 numbers.

    The Haar and HaarQ features of Makadia et al., "A new baseline for image annotation", ECCV 2008. Blocks of 2 x 2
    pixels, side by side, give half the difference of means between left and right, top and bottom, and both diagonals;
    the blocks' means are the picture of the next scale. Entries are magnitudes, or signs with ``quantised``: 1 if the
    left, the top or the falling diagonal is brighter, -1 if it is darker, 0 if the response is below half of one of 256
    grey levels. They are ordered by scale (fine to coarse), direction, row and column. ``picture`` is grey (height,
    width) or RGB (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.

    >>> left_half = np.repeat([[1.0] * 4 + [0.0] * 60], 64, axis=0)  # bright for half of a coarse block
    >>> sideways = haar_wavelet(left_half)[3 * (32**2 + 16**2) :][:64].reshape(8, 8)
    >>> sideways[0].tolist()
    [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    blocks = squeezed(whole_grey(picture), SIDE)
    responses = []
    for _ in range(N_SCALES):
        a, b, c, d = blocks[::2, ::2], blocks[::2, 1::2], blocks[1::2, ::2], blocks[1::2, 1::2]
        left, top, falling, all_four = a - b + c - d, a + b - c - d, a - b - c + d, a + b + c + d
        responses += [np.float32(0.25) * plane.ravel() for plane in (left, top, falling)]
        blocks = np.float32(0.25) * all_four
    values = np.concatenate(responses)
    if quantised:
        return np.where(np.abs(values) < _FLAT, 0, np.sign(values)).astype(np.float32)
    return np.abs(values)
