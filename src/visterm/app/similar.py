"""Pictures that look alike: by the features of a recipe, or by the codes of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from visterm.app.collection import Collection
from visterm.app.features import described, features_of_picture, ready_recipe, stored_features
from visterm.app.files import is_there
from visterm.app.indexing import code_index
from visterm.app.notebook import PictureDocument
from visterm.compute import progress
from visterm.contracts import Features, Matrix, Task, is_several, n_pictures, take
from visterm.distances import metric_named
from visterm.errors import InputError
from visterm.models import Model
from visterm.search.beliefs import Floats
from visterm.search.likeness import Likeness
from visterm.search.snapshot import largest
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: The features by which pictures are compared where nothing else is said.
RECIPE = "deep"
#: From this many pictures on, what all pictures share is subtracted from network features.
_ENOUGH_TO_CENTRE = 10
#: How alike similar pictures are is learned from at most this many labelled pictures.
_MOST_LEARNED_FROM = 2000


@dataclass(frozen=True)
class Lookalike:
    """A picture, and how alike it is: 1 for the same."""

    path: str
    score: float


@dataclass(frozen=True)
class Lookalikes(PictureDocument):
    """The pictures that look most like ``picture``, best first."""

    picture: str
    found: list[Lookalike]

    def captions(self) -> Iterator[tuple[str, str]]:
        """How alike each picture is."""
        return ((item.path, f"{item.score:.2f}") for item in self.found)


def similar(
    workspace: Workspace,
    picture: Path,
    *,
    recipe: str = RECIPE,
    model: str | None = None,
    limit: int = 20,
) -> Lookalikes:
    """The pictures that look most like ``picture``, which itself is left out.

    They are compared by the features of a recipe, with :func:`likenesses` as scores (0 instead of those below); or by
    the codes of a ``model`` that has such, with ``exp(-distance^2 / 2)``.
    """
    own = hash_of(workspace, picture)
    collection = workspace.collection()
    rows = [row for row in collection.frame.rows if collection.truth.sha256[row] != own]
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    if model is not None:
        found = _by_codes(workspace, workspace.shelf.model(Task.RANK, model), picture, own, collection, limit)
    else:
        found = _by_features(workspace, recipe, picture, own, collection, rows, limit)
    return Lookalikes(str(picture), found).located(workspace.folder)


def _by_features(
    workspace: Workspace,
    name: str,
    picture: Path,
    own: str | None,
    collection: Collection,
    rows: list[int],
    limit: int,
) -> list[Lookalike]:
    recipe, truth = ready_recipe(workspace, name), collection.truth
    places, _ = described(workspace, recipe, [truth.sha256[row] for row in rows], wait=False)
    rows = [rows[place] for place in places]
    if not rows:
        raise InputError("there is no other picture in the collection to compare with")
    x = features_of_picture(workspace, recipe, picture, own)
    (alike,) = likenesses(recipe, x, stored_features(workspace, recipe, [truth.sha256[row] for row in rows]))
    alike = np.maximum(alike, 0.0)
    return [Lookalike(truth.paths[rows[i]] or "", float(alike[i])) for i in largest(alike, limit)]


def _by_codes(
    workspace: Workspace, model: Model, picture: Path, own: str | None, collection: Collection, limit: int
) -> list[Lookalike]:
    if not hasattr(model.estimator, "transform"):
        raise InputError(f"the model {model.info.name} has no codes to compare pictures by: use one such as ccd2")
    frame = collection.frame
    path_of = {key: path for key, path in zip(frame.sha256, frame.paths, strict=True) if path and key != own}
    codes = code_index(workspace, model, frame.sha256)
    if codes.note:
        progress.note(codes.note)
    code = np.asarray(model.estimator.transform(features_of_picture(workspace, model.recipe, picture, own)))[0]
    found = codes.snapshot.nearest(code, limit + 1)  # one more, as the picture itself may be among them
    likeness = np.exp(-(found.scores.astype(np.float64) ** 2) / 2)
    near = [(path_of[name], float(s)) for name, s in zip(found.keys, likeness, strict=True) if name in path_of]
    return [Lookalike(path, score) for path, score in near[:limit]]


def cosines(A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines: of the square roots of histograms and counts, else of the features."""
    if is_several(A) or is_several(B):
        raise InputError("pictures are compared by one feature, not by several: choose another recipe")
    a, b = cast(Matrix, A), cast(Matrix, B)
    if a.min() >= 0 and b.min() >= 0:
        return 1 - metric_named("hellinger")(a, b) ** 2 / 2
    return 1 - metric_named("cosine")(a, b)


def likenesses(recipe: Recipe, A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines of features of a recipe; for network features, after the mean of ``B`` was subtracted."""
    if not recipe.name.startswith(RECIPE) or n_pictures(B) < _ENOUGH_TO_CENTRE:
        return cosines(A, B)
    mean = np.mean(cast(Matrix, B), axis=0)
    return 1 - metric_named("cosine")(A - mean, B - mean)


def hash_of(workspace: Workspace, picture: Path) -> str | None:
    """The content hash of a picture of the collection, named by file, catalogued path or hash; None for others."""
    known = workspace.picture(picture)
    return None if known is None else known.sha256


def log_likeness(workspace: Workspace, reference: str, collection: Collection) -> Floats:
    """What ``like:PICTURE`` asks for: log-probabilities that pictures are labelled as it is; itself is left out."""
    picture = Path(reference)
    own = hash_of(workspace, picture)
    if own is None and not is_there(picture):
        raise InputError(f"like:{reference}: there is no such file, and no such picture in the collection")
    recipe = ready_recipe(workspace, RECIPE)
    keys, truth = collection.frame.keys, collection.truth
    usable, _ = described(workspace, recipe, keys, wait=False)
    rows = np.array(collection.frame.rows, np.intp)[usable]
    X = stored_features(workspace, recipe, [keys[place] for place in usable])
    has_label = np.array([truth.classes[row] is not None for row in rows]) | (np.diff(truth.tags[rows].indptr) > 0)
    labelled = np.flatnonzero(has_label)
    if len(labelled) > _MOST_LEARNED_FROM:
        labelled = np.random.default_rng(0).choice(labelled, _MOST_LEARNED_FROM, replace=False)
    known = take(X, labelled)
    likeness = Likeness().fit(
        lambda some: likenesses(recipe, take(known, some), known),
        [truth.classes[row] for row in rows[labelled]],
        truth.tags[rows[labelled]],
    )
    log_p = np.full(len(keys), -np.inf, np.float32)
    (alike,) = likenesses(recipe, features_of_picture(workspace, recipe, picture, own), X)
    log_p[usable] = likeness.log_probabilities(alike)
    log_p[[place for place, key in enumerate(keys) if key == own]] = -np.inf
    return log_p
