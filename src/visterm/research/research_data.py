"""The public data sets of the papers, read from a folder of the user; Visterm ships none of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from visterm.errors import InputError
from visterm.learn import Dataset, encode_classes


def data_folder(folder: Path | None = None) -> Path | None:
    """The given folder, else that in ``VISTERM_DATA``, else None."""
    if folder is None and "VISTERM_DATA" in os.environ:
        folder = Path(os.environ["VISTERM_DATA"])
    return folder


def load(name: str, folder: Path) -> Dataset:
    """The data set called ``name`` from its files in ``folder``."""
    if name not in _LOADERS:
        raise InputError(f"unknown data set {name!r}: choose one of {', '.join(sorted(_LOADERS))}")
    try:
        return _LOADERS[name](name, folder)
    except FileNotFoundError as error:
        raise InputError(f"the data set {name} is not in {folder}: {error.filename} is missing") from error
    except (OSError, EOFError, KeyError, ValueError, BadZipFile) as error:
        raise InputError(f"the data set {name} in {folder} is damaged: {error}") from error


def names() -> list[str]:
    """The names of all data sets."""
    return sorted(_LOADERS)


def _labelme8(name: str, folder: Path) -> Dataset:
    """The sLDA authors' LabelMe bags: 8 scene classes, 800 training and 800 test pictures."""
    from visterm.exchange.readers.ldac import read_bags, read_labels

    parts = [(part, folder / "labelme8" / f"{part}-data.dat") for part in ("train", "test")]
    bags = [read_bags(path) for _, path in parts]
    width = max(bag.shape[1] for bag in bags)
    for bag in bags:
        bag.resize((bag.shape[0], width))
    y = np.concatenate([read_labels(path.with_name(f"{part}-label.dat")) for part, path in parts]).astype(np.intp)
    splits = tuple(part for (part, _), bag in zip(parts, bags, strict=True) for _ in range(bag.shape[0]))
    X = sparse.csr_array(sparse.vstack(bags), dtype=np.float32)
    classes = tuple(f"class {c}" for c in range(int(y.max()) + 1))
    return Dataset(name, X, y, classes, sparse.csr_array((len(y), 0), dtype=np.float32), (), splits)


def _corel5k_blobs(name: str, folder: Path) -> Dataset:
    """Corel5K as indicators of 499 region clusters; the folder of the original CD is the class."""
    arrays = _arrays(folder / "corel5k" / "blobs.npz")
    # A few pictures in the file have no number and therefore no class.
    y, classes = encode_classes([f"CD {int(number) // 1000}" if number else None for number in arrays["image_id"]])
    splits = tuple("test" if test else "train" for test in arrays["is_test"])
    return _from_indicators(name, arrays, y, classes, splits)


def _corel16k(name: str, folder: Path) -> Dataset:
    """A sample of Barnard et al. 2003: indicators of 500 region clusters and about 150 words."""
    arrays = _arrays(folder / "corel16k" / f"{name}.npz")
    splits = tuple(("train", "test", "second test")[part] for part in arrays["split"])
    return _from_indicators(name, arrays, np.full(len(splits), -1, np.intp), (), splits)


def _from_indicators(name: str, arrays: dict[str, Any], y: Any, classes: tuple[str, ...], splits: Any) -> Dataset:
    X, tags = (sparse.csr_array(arrays[key], dtype=np.float32) for key in ("blobs", "labels"))
    return Dataset(name, X, y, classes, tags, tuple(str(word) for word in arrays["words"]), splits)


def _arrays(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return dict(stored)


_LOADERS: dict[str, Callable[[str, Path], Dataset]] = {
    "labelme8": _labelme8,
    "corel5k-blobs": _corel5k_blobs,
    **{f"corel16k00{sample}": _corel16k for sample in (2, 3, 4, 6)},
}
