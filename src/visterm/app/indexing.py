"""A model's scores for every picture of the collection, stored in an index that is updated before each use.

Indexes are stored in ``.visterm/index``. They can be deleted: they are made again. An index holds only what the model
says; what people say is read from the catalogue at every search. A search never waits for a writer: it scores the
pictures whose features are there, and keeps the scores in memory while another process writes to the index.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.app.wording import counted
from visterm.compute import progress
from visterm.compute.parallel import split
from visterm.contracts import Features, Task, n_pictures
from visterm.errors import InputError, VistermError
from visterm.models import Model, checked_scores, using
from visterm.search.index import Index
from visterm.search.snapshot import Snapshot

if TYPE_CHECKING:
    from visterm.app.features import Computed
    from visterm.app.workspace import Workspace

#: Where readers compute nothing, they still score this many pictures, which takes a fraction of a second.
MOST_WHILE_ASKED = 500
#: Numbers computed at a time: pictures times words or dimensions.
_BLOCK = 2_000_000
#: A classifier without probabilities gets its measured accuracy as the probability; this value if it was not measured.
_UNMEASURED_ACCURACY = 0.5
_LEAST = 1e-4
#: What costs less processor time than this is read again at once; else after this many times its cost.
_CHEAP, _SHARE = 0.1, 30.0
#: What an index may hold.
_KINDS = ("words", "pairs", "classes")


@dataclass(frozen=True)
class Scored:
    """A model's vectors as they are now; ``note`` says which pictures are left out for the moment, if any are."""

    snapshot: Snapshot
    note: str | None = None


def prepare(workspace: Workspace, model: Model, kinds: Sequence[str], keys: Sequence[str]) -> None:
    """Compute the features that indexes of these kinds lack, unless somebody else is computing them."""
    indexes = (_stored(_folder(workspace, model, kind)) for kind in kinds)
    if any(index is None or index.missing(keys) for index in indexes):
        from visterm.app.features import describe

        describe(workspace, model.recipe, wait=False)


def look_at_all(workspace: Workspace) -> Computed:
    """Compute what the models in use need of every picture, and what they say of it; then no reader has to wait."""
    from visterm.app.features import Computed, describe, ready_recipe
    from visterm.app.similar import RECIPE

    shelf, keys = workspace.shelf, workspace.collection().frame.keys
    models = {task: shelf.model(task) for task in Task if shelf.best(task) is not None}
    recipes = {
        recipe.hash: recipe for recipe in (ready_recipe(workspace, RECIPE), *(m.recipe for m in models.values()))
    }
    done = describe(workspace, *recipes.values())
    for task, model in models.items():
        if task == Task.CLASSIFY:
            class_index(workspace, model, keys)
        else:
            word_index(workspace, model, keys)
    return Computed(done)


def edition(workspace: Workspace, model: Model) -> tuple[object, ...]:
    """Objects that are the same, or equal, until more features are stored or more pictures are scored."""
    return (workspace.library.edition(model.recipe), *(_stamp(_folder(workspace, model, kind)) for kind in _KINDS))


def _stamp(folder: Path) -> str:
    """What tells two states of an index apart."""
    try:
        found = (folder / "manifest.json").stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_ino}"


@dataclass(frozen=True)
class Reading:
    """When something was read that was not complete, and what that cost, in seconds."""

    time: float
    cost: float

    @classmethod
    def since(cls, started: float) -> Reading:
        """A reading that began at this time of the thread's clock."""
        return cls(time.monotonic(), time.thread_time() - started)

    def is_recent(self) -> bool:
        """Whether reading again would take more than a small share of the time; what is cheap is read at once."""
        return self.cost > _CHEAP and time.monotonic() - self.time < _SHARE * self.cost


