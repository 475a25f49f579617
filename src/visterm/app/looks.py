"""How alike pictures of the collection look, by the features of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from visterm.app.describing import describe, features_of_files, ready_recipe, stored_features
from visterm.app.workspace import Workspace
from visterm.catalogue.truth import Truth
from visterm.contracts import Features, Matrix, is_several, take
from visterm.distances import metric_named
from visterm.errors import InputError
from visterm.models import Model
from visterm.search.beliefs import Floats
from visterm.search.likeness import Likeness
from visterm.vision.recipes.base import Recipe

#: The features by which pictures are compared where nothing else is said.
RECIPE = "colour"


def cosines(A: Features, B: Features) -> Floats:
    """(n_a, n_b) cosines: of the square roots of histograms and counts, else of the features."""
    if is_several(A) or is_several(B):
        raise InputError("pictures are compared by one feature, not by several: choose another recipe")
    a, b = cast(Matrix, A), cast(Matrix, B)
    if a.min() >= 0 and b.min() >= 0:
        return 1 - metric_named("hellinger")(a, b) ** 2 / 2
    return 1 - metric_named("cosine")(a, b)


def with_features(workspace: Workspace, recipe: Recipe, truth: Truth, rows: Sequence[int]) -> list[int]:
    """Those of ``rows`` whose features can be computed, which they are."""
    describe(workspace, recipe)
    without = workspace.features.missing(recipe, [truth.sha256[row] for row in rows])
    return [row for row in rows if truth.sha256[row] not in without]


def features_of(workspace: Workspace, recipe: Recipe, picture: Path, own: str | None) -> Features:
    """The features of a picture of the collection (by its hash ``own``) or of any file."""
    if own is not None and not workspace.features.missing(recipe, [own]):
        return stored_features(workspace, recipe, [own])
    x, _, failed = features_of_files(recipe, [picture])
    if failed:
        raise InputError(str(failed[0]))
    return x


def hash_of(workspace: Workspace, picture: Path) -> str | None:
    """The content hash of a picture of the collection, named by file, catalogued path or hash; None for others."""
    known = workspace.catalogue.picture(picture.absolute() if picture.exists() else picture)
    return None if known is None else known.sha256


def liker(workspace: Workspace, model: Model | None, truth: Truth, rows: Sequence[int]) -> Callable[[str], Floats]:
    """What answers ``like:PICTURE``: log-probabilities that pictures are labelled alike; the picture is left out."""

    def like(reference: str) -> Floats:
        picture = Path(reference)
        own = hash_of(workspace, picture)
        if own is None and not picture.exists():
            raise InputError(f"like:{reference}: there is no such file, and no such picture in the collection")
        own_recipe = model is not None and len(model.recipe.outputs) == 1
        recipe = model.recipe if model is not None and own_recipe else ready_recipe(workspace, RECIPE)
        usable = with_features(workspace, recipe, truth, rows)
        X = stored_features(workspace, recipe, [truth.sha256[row] for row in usable])
        likeness = Likeness().fit(
            lambda some: cosines(take(X, some), X), [truth.classes[row] for row in usable], truth.tags[usable]
        )
        place_of = {row: place for place, row in enumerate(rows)}
        log_p = np.full(len(rows), -np.inf, np.float32)
        similar = cosines(features_of(workspace, recipe, picture, own), X)[0]
        log_p[[place_of[row] for row in usable]] = likeness.log_probabilities(similar)
        log_p[[place for row, place in place_of.items() if truth.sha256[row] == own]] = -np.inf
        return log_p

    return like
