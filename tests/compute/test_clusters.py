"""Real clusters on this machine: two processes, a two-worker Dask and a two-node Ray give one machine's answers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from visterm.compute import Engine, clusters, parallel
from visterm.compute.travelling import packed
from visterm.margin import KernelRidgeAnnotator
from visterm.margin.functions.landmarks import FeatureMap, Lesson
from visterm.subspace.linear.moments import Moments

pytestmark = pytest.mark.filterwarnings("ignore")
N = 320


@pytest.fixture(scope="module", params=["processes", "dask", "ray"])
def engine(request):
    """Two workers, started once for all tests of an engine."""
    yield from {"processes": two_processes, "dask": two_workers, "ray": two_nodes}[request.param]()


def two_processes():
    yield Engine("processes", 2)


def two_workers():
    distributed = pytest.importorskip("distributed", reason="the engine 'dask' is optional and is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:
        engine = Engine("dask", -1, cluster.scheduler_address)
        yield engine
        clusters._clients.pop((-1, engine.address)).close()


def two_nodes():
    ray = pytest.importorskip("ray", reason="the engine 'ray' is optional and is not installed")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        yield Engine("ray", -1, cluster.address)
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def X(tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((N, 8)) ** 3)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.fixture
def tags():
    return sparse.csr_array((np.random.default_rng(1).random((N, 5)) < 0.3).astype(np.float32))


def test_learning_gives_the_answers_of_one_machine(engine, X, tags, monkeypatch):
    """Landmark sums, pictures left out, and moments, by tasks that are told where the pictures lie."""
    alone, moments = KernelRidgeAnnotator(kernel="linear", landmarks=6).fit(X, tags), Moments().fit(X, tags)
    sent = []
    monkeypatch.setattr(clusters, "packed", lambda what: sent.append(packed(what)) or sent[-1])
    monkeypatch.setattr(parallel, "_ROWS_ELSEWHERE", 20)
    monkeypatch.setattr(Engine, "from_environment", lambda: engine)
    monkeypatch.setattr("visterm.subspace.linear.moments._SHARD", 20)
    monkeypatch.setattr("visterm.margin.functions.landmarks.SHARD_ROWS", 20)
    found = KernelRidgeAnnotator(kernel="linear", landmarks=6).fit(X, tags)
    assert len(sent) > 20
    np.testing.assert_allclose(found.score_tags(X), alone.score_tags(X), rtol=0, atol=1e-6)
    left_out = [model.as_if_left_out().score_tags(X) for model in (found, alone)]
    np.testing.assert_allclose(*left_out, rtol=0, atol=1e-6)
    np.testing.assert_allclose(Moments().fit(X, tags).C_xy, moments.C_xy, rtol=0, atol=1e-6)
    assert not any(X[:2].tobytes() in each for each in sent)


def test_a_lost_worker_costs_its_shard(engine, X, tags, tmp_path, monkeypatch):
    """Sums of landmarks again; the worker that looks at picture 100 for the first time is killed."""
    monkeypatch.setattr(parallel, "_ROWS_ELSEWHERE", 20)
    monkeypatch.setattr("visterm.margin.functions.landmarks.SHARD_ROWS", 20)
    monkeypatch.setattr(Engine, "from_environment", lambda: engine)
    found = Lesson(X, np.arange(N), tags).sums(FeatureMap(deadly(X[100, 0], tmp_path), 8, 1.0, np.float64))
    with_ones = np.hstack([X, np.ones((N, 1))])
    np.testing.assert_allclose(found.gram, with_ones.T @ with_ones, rtol=1e-10)
    np.testing.assert_allclose(found.cross, tags.T @ with_ones, rtol=1e-10)
    assert found.n_pictures == N
    tries = [float(trace.name.split()[0]) for trace in tmp_path.glob("* try *")]
    assert sum(X[100, 0] == first for first in tries) == 2
    assert len(set(tries)) == 16
    assert len(tries) <= 16 + 8  # again: what two workers had begun, and results that they held


def deadly(at: float, folder: Path):
    """Features that leave a trace of each attempt at some pictures; the first attempt at one of them is the last."""

    def features(some):
        earlier = list(folder.glob(f"{some[0, 0]} try *"))
        (folder / f"{some[0, 0]} try {len(earlier)}").touch()
        if some[0, 0] == at and not earlier:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(some)

    return features
