"""The features of a workspace's pictures: what the recipes are, what is computed, and what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.healing import CHANGED, heal
from visterm.catalogue.records import Skipped
from visterm.compute import progress
from visterm.contracts import Features
from visterm.documents.document import Document
from visterm.documents.wording import counted
from visterm.errors import InputError, VistermError
from visterm.features import Description, one_or_several
from visterm.features import features_of_files as describe_files
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes import recipe_names
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.collection.opened import Opened

#: The features by which pictures are compared where nothing else is said.
RECIPE = "deep"
#: Why a reader left pictures out.
BUSY = "the features are being computed now: ask again when that is done"


@dataclass(frozen=True)
class RecipeCost:
    """A recipe, and its approximate cost for this collection: numbers per picture, disk, processor time."""

    name: str
    n_dims: int
    megabytes: float
    seconds: float
    summary: str


@dataclass(frozen=True)
class Recipes(Document):
    """The recipes."""

    recipes: list[RecipeCost]


@dataclass(frozen=True)
class Computed(Document):
    """What computing features did, one entry for each recipe."""

    recipes: list[Description]


def recipes(opened: Opened) -> Recipes:
    """What each recipe is, and what it would cost for this collection."""
    n_pictures = opened.catalogue.counts().n_ok
    return Recipes(
        [
            RecipeCost(
                known.name,
                sum(spec.n_dims for spec in known.outputs.values()),
                round(n_pictures * known.bytes_per_picture / 2**20, 1),
                round(n_pictures * known.seconds_per_picture, 1),
                known.summary,
            )
            for known in map(recipe_named, recipe_names())
        ]
    )


def compute(opened: Opened, names: Sequence[str]) -> Computed:
    """Compute the features that are missing."""
    return Computed(describe(opened, *(ready_recipe(opened, name) for name in dict.fromkeys(names))))


def ready_recipe(opened: Opened, name: str) -> Recipe:
    """The recipe called ``name``; one that learns from the collection learns once, and remembers."""
    return opened.library.recipe(name, opened.collection().frame.files)


def describe(opened: Opened, *recipes: Recipe, wait: bool = True) -> list[Description]:
    """Compute the features that are missing, each picture decoded once for all recipes.

    A file that has changed since it was added is read again first, so that no picture gets the features of another;
    without ``wait``, as readers want it, such pictures are left out, since to look changes nothing.
    """
    if wait:
        keys = opened.collection().frame.keys
        missing = {key for recipe in recipes for key in opened.library.missing(recipe, keys)}
        _heal(opened, [file for key, file in opened.collection().frame.files.items() if key in missing])
    done = opened.library.describe(opened.collection().frame.files, *recipes, wait=wait)
    changed = [item.where for description in done for item in description.failed if item.reason == CHANGED]
    if changed and wait and _heal(opened, changed, certain=True):
        return opened.library.describe(opened.collection().frame.files, *recipes, wait=wait)
    return done


def _heal(opened: Opened, files: Sequence[str | Path | None], *, certain: bool = False) -> bool:
    with suppress(VistermError):  # such as on a disk that cannot be written to: then these have no features
        return heal(opened.catalogue, [file for file in files if file is not None], certain=certain)
    return False


def described(
    opened: Opened, recipe: Recipe, keys: Sequence[str], *, wait: bool
) -> tuple[NDArray[np.intp], list[Skipped]]:
    """The places of those of ``keys`` whose picture has features, and why others have none.

    Features of these pictures that are missing are computed first. If somebody else is computing, this call waits for
    them; without ``wait``, as readers want it, the pictures not finished are left out, and those whose files have
    changed. What the user should know about them is a note on the display in use.
    """
    files = opened.collection().frame.files
    if wait:
        _heal(opened, [files.get(key) for key in opened.library.missing(recipe, keys)])
        files = opened.collection().frame.files
    # A picture that somebody has removed since its key was read has no file any more.
    (done,) = opened.library.describe({key: files.get(key) for key in keys}, recipe, wait=wait)
    for text in done.notes:
        progress.note(text)
    busy = [Skipped(counted(done.n_left_out, "picture"), BUSY)] if done.n_left_out else []
    return opened.library.present(recipe, keys), done.failed + busy


def stored_features(opened: Opened, recipe: Recipe, keys: Sequence[str]) -> Features:
    """The stored features of the pictures with these hashes."""
    return one_or_several(opened.library.features(recipe, keys))


def features_of_files(recipe: Recipe, files: Sequence[Path]) -> tuple[Features, list[int], list[Skipped]]:
    """The features of any files, which of them those are, and what could not be described."""
    by_output, kept, failed = describe_files(recipe, files)
    return one_or_several(by_output), kept, failed


def features_of_picture(opened: Opened, recipe: Recipe, picture: Path, own: str | None) -> Features:
    """The features of a picture of the collection (by its hash ``own``) or of any file."""
    if own is not None and not opened.library.missing(recipe, [own]):
        return stored_features(opened, recipe, [own])
    x, _, failed = features_of_files(recipe, [picture])
    if failed:
        raise InputError(str(failed[0]))
    return x
