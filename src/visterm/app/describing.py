"""Pictures into features: computed once, kept by content; one bad picture never stops the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.app.workspace import Workspace
from visterm.collection.atomic import write_bytes_atomically
from visterm.collection.records import Skipped
from visterm.collection.truth import Truth
from visterm.compute import progress
from visterm.compute.parallel import map_shards
from visterm.contracts import Features
from visterm.errors import InputError, VistermError
from visterm.vision.decode import decode_rgb
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes.base import Recipe

#: Pictures described by one task: enough to keep a worker busy, few enough to see progress.
_PICTURES_PER_TASK = 16

Rows = dict[str, Any]


@dataclass(slots=True)
class Description:
    """What describing a collection did."""

    recipe: str
    recipe_hash: str
    n_known: int = 0
    n_computed: int = 0
    failed: list[Skipped] = field(default_factory=list)
    seconds: float = 0.0


def ready_recipe(workspace: Workspace, name: str) -> Recipe:
    """The recipe called ``name``; one that learns from the collection learns once, and remembers."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save

    recipe = recipe_named(name)
    if not recipe.n_training_pictures:
        return recipe
    file = workspace.recipe_file(name)
    if file.exists():
        try:
            recipe.restore(load_file(file))
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise InputError(f"{file} is damaged ({error}): delete it to have the recipe learn again") from error
        return recipe
    truth = workspace.catalogue.truth()
    # The pictures whose hashes come first: a sample that is random, yet the same whenever it is drawn.
    sample = sorted((sha256, path) for sha256, path in zip(truth.sha256, truth.paths, strict=True) if path)
    files = [workspace.folder / path for _, path in sample[: recipe.n_training_pictures]]
    if not files:
        raise InputError(f"the recipe {name!r} learns from pictures, and there are none: add some first")
    recipe.train(_decoded(files, recipe))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(file, save(recipe.state()))
    return recipe


def describe(workspace: Workspace, recipe: Recipe) -> Description:
    """Compute the features that are missing; what was computed stays, however this ends."""
    started = time.perf_counter()
    truth = workspace.catalogue.truth()
    stores = workspace.stores(recipe)
    missing = {key for store in stores.values() for key in store.missing(truth.sha256)}
    wanted = [(key, path) for key, path in zip(truth.sha256, truth.paths, strict=True) if key in missing]
    done = Description(recipe.name, recipe.hash, n_known=len(truth) - len(wanted))
    done.failed = [Skipped(key[:12], "its file is missing") for key, path in wanted if path is None]
    files = [(key, workspace.folder / path) for key, path in wanted if path is not None]
    with ExitStack() as stack:
        writers = {output: stack.enter_context(store.writer()) for output, store in stores.items()} if files else {}
        for key, rows in _computed(files, recipe):
            if isinstance(rows, Skipped):
                done.failed.append(rows)
                continue
            for output, row in rows.items():
                writers[output].add(key, row)
            done.n_computed += 1
    done.seconds = time.perf_counter() - started
    return done


def described(workspace: Workspace, recipe: Recipe, truth: Truth) -> tuple[Features, NDArray[np.intp]]:
    """The features of all pictures that have them, and which rows of ``truth`` those are."""
    stores = workspace.stores(recipe)
    without = {key for store in stores.values() for key in store.missing(truth.sha256)}
    kept = np.flatnonzero([key not in without for key in truth.sha256])
    return stored_features(workspace, recipe, [truth.sha256[row] for row in kept]), kept


def stored_features(workspace: Workspace, recipe: Recipe, keys: Sequence[str]) -> Features:
    """The stored features of the pictures with these hashes."""
    return _matrices({output: store.rows(keys) for output, store in workspace.stores(recipe).items()})


def features_of_files(recipe: Recipe, files: Sequence[Path]) -> tuple[Features, list[int], list[Skipped]]:
    """The features of any files, which of them those are, and what could not be described."""
    kept: list[int] = []
    failed: list[Skipped] = []
    rows: dict[str, list[Any]] = {output: [] for output in recipe.outputs}
    for key, result in _computed([(str(i), file) for i, file in enumerate(files)], recipe):
        if isinstance(result, Skipped):
            failed.append(result)
            continue
        kept.append(int(key))
        for output, row in result.items():
            rows[output].append(row)
    return _matrices({output: _stacked(items, recipe, output) for output, items in rows.items()}), kept, failed


def _stacked(rows: list[Any], recipe: Recipe, output: str) -> Any:
    from scipy import sparse

    spec = recipe.outputs[output]
    if spec.sparse:
        return sparse.csr_array(sparse.vstack(rows)) if rows else sparse.csr_array((0, spec.n_dims), dtype=spec.dtype)
    return np.array(rows, dtype=spec.dtype).reshape(len(rows), spec.n_dims)


def _matrices(by_output: dict[str, Any]) -> Features:
    """One matrix, or a mapping where the recipe computes several features."""
    return next(iter(by_output.values())) if len(by_output) == 1 else by_output


def _computed(files: Sequence[tuple[str, Path]], recipe: Recipe) -> Iterator[tuple[str, Rows | Skipped]]:
    """The rows of every file, or why there are none, in order."""

    def compute(batch: Sequence[tuple[str, Path]]) -> list[tuple[str, Rows | Skipped]]:
        return [(key, _rows_of(file, recipe)) for key, file in batch]

    batches = [files[start : start + _PICTURES_PER_TASK] for start in range(0, len(files), _PICTURES_PER_TASK)]
    for results in map_shards(compute, batches, description=f"Computing {recipe.name}"):
        yield from results


def _rows_of(file: Path, recipe: Recipe) -> Rows | Skipped:
    try:
        return recipe.compute(decode_rgb(file, pixel_budget=recipe.pixel_budget))
    except (OSError, VistermError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return Skipped(str(file), reason)


def _decoded(files: Sequence[Path], recipe: Recipe) -> Iterator[NDArray[np.uint8]]:
    with progress.task(f"Learning {recipe.name}", total=len(files)) as bar:
        for file in files:
            try:
                yield decode_rgb(file, pixel_budget=recipe.pixel_budget)
            except (OSError, VistermError):
                continue
            finally:
                bar.advance()
