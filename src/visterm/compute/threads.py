"""Threads over pieces of one computation, and how they share the cores with those of BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

S = TypeVar("S")
R = TypeVar("R")


def in_threads(task: Callable[[S], R], pieces: Iterable[S], n_jobs: int = -1) -> list[R]:
    """``task(piece)`` of every piece, in order, on every core (-1) or some.

    A plain pool, for pieces of milliseconds; :func:`visterm.compute.parallel.map_shards` is for those of seconds.

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
    """The cores this process may use: a container may have fewer than the machine."""
    import joblib

    return int(joblib.cpu_count())


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside the ``with`` block BLAS stays on one core.

    Its threads wait for each other, and long, on small matrices, beside threads of ours, and beside others' work.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """The libraries in memory, looked for once: that takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    import_module("scipy.linalg.cython_blas")  # the one that compiled code calls
    return ThreadpoolController()
