"""The same answers through faiss, where it is installed."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from visterm.errors import InputError, MissingExtraError
from visterm.search.faiss_lists import FaissLists
from visterm.search.index import METRICS, Index

needs_faiss = pytest.mark.skipif(importlib.util.find_spec("faiss") is None, reason="faiss is not installed")


@needs_faiss
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_all_lists_give_the_exact_answer(metric, dtype):
    rng = np.random.default_rng(0)
    index = Index(8, metric=metric, dtype=dtype)
    index.add([f"p{i}" for i in range(400)], rng.standard_normal((400, 8)))
    index.remove(["p3", "p77"])
    lists = FaissLists(index.snapshot(), n_lists=10)
    queries = rng.standard_normal((6, 8)).astype(np.float32)
    for query, found in zip(queries, lists.nearest(queries, 7, n_probes=10), strict=True):
        exact = index.nearest(query, 7)
        assert found.keys == exact.keys
        np.testing.assert_allclose(found.scores, exact.scores, rtol=1e-3, atol=1e-3)
    few = lists.nearest(queries, 7, n_probes=1)
    assert all(set(found.keys) <= set(index.keys()) for found in few)


@needs_faiss
def test_wrong_use_is_told():
    index = Index(2)
    with pytest.raises(InputError, match="is empty"):
        FaissLists(index.snapshot())
    index.add(["a"], [[1.0, 2.0]])
    lists = FaissLists(index.snapshot())
    assert lists.nearest([[1.0, 1.0]])[0].keys == ["a"]
    for queries in ([1.0, 1.0], [[1.0]], [[np.nan, 1.0]]):
        with pytest.raises(InputError, match="queries are finite"):
            lists.nearest(queries)


def test_where_faiss_is_absent_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'visterm\[ann\]'"):
        FaissLists(Index(2).snapshot())
