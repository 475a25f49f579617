"""GIST: the layout of a scene as oriented energy at several scales in the cells of a coarse grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._global_inputs import squeezed, whole_colours, whole_grey

#: Pictures are resized to squares of this side.
SIDE = 128
#: Pixels by which the square is mirrored outwards, before contrast normalisation and before the Gabor filters.
_CONTRAST_MARGIN, _GABOR_MARGIN = 5, 32
#: Cycles per picture at which the contrast prefilter's low pass has fallen to a half.
_CUTOFF = 4.0
#: More filters (scales and orientations) than this are a mistake: each takes memory.
_MOST_FILTERS = 256


def gist(
    picture: ArrayLike,
    *,
    n_blocks: int = 4,
    orientations: Sequence[int] = (8, 8, 8, 8),
    colour: bool = False,
) -> NDArray[np.float32]:
    """The GIST of a picture: mean magnitudes of Gabor responses in ``n_blocks`` x ``n_blocks`` cells, 512 by default.

    Oliva & Torralba, "Modeling the shape of the scene", IJCV 2001, computed as in their LMgist. The whole picture is
    first squeezed into 128 x 128 pixels; nothing is cropped. The logarithm of the picture, minus its low frequencies,
    is divided by the local contrast and filtered by ``orientations[s]`` Gabor filters at every scale s, from fine to
    coarse. ``picture`` is grey (height, width) or RGB (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.
    With ``colour``, the vectors of red, green and blue follow one another: three times the length; the local contrast
    is that of their mean.

    Entries are ordered by scale, orientation, row and column of the cell. Orientation j responds most to stripes whose
    normal points ``180 * j / n`` degrees from right towards up.

    >>> stripes = np.tile([0, 0, 255, 255], (128, 32)).astype(np.uint8)  # vertical, four pixels per period
    >>> energy = gist(stripes).reshape(4, 8, 4, 4).mean(axis=(2, 3))
    >>> scale, orientation = np.unravel_index(energy.argmax(), energy.shape)
    >>> int(scale), int(orientation)
    (0, 0)
    """
    n_blocks, per_scale = _checked(n_blocks, orientations)
    from visterm.vision._kernels_gist import add_magnitudes

    array = np.asarray(picture)
    if colour:
        planes = np.stack([squeezed(plane, SIDE) for plane in np.moveaxis(whole_colours(array), 2, 0)])
    else:
        planes = squeezed(whole_grey(array), SIDE)[None]
    evened = _evened_contrast(planes)

    from scipy import fft

    bank = _gabor_bank(per_scale)
    cell_of = np.arange(SIDE) * n_blocks // SIDE
    pixels = np.bincount(cell_of).astype(np.float32)
    sums = np.zeros((len(planes), len(bank), n_blocks, n_blocks), np.float32)
    margin = (_GABOR_MARGIN, _GABOR_MARGIN)
    for c, plane in enumerate(evened):
        spectrum = fft.fft2(np.pad(plane, margin, mode="symmetric"))
        for f, gabor in enumerate(bank):
            response = fft.ifft2(spectrum * gabor, overwrite_x=True)
            add_magnitudes(response, _GABOR_MARGIN, cell_of, sums[c, f])
    return (sums / np.outer(pixels, pixels)).ravel()


def _checked(n_blocks: int, orientations: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    try:
        blocks, per_scale = index(n_blocks), tuple(index(number) for number in orientations)
    except TypeError as error:
        raise InputError(
            f"gist needs whole numbers of blocks and orientations, not {n_blocks!r}, {orientations!r}"
        ) from error
    if not 1 <= blocks <= SIDE:
        raise InputError(f"the number of blocks per side must be 1 to {SIDE}, not {blocks}")
    if not per_scale or min(per_scale) < 1 or sum(per_scale) > _MOST_FILTERS:
        raise InputError(
            f"orientations must be a positive whole number per scale, at most {_MOST_FILTERS} in all, not {per_scale}"
        )
    return blocks, per_scale


def _evened_contrast(planes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logarithms of ``planes`` (n, side, side) without low frequencies, relative to the local contrast of all."""
    from scipy import fft

    low, high = planes.min(), planes.max()
    levels = (planes - low) * np.float32(255 / (high - low) if high > low else 0.0)
    width = (_CONTRAST_MARGIN, _CONTRAST_MARGIN)
    mirrored = np.pad(np.log1p(levels), ((0, 0), width, width), mode="symmetric")
    shape, low_pass = mirrored.shape[1:], _low_pass(mirrored.shape[1])
    detail = mirrored - fft.irfft2(fft.rfft2(mirrored) * low_pass, s=shape)
    variance = fft.irfft2(fft.rfft2(detail.mean(axis=0) ** 2) * low_pass, s=shape)
    evened = detail / (np.float32(0.2) + np.sqrt(np.abs(variance)))
    inner = slice(_CONTRAST_MARGIN, -_CONTRAST_MARGIN)
    return np.asarray(evened[:, inner, inner], np.float32)


@lru_cache(maxsize=4)
def _low_pass(side: int) -> NDArray[np.float32]:
    """Gaussian transfer function for the real Fourier transform of a ``side`` x ``side`` picture."""
    fy, fx = np.fft.fftfreq(side, 1 / side)[:, None], np.fft.rfftfreq(side, 1 / side)
    return np.exp(-(fx**2 + fy**2) * math.log(2) / _CUTOFF**2).astype(np.float32)


@lru_cache(maxsize=4)
def _gabor_bank(orientations: tuple[int, ...]) -> NDArray[np.float32]:
    """Transfer functions (n_filters, side, side) of one-sided Gabor filters: bumps around a frequency and a direction.

    Frequencies fall from 0.3 cycles per pixel by a factor of 1.85 per scale.
    """
    side = SIDE + 2 * _GABOR_MARGIN
    fy, fx = np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)
    frequency, direction = np.hypot(fx, fy), np.arctan2(fy, fx)
    bank = np.empty((sum(orientations), side, side), np.float32)
    filters = ((scale, n, j) for scale, n in enumerate(orientations) for j in range(n))
    for gabor, (scale, n, j) in zip(bank, filters, strict=True):
        turn = np.remainder(direction + math.pi * j / n + math.pi, 2 * math.pi) - math.pi
        relative = frequency * 1.85**scale / 0.3 - 1
        gabor[:] = np.exp(-3.5 * relative**2 - 2 * math.pi * (n / 8) ** 2 * turn**2)
    return bank
