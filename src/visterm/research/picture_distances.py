"""The distances between pictures of a research collection by each feature, computed once for all comparisons."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visterm.distances import BaseDistances, Tables
from visterm.learn import Dataset
from visterm.research import load_pictures
from visterm.storage import replacing

#: The name of a pretrained network's features, standardised on the training pictures.
DEEP = "deep-standardised"
#: A Fisher vector has this many parts: the whole picture, then its stripes.
_FISHER_PARTS = 4


def load_distances(name: str, folder: Path, *, cache: Path, tables: Path, deep: bool = False) -> tuple[Dataset, Tables]:
    """The collection with the features of the recipe ``tagging``, and all distances between its pictures by each.

    ``deep`` adds the features of the recipe ``deep``. Tables are kept in the folder ``tables`` and mapped from there.
    """
    pictures = load_pictures(name, folder, "tagging", cache=cache)
    features = dict(base_features(_named(pictures)))
    if deep:
        (X,) = _named(load_pictures(name, folder, "deep", cache=cache)).values()
        training = X[~pictures.is_test]
        features[DEEP] = (X - training.mean(axis=0)) / (training.std(axis=0) + 1e-6)
    return pictures, distance_tables(features, tables)


def base_features(X: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """The features to compare one by one: Fisher vectors of the picture and of its stripes are two features.

    >>> [name for name, _ in base_features({"hsv": np.ones((2, 3)), "sift-fisher": np.ones((2, 8))})]
    ['hsv', 'sift-fisher', 'sift-fisher-stripes']
    """
    for name, features in X.items():
        if name.endswith("-fisher"):
            width = features.shape[1] // _FISHER_PARTS
            yield name, features[:, :width]
            yield f"{name}-stripes", features[:, width:]
        else:
            yield name, features


def distance_tables(features: Mapping[str, NDArray[Any]], folder: Path) -> Tables:
    """The distances between all pictures by each feature, read from ``folder``, or computed and kept there."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {}
    for name, X in features.items():
        file = folder / f"{name}.npy"
        if not file.exists():
            table = BaseDistances(_metric(name)).fit({name: X}).transform_training()[name]
            with replacing(file) as temporary, temporary.open("wb") as stream:
                np.save(stream, table)
        tables[name] = np.load(file, mmap_mode="r")
    return tables


def _named(pictures: Dataset) -> Mapping[str, NDArray[Any]]:
    """The features by name, as the recipes give them."""
    return cast("Mapping[str, NDArray[Any]]", pictures.X)


def _metric(name: str) -> str:
    if "fisher" in name or name == DEEP:
        return "cosine"
    return "l1" if name == "gist" else "chi2"
