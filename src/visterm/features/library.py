"""Pictures into features: computed in parallel and once, kept by content; one bad picture never stops the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue import Skipped
from visterm.compute import map_shards
from visterm.errors import InputError, MissingExtraError, VistermError
from visterm.storage.atomic import write_bytes_atomically
from visterm.vision import Recipe, TrainingPictures, decode_rgb
from visterm.vision import recipe as recipe_named

if TYPE_CHECKING:
    from visterm.storage.array_store import FeatureStore

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


class FeatureLibrary:
    """What recipes learned from a collection, and the features they computed, in ``folder``.

    Pictures are given as a mapping of the sha256 of their contents to their files (None: the file is missing).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recipe(self, name: str, pictures: Mapping[str, Path | None]) -> Recipe:
        """The recipe called ``name``; one that learns from the collection learns once, and remembers."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file, save

        recipe = recipe_named(name)
        if not recipe.n_training_pictures:
            return recipe
        file = self.folder / "recipes" / f"{_file_name(name)}.safetensors"
        if file.exists():
            try:
                recipe.restore(load_file(file))
            except (SafetensorError, OSError, KeyError, ValueError) as error:
                raise InputError(f"{file} is damaged ({error}): delete it to have the recipe learn again") from error
            return recipe
        # The pictures whose hashes come first: a sample that is random, yet the same whenever it is drawn.
        files = [path for _, path in sorted(pictures.items()) if path is not None][: recipe.n_training_pictures]
        if not files:
            raise InputError(f"the recipe {name!r} learns from pictures, and there are none: add some first")
        recipe.train(TrainingPictures(files, pixel_budget=recipe.pixel_budget))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(file, save(recipe.state()))
        return recipe

    def describe(self, pictures: Mapping[str, Path | None], *recipes: Recipe) -> list[Description]:
        """Compute the features that are missing, each picture decoded once for all recipes.

        What was computed stays, however this ends; one bad picture never stops the rest.
        """
        started = time.perf_counter()
        stores = [self._stores(recipe) for recipe in recipes]
        missing = [{key for store in of_one.values() for key in store.missing(pictures)} for of_one in stores]
        done = [
            Description(recipe.name, recipe.hash, n_known=len(pictures) - len(absent))
            for recipe, absent in zip(recipes, missing, strict=True)
        ]
        subjects = []
        for key, file in pictures.items():
            wanted = tuple(i for i, keys in enumerate(missing) if key in keys)
            if wanted and file is None:
                for i in wanted:
                    done[i].failed.append(Skipped(key[:12], "its file is missing"))
            elif wanted and file is not None:
                subjects.append(_Subject(key, file, wanted))
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

    def missing(self, recipe: Recipe, keys: Sequence[str]) -> set[str]:
        """Those of ``keys`` that lack a feature of ``recipe``."""
        return {key for store in self._stores(recipe).values() for key in store.missing(keys)}

    def features(self, recipe: Recipe, keys: Sequence[str]) -> dict[str, Any]:
        """The stored features of the pictures with these hashes, by the recipe's outputs."""
        return {output: store.rows(keys) for output, store in self._stores(recipe).items()}

    def _stores(self, recipe: Recipe) -> dict[str, FeatureStore]:
        from visterm.storage.array_store import FeatureStore

        def folder(output: str) -> Path:
            return self.folder / "features" / f"{_file_name(recipe.name)}.{_file_name(output)}.{recipe.hash}"

        outputs = recipe.outputs.items()
        return {output: FeatureStore(folder(output), spec, recipe=recipe.hash) for output, spec in outputs}


def _file_name(name: str) -> str:
    """The name of a recipe or an output as part of a file's name: ``timm:x`` is no name of a file everywhere."""
    return quote(name, safe="+")


def features_of_files(recipe: Recipe, files: Sequence[Path]) -> tuple[dict[str, Any], list[int], list[Skipped]]:
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
    return {output: _stacked(items, recipe, output) for output, items in rows.items()}, kept, failed


def _stacked(rows: list[Any], recipe: Recipe, output: str) -> Any:
    from scipy import sparse

    spec = recipe.outputs[output]
    if spec.sparse:
        return sparse.csr_array(sparse.vstack(rows)) if rows else sparse.csr_array((0, spec.n_dims), dtype=spec.dtype)
    return np.array(rows, dtype=spec.dtype).reshape(len(rows), spec.n_dims)


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
