"""The features of a workspace's pictures, and of any files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.app.workspace import Workspace
from visterm.catalogue.records import Skipped
from visterm.catalogue.truth import Truth
from visterm.contracts import Features
from visterm.features import Description
from visterm.features import features_of_files as described_files
from visterm.vision.recipes.base import Recipe


def ready_recipe(workspace: Workspace, name: str) -> Recipe:
    """The recipe called ``name``; one that learns from the collection learns once, and remembers."""
    return workspace.features.recipe(name, _pictures(workspace))


def describe(workspace: Workspace, *recipes: Recipe) -> list[Description]:
    """Compute the features that are missing, each picture decoded once for all recipes."""
    return workspace.features.describe(_pictures(workspace), *recipes)


def described(workspace: Workspace, recipe: Recipe, truth: Truth) -> tuple[Features, NDArray[np.intp]]:
    """The features of all pictures that have them, and which rows of ``truth`` those are."""
    without = workspace.features.missing(recipe, truth.sha256)
    kept = np.flatnonzero([key not in without for key in truth.sha256])
    return stored_features(workspace, recipe, [truth.sha256[row] for row in kept]), kept


def stored_features(workspace: Workspace, recipe: Recipe, keys: Sequence[str]) -> Features:
    """The stored features of the pictures with these hashes."""
    return _one_or_several(workspace.features.features(recipe, keys))


def features_of_files(recipe: Recipe, files: Sequence[Path]) -> tuple[Features, list[int], list[Skipped]]:
    """The features of any files, which of them those are, and what could not be described."""
    by_output, kept, failed = described_files(recipe, files)
    return _one_or_several(by_output), kept, failed


def _pictures(workspace: Workspace) -> dict[str, Path | None]:
    truth = workspace.catalogue.truth()
    files = ((key, path and workspace.folder / path) for key, path in zip(truth.sha256, truth.paths, strict=True))
    return {key: file or None for key, file in files}


def _one_or_several(by_output: dict[str, Any]) -> Features:
    """One matrix, or a mapping where the recipe computes several features."""
    return next(iter(by_output.values())) if len(by_output) == 1 else by_output
