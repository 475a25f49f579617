"""One way to distribute work: tasks receive shard descriptors, and results are merged by ``+``.

A shard names rows of something every worker can open by itself (a memory map, a list of paths). Only the statistics
computed from the data are sent, never the data. Threads are the default, since numba kernels, BLAS and Pillow release
the GIL. Processes, Ray and Dask are chosen by configuration and run the same tasks.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol, TypeVar

from visterm.compute import progress
from visterm.compute.threads import n_cores, one_blas_thread
from visterm.errors import InputError

S = TypeVar("S")
R = TypeVar("R")
T = TypeVar("T", covariant=True)

BACKENDS = ("threads", "processes", "ray", "dask")
#: Shards of each thread that are begun before earlier results are taken: one slow shard does not stop the others.
_AHEAD = 4
#: Rows that a task elsewhere adds up before it sends the sums, and the number of tasks from which on it adds up more.
_ROWS_ELSEWHERE, _MOST_TASKS = 16_384, 1024


class Begun(Protocol[T]):
    """A result that is being computed."""

    def result(self) -> T: ...  # noqa: D102
    def cancel(self) -> object: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Shard:
    """Rows ``start`` to ``stop`` (exclusive) of ``source``, a path that every worker can open."""

    start: int
    stop: int
    source: str = ""

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> slice:
        """The rows as a slice."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class Engine:
    """Where tasks run: ``backend`` with ``n_jobs`` workers (-1: one per core), at ``address`` for a cluster.

    >>> Engine.parse("processes:4")
    Engine(backend='processes', n_jobs=4, address='')
    >>> Engine.parse("dask@tcp://scheduler:8786").address
    'tcp://scheduler:8786'
    """

    backend: str = "threads"
    n_jobs: int = -1
    address: str = ""

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InputError(f"unknown engine {self.backend!r}: choose one of {', '.join(BACKENDS)}")
        if self.n_jobs == 0 or self.n_jobs < -1:
            raise InputError(f"an engine needs a positive number of workers, or -1 for one per core, not {self.n_jobs}")

    @classmethod
    def parse(cls, text: str) -> "Engine":
        """Read ``BACKEND[:N_JOBS][@ADDRESS]``."""
        match = re.fullmatch(r"(?P<backend>[a-z]+)(:(?P<n_jobs>-?\d+))?(@(?P<address>\S+))?", text.strip())
        if match is None:
            raise InputError(f"cannot read the engine {text!r}: write BACKEND[:N_JOBS][@ADDRESS], such as processes:4")
        return cls(match["backend"], int(match["n_jobs"] or -1), match["address"] or "")

    @classmethod
    def from_environment(cls) -> "Engine":
        """The engine named by ``VISTERM_ENGINE``, or threads on every core; what a worker calls is not spread again."""
        named = cls.parse(os.environ.get("VISTERM_ENGINE", "threads"))
        if named.is_elsewhere:
            from visterm.compute.travelling import is_worker

            return cls(n_jobs=1) if is_worker.get() else named
        return named

    @classmethod
    def reaching(cls, data: Any) -> "Engine":
        """The engine for tasks over the rows of features ``data``, a matrix or a mapping of name to matrix.

        Workers elsewhere open memory maps by their path. What lies in memory is shared by threads and never sent.
        """
        engine = cls.from_environment()
        if engine.backend != "threads":
            from visterm.compute.travelling import lies_in_files

            return engine if lies_in_files(data) else cls()
        return engine

    @property
    def is_elsewhere(self) -> bool:
        """Whether workers share no memory with the caller."""
        return self.backend != "threads"


def split(n_rows: int, *, size: int, source: str = "") -> list[Shard]:
    """Cut ``n_rows`` rows into shards of ``size`` rows, the last one shorter.

    >>> [len(shard) for shard in split(10, size=4)]
    [4, 4, 2]
    """
    if size < 1:
        raise InputError(f"a shard holds at least one row, not {size}")
    return [Shard(start, min(start + size, n_rows), source) for start in range(0, n_rows, size)]


