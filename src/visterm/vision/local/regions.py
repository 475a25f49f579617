"""Regions: divides a picture into a few connected parts, and describes each by shape, colours and texture."""

import math
from itertools import pairwise
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._filters import smooth
from visterm.vision._global_inputs import whole_colours
from visterm.vision.colour import to_grey, to_lab

#: No region covers less than this share of the picture.
LEAST_SHARE = 0.005
_MOST_REGIONS = 100
#: The approximate number of superpixels, and their smallest side in pixels: smaller ones would be all border.
_SUPERPIXELS, _LEAST_SPACING = 400, 6.0
#: Rounds of clustering, and the weight of position against colour.
_ROUNDS, _COMPACTNESS = 6, 12.0
#: Blur before clustering and before contrast is measured, in pixels.
_SIGMA = 0.7
#: The weight of a unit of texture against a unit of L*a*b*.
_TEXTURE_WEIGHT = 1.0
#: Regions that differ by less than this, in units of L*a*b*, are merged.
_FLAT = 0.5
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


def segment(rgb: ArrayLike, n_regions: int = 10) -> NDArray[np.int32]:
    """The region of every pixel, (height, width): at most ``n_regions`` connected regions; the largest is 0.

    SLIC (Achanta et al., PAMI 2012) cuts the picture into about 400 superpixels: small patches of one colour that
    follow its edges. Then touching regions are merged, the cheapest pair first. A pair is cheap if both have similar
    mean colour and texture, if their border has little contrast, and if one of them is small. There are fewer than
    ``n_regions`` only if the picture is too small or too plain; every region covers at least half a percent. ``rgb`` is
    (height, width, 3), ``uint8`` from 0 to 255 or float from 0 to 1.

    >>> picture = np.zeros((100, 150, 3), np.uint8)
    >>> picture[:, 100:] = (200, 60, 30)
    >>> segment(picture)[0, [0, 99, 100, 149]].tolist()
    [0, 0, 1, 1]
    """
    try:
        wanted = index(n_regions)
    except TypeError as error:
        raise InputError(f"the number of regions must be a whole number, not {n_regions!r}") from error
    if not 1 <= wanted <= _MOST_REGIONS:
        raise InputError(f"the number of regions must be 1 to {_MOST_REGIONS}, not {wanted}")
    from visterm.vision.local._kernels_regions import borders, merge

    lab = to_lab(whole_colours(rgb))
    blurred = np.stack([smooth(np.ascontiguousarray(lab[..., c]), _SIGMA) for c in range(3)], axis=2)
    contrast = _contrast(blurred)
    patches, n = superpixels(blurred)

    sizes, means = _statistics(patches, n, lab, _contrast(lab))
    length, strength = np.zeros((n, n), np.float32), np.zeros((n, n), np.float32)
    borders(patches, contrast, length, strength)
    region_of = merge(sizes, means, length, strength, wanted, LEAST_SHARE * contrast.size, _FLAT)
    return _largest_first(region_of[patches])


def draw_regions(rgb: ArrayLike, labels: ArrayLike) -> NDArray[np.uint8]:
    """The picture with its regions outlined in white and black, so that the line is visible on any colour.

    >>> picture = np.full((1, 4, 3), 90, np.uint8)
    >>> draw_regions(picture, [[0, 0, 1, 1]])[0, :, 0].tolist()
    [90, 255, 0, 90]
    """
    picture = np.rint(whole_colours(rgb) * 255).astype(np.uint8)
    regions, _ = checked_labels(labels, picture.shape[:2])
    before, after = np.zeros((2, *regions.shape), bool)
    for axis in (0, 1):
        changes = np.diff(regions, axis=axis) != 0
        np.moveaxis(before, axis, 0)[:-1] |= np.moveaxis(changes, axis, 0)
        np.moveaxis(after, axis, 0)[1:] |= np.moveaxis(changes, axis, 0)
    picture[after] = 0
    picture[before] = 255
    return picture


def checked_labels(labels: ArrayLike, shape: tuple[int, ...]) -> tuple[NDArray[np.int32], int]:
    """``labels`` of a picture of ``shape`` (height, width) as int32, checked to be 0 to n - 1, none missing; and n."""
    array = np.asarray(labels)
    if array.shape != shape or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels must be whole numbers of shape {shape}, not {array.dtype} of {array.shape}")
    if array.min() < 0 or array.max() >= array.size or not np.bincount(array.ravel()).all():
        raise InputError("labels must go from 0 to n_regions - 1, and every region needs at least one pixel")
    return np.ascontiguousarray(array, np.int32), int(array.max()) + 1


def superpixels(lab: NDArray[np.float32]) -> tuple[NDArray[np.int32], int]:
    """About 400 connected superpixels of an L*a*b* picture, numbered row by row from the top left; and how many."""
    from visterm.vision.local._kernels_regions import connected, slic

    height, width, _ = lab.shape
    # The second bound keeps very long, narrow pictures from getting more superpixels than others.
    spacing = max(_LEAST_SPACING, math.sqrt(height * width / _SUPERPIXELS), max(height, width) / _SUPERPIXELS)
    return connected(slic(lab, spacing, _COMPACTNESS, _ROUNDS), height * width // (4 * _SUPERPIXELS))


def _contrast(lab: NDArray[np.float32]) -> NDArray[np.float32]:
    """The length of the colour gradient, from every pixel to the next ones right of it and below."""
    right = np.diff(lab, axis=1, append=lab[:, -1:])
    down = np.diff(lab, axis=0, append=lab[-1:])
    return np.sqrt(np.einsum("yxc,yxc->yx", right, right) + np.einsum("yxc,yxc->yx", down, down))


def _statistics(
    labels: NDArray[np.int32], n: int, lab: NDArray[np.float32], contrast: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sizes in pixels, and mean L*, a*, b* and the weighted texture, of each of ``n`` labels.

    Texture is the median contrast: the mean would count the edge of a neighbouring superpixel as texture. The median is
    read from a histogram in quarter units, in which all contrast above 32 is equal.
    """
    flat = labels.ravel()
    sizes = np.bincount(flat, minlength=n).astype(np.float64)
    means = [np.bincount(flat, lab[..., c].ravel(), n) / sizes for c in range(3)]
    quarters = np.minimum(4 * contrast.ravel(), 127).astype(np.int64)
    counts = np.bincount(flat * np.int64(128) + quarters, minlength=128 * n).reshape(n, 128)
    medians = (counts.cumsum(axis=1) >= sizes[:, None] / 2).argmax(axis=1) / 4
    return sizes, np.column_stack((*means, _TEXTURE_WEIGHT * medians))


def _largest_first(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """``labels`` renumbered from 0 by falling size; of equal ones the smaller label comes first."""
    _, compact = np.unique(labels, return_inverse=True)
    order = np.argsort(-np.bincount(compact.ravel()), kind="stable")
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return ranks[compact.reshape(labels.shape)]


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
