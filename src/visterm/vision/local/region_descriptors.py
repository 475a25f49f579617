"""Features of a region: its size, position and shape, its colours and its texture."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.vision._filters import smooth
from visterm.vision._global_inputs import whole_colours
from visterm.vision.colour import to_grey, to_lab
from visterm.vision.local.regions import checked_labels

_GEOMETRY = ("area", "x", "y", "compactness", "inertia", "convexity")
_COLOURS = ("red", "green", "blue", "lightness", "a", "b", "red_share", "green_share")
#: Blurs in pixels for differences of Gaussians, and for oriented energy.
_BLURS, _ENERGY_BLURS = (0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 2.0)
_ANGLES = (0, 30, 60, 90, 120, 150)
_TEXTURES = (
    *(f"blobs_{blur:g}" for blur in _BLURS[:-1]),
    *(f"energy_{blur:g}_{angle}" for blur in _ENERGY_BLURS for angle in _ANGLES),
)
#: Names of the columns of :func:`region_features`.
REGION_FEATURE_NAMES = (
    *_GEOMETRY,
    *(f"{plane}_{moment}" for planes in (_COLOURS, _TEXTURES) for moment in ("mean", "deviation") for plane in planes),
)


def region_features(rgb: ArrayLike, labels: ArrayLike) -> NDArray[np.float32]:
    """One row of 54 numbers for each region of ``labels`` (height, width), named by ``REGION_FEATURE_NAMES``.

    The features of Barnard et al., "Matching words and pictures", JMLR 2003:

    - ``area``, the share of the picture; ``x`` and ``y`` of the centre of mass, from 0 to 1;
    - ``compactness``, the area over the squared boundary, and ``inertia`` about the centre of mass over the squared
      area, both 1 for a square; ``convexity``, the area over that of the convex hull;
    - mean and deviation of red, green, blue from 0 to 1, of L*, a*, b*, and of the shares of red and green in their sum
      with blue (a third in black);
    - mean and deviation of 16 filter magnitudes of the grey picture: ``blobs_s``, differences of Gaussians of s and
      2 s pixels; ``energy_s_d``, the energy of first and second derivatives of a Gaussian of s pixels in the direction
      d degrees from right towards down, which is large where stripes run across it.

    ``rgb`` is (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1. Filter sizes are in pixels, so pictures
    to be compared should have about the same number of pixels.

    >>> left_and_right = np.zeros((2, 4, 3), np.uint8), [[0, 0, 1, 1], [0, 0, 1, 1]]
    >>> region_features(*left_and_right)[:, :6].round(3)
    array([[0.5 , 0.25, 0.5 , 1.  , 1.  , 1.  ],
           [0.5 , 0.75, 0.5 , 1.  , 1.  , 1.  ]], dtype=float32)
    """
    picture = whole_colours(rgb)
    regions, n = checked_labels(labels, picture.shape[:2])
    from visterm.vision.local._kernels_regions import add_moments

    geometry = _geometry(regions, n)
    statistics = []
    for planes in (_colour_planes(picture), _texture_planes(to_grey(picture))):
        sums, squares = np.zeros((2, len(planes), n))
        for plane, of_sum, of_square in zip(planes, sums, squares, strict=True):
            add_moments(regions, plane, of_sum, of_square)
        n_pixels = np.bincount(regions.ravel(), minlength=n)
        means = sums / n_pixels
        statistics += [means, np.sqrt(np.maximum(squares / n_pixels - means**2, 0))]
    return np.concatenate((geometry, *statistics)).T.astype(np.float32)


def _geometry(regions: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """Rows named by ``_GEOMETRY``, one column for each region."""
    from visterm.vision.local._kernels_regions import boundary_lengths, hull_areas

    height, width = regions.shape
    flat = regions.ravel()
    y, x = (place.ravel() for place in np.indices(regions.shape))
    areas = np.bincount(flat, minlength=n).astype(np.float64)
    centre_y, centre_x = (np.bincount(flat, place, n) / areas for place in (y, x))
    # Every pixel is a unit square and has its own moment of inertia of a sixth.
    inertia = np.bincount(flat, (y - centre_y[flat]) ** 2 + (x - centre_x[flat]) ** 2 + 1 / 6, n)
    return np.stack(
        (
            areas / regions.size,
            (centre_x + 0.5) / width,
            (centre_y + 0.5) / height,
            16 * areas / boundary_lengths(regions, n) ** 2,
            6 * inertia / areas**2,
            areas / hull_areas(regions, n),
        )
    )


def _colour_planes(picture: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    sums = picture.sum(axis=2, keepdims=True)
    shares = np.where(sums > 0, picture / np.where(sums > 0, sums, np.float32(1)), np.float32(1 / 3))
    channels = np.concatenate((picture, to_lab(picture), shares[..., :2]), axis=2)
    return [np.ascontiguousarray(plane) for plane in np.moveaxis(channels, 2, 0)]


def _texture_planes(grey: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    from visterm.vision.local._kernels_regions import oriented_energy

    blurred = {blur: smooth(grey, blur) for blur in _BLURS}
    planes = [np.abs(blurred[fine] - blurred[coarse]) for fine, coarse in pairwise(_BLURS)]
    for blur in _ENERGY_BLURS:
        for angle in _ANGLES:
            planes.append(np.empty_like(grey))
            oriented_energy(blurred[blur], blur, np.deg2rad(angle), planes[-1])
    return planes
