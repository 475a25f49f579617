"""GIST, directions of edges and Haar wavelets: what a picture has of lines and where."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._filters import smooth
from visterm.vision._global_inputs import squeezed, whole_grey

#: GIST is of pictures resized to squares of this side.
SIDE = 128
#: Pixels by which the square is mirrored outwards, before contrast normalisation and before the Gabor filters.
_CONTRAST_MARGIN, _GABOR_MARGIN = 5, 32
#: Cycles per picture at which the contrast prefilter's low pass has fallen to a half.
_CUTOFF = 4.0
#: GIST: cells per side; scales of the filters, from fine to coarse; orientations per scale.
N_BLOCKS, N_SCALES, N_ORIENTATIONS = 4, 4, 8
#: Directions of 5 degrees around the full circle.
N_DIRECTIONS = 72
#: Blur before gradients are computed, in pixels.
_SIGMA = 1.0
#: Gradients, in shares of the grey scale per pixel, from which a ridge is an edge; a weak one must touch a strong one.
_STRONG, _WEAK = 0.05, 0.02
#: Haar wavelets are of pictures resized to squares of this side; each scale is half as fine as the one before.
HAAR_SIDE, _N_HAAR_SCALES = 64, 3
#: Responses under half a level of 256 have no sign.
_FLAT = 0.5 / 255


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


def edge_direction_histogram(picture: ArrayLike) -> NDArray[np.float32]:
    """Shares of 72 directions among edge pixels, and the share of pixels that are not on an edge: 73 numbers.

    Vailaya et al., "On image classification: city images vs. landscapes", 1998. Bin k counts edges whose brighter side
    lies ``5 * k`` up to ``5 * (k + 1)`` degrees from right towards down; the 72 bins sum to one, or are zero if
    there is no edge. ``picture`` is grey (height, width) or RGB (height, width, 3), ``uint8`` from 0 to 255 or float
    from 0 to 1.

    >>> step = np.zeros((9, 9))
    >>> step[:, 5:] = 1  # brighter to the right
    >>> histogram = edge_direction_histogram(step)
    >>> histogram[:72].nonzero()[0].tolist(), round(float(histogram[72]), 3)
    ([0], 0.889)
    """
    edges, dx, dy = _canny(whole_grey(picture))
    turns = np.arctan2(dy[edges], dx[edges]) / (2 * np.pi) % 1
    directions = np.minimum((turns * N_DIRECTIONS).astype(np.int64), N_DIRECTIONS - 1)
    counts = np.bincount(directions, minlength=N_DIRECTIONS)
    return np.append(counts / max(1, len(directions)), 1 - edges.mean()).astype(np.float32)


def _canny(grey: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.float32]]:
    """Edge pixels by Canny's detector (PAMI 1986), and the gradient to the right and downwards.

    The picture is blurred by a Gaussian of one pixel. Edges are ridges of the gradient, one pixel wide. Along an edge,
    the gradient is above 0.02 of the grey scale per pixel everywhere and above 0.05 somewhere.
    """
    from visterm.vision.whole._kernels import follow, gradients, ridges

    dx, dy = np.empty_like(grey), np.empty_like(grey)
    gradients(smooth(grey, _SIGMA), dx, dy)
    strength = np.zeros(grey.shape, np.uint8)
    ridges(dx, dy, _WEAK, _STRONG, strength)
    return follow(strength), dx, dy


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
    blocks = squeezed(whole_grey(picture), HAAR_SIDE)
    responses = []
    for _ in range(_N_HAAR_SCALES):
        a, b, c, d = blocks[::2, ::2], blocks[::2, 1::2], blocks[1::2, ::2], blocks[1::2, 1::2]
        left, top, falling, all_four = a - b + c - d, a + b - c - d, a - b - c + d, a + b + c + d
        responses += [np.float32(0.25) * plane.ravel() for plane in (left, top, falling)]
        blocks = np.float32(0.25) * all_four
    values = np.concatenate(responses)
    if quantised:
        return np.where(np.abs(values) < _FLAT, 0, np.sign(values)).astype(np.float32)
    return np.abs(values)