def is_same(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether nothing has been computed between two editions."""
    return all(a is b or (isinstance(a, str) and a == b) for a, b in zip(before, now, strict=True))


def word_index(workspace: Workspace, model: Model, keys: Sequence[str]) -> Scored:
    """Log-probabilities of the model's tags for the pictures with these content hashes."""
    relevance: Any = None

    def log_probabilities(X: Features) -> NDArray[np.float32]:
        nonlocal relevance
        from visterm.learning import unseen, word_scores
        from visterm.search.relevance import relevance_of

        scores = word_scores(unseen(model.estimator), X)
        if relevance is None:  # once for all pictures: a guess depends on the first scores
            relevance = relevance_of(model, scores)
        return relevance.log_probabilities(scores)

    return _current(workspace, model, "words", len(model.info.tags), keys, log_probabilities, dtype="float16")


def pair_index(workspace: Workspace, model: Model, keys: Sequence[str]) -> tuple[Scored, list[tuple[int, int]]]:
    """Log-probabilities of pairs of the model's tags, for models that learned pairs of words; and the pairs."""
    from visterm.learning import log_pairs_of, pairs_of, unseen

    _, columns = pairs_of(model.estimator)
    log_pairs = partial(log_pairs_of, unseen(model.estimator))
    scored = _current(workspace, model, "pairs", len(columns), keys, log_pairs, dtype="float16")
    return scored, columns


def class_index(workspace: Workspace, model: Model, keys: Sequence[str]) -> Scored:
    """Log-probabilities of the model's classes, in the order of ``model.info.classes``."""
    n_classes = len(model.info.classes)

    def log_probabilities(X: Features) -> NDArray[np.float32]:
        estimator = model.estimator
        columns = np.asarray(estimator.classes_, dtype=np.intp)
        p = np.full((n_pictures(X), n_classes), _LEAST)
        if hasattr(estimator, "predict_proba"):
            p[:, columns] = estimator.predict_proba(X)
        else:
            accuracy = model.info.metrics.get("accuracy", _UNMEASURED_ACCURACY)
            p[:, columns] = (1 - accuracy) / max(1, len(columns) - 1)
            p[np.arange(len(p)), np.asarray(estimator.predict(X), dtype=np.intp)] = accuracy
        return np.log(np.clip(p, _LEAST, 1 - _LEAST)).astype(np.float32)

    return _current(workspace, model, "classes", n_classes, keys, log_probabilities, dtype="float16")


def code_index(workspace: Workspace, model: Model, keys: Sequence[str]) -> Scored:
    """The codes by which a model with ``transform`` compares pictures."""

    def codes(X: Features) -> NDArray[Any]:
        return np.asarray(model.estimator.transform(X))

    return _current(workspace, model, "codes", None, keys, codes, metric="euclidean")


def _current(
    workspace: Workspace,
    model: Model,
    kind: str,
    n_dims: int | None,
    keys: Sequence[str],
    vectors: Callable[[Features], NDArray[Any]],
    *,
    metric: str = "dot",
    dtype: str = "float32",
) -> Scored:
    """The vectors of a model for those of ``keys`` whose features are there or can be computed now."""
    info, folder = model.info, _folder(workspace, model, kind)
    index = _stored(folder)
    missing = list(keys) if index is None else index.missing(keys)
    note = None
    if missing:
        from visterm.app.features import describe, stored_features

        (done,) = describe(workspace, model.recipe, wait=False)
        note = done.notes[-1] if done.n_left_out else None
        without = workspace.library.missing(model.recipe, missing)
        missing = [key for key in missing if key not in without]
        if not workspace.library.readers_compute and len(missing) > MOST_WHILE_ASKED:
            note = f"{counted(len(missing), 'picture')} left out now: {info.name} has not looked at them yet"
            missing = []
        with progress.task(f"Scoring pictures with {info.name}", total=len(missing)) as bar:
            for shard in split(len(missing), size=max(64, min(4096, _BLOCK // (n_dims or 64)))):
                some = missing[shard.rows]
                features = stored_features(workspace, model.recipe, some)
                with using(model):
                    rows = vectors(features)
                    checked_scores(rows, len(some), n_dims or rows.shape[1])
                try:
                    if index is None:
                        about = f"{info.name} {kind}"
                        index = Index(rows.shape[1], metric=metric, dtype=dtype, folder=folder, about=about)
                    index.add(some, rows, wait=False)
                except VistermError as error:
                    if isinstance(error, InputError):
                        raise
                    # Another process is writing it, or the disk is not writable: continue in memory, without storing.
                    index = _in_memory(index) if index else Index(rows.shape[1], metric=metric, dtype=dtype)
                    index.add(some, rows)
                bar.advance(len(some))
    if index is None:  # there was nothing to score
        return Scored(Index(n_dims or 1, metric=metric, dtype=dtype).snapshot(), note)
    snapshot = index.snapshot()
    _forget(workspace, index)
    return Scored(snapshot, note)


def _folder(workspace: Workspace, model: Model, kind: str) -> Path:
    info = model.info
    # Two models may have the same name and version, if one was copied; the time they were made tells them apart.
    made = zlib.crc32(f"{info.created} {info.recipe_hash}".encode())
    return workspace.state / "index" / f"{info.name}@{info.version}.{made:08x}.{kind}"


def _stored(folder: Path) -> Index | None:
    return Index.open(folder) if (folder / "manifest.json").exists() else None


def _forget(workspace: Workspace, index: Index) -> None:
    """Remove the vectors of pictures that are no longer in the collection."""
    indexed = index.keys()  # read before the collection: what another process has just scored is in the collection
    gone = set(indexed).difference(workspace.collection().frame.sha256)
    if gone:
        with suppress(VistermError):  # they do no harm; a later call removes them
            index.remove(gone, wait=False)


def _in_memory(index: Index) -> Index:
    """A copy in memory."""
    snapshot = index.snapshot()
    slots = np.flatnonzero(snapshot.alive())
    names = snapshot.keys()
    copy = Index(index.n_dims, metric=index.metric, dtype=index.dtype)
    copy.add([names[slot] for slot in slots], snapshot.vectors(slots))
    return copy