def rows_of_task(n_rows: int, size: int, engine: Engine) -> int:
    """How many of ``n_rows`` rows a task adds up: ``size`` in threads, more elsewhere, where its sums must travel.

    The number of tasks is a multiple of four, so that a few workers end at about the same time.

    >>> [rows_of_task(n, 2048, Engine("processes")) for n in (100, 100_000, 10**8)]
    [2048, 12500, 97657]
    """
    if not engine.is_elsewhere:
        return size
    n_tasks = min(_MOST_TASKS, 4 * -(-n_rows // (4 * _ROWS_ELSEWHERE)))
    return max(size, -(-n_rows // max(1, n_tasks)))


def map_shards(
    task: Callable[[S], R],
    shards: Sequence[S],
    *,
    engine: Engine | None = None,
    description: str = "Working",
    ahead: int = _AHEAD,
) -> Iterator[R]:
    """Yield ``task(shard)`` for every shard, in order; progress is shown as ``description``.

    Without an ``engine``, tasks run in threads, which share the caller's memory and may write to it. On any other
    engine all that counts is the result, and a task may be repeated: see :meth:`Engine.reaching`. At most ``ahead``
    results of each worker are begun and not yet taken: fewer take less memory, if results are large.

    >>> list(map_shards(len, split(10, size=4), engine=Engine(n_jobs=2)))
    [4, 4, 2]
    """
    engine = engine or Engine()
    with (
        progress.task(description, total=sum(_weight(shard) for shard in shards)) as bar,
        _blas_threads(engine),
        (_elsewhere if engine.is_elsewhere else _in_threads)(task, shards, engine, ahead) as results,
    ):
        for shard, result in zip(shards, results, strict=True):
            bar.advance(_weight(shard))
            yield result


def _blas_threads(engine: Engine) -> AbstractContextManager[Any]:
    """One BLAS thread for each of our threads: with more threads than cores, they would wait for each other."""
    return nullcontext() if engine.is_elsewhere or engine.n_jobs == 1 else one_blas_thread()


@contextmanager
def _elsewhere(task: Callable[[S], R], shards: Sequence[S], engine: Engine, ahead: int) -> Iterator[Iterator[R]]:
    """The results in order; work that is no longer needed is cancelled."""
    from visterm.compute.clusters import workers

    if not shards:
        yield iter(())
        return
    with workers(task, engine.backend, engine.n_jobs, engine.address) as ready:
        begun: deque[Begun[R]] = deque()
        try:
            # While a result travels, its worker has another shard.
            yield _in_order(ready.submit, shards, max(2, ahead) * ready.n_workers, begun)
        finally:
            for each in begun:
                each.cancel()


@contextmanager
def _in_threads(task: Callable[[S], R], shards: Sequence[S], engine: Engine, ahead: int) -> Iterator[Iterator[R]]:
    """The results in order. At the end no thread works any more, whether all results were taken or not.

    A thread that still ran a network when the interpreter ends would abort the process; joblib does not wait for its
    threads.
    """
    n_threads = min(n_cores() if engine.n_jobs == -1 else engine.n_jobs, len(shards))
    if n_threads <= 1:
        yield map(task, shards)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield _in_order(lambda shard: pool.submit(task, shard), shards, ahead * n_threads, deque())
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(submit: Callable[[S], Begun[R]], shards: Sequence[S], ahead: int, begun: deque[Begun[R]]) -> Iterator[R]:
    """The result for every shard, in order; at most ``ahead`` results are ``begun`` and not yet taken."""
    for shard in shards:
        if len(begun) == ahead:
            yield begun.popleft().result()
        begun.append(submit(shard))
    while begun:
        yield begun.popleft().result()


def sum_shards(
    task: Callable[[S], R], shards: Sequence[S], *, engine: Engine | None = None, description: str = "Working"
) -> R:
    """Merge ``task(shard)`` over all shards by ``+``, always in shard order, so that the result is reproducible.

    >>> sum_shards(len, split(10, size=4))
    10
    """
    if not shards:
        raise InputError("there are no shards to sum over")
    merge: Callable[[Any, Any], Any] = add
    return reduce(merge, map_shards(task, shards, engine=engine, description=description))


def _weight(shard: object) -> int:
    return len(shard) if isinstance(shard, Shard) else 1
