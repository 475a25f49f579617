"""Research collections of pictures with the features of any recipe; features are kept in a folder of the user."""

import csv
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.features import FeatureLibrary
from visterm.learn import Dataset, encode_classes


def names() -> list[str]:
    """The names of all collections."""
    return sorted(_COLLECTIONS)


def load_pictures(name: str, folder: Path, recipe: str, *, cache: Path) -> Dataset:
    """The collection ``name`` in ``folder`` with the features of ``recipe``; ``X`` maps its outputs to matrices.

    Features are computed once and kept in ``cache``, and so is what the recipe learns (from training pictures only).
    """
    if name not in _COLLECTIONS:
        raise InputError(f"unknown collection {name!r}: choose one of {', '.join(names())}")
    records = [(file, record) for file, record in _COLLECTIONS[name](folder / name) if file.is_file()]
    if not records:
        raise InputError(f"the collection {name} is not in {folder}: no picture was found in {folder / name}")
    keys = [hashlib.sha256(file.read_bytes()).hexdigest() for file, _ in records]
    library = FeatureLibrary(cache / name)
    training = {key: file for key, (file, record) in zip(keys, records, strict=True) if record.split != "test"}
    ready = library.recipe(recipe, training)
    (description,) = library.describe({key: file for key, (file, _) in zip(keys, records, strict=True)}, ready)
    if description.failed:
        raise InputError(f"the features of a picture of {name} cannot be computed: {description.failed[0]}")
    y, class_names = encode_classes([record.class_name for _, record in records])
    tag_names = tuple(sorted({tag for _, record in records for tag in record.tags}))
    column = {tag: i for i, tag in enumerate(tag_names)}
    columns = [column[tag] for _, record in records for tag in record.tags]
    ends = np.cumsum([0, *(len(record.tags) for _, record in records)])
    shape = (len(records), len(tag_names))
    tags = sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=shape)
    splits = tuple(record.split for _, record in records)
    return Dataset(name, library.features(ready, keys), y, class_names, tags, tag_names, splits)


def _corel5k(folder: Path) -> Iterator[tuple[Path, Record]]:
    """Corel5K: 4,500 training and 499 test pictures; the folder of the original CD is the class."""
    from visterm.exchange.readers import corel

    labels = folder / "labels"
    for record in corel.read(labels, Reading(str(labels), "corel")):
        yield corel.base(labels) / record.path, record


def _scenes8(folder: Path) -> Iterator[tuple[Path, Record]]:
    """Eight outdoor scenes, one folder of pictures for each."""
    for file in sorted(folder.glob("*/*.jpg")):
        yield file, Record(file.name, class_name=file.parent.name)


def _flickr1500(folder: Path) -> Iterator[tuple[Path, Record]]:
    """Photographs of people and animals; the tags are all words of five captions but stop words, in one form."""
    from visterm.language.captions import CaptionTokenizer

    with (folder / "captions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    captions = [" . ".join(text for name, text in row.items() if name.startswith("caption")) for row in rows]
    tags = CaptionTokenizer(min_count=2).tags(captions)
    for row, own in zip(rows, tags, strict=True):
        split = None if row["split"] == "train" else row["split"]
        yield folder / "pictures" / row["file_name"], Record(row["file_name"], tags=tuple(own), split=split)


_COLLECTIONS: dict[str, Callable[[Path], Iterator[tuple[Path, Record]]]] = {
    "corel5k": _corel5k,
    "flickr1500": _flickr1500,
    "scenes8": _scenes8,
}
