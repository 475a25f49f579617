"""Spreading work: every shard once, in order, with equal results wherever it runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from types import ModuleType, SimpleNamespace

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.compute import Engine, Shard, clusters, map_shards, progress, split, sum_shards, travelling
from visterm.errors import InputError, MissingExtraError, VistermError

OWN_DASK = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
THREADS, PROCESSES = Engine("threads", 2), Engine("processes", 2)


def tasks():
    """Functions that travel to other processes by value, since these cannot import a test."""

    def squares(shard):
        return sum(row * row for row in range(shard.start, shard.stop))

    def statistics(shard):
        """Sums in float32, whose order of addition shows."""
        rows = np.random.default_rng(shard.start).standard_normal(len(shard)).astype(np.float32)
        return rows.sum(keepdims=True)

    def refuse_the_third(shard):
        if shard.start == 20:
            raise LookupError(f"rows {shard.start} to {shard.stop}")
        return len(shard)

    return squares, statistics, refuse_the_third


squares, statistics, refuse_the_third = tasks()


@given(st.integers(0, 500), st.integers(1, 600))
@settings(max_examples=50, deadline=None)
def test_shards_cover_every_row_once_and_in_order(n_rows, size):
    shards = split(n_rows, size=size, source="features.npy")
    rows = np.arange(n_rows)
    assert np.concatenate([rows[shard.rows] for shard in shards] or [rows]).tolist() == rows.tolist()
    assert all(1 <= len(shard) <= size and shard.source == "features.npy" for shard in shards)
    assert len(shards) == -(-n_rows // size)


@pytest.mark.parametrize("size", [0, -3])
def test_empty_shards_cannot_be_asked_for(size):
    with pytest.raises(InputError, match="at least one row"):
        split(10, size=size)


@pytest.mark.parametrize("engine", [THREADS, Engine("threads", 1), PROCESSES], ids=lambda e: f"{e.backend}:{e.n_jobs}")
def test_results_come_in_order_on_every_engine(engine):
    shards = split(95, size=10)
    assert list(map_shards(squares, shards, engine=engine)) == [squares(shard) for shard in shards]


def test_order_does_not_depend_on_who_finishes_first():
    second_done = threading.Event()

    def task(number):
        if number == 0:
            assert second_done.wait(30)
        else:
            second_done.set()
        return number

    assert list(map_shards(task, [0, 1], engine=THREADS)) == [0, 1]


def test_sums_are_merged_in_the_order_of_the_shards():
    shards = split(50, size=10)
    assert sum_shards(lambda shard: [shard.start], shards, engine=THREADS) == [0, 10, 20, 30, 40]


def test_threads_and_processes_give_the_same_sum_to_the_last_bit():
    shards = split(1000, size=30)
    sums = [sum_shards(statistics, shards, engine=engine) for engine in (Engine("threads", 1), THREADS, PROCESSES)]
    assert sums[0].tobytes() == sums[1].tobytes() == sums[2].tobytes()


@pytest.mark.parametrize("engine", [THREADS, PROCESSES], ids=lambda engine: engine.backend)
def test_exceptions_of_tasks_reach_the_caller(engine):
    with pytest.raises(LookupError, match="rows 20 to 30"):
        list(map_shards(refuse_the_third, split(60, size=10), engine=engine))


def test_no_shards_are_no_results_but_no_sum():
    assert list(map_shards(squares, [], engine=THREADS)) == []
    with pytest.raises(InputError, match="no shards"):
        sum_shards(squares, [], engine=THREADS)


def test_shards_may_be_anything():
    assert list(map_shards(len, ["coast", "sea"], engine=THREADS)) == [5, 3]


@pytest.mark.parametrize("engine", [THREADS, PROCESSES], ids=lambda engine: engine.backend)
def test_stopping_early_is_silent_and_ends_the_task(engine):
    events = Events()
    with warnings.catch_warnings(), progress.use(events):
        warnings.simplefilter("error")
        results = map_shards(squares, split(1000, size=10), engine=engine)
        assert next(results) == squares(Shard(0, 10))
        results.close()
    assert events.seen[-1] == "closed"


def test_stopping_early_waits_for_the_shards_that_are_begun():
    """Else a thread could still write to arrays of the caller, or run when the interpreter ends."""
    begun, go_on = threading.Event(), threading.Event()
    started, ended = [], []

    def task(number):
        if number:
            started.append(number)
            begun.set()
            assert go_on.wait(30)
            sum(range(3_000_000))  # is still at work when the caller stops
            ended.append(number)
        return number

    results = map_shards(task, range(100), engine=THREADS)
    assert next(results) == 0
    assert begun.wait(30)
    go_on.set()
    results.close()
    assert started
    assert len(started) < 99
    assert sorted(ended) == sorted(started)


@given(st.integers(0, 40), st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_threads_run_only_a_little_ahead_of_the_caller(n_shards, n_jobs):
    begun = []
    results = map_shards(begun.append, range(n_shards), engine=Engine("threads", n_jobs))
    for taken, _ in enumerate(results, start=1):
        assert len(begun) <= taken + 4 * n_jobs
    assert sorted(begun) == list(range(n_shards))


def test_callers_are_not_subject_to_the_configuration_of_the_engine():
    before = joblib.parallel._backend.__dict__.copy() if hasattr(joblib.parallel._backend, "__dict__") else {}
    first = map_shards(squares, split(30, size=10), engine=THREADS)
    second = map_shards(squares, split(30, size=10), engine=Engine("threads", 1))
    next(first)
    next(second)
    assert type(joblib.Parallel(n_jobs=2)._backend).__name__ == "LokyBackend"
    first.close()  # in the order of opening, not nested
    second.close()
    assert type(joblib.Parallel(n_jobs=2)._backend).__name__ == "LokyBackend"
    assert joblib.parallel._backend.__dict__ == before


class Events:
    """A display that writes down what it is told."""

    def __init__(self):
        self.seen = []

    def task(self, description, total):
        self.seen.append((description, total))
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.seen.append("closed")

    def advance(self, steps=1):
        self.seen.append(steps)


def test_progress_counts_rows_of_shards_and_other_things_one_by_one():
    events = Events()
    with progress.use(events):
        list(map_shards(squares, split(25, size=10), engine=THREADS, description="Counting"))
        list(map_shards(len, ["coast", "sea"], engine=THREADS))
    assert events.seen == [("Counting", 25), 10, 10, 5, "closed", ("Working", 2), 1, 1, "closed"]


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("threads", Engine("threads", -1)),
        (" processes:4 ", Engine("processes", 4)),
        ("threads:-1", Engine("threads", -1)),
        ("ray@ray://head:10001", Engine("ray", -1, "ray://head:10001")),
        ("dask:8@tcp://10.0.0.1:8786", Engine("dask", 8, "tcp://10.0.0.1:8786")),
    ],
)
def test_engines_are_read_from_text(text, engine, monkeypatch):
    assert Engine.parse(text) == engine
    monkeypatch.setenv("VISTERM_ENGINE", text)
    assert Engine.from_environment() == engine


def test_the_default_engine_is_threads_on_every_core(monkeypatch):
    monkeypatch.delenv("VISTERM_ENGINE", raising=False)
    assert Engine.from_environment() == Engine("threads", -1)


@pytest.mark.parametrize("text", ["", "threads:", "threads:many", "threads 4", "THREADS", "dask@", "a b", ":4"])
def test_unreadable_engines_are_refused(text):
    with pytest.raises(InputError, match=r"cannot read the engine .* BACKEND"):
        Engine.parse(text)


@pytest.mark.parametrize("text", ["spark", "loky:2"])
def test_unknown_engines_are_refused_with_the_choice(text):
    with pytest.raises(InputError, match="threads, processes, ray, dask"):
        Engine.parse(text)


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_an_engine_needs_workers(n_jobs):
    with pytest.raises(InputError, match="positive number of workers"):
        Engine("threads", n_jobs)


@pytest.mark.parametrize("engine", [None, Engine.reaching(np.zeros(3))], ids=["not said", "in memory"])
def test_tasks_that_share_memory_stay_in_threads(engine, monkeypatch):
    monkeypatch.setenv("VISTERM_ENGINE", "processes:2")
    done = np.zeros(10)
    for _ in map_shards(lambda shard: done[shard.rows].fill(1), split(10, size=5), engine=engine):
        pass
    assert done.all()


def test_features_in_files_are_reached_by_the_engine_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("VISTERM_ENGINE", "processes:2")
    np.save(tmp_path / "X.npy", np.zeros((3, 2)))
    mapped, inside = np.load(tmp_path / "X.npy", mmap_mode="r"), np.zeros((3, 2))
    assert Engine.reaching(mapped[1:]) == Engine.reaching({"a": mapped, "b": mapped}) == PROCESSES
    for kept in (inside, {"a": mapped, "b": inside}, sparse.csr_array(inside), mapped * 2):
        assert Engine.reaching(kept) == Engine()
    assert Engine.reaching(np.load(tmp_path / "X.npy", mmap_mode="c")) == Engine()  # changes are not in the file


def test_work_of_a_worker_is_not_spread_again(monkeypatch):
    monkeypatch.setenv("VISTERM_ENGINE", "processes:2")
    task = travelling.packed(lambda shard: Engine.from_environment())
    assert travelling.work("of a worker", task, travelling.packed(0)) == Engine(n_jobs=1)
    assert Engine.from_environment() == PROCESSES


@pytest.mark.parametrize(("backend", "package"), [("ray", "ray"), ("dask", "distributed")])
def test_missing_engines_name_the_extra(backend, package, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*visterm\[{backend}\]"):
        list(map_shards(squares, split(10, size=5), engine=Engine(backend)))


@pytest.mark.parametrize(
    ("n_jobs", "address", "options"),
    [
        (-1, "", {"include_dashboard": False, "num_cpus": None}),
        (2, "", {"include_dashboard": False, "num_cpus": 2}),
        (2, "auto", {"address": "auto"}),
    ],
)
def test_ray_is_connected_once(n_jobs, address, options, monkeypatch):
    connected = []
    ray = ModuleType("ray")
    ray.is_initialized = lambda: bool(connected)
    ray.init = lambda log_to_driver, logging_level, **given: connected.append(given)
    monkeypatch.setitem(sys.modules, "ray", ray)
    assert clusters._connected_ray(n_jobs, address) is clusters._connected_ray(n_jobs, address) is ray
    assert connected == [options]


@pytest.mark.parametrize(
    ("n_jobs", "address", "options"),
    [
        (-1, "", OWN_DASK | {"n_workers": None}),
        (3, "", OWN_DASK | {"n_workers": 3}),
        (3, "tcp://scheduler:8786", {"address": "tcp://scheduler:8786"}),
    ],
)
def test_dask_is_asked_for_the_cluster_or_for_workers_here(n_jobs, address, options, monkeypatch):
    class Client:
        def __init__(self, address=None, **options):
            self.options, self.status = options | ({"address": address} if address else {}), "running"

    distributed = ModuleType("distributed")
    distributed.Client = Client
    monkeypatch.setitem(sys.modules, "distributed", distributed)
    monkeypatch.setattr(clusters, "_clients", {})
    client = clusters._connected_dask(n_jobs, address)
    assert client.options == options
    assert clusters._connected_dask(n_jobs, address) is client
    client.status = "closed"
    assert clusters._connected_dask(n_jobs, address) is not client


def test_dask_gets_a_task_again_that_was_lost_with_its_worker(monkeypatch):
    class Client:
        sent, begun = [], []

        def scatter(self, data, broadcast, hash):
            assert broadcast
            assert not hash
            self.sent.append(data)
            return [len(self.sent)]

        def submit(self, work, key, held, shard, pure):
            self.begun.append(held)
            return SimpleNamespace(result=lambda: held if held > 1 else self.lose())

        def lose(self):
            raise KeyError("lost dependencies")

    client = Client()
    monkeypatch.setattr(clusters, "_connected_dask", lambda n_jobs, address: client)
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(CancelledError=KeyError, KilledWorker=IndexError))
    assert list(map_shards(len, [0], engine=Engine("dask", 2))) == [2]
    assert client.begun == [1, 2]
    assert len(client.sent) == 2


def test_a_part_of_the_work_that_ends_every_worker_is_given_up():
    with pytest.raises(VistermError, match="3 workers in turn were lost"):
        list(map_shards(lambda shard: os.kill(os.getpid(), signal.SIGKILL), [1], engine=Engine("processes", 1)))
