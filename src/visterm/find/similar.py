"""Pictures that look alike: by the features of a recipe, or by the codes of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from visterm.collection.features import RECIPE, described, features_of_picture, ready_recipe, stored_features
from visterm.collection.holdings import Holdings
from visterm.collection.moment import Collection
from visterm.collection.rows import PictureRow, rows_of
from visterm.collection.scores import code_index
from visterm.compute import progress
from visterm.contracts import Features, Matrix, Task, is_several, n_pictures, take
from visterm.distances import metric_named
from visterm.documents.notebook import PictureDocument
from visterm.errors import InputError
from visterm.find.rank.beliefs import Floats
from visterm.find.rank.likeness import Likeness
from visterm.index.snapshot import largest
from visterm.models import Model, using
from visterm.storage.files import is_there
from visterm.vision.recipes.base import Recipe

#: From this many pictures on, what all pictures share is subtracted from network features.
_ENOUGH_TO_CENTRE = 10
#: How alike similar pictures are is learned from at most this many labelled pictures.
_MOST_LEARNED_FROM = 2000


@dataclass(frozen=True)
class Lookalikes(PictureDocument):
    """The pictures that look most like ``picture``, best first; the ``score`` of each is its likeness."""

    picture: str
    found: list[PictureRow]

    def captions(self) -> Iterator[tuple[str, str]]:
        """How alike each picture is."""
        return ((row.path, f"{row.score:.2f}") for row in self.found)


def similar(
    holdings: Holdings,
    picture: Path,
    *,
    recipe: str | None = None,
    model: str | None = None,
    limit: int = 20,
) -> Lookalikes:
    """The pictures that look most like ``picture``, which itself is left out.

    They are compared by the features of a recipe, with :func:`likenesses` as scores (0 instead of those below); or by
    the codes of a ``model`` that has codes, with ``exp(-distance^2 / 2)``.
    """
    own = hash_of(holdings, picture)
    collection = holdings.collection()
    rows = [row for row in collection.frame.rows if collection.truth.sha256[row] != own]
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    if model is not None:
        found = _by_codes(holdings, holdings.shelf.model(Task.RANK, model), picture, own, collection, limit)
    else:
        found = _by_features(holdings, recipe or RECIPE, picture, own, collection, rows, limit)
    known = {row.id: row for row in rows_of(holdings, [number for number, _ in found])}
    alike = [replace(known[number], score=score) for number, score in found if number in known]
    return Lookalikes(str(picture), alike).located(holdings.folder)


def _by_features(
    holdings: Holdings,
    name: str,
    picture: Path,
    own: str | None,
    collection: Collection,
    rows: list[int],
    limit: int,
) -> list[tuple[int, float]]:
    recipe, truth = ready_recipe(holdings, name), collection.truth
    places, _ = described(holdings, recipe, [truth.sha256[row] for row in rows], wait=False)
    rows = [rows[place] for place in places]
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    x = features_of_picture(holdings, recipe, picture, own)
    alike = np.maximum(_likeness_to(holdings, recipe, x, [truth.sha256[row] for row in rows]), 0.0)
    return [(int(truth.ids[rows[i]]), float(alike[i])) for i in largest(alike, limit)]


def _by_codes(
    holdings: Holdings, model: Model, picture: Path, own: str | None, collection: Collection, limit: int
) -> list[tuple[int, float]]:
    if not hasattr(model.estimator, "transform"):
        raise InputError(f"the model {model.info.name} has no codes to compare pictures by: use one such as ccd2")
    frame = collection.frame
    ids = zip(frame.sha256, collection.truth.ids.tolist(), frame.paths, strict=True)
    id_of = {key: number for key, number, path in ids if path and key != own}
    codes = code_index(holdings, model, frame.sha256)
    if codes.note:
        progress.note(codes.note)
    x = features_of_picture(holdings, model.recipe, picture, own)
    with using(model):
        code = np.asarray(model.estimator.transform(x))[0]
    found = codes.snapshot.nearest(code, limit + 1)  # one more, as the picture itself may be among them
    likeness = np.exp(-(found.distances.astype(np.float64) ** 2) / 2)
    return [(id_of[key], float(s)) for key, s in zip(found.keys, likeness, strict=True) if key in id_of][:limit]


def cosines(A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines: of the square roots of histograms and counts, else of the features."""
    if is_several(A) or is_several(B):
        raise InputError("pictures are compared by one feature, not by several: choose another recipe")
    a, b = cast(Matrix, A), cast(Matrix, B)
    return _cosines(a, b, are_histograms=a.min() >= 0 and b.min() >= 0)


