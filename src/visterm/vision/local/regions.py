"""Regions: divides a picture into a few connected parts, each uniform in colour and texture."""

from __future__ import annotations

import math
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.vision._filters import smooth
from visterm.vision._global_inputs import whole_colours
from visterm.vision.colour import to_lab

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
