"""Do thumbnails and features show the pictures whose names they have? Earlier versions could mix them up.

They took the file at a picture's path for the picture, even if another one had been put there since. Only pictures
that were found with another content once can be concerned, so only these are looked at.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from visterm.catalogue.healing import read_picture
from visterm.catalogue.records import Skipped
from visterm.collection.thumbnails import BOXES, render
from visterm.documents.wording import counted
from visterm.errors import PictureError, VistermError
from visterm.features.computing import Subject, computed
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from visterm.collection.holdings import Holdings

#: How many pictures are looked at where nothing is to be repaired.
_SAMPLE = 20
#: Thumbnails of one picture differ by less (mean difference of 255 levels), whoever encoded them.
_SAME_PIXELS = 6.0
#: Rows of one picture differ by less, as a part of their length.
_SAME_ROW = 0.05


def check_derived(holdings: Holdings, *, repair: bool) -> list[str]:
    """What shows another picture, in words; with ``repair`` all suspects are checked, and what is wrong is removed."""
    files = holdings.collection().frame.files
    suspects = ((key, file) for key in holdings.catalogue.edited_pictures() if (file := files.get(key)) is not None)
    pictures = dict(islice(suspects, None if repair else _SAMPLE))
    found = []
    wrong = [place for key, file in pictures.items() for place in _wrong_thumbnails(holdings, key, file)]
    if wrong:
        found.append(f"{counted(len(wrong), 'thumbnail')} show another picture")
    for place in wrong if repair else ():
        place.unlink(missing_ok=True)
    for recipe in holdings.library.stored_recipes() if pictures else ():
        keys = list(_wrong_rows(holdings, recipe, pictures))
        if keys:
            found.append(f"features of {recipe.name} are those of another picture for {counted(len(keys), 'picture')}")
        if keys and repair:
            _remove_rows(holdings, recipe, keys)
    return found


def _wrong_thumbnails(holdings: Holdings, key: str, file: Path) -> Iterator[Path]:
    from PIL import Image

    for size in BOXES:
        place = holdings.thumbnails.place(key, size)
        with suppress(OSError, PictureError):  # not made yet, or its file is gone or another one
            kept = Image.open(io.BytesIO(place.read_bytes())).convert("RGB")
            _, picture = render(read_picture(file, key), size)
            if kept.size != picture.size or np.abs(np.asarray(kept, float) - np.asarray(picture)).mean() > _SAME_PIXELS:
                yield place


def _wrong_rows(holdings: Holdings, recipe: Recipe, pictures: dict[str, Path]) -> Iterator[str]:
    there = [key for key in pictures if not holdings.library.missing(recipe, [key])]
    for subject, (rows,) in computed([Subject(key, pictures[key], (0,), is_hash=True) for key in there], [recipe]):
        if isinstance(rows, Skipped):
            continue
        stored = holdings.library.features(recipe, [subject.key])
        if any(_differ(stored[output], row) for output, row in rows.items()):
            yield subject.key


def _differ(stored: Any, row: Any) -> bool:
    one, other = (
        np.asarray(each.toarray() if hasattr(each, "toarray") else each, float).ravel() for each in (stored, row)
    )
    return bool(np.linalg.norm(one - other) > _SAME_ROW * max(np.linalg.norm(one), np.linalg.norm(other)))


def _remove_rows(holdings: Holdings, recipe: Recipe, keys: Sequence[str]) -> None:
    """Remove features, and what models made of them."""
    from visterm.index import Index

    for output in recipe.outputs:
        holdings.library.store(recipe, output).remove(keys)
    for folder in (holdings.state / "index").glob("*"):
        with suppress(VistermError):
            Index.open(folder).remove(keys)
