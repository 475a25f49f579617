"""One way to distribute work: tasks receive shard descriptors, and results are merged by ``+``.

A shard names rows of something every worker can open by itself (a memory map, a list of paths). Only the statistics
computed from the data are sent, never the data. Threads are the default, since numba kernels, BLAS and Pillow release
the GIL. Processes, Ray and Dask are chosen by configuration and run the same tasks.
"""

import os
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

from visterm.compute import progress
from visterm.compute.threads import n_cores, one_blas_thread
from visterm.errors import InputError, MissingExtraError

S = TypeVar("S")
R = TypeVar("R")

BACKENDS = ("threads", "processes", "ray", "dask")
_JOBLIB_NAMES = {"processes": "loky", "ray": "ray", "dask": "dask"}
#: Shards of each thread that are begun before earlier results are taken: one slow shard does not stop the others.
_AHEAD = 4


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
        """The engine named by ``VISTERM_ENGINE``, or threads on every core."""
        return cls.parse(os.environ.get("VISTERM_ENGINE", "threads"))

    def open(self) -> AbstractContextManager[Any]:
        """Connect to the engine for the duration of a ``with`` block."""
        if self.backend == "ray":
            _connect_ray(self.address)
        elif self.backend == "dask":
            return _dask_client(self.address, self.n_jobs)
        return nullcontext()


def split(n_rows: int, *, size: int, source: str = "") -> list[Shard]:
    """Cut ``n_rows`` rows into shards of ``size`` rows, the last one shorter.

    >>> [len(shard) for shard in split(10, size=4)]
    [4, 4, 2]
    """
    if size < 1:
        raise InputError(f"a shard holds at least one row, not {size}")
    return [Shard(start, min(start + size, n_rows), source) for start in range(0, n_rows, size)]


def map_shards(
    task: Callable[[S], R],
    shards: Sequence[S],
    *,
    engine: Engine | None = None,
    description: str = "Working",
    ahead: int = _AHEAD,
) -> Iterator[R]:
    """Yield ``task(shard)`` for every shard, in order, computed on ``engine``; progress is shown as ``description``.

    At most ``ahead`` results of each thread are begun and not yet taken: fewer take less memory, if results are large.

    >>> list(map_shards(len, split(10, size=4), engine=Engine(n_jobs=2)))
    [4, 4, 2]
    """
    engine = engine or Engine.from_environment()
    with (
        progress.task(description, total=sum(_weight(shard) for shard in shards)) as bar,
        engine.open(),
        _blas_threads(engine),
        _results(task, shards, engine, ahead) as results,
    ):
        for shard, result in zip(shards, results, strict=True):
            bar.advance(_weight(shard))
            yield result


def _blas_threads(engine: Engine) -> AbstractContextManager[Any]:
    """One BLAS thread for each of our threads: with more threads than cores, they would wait for each other."""
    return nullcontext() if engine.backend != "threads" or engine.n_jobs == 1 else one_blas_thread()


@contextmanager
def _results(task: Callable[[S], R], shards: Sequence[S], engine: Engine, ahead: int) -> Iterator[Iterator[R]]:
    """The results in order; work that is no longer needed is cancelled while the engine is still open."""
    if engine.backend == "threads":
        n_threads = n_cores() if engine.n_jobs == -1 else engine.n_jobs
        with _results_of_threads(task, shards, n_threads, ahead) as results:
            yield results
        return
    import joblib

    # Ray's backend cannot return results one by one.
    return_as = "list" if engine.backend == "ray" else "generator"
    # The configuration ends before the first result: it must not affect what the caller does between results.
    with joblib.parallel_config(backend=_JOBLIB_NAMES[engine.backend], n_jobs=engine.n_jobs):
        # A number, not joblib's "2 * n_jobs": threads of Python 3.11 that parse Python at the same time can fail.
        pre_dispatch = 2 * joblib.effective_n_jobs(engine.n_jobs)
        parallel = joblib.Parallel(return_as=return_as, pre_dispatch=pre_dispatch)
        results = parallel(joblib.delayed(task)(shard) for shard in shards)
    if isinstance(results, list):
        yield iter(results)
        return
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of unused results, but the caller may stop early
            results.close()


@contextmanager
def _results_of_threads(
    task: Callable[[S], R], shards: Sequence[S], n_threads: int, ahead: int
) -> Iterator[Iterator[R]]:
    """The results in order. At the end no thread works any more, whether all results were taken or not.

    A thread that still ran a network when the interpreter ends would abort the process; joblib does not wait for its
    threads.
    """
    n_threads = min(n_threads, len(shards))
    if n_threads <= 1:
        yield map(task, shards)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        yield _in_order(pool, task, shards, ahead * n_threads)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(pool: ThreadPoolExecutor, task: Callable[[S], R], shards: Sequence[S], ahead: int) -> Iterator[R]:
    """``task(shard)`` for every shard, in order; at most ``ahead`` results are begun and not yet taken."""
    begun: deque[Future[R]] = deque()
    for shard in shards:
        if len(begun) == ahead:
            yield begun.popleft().result()
        begun.append(pool.submit(task, shard))
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


def _connect_ray(address: str) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "the engine 'ray'") from error
    if not ray.is_initialized():
        # A cluster of our own needs no web page; that of a cluster that exists is not ours to turn off.
        options: dict[str, Any] = {"address": address} if address else {"include_dashboard": False}
        ray.init(log_to_driver=False, **options)
    register_ray()


def _dask_client(address: str, n_jobs: int) -> AbstractContextManager[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("distributed", "dask", "the engine 'dask'") from error
    if address:
        return Client(address)
    return Client(n_workers=None if n_jobs == -1 else n_jobs, dashboard_address=None)
