"""Workers elsewhere: processes, Ray and Dask. A task is sent to them once, then only shards and their results travel.

Tasks change nothing but their result, so they can be repeated. A lost worker costs the shards that it had begun: these
are begun again.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from visterm.compute.threads import n_cores
from visterm.compute.travelling import key_of, packed, work
from visterm.errors import MissingExtraError, VistermError

#: A shard is begun at most this many times: one that ends every worker would never be done.
_TRIES = 3
#: Idle processes end after this many seconds.
_IDLE_SECONDS = 60


class Workers(ABC):
    """Workers that know one task."""

    #: How many shards are computed at a time, and the errors that say that a worker was lost.
    n_workers: int
    lost: tuple[type[BaseException], ...]

    def submit(self, shard: Any) -> Sent:
        """Begin with a shard."""
        return Sent(self, packed(shard))

    @abstractmethod
    def begin(self, shard: bytes) -> Any:
        """Begin with a packed shard."""

    def result(self, begun: Any) -> Any:
        """Wait for what :meth:`begin` returned."""
        return begun.result()

    def forget(self) -> None:  # noqa: B027 - most keep the task where no worker can lose it
        """Send the task again: it may have been lost with a worker."""

    def cancel(self, begun: Any) -> None:
        """Do not begin what is no longer needed."""
        begun.cancel()


class Sent:
    """A shard on its way; if its worker is lost, another one begins again."""

    def __init__(self, workers: Workers, shard: bytes) -> None:
        self._workers, self._shard = workers, shard
        self._begun: Any = None
        with suppress(*workers.lost):  # then it is begun when its result is wanted
            self._begun = workers.begin(shard)

    def result(self) -> Any:
        """Wait for the result."""
        for tries_left in reversed(range(_TRIES)):
            try:
                if self._begun is None:
                    self._begun = self._workers.begin(self._shard)
                return self._workers.result(self._begun)
            except self._workers.lost as error:
                self._begun = None
                self._workers.forget()
                if not tries_left:
                    raise VistermError(
                        f"{_TRIES} workers in turn were lost with the same part of the work, perhaps for lack of memory"
                    ) from error

    def cancel(self) -> None:
        """Do not compute it any more, if that can be prevented."""
        if self._begun is not None:
            self._workers.cancel(self._begun)


class _Processes(Workers):
    """Processes on this machine; they read the task from a file."""

    def __init__(self, task: bytes, n_jobs: int, folder: Path) -> None:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        self.n_workers, self.lost = n_cores() if n_jobs == -1 else n_jobs, (BrokenProcessPool,)
        self._key, self._file = key_of(task), folder / "task"
        self._file.write_bytes(task)

    def begin(self, shard: bytes) -> Any:
        from joblib.externals.loky import get_reusable_executor

        # The same processes as before, or new ones if one was lost.
        executor = get_reusable_executor(self.n_workers, timeout=_IDLE_SECONDS, initializer=_keep_memory)
        return executor.submit(work, self._key, self._file, shard)


def _keep_memory() -> None:
    """A process that keeps a task ready must not be taken for one that leaks memory, and be replaced."""
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False


class _Ray(Workers):
    def __init__(self, task: bytes, n_jobs: int, address: str) -> None:
        ray = _connected_ray(n_jobs, address)
        self._ray, self._key, self._task = ray, key_of(task), ray.put(task)
        self.n_workers = int(ray.cluster_resources().get("CPU", 1)) if n_jobs == -1 else n_jobs
        known = ray.exceptions
        self.lost = (known.WorkerCrashedError, known.NodeDiedError, known.ObjectLostError)
        self._work = ray.remote(work).options(num_cpus=1, max_retries=0)

    def begin(self, shard: bytes) -> Any:
        return self._work.remote(self._key, self._task, shard)

    def result(self, begun: Any) -> Any:
        try:
            return self._ray.get(begun)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None

    def cancel(self, begun: Any) -> None:
        self._ray.cancel(begun)


class _Dask(Workers):
    def __init__(self, task: bytes, n_jobs: int, address: str) -> None:
        self._client = _connected_dask(n_jobs, address)
        from distributed import CancelledError, KilledWorker

        self.n_workers = max(1, sum(self._client.ncores().values())) if n_jobs == -1 else n_jobs
        self.lost = (CancelledError, KilledWorker)
        self._key, self._task = key_of(task), task
        self._held: Any = None

    def begin(self, shard: bytes) -> Any:
        if self._held is None:
            # By a name of its own: if the same task was sent before, Dask may still be about to forget it.
            [self._held] = self._client.scatter([self._task], broadcast=True, hash=False)
        return self._client.submit(work, self._key, self._held, shard, pure=False)

    def forget(self) -> None:
        self._held = None


@contextmanager
def workers(task: Any, backend: str, n_jobs: int, address: str) -> Iterator[Workers]:
    """Workers that have got ``task``; they stay ready for the next one when the block ends."""
    if backend == "processes":
        with TemporaryDirectory(prefix="visterm-") as folder:
            yield _Processes(packed(task), n_jobs, Path(folder))
    else:
        yield (_Ray if backend == "ray" else _Dask)(packed(task), n_jobs, address)


def _connected_ray(n_jobs: int, address: str) -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray", "the engine 'ray'") from error
    if not ray.is_initialized():
        # A cluster of our own needs no web page; that of a cluster that exists is not ours to turn off.
        own: dict[str, Any] = {"include_dashboard": False, "num_cpus": None if n_jobs == -1 else n_jobs}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **({"address": address} if address else own))
    return ray


#: Connections that are open: a cluster of our own takes seconds to start.
_clients: dict[tuple[int, str], Any] = {}


def _connected_dask(n_jobs: int, address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("distributed", "dask", "the engine 'dask'") from error
    known = _clients.get((n_jobs, address))
    if known is None or known.status != "running":
        # A process for each worker: threads of Python wait for each other.
        own: dict[str, Any] = {"n_workers": None if n_jobs == -1 else n_jobs, "threads_per_worker": 1}
        own |= {"dashboard_address": None, "silence_logs": logging.CRITICAL}  # how workers end is nobody's concern
        known = _clients[n_jobs, address] = Client(address) if address else Client(**own)
    return known
