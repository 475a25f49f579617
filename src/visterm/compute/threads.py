"""Threads over pieces of one computation, and how they share the cores with BLAS threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

S = TypeVar("S")
R = TypeVar("R")

#: From this many rows on, several cores factorise a matrix faster than one.
_LARGE = 2000


def in_threads(task: Callable[[S], R], pieces: Iterable[S], n_jobs: int = -1) -> list[R]:
    """``task(piece)`` for every piece, in order, on every core (-1) or some of them.

    A plain pool for pieces that take milliseconds; use :func:`visterm.compute.parallel.map_shards` for longer ones.

    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    pieces = list(pieces)
    n_threads = min(n_cores() if n_jobs == -1 else n_jobs, len(pieces))
    if n_threads <= 1:
        return [task(piece) for piece in pieces]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, pieces))


@lru_cache(maxsize=1)
def n_cores() -> int:
    """The number of cores this process may use: a container may have fewer than the machine."""
    import joblib

    return int(joblib.cpu_count())


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one core inside the ``with`` block.

    BLAS threads wait long for each other on small matrices, and when other threads or processes are busy.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


def blas_threads_for(size: int) -> AbstractContextManager[Any]:
    """:func:`one_blas_thread` for matrices with fewer rows than 2,000; all cores for larger ones."""
    return one_blas_thread() if size < _LARGE else nullcontext()


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """The libraries in memory, searched only once: a search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    import_module("scipy.linalg.cython_blas")  # the BLAS that compiled code calls
    return ThreadpoolController()