def _cosines(a: Matrix, b: Matrix, *, are_histograms: bool) -> Floats:
    return 1 - metric_named("hellinger")(a, b) ** 2 / 2 if are_histograms else 1 - metric_named("cosine")(a, b)


def likenesses(recipe: Recipe, A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines of features of a recipe; for network features, after the mean of ``B`` was subtracted."""
    if not _is_centred(recipe, n_pictures(B)):
        return cosines(A, B)
    mean = np.mean(cast(Matrix, B), axis=0)
    return 1 - metric_named("cosine")(A - mean, B - mean)


def _is_centred(recipe: Recipe, n: int) -> bool:
    return recipe.name.startswith(RECIPE) and n >= _ENOUGH_TO_CENTRE


def _likeness_to(holdings: Holdings, recipe: Recipe, x: Features, keys: Sequence[str]) -> Floats:
    """:func:`likenesses` of one picture and all with these ``keys``, whose features are read in blocks, twice."""
    if is_several(x) or len(recipe.outputs) > 1:
        raise InputError("pictures are compared by one feature, not by several: choose another recipe")
    (output,) = recipe.outputs
    own = cast(Matrix, x)

    def blocks() -> Iterator[tuple[slice, Matrix]]:
        return holdings.library.blocks(recipe, output, keys)

    alike = np.empty(len(keys), np.float32)
    if _is_centred(recipe, len(keys)):
        mean = sum(block.sum(axis=0, dtype=np.float64) for _, block in blocks()) / len(keys)
        for rows, block in blocks():
            alike[rows] = _cosines(own - mean, block - mean.astype(np.float32), are_histograms=False)[0]
        return alike
    are_histograms = own.min() >= 0 and all(block.min() >= 0 for _, block in blocks())
    for rows, block in blocks():
        alike[rows] = _cosines(own, block, are_histograms=are_histograms)[0]
    return alike


def hash_of(holdings: Holdings, picture: Path) -> str | None:
    """The content hash of a picture of the collection, named by file, catalogued path or hash; None for others."""
    known = holdings.picture(picture)
    return None if known is None else known.sha256


def log_likeness(holdings: Holdings, reference: str, collection: Collection) -> Floats:
    """What ``like:PICTURE`` asks for: log-probabilities that pictures are labelled as it is; itself is left out."""
    picture = Path(reference)
    own = hash_of(holdings, picture)
    if own is None and not is_there(picture):
        raise InputError(f"like:{reference}: there is no such file, and no such picture in the collection")
    recipe = ready_recipe(holdings, RECIPE)
    keys, truth = collection.frame.keys, collection.truth
    usable, _ = described(holdings, recipe, keys, wait=False)
    rows = np.array(collection.frame.rows, np.intp)[usable]
    has_label = np.array([truth.classes[row] is not None for row in rows]) | (np.diff(truth.tags[rows].indptr) > 0)
    labelled = np.flatnonzero(has_label)
    if len(labelled) > _MOST_LEARNED_FROM:
        labelled = np.random.default_rng(0).choice(labelled, _MOST_LEARNED_FROM, replace=False)
    known = stored_features(holdings, recipe, [keys[usable[row]] for row in labelled])
    likeness = Likeness().fit(
        lambda some: likenesses(recipe, take(known, some), known),
        [truth.classes[row] for row in rows[labelled]],
        truth.tags[rows[labelled]],
    )
    log_p = np.full(len(keys), -np.inf, np.float32)
    x = features_of_picture(holdings, recipe, picture, own)
    log_p[usable] = likeness.log_probabilities(_likeness_to(holdings, recipe, x, [keys[place] for place in usable]))
    log_p[[place for place, key in enumerate(keys) if key == own]] = -np.inf
    return log_p
