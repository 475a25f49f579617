"""From pictures to features: decoded once for all recipes, in parallel; one bad picture never stops the rest."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.healing import read_picture
from visterm.catalogue.records import Skipped
from visterm.compute.halves import singles
from visterm.compute.parallel import Engine, map_shards
from visterm.errors import MissingExtraError, VistermError
from visterm.vision.decode import decode_sizes
from visterm.vision.recipes.base import Recipe

#: Pictures per task: enough to keep a worker busy, few enough to see progress.
_PICTURES_PER_TASK = 16

#: What a recipe computes for one picture: a row for each output.
Rows = Mapping[str, Any]
#: A decoded picture by the number of pixels it may have.
Pictures = Mapping[int | None, NDArray[np.uint8]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """A picture to compute features of: its key, its file, and the numbers of the recipes that need it.

    If the key ``is_hash``, it is the content hash of the picture, and a file that holds something else has no features.
    """

    key: str
    file: Path
    wanted: tuple[int, ...]
    is_hash: bool = False


def computed(subjects: Sequence[Subject], recipes: Sequence[Recipe]) -> Iterator[tuple[Subject, list[Rows | Skipped]]]:
    """For every picture, in order, the rows of each recipe that needs it, or why there are none."""

    def compute(batch: Sequence[Subject]) -> list[tuple[Subject, list[Rows | Skipped]]]:
        found: list[dict[int, Rows | Skipped]] = [{} for _ in batch]
        decoded = [_decoded(subject, recipes) for subject in batch]
        for whole, members in passes:
            wanting = [at for at, subject in enumerate(batch) if not members.isdisjoint(subject.wanted)]
            rows = _rows_of([batch[at].file for at in wanting], [decoded[at] for at in wanting], whole)
            for at, row in zip(wanting, rows, strict=True):
                for i in members.intersection(batch[at].wanted):
                    found[at][i] = row if isinstance(row, Skipped) else {name: row[name] for name in recipes[i].outputs}
        return [(subject, [rows[i] for i in subject.wanted]) for subject, rows in zip(batch, found, strict=True)]

    passes = _passes(recipes)

    batches = [subjects[start : start + _PICTURES_PER_TASK] for start in range(0, len(subjects), _PICTURES_PER_TASK)]
    names = ", ".join(recipe.name for recipe in recipes)
    engine = Engine.from_environment()  # workers read the pictures by themselves
    for results in map_shards(compute, batches, engine=engine, description=f"Computing {names}"):
        yield from results


def _passes(recipes: Sequence[Recipe]) -> list[tuple[Recipe, set[int]]]:
    """What is computed at once, and the numbers of the recipes whose features that are."""
    wholes: dict[str, tuple[Recipe, set[int]]] = {}
    for i, recipe in enumerate(recipes):
        whole = recipe.whole
        wholes.setdefault(f"{whole.name} {whole.hash}", (whole, set()))[1].add(i)
    return list(wholes.values())


def features_of_files(recipe: Recipe, files: Sequence[Path]) -> tuple[dict[str, Any], list[int], list[Skipped]]:
    """The features of any files by the recipe's outputs, the positions of those files, and the files that failed.

    They are the same numbers that a :class:`FeatureLibrary` stores, so each stored part is computed as if alone.
    """
    kept: list[int] = []
    failed: list[Skipped] = []
    rows: list[Rows] = []
    parts = recipe.stored_parts
    subjects = [Subject(str(i), file, tuple(range(len(parts)))) for i, file in enumerate(files)]
    for subject, results in computed(subjects, parts):
        row: dict[str, Any] = {}
        for result in results:
            if isinstance(result, Skipped):
                failed.append(result)
                break
            row |= result
        else:
            kept.append(int(subject.key))
            rows.append(row)
    return stacked(recipe, rows), kept, failed


def stacked(recipe: Recipe, rows: Sequence[Rows]) -> dict[str, Any]:
    """What ``recipe`` computed for several pictures: an array or a ``csr_array`` for each of its outputs.

    Dense features are rounded as they are when they are stored, and are given in single precision.
    """
    from scipy import sparse

    matrices: dict[str, Any] = {}
    for output, spec in recipe.outputs.items():
        some = [row[output] for row in rows]
        if not spec.sparse:
            matrices[output] = singles(np.array(some, dtype=spec.dtype).reshape(len(some), spec.n_dims))
        elif some:
            matrices[output] = sparse.csr_array(sparse.vstack(some))
        else:
            matrices[output] = sparse.csr_array((0, spec.n_dims), dtype=spec.dtype)
    return matrices


def one_or_several(by_output: dict[str, Any]) -> Any:
    """The input of a method: the matrix itself if the recipe has one output, else a mapping of all outputs.

    >>> one_or_several({"colour": "a matrix"})
    'a matrix'
    """
    return next(iter(by_output.values())) if len(by_output) == 1 else by_output


def _decoded(subject: Subject, recipes: Sequence[Recipe]) -> Pictures | Skipped:
    """The picture at the size of each recipe that needs it, or why there is none."""
    budgets = dict.fromkeys(recipes[i].pixel_budget for i in subject.wanted)

    def decode() -> Pictures:
        data = read_picture(subject.file, subject.key) if subject.is_hash else subject.file
        return decode_sizes(data, budgets)

    return _attempted(subject.file, decode)


def _rows_of(files: Sequence[Path], decoded: Sequence[Pictures | Skipped], recipe: Recipe) -> list[Rows | Skipped]:
    """The rows of ``files`` by one recipe."""
    pictures = [sizes if isinstance(sizes, Skipped) else sizes[recipe.pixel_budget] for sizes in decoded]
    good = [(file, rgb) for file, rgb in zip(files, pictures, strict=True) if not isinstance(rgb, Skipped)]
    rows: Iterator[Rows | Skipped]
    try:
        rows = iter(recipe.compute_many([rgb for _, rgb in good]))
    except MissingExtraError:
        raise
    except VistermError:  # perhaps due to one picture: compute each alone
        rows = (_attempted(file, partial(recipe.compute, rgb)) for file, rgb in good)
    return [rgb if isinstance(rgb, Skipped) else next(rows) for rgb in pictures]


def _attempted(file: Path, work: Callable[[], T]) -> T | Skipped:
    """The result of ``work``, or why ``file`` has none; a missing extra affects all files, so it is raised."""
    try:
        return work()
    except MissingExtraError:
        raise
    except (OSError, VistermError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return Skipped(str(file), reason)
