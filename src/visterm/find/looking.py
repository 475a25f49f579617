"""Look at a picture from outside the collection without adding it: suggestions of the models, and look-alikes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.features import RECIPE, ready_recipe
from visterm.collection.holdings import Holdings
from visterm.collection.judgements import Age, LikelyName
from visterm.collection.rows import PictureRow
from visterm.contracts import Task
from visterm.documents.document import Document
from visterm.errors import PictureError
from visterm.find.similar import similar
from visterm.find.suggesting import classify, tag
from visterm.vision.decode import probe

_ALIKE_SHOWN = 24


@dataclass(frozen=True)
class Look(Document):
    """What the models suggest for a picture from outside, and what looks like it; empty without a model or features."""

    width: int
    height: int
    classes: list[LikelyName]
    tags: list[LikelyName]
    alike: list[PictureRow]
    ages: list[Age]


def look(holdings: Holdings, data: bytes) -> Look:
    """Look at the bytes of a picture. They are kept only as long as that takes."""
    size = probe(data)
    with tempfile.TemporaryDirectory(prefix="visterm-") as folder:
        file = Path(folder) / "picture"
        file.write_bytes(data)
        made = {}
        if holdings.shelf.best(Task.CLASSIFY) is not None:
            made["class"] = classify(holdings, [file])
        if holdings.shelf.best(Task.ANNOTATE) is not None:
            made["tag"] = tag(holdings, [file])
        looked_at = holdings.library.present(ready_recipe(holdings, RECIPE), holdings.collection().frame.keys)
        alike = similar(holdings, file, limit=_ALIKE_SHOWN).found if len(looked_at) else []
        classes, tags = (_labels(made[kind].answers) if kind in made else [] for kind in ("class", "tag"))
        ages = [age for each in made.values() for age in each.ages]
        return Look(size.width, size.height, classes, tags, alike, ages)


def _labels(answers: list[PictureRow]) -> list[LikelyName]:
    if not answers:
        raise PictureError("this file cannot be used as a picture")
    return answers[0].labels
