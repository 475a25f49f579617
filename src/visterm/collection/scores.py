"""A model's scores for every picture of the collection, stored in an index that is updated before each use.

Indexes are stored in ``.visterm/index``. They can be deleted: they are made again. An index holds only what the model
says; what people say is read from the catalogue at every search. A search never waits for a writer: it scores the
pictures whose features are there, and keeps the scores in memory while another process writes to the index.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.text_view import newest_model
from visterm.compute import progress
from visterm.compute.parallel import Engine, Shard, map_shards, split
from visterm.contracts import Features, Task, n_pictures
from visterm.documents.wording import counted
from visterm.errors import InputError, VistermError
from visterm.index.index import Index
from visterm.index.snapshot import Snapshot
from visterm.models import Model, checked_scores, using

if TYPE_CHECKING:
    from visterm.calibration import Relevance
    from visterm.catalogue.labels import Kind
    from visterm.collection.features import Computed
    from visterm.collection.opened import Opened

#: Where readers compute nothing, they still score this many pictures, which takes a fraction of a second.
MOST_WHILE_ASKED = 500
#: Numbers computed at a time: pictures times words or dimensions; and the fewest pictures.
_BLOCK, _FEWEST = 2_000_000, 64
#: A classifier without probabilities gets its measured accuracy as the probability; this value if it was not measured.
_UNMEASURED_ACCURACY = 0.5
_LEAST = 1e-4
#: Probabilities nearer than this are equal but for rounding errors.
_TIE = 1e-9
#: What costs less processor time than this is read again at once; else after this many times its cost.
_CHEAP, _SHARE = 0.1, 30.0
#: What an index may hold.
_KINDS = ("words", "pairs", "classes", "texts")


@dataclass(frozen=True)
class Scored:
    """A model's vectors as they are now; ``note`` says which pictures are left out for the moment, if any are."""

    snapshot: Snapshot
    note: str | None = None


def prepare(opened: Opened, model: Model, kind: str, keys: Sequence[str]) -> None:
    """Compute the features that an index of this kind lacks, unless somebody else is computing them."""
    index = _stored(_folder(opened, model, kind))
    if index is None or index.missing(keys):
        from visterm.collection.features import describe

        describe(opened, model.recipe, wait=False)


def look_at_all(opened: Opened) -> Computed:
    """Compute what the models in use need of every picture, and what they say of it; then no reader has to wait."""
    from visterm.collection.features import RECIPE, Computed, describe, ready_recipe

    shelf, keys = opened.shelf, opened.collection().frame.keys
    models = {task: shelf.model(task) for task in Task if shelf.best(task) is not None}
    recipes = {recipe.hash: recipe for recipe in (ready_recipe(opened, RECIPE), *(m.recipe for m in models.values()))}
    done = describe(opened, *recipes.values())
    for task, model in models.items():
        if task == Task.CLASSIFY:
            class_index(opened, model, keys)
        else:
            word_index(opened, model, keys)
    texts = newest_model(opened)
    if texts is not None:
        done += describe(opened, texts.recipe)
        text_index(opened, texts, keys)
    return Computed(done)


def edition(opened: Opened, model: Model) -> tuple[object, ...]:
    """Objects that are the same, or equal, until more features are stored or more pictures are scored."""
    return (opened.library.edition(model.recipe), *(_stamp(_folder(opened, model, kind)) for kind in _KINDS))


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


def word_index(opened: Opened, model: Model, keys: Sequence[str]) -> Scored:
    """Log-probabilities of the model's tags for the pictures with these content hashes."""
    found = tag_log_probabilities(model)
    return _current(opened, model, "words", len(model.info.tags), keys, found, dtype="float16")


def tag_log_probabilities(model: Model) -> Callable[[Features], NDArray[np.float32]]:
    """What turns features into log-probabilities of the model's tags; how sure an unmeasured model is, is guessed once.

    A picture that the model learned from is scored as if it had been left out, where the model can.
    """
    relevance: Any = None

    def log_probabilities(X: Features) -> NDArray[np.float32]:
        nonlocal relevance
        from visterm.contracts import unseen, word_scores

        scores = word_scores(unseen(model.estimator), X)
        if relevance is None:  # once for all pictures: a guess depends on the first scores
            relevance = relevance_of(model, scores)
        return relevance.log_probabilities(scores)

    return log_probabilities


