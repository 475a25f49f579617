"""Edges and the histogram of their directions: it separates the straight lines of towns from nature."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._filters import smooth
from visterm.vision._global_inputs import whole_grey

#: Directions of 5 degrees around the full circle.
N_DIRECTIONS = 72
#: Blur before gradients are computed, in pixels.
_SIGMA = 1.0
#: Gradients, in shares of the grey scale per pixel, from which a ridge is an edge; a weak one must touch a strong one.
_STRONG, _WEAK = 0.05, 0.02


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
