"""Pictures into features: computed once, kept by content; one bad picture never stops the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.app.workspace import Workspace
from visterm.collection.atomic import write_bytes_atomically
from visterm.collection.records import Skipped
from visterm.collection.truth import Truth
from visterm.compute.parallel import map_shards
from visterm.contracts import Features
from visterm.errors import InputError, MissingExtraError, VistermError
from visterm.vision.decode import decode_rgb
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.training import TrainingPictures

#: Pictures described by one task: enough to keep a worker busy, few enough to see progress.
_PICTURES_PER_TASK = 16

Rows = dict[str, Any]
T = TypeVar("T")


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
    recipe.train(TrainingPictures(files, pixel_budget=recipe.pixel_budget))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(file, save(recipe.state()))
    return recipe


def describe(workspace: Workspace, *recipes: Recipe) -> list[Description]:
    """Compute the features that are missing, each picture decoded once for all recipes.

    What was computed stays, however this ends; one bad picture never stops the rest.
    """
    started = time.perf_counter()
    truth = workspace.catalogue.truth()
    stores = [workspace.stores(recipe) for recipe in recipes]
    missing = [{key for store in of_one.values() for key in store.missing(truth.sha256)} for of_one in stores]
    done = [Description(r.name, r.hash, n_known=len(truth) - len(m)) for r, m in zip(recipes, missing, strict=True)]
    subjects = []
    for key, path in zip(truth.sha256, truth.paths, strict=True):
        wanted = tuple(i for i, keys in enumerate(missing) if key in keys)
        if wanted and path is None:
            for i in wanted:
                done[i].failed.append(Skipped(key[:12], "its file is missing"))
        elif wanted and path is not None:
            subjects.append(_Subject(key, workspace.folder / path, wanted))
    with ExitStack() as stack:
        writers = {
            (i, output): stack.enter_context(store.writer())
            for i, of_one in enumerate(stores)
            for output, store in of_one.items()
            if missing[i]
        }
        for subject, results in _computed(subjects, recipes):
            for i, result in zip(subject.wanted, results, strict=True):
                if isinstance(result, Skipped):
                    done[i].failed.append(result)
                    continue
                for output, row in result.items():
                    writers[i, output].add(subject.key, row)
                done[i].n_computed += 1
    for description in done:
        description.seconds = time.perf_counter() - started
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
    subjects = [_Subject(str(i), file, (0,)) for i, file in enumerate(files)]
    for subject, (result,) in _computed(subjects, [recipe]):
        if isinstance(result, Skipped):
            failed.append(result)
            continue
        kept.append(int(subject.key))
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


@dataclass(frozen=True, slots=True)
class _Subject:
    """A picture to describe: its key, its file, and the recipes (by number) that want it."""

    key: str
    file: Path
    wanted: tuple[int, ...]


def _computed(
    subjects: Sequence[_Subject], recipes: Sequence[Recipe]
) -> Iterator[tuple[_Subject, list[Rows | Skipped]]]:
    """For every picture, in order, the rows of each recipe that wants it, or why there are none."""

    def compute(batch: Sequence[_Subject]) -> list[tuple[_Subject, list[Rows | Skipped]]]:
        results: list[list[Rows | Skipped]] = [[] for _ in batch]
        decoded: dict[tuple[Path, int], NDArray[np.uint8] | Skipped] = {}
        for i, recipe in enumerate(recipes):
            wanting = [at for at, subject in enumerate(batch) if i in subject.wanted]
            rows = _rows_of([batch[at].file for at in wanting], recipe, decoded)
            for at, row in zip(wanting, rows, strict=True):
                results[at].append(row)
        return list(zip(batch, results, strict=True))

    batches = [subjects[start : start + _PICTURES_PER_TASK] for start in range(0, len(subjects), _PICTURES_PER_TASK)]
    names = ", ".join(recipe.name for recipe in recipes)
    for results in map_shards(compute, batches, description=f"Computing {names}"):
        yield from results


def _rows_of(
    files: Sequence[Path], recipe: Recipe, decoded: dict[tuple[Path, int], NDArray[np.uint8] | Skipped]
) -> list[Rows | Skipped]:
    """The rows of ``files`` by one recipe; ``decoded`` keeps the pictures for the next one."""
    budget = recipe.pixel_budget
    for file in files:
        if (file, budget) not in decoded:
            decoded[file, budget] = _attempted(file, partial(decode_rgb, file, pixel_budget=budget))
    pictures = [decoded[file, budget] for file in files]
    good = [(file, rgb) for file, rgb in zip(files, pictures, strict=True) if not isinstance(rgb, Skipped)]
    rows: Iterator[Rows | Skipped]
    try:
        rows = iter(recipe.compute_many([rgb for _, rgb in good]))
    except MissingExtraError:
        raise
    except VistermError:  # of one picture, perhaps: each is computed alone
        rows = (_attempted(file, partial(recipe.compute, rgb)) for file, rgb in good)
    return [rgb if isinstance(rgb, Skipped) else next(rows) for rgb in pictures]


def _attempted(file: Path, work: Callable[[], T]) -> T | Skipped:
    """The result of ``work``, or why there is none of ``file``; a missing extra concerns all files, and is raised."""
    try:
        return work()
    except MissingExtraError:
        raise
    except (OSError, VistermError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return Skipped(str(file), reason)
