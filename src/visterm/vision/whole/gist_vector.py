"""GIST: the layout of a scene as oriented energy at several scales in the cells of a coarse grid."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._global_inputs import squeezed, whole_grey

#: Pictures are resized to squares of this side.
SIDE = 128
#: Pixels by which the square is mirrored outwards, before contrast normalisation and before the Gabor filters.
_CONTRAST_MARGIN, _GABOR_MARGIN = 5, 32
#: Cycles per picture at which the contrast prefilter's low pass has fallen to a half.
_CUTOFF = 4.0
#: Cells per side; scales of the filters, from fine to coarse; orientations per scale.
N_BLOCKS, N_SCALES, N_ORIENTATIONS = 4, 4, 8


def gist(picture: ArrayLike) -> NDArray[np.float32]:
    """The GIST of a picture: mean magnitudes of 4 x 8 Gabor responses in 4 x 4 cells, 512 numbers.

    Oliva & Torralba, "Modeling the shape of the scene", IJCV 2001, computed as in their LMgist. The whole picture is
    first squeezed into 128 x 128 pixels; nothing is cropped. The logarithm of the picture, minus its low frequencies,
    is divided by the local contrast and filtered by Gabor filters in 8 orientations at every scale, from fine to
    coarse. ``picture`` is grey (height, width) or RGB (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.

    Entries are ordered by scale, orientation, row and column of the cell. Orientation j responds most to stripes whose
    normal points ``180 * j / 8`` degrees from right towards up.

    >>> stripes = np.tile([0, 0, 255, 255], (128, 32)).astype(np.uint8)  # vertical, four pixels per period
    >>> energy = gist(stripes).reshape(4, 8, 4, 4).mean(axis=(2, 3))
    >>> scale, orientation = np.unravel_index(energy.argmax(), energy.shape)
    >>> int(scale), int(orientation)
    (0, 0)
    """
    from scipy import fft

    from visterm.vision.whole._kernels import add_magnitudes

    evened = _evened_contrast(squeezed(whole_grey(picture), SIDE))
    bank = _gabor_bank()
    cell_of = np.arange(SIDE) * N_BLOCKS // SIDE
    pixels = np.bincount(cell_of).astype(np.float32)
    sums = np.zeros((len(bank), N_BLOCKS, N_BLOCKS), np.float32)
    spectrum = fft.fft2(np.pad(evened, _GABOR_MARGIN, mode="symmetric"))
    for f, gabor in enumerate(bank):
        response = fft.ifft2(spectrum * gabor, overwrite_x=True)
        add_magnitudes(response, _GABOR_MARGIN, cell_of, sums[f])
    return (sums / np.outer(pixels, pixels)).ravel()


def _evened_contrast(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logarithm of ``plane`` without low frequencies, relative to the local contrast."""
    from scipy import fft

    low, high = plane.min(), plane.max()
    levels = (plane - low) * np.float32(255 / (high - low) if high > low else 0.0)
    mirrored = np.pad(np.log1p(levels), _CONTRAST_MARGIN, mode="symmetric")
    low_pass = _low_pass(len(mirrored))
    detail = mirrored - fft.irfft2(fft.rfft2(mirrored) * low_pass, s=mirrored.shape)
    variance = fft.irfft2(fft.rfft2(detail**2) * low_pass, s=mirrored.shape)
    evened = detail / (np.float32(0.2) + np.sqrt(np.abs(variance)))
    inner = slice(_CONTRAST_MARGIN, -_CONTRAST_MARGIN)
    return np.asarray(evened[inner, inner], np.float32)


@lru_cache(maxsize=1)
def _low_pass(side: int) -> NDArray[np.float32]:
    """Gaussian transfer function for the real Fourier transform of a ``side`` x ``side`` picture."""
    fy, fx = np.fft.fftfreq(side, 1 / side)[:, None], np.fft.rfftfreq(side, 1 / side)
    return np.exp(-(fx**2 + fy**2) * math.log(2) / _CUTOFF**2).astype(np.float32)


@lru_cache(maxsize=1)
def _gabor_bank() -> NDArray[np.float32]:
    """Transfer functions (n_filters, side, side) of one-sided Gabor filters: bumps around a frequency and a direction.

    Frequencies fall from 0.3 cycles per pixel by a factor of 1.85 per scale.
    """
    side = SIDE + 2 * _GABOR_MARGIN
    fy, fx = np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)
    frequency, direction = np.hypot(fx, fy), np.arctan2(fy, fx)
    bank = np.empty((N_SCALES, N_ORIENTATIONS, side, side), np.float32)
    for scale, j in np.ndindex(N_SCALES, N_ORIENTATIONS):
        turn = np.remainder(direction + math.pi * j / N_ORIENTATIONS + math.pi, 2 * math.pi) - math.pi
        relative = frequency * 1.85**scale / 0.3 - 1
        bank[scale, j] = np.exp(-3.5 * relative**2 - 2 * math.pi * turn**2)
    return bank.reshape(-1, side, side)