def relevance_of(model: Model, scores: NDArray[Any]) -> Relevance:
    """The relevance of a model; if it was never measured, a guess from the first ``scores``."""
    from visterm.calibration import Relevance

    known: Relevance | None = model.relevance
    return known or Relevance.unmeasured(scores, model.info.tag_counts, model.info.n_tagged)


def pair_index(opened: Opened, model: Model, keys: Sequence[str]) -> tuple[Scored, list[tuple[int, int]]]:
    """Log-probabilities of pairs of the model's tags, for models that learned pairs of words; and the pairs."""
    from visterm.contracts import log_pairs_of, pairs_of, unseen

    _, columns = pairs_of(model.estimator)
    log_pairs = partial(log_pairs_of, unseen(model.estimator))
    scored = _current(opened, model, "pairs", len(columns), keys, log_pairs, dtype="float16")
    return scored, columns


def class_index(opened: Opened, model: Model, keys: Sequence[str]) -> Scored:
    """Log-probabilities of the model's classes, in the order of ``model.info.classes``."""

    def log_probabilities(X: Features) -> NDArray[np.float32]:
        p = class_probabilities(model, X)
        rows, best = np.arange(len(p)), p.argmax(axis=1)
        log_p = np.log(np.clip(p, _LEAST, 1 - _LEAST)).astype(np.float16)
        # Rounding must not make another class the first.
        tied = log_p.argmax(axis=1) != best
        log_p[rows[tied], best[tied]] = np.nextafter(log_p[tied].max(axis=1), np.float16(0))
        return log_p.astype(np.float32)

    return _current(opened, model, "classes", len(model.info.classes), keys, log_probabilities, dtype="float16")


def class_probabilities(model: Model, X: Features) -> NDArray[np.float64]:
    """(n_pictures, n_classes) probabilities of the model's classes, in the order of ``model.info.classes``.

    A method without probabilities gets its accuracy as the probability of what it predicts. Of equally likely classes
    the method's own prediction comes first: its rule for ties is its own.
    """
    estimator = model.estimator
    columns = np.asarray(estimator.classes_, dtype=np.intp)
    predicted = np.asarray(estimator.predict(X), dtype=np.intp)
    p = np.zeros((n_pictures(X), len(model.info.classes)))
    rows = np.arange(len(p))
    if hasattr(estimator, "predict_proba"):
        p[:, columns] = estimator.predict_proba(X)
    else:
        accuracy = max(model.info.metrics.get("accuracy", _UNMEASURED_ACCURACY), 1 / len(columns))
        p[:, columns] = (1 - accuracy) / max(1, len(columns) - 1)
        p[rows, predicted] = accuracy
    most = p.max(axis=1)
    tied = (most - p[rows, predicted] < _TIE) & (predicted != p.argmax(axis=1))
    p[rows[tied], predicted[tied]] = np.nextafter(most[tied], 1.0)
    return p


def code_index(opened: Opened, model: Model, keys: Sequence[str]) -> Scored:
    """The codes by which a model with ``transform`` compares pictures."""

    def codes(X: Features) -> NDArray[Any]:
        return np.asarray(model.estimator.transform(X))

    return _current(opened, model, "codes", None, keys, codes)


def text_index(opened: Opened, model: Model, keys: Sequence[str]) -> Scored:
    """What counts of pictures for any text."""
    columns, codes = model.estimator.n_columns, model.estimator.picture_codes
    return _current(opened, model, "texts", columns, keys, codes, dtype="float16")


