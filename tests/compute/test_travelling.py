"""What a task takes along: memory-mapped arrays by their place in a file, all else by value."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from visterm.compute.travelling import Place, laid_out, lies_in_files, packed
from visterm.errors import InputError


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(20_000, dtype=np.float32).reshape(1000, 20))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "part",
    [
        lambda X: X,
        lambda X: X[100:900],
        lambda X: X[5:500:3, 2:9],
        lambda X: X[::-1].T,
        lambda X: np.asarray(X)[7:],
        lambda X: X[3:5].view(np.uint8),
    ],
)
def test_any_part_of_a_memory_map_travels_as_a_place(mapped, part):
    bytes_ = packed(lambda: part(mapped))
    assert len(packed(part(mapped))) < 500
    assert len(bytes_) < 2000
    arrived = pickle.loads(packed({"some": part(mapped)}))["some"]
    np.testing.assert_array_equal(arrived, part(mapped))
    assert arrived.dtype == part(mapped).dtype
    assert isinstance(arrived.base, np.memmap)
    arrived[:] = 1
    assert not (np.load(mapped.filename) == 1).all()  # never reaches the file


def test_what_lies_in_memory_travels_by_value(mapped):
    for array in (np.arange(5), mapped[:2] + 1, np.array([], np.float16)):
        np.testing.assert_array_equal(pickle.loads(packed(array)), array)
        assert Place.of(array) is None


def test_an_array_that_was_mapped_to_be_written_travels_as_it_is_in_the_file(mapped):
    writable = np.load(mapped.filename, mmap_mode="r+")
    writable[3] = 7
    np.testing.assert_array_equal(pickle.loads(packed(writable)), writable)


def test_a_file_that_a_worker_cannot_reach_is_named(mapped, tmp_path):
    sent = packed(mapped)
    (tmp_path / "X.npy").unlink()
    with pytest.raises(InputError, match=r"X.npy.*storage that every machine reaches"):
        pickle.loads(sent)


def test_features_are_laid_out_once_and_the_files_vanish_with_them(mapped, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    counts, dense = sparse.random_array((30, 9), density=0.2, rng=0, format="csr"), np.eye(4)
    given = {"mapped": mapped, "counts": counts, "dense": dense, "none": np.zeros((0, 3))}
    found = laid_out(given)
    assert found["mapped"] is mapped
    assert all(map(lies_in_files, (found["counts"], found["dense"])))
    for name in given:
        assert (found[name] != given[name]).sum() == 0
    assert len(list(tmp_path.glob("visterm-*"))) == 4
    del found
    assert not list(tmp_path.glob("visterm-*"))
