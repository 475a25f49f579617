"""Threads over pieces, and BLAS kept to one of its own."""

from __future__ import annotations

import threading

import pytest
from threadpoolctl import threadpool_info

from visterm.compute import blas_threads_for, in_threads, one_blas_thread


@pytest.mark.parametrize("n_jobs", [-1, 1, 2, 5])
def test_results_come_in_order(n_jobs):
    assert in_threads(lambda i: i * i, range(7), n_jobs) == [i * i for i in range(7)]
    assert in_threads(abs, [], n_jobs) == []


def test_pieces_run_beside_each_other():
    both_are_there = threading.Barrier(2, timeout=30)
    in_threads(lambda _: both_are_there.wait(), range(2), n_jobs=2)


def test_an_error_in_a_piece_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda i: 1 // i, [1, 0], n_jobs=2)


def test_blas_is_limited_inside_and_as_before_outside():
    def threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    with one_blas_thread():
        pass  # the first use loads libraries
    before = threads()
    with one_blas_thread():
        assert set(threads()) == {1}
    assert threads() == before
    with blas_threads_for(1999):  # small matrices
        assert set(threads()) == {1}
    with blas_threads_for(2000):
        assert threads() == before