def _current(
    opened: Opened,
    model: Model,
    kind: str,
    n_dims: int | None,
    keys: Sequence[str],
    vectors: Callable[[Features], NDArray[Any]],
    *,
    dtype: str = "float32",
) -> Scored:
    """The vectors of a model for those of ``keys`` whose features are there or can be computed now."""
    info, folder = model.info, _folder(opened, model, kind)
    index = _stored(folder)
    missing = list(keys) if index is None else index.missing(keys)
    note = None
    if missing:
        from visterm.collection.features import describe

        without = opened.library.missing(model.recipe, missing)
        if without:
            (done,) = describe(opened, model.recipe, wait=False)
            note = done.notes[-1] if done.n_left_out else None
            without = opened.library.missing(model.recipe, missing)
        missing = [key for key in missing if key not in without]
        if not opened.library.readers_compute and len(missing) > MOST_WHILE_ASKED:
            note = f"{counted(len(missing), 'picture')} left out for now: {info.name} has not looked at them yet"
            missing = []
        with progress.task(f"Scoring pictures with {info.name}", total=len(missing)) as bar:
            shards = split(len(missing), size=max(_FEWEST, min(4096, _BLOCK // (n_dims or 64))))
            found = _of_shards(opened, model, missing, shards, vectors, n_dims)
            for shard, rows in zip(shards, found, strict=True):
                some = missing[shard.rows]
                try:
                    if index is None:
                        about = f"{info.name} {kind}"
                        index = Index(rows.shape[1], dtype=dtype, folder=folder, about=about)
                    index.add(some, rows, wait=False)
                except VistermError as error:
                    if isinstance(error, InputError):
                        raise
                    # Another process is writing it, or the disk is not writable: continue in memory, without storing.
                    index = _in_memory(index) if index else Index(rows.shape[1], dtype=dtype)
                    index.add(some, rows)
                bar.advance(len(some))
    if index is None:  # there was nothing to score
        return Scored(Index(n_dims or 1, dtype=dtype).snapshot(), note)
    snapshot = index.snapshot()
    _forget(opened, index)
    return Scored(snapshot, note)


def _of_shards(
    opened: Opened,
    model: Model,
    keys: Sequence[str],
    shards: Sequence[Shard],
    vectors: Callable[[Features], NDArray[Any]],
    n_dims: int | None,
) -> Iterator[NDArray[Any]]:
    """The checked vectors of pictures, shard by shard; workers elsewhere are told where the features lie.

    The first shard stays here: what a measure lacks is guessed from it, once for all.
    """
    from visterm.collection.features import stored_features
    from visterm.features import one_or_several

    def checked(X: Features) -> Any:
        with using(model):
            rows = vectors(X)
            return checked_scores(rows, n_pictures(X), n_dims or rows.shape[1])

    engine = Engine.from_environment()
    here = shards[:1] if engine.is_elsewhere else shards
    for shard in here:
        yield checked(stored_features(opened, model.recipe, keys[shard.rows]))
    located = [opened.library.located(model.recipe, keys[shard.rows]) for shard in shards[len(here) :]]
    if located:
        yield from map_shards(
            lambda some: checked(one_or_several({output: rows.read() for output, rows in some.items()})),
            located,
            engine=engine,
            description="Scoring pictures",
        )


def _folder(opened: Opened, model: Model, kind: str) -> Path:
    info = model.info
    # Two models may have the same name and version, if one was copied; the time they were made tells them apart.
    made = zlib.crc32(f"{info.created} {info.recipe_hash}".encode())
    return opened.state / "index" / f"{info.name}@{info.version}.{made:08x}.{kind}"


def stored_index(opened: Opened, model: Model, kind: Kind) -> Index | None:
    """What is stored of a model's probabilities of classes or tags; None if there is nothing yet."""
    return _stored(_folder(opened, model, "classes" if kind == "class" else "words"))


def _stored(folder: Path) -> Index | None:
    return Index.open(folder) if (folder / "manifest.json").exists() and not Index.is_outdated(folder) else None


def _forget(opened: Opened, index: Index) -> None:
    """Remove the vectors of pictures that are no longer in the collection."""
    indexed = index.keys()  # read before the collection: what another process has just scored is in the collection
    gone = set(indexed).difference(opened.collection().frame.sha256)
    if gone:
        with suppress(VistermError):  # they do no harm; a later call removes them
            index.remove(gone, wait=False)


def _in_memory(index: Index) -> Index:
    snapshot = index.snapshot()
    copy = Index(index.n_dims, dtype=index.dtype)
    copy.add(snapshot.places.keys(), snapshot.vectors(snapshot.places.positions()))
    return copy
