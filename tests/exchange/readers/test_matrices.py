"""LDA-C bags and the vecs family: matrices, where a row lost would shift all others."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from visterm.errors import InputError
from visterm.exchange.readers.hvecs import LAYOUTS, read_hvecs
from visterm.exchange.readers.ldac import read_bags, read_labels

DATA = Path(__file__).parents[4] / "shared" / "data"


def test_bags(tmp_path):
    (tmp_path / "a.dat").write_text("2 0:3 4:1\n0\n3 2:2 1:7 0:1\r\n\n")
    bags = read_bags(tmp_path / "a.dat")
    assert bags.toarray().tolist() == [[3, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 7, 2, 0, 0]]
    assert bags.has_sorted_indices
    assert read_bags(tmp_path / "a.dat", n_codewords=9).shape == (3, 9)
    (tmp_path / "empty.dat").touch()
    assert read_bags(tmp_path / "empty.dat").shape == (0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 0:1\n2 0:1\n", "line 2: announces 2 codewords but has 1"),
        (b"1 0:1\n\n1 0:1\n", "line 2: the line is empty"),
        (b"2 0:1 0:2\n", "line 1: a codeword occurs twice"),
        (b"1 7:1\n", "line 1: codeword 7 must be below 5"),
        (b"1 -1:1\n", "line 1: expected a bag"),
        (b"1 0:1.5\n", "line 1: expected a bag"),
        (b"1 0:99999999999\n", "line 1: expected a bag"),
        (b"1 0:\xd9\xa1\n", "line 1: expected a bag"),
        (b"1 0:1\n\xff\n1 0:1\n", "line 2: not valid UTF-8"),
    ],
)
def test_malformed_bags_are_refused(tmp_path, content, message):
    (tmp_path / "a.dat").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_bags(tmp_path / "a.dat", n_codewords=5)


def test_labels(tmp_path):
    (tmp_path / "a.dat").write_text("3\n-1\n0\n")
    assert read_labels(tmp_path / "a.dat").tolist() == [3, -1, 0]
    (tmp_path / "b.dat").write_text("3\nsea\n")
    with pytest.raises(InputError, match=r"line 2: expected a whole number, found 'sea'"):
        read_labels(tmp_path / "b.dat")


@pytest.mark.skipif(not (DATA / "labelme8").is_dir(), reason="the LabelMe bags are not on this machine")
def test_bags_as_published():
    bags = read_bags(DATA / "labelme8" / "train-data.dat")
    labels = read_labels(DATA / "labelme8" / "train-label.dat")
    assert bags.shape[0] == labels.size == 800
    assert np.bincount(labels).tolist() == [100] * 8


def vecs(matrix, ending):
    """The bytes of a matrix in one of the formats."""
    head, value = LAYOUTS[ending]
    return b"".join(np.array(len(row), head).tobytes() + row.astype(value).tobytes() for row in matrix)


def test_known_bytes(tmp_path):
    (tmp_path / "a.hvecs").write_bytes(bytes([2, 0, 1, 0, 0, 1, 2, 0, 3, 0, 4, 0]))
    matrix = read_hvecs(tmp_path / "a.hvecs")
    assert matrix.tolist() == [[1, 256], [3, 4]]
    assert matrix.dtype == np.uint16
    assert read_hvecs(tmp_path / "a.hvecs", np.float32).dtype == np.float32
    (tmp_path / "a.bvecs").write_bytes(bytes([3, 0, 0, 0, 7, 8, 9]))
    assert read_hvecs(tmp_path / "a.bvecs").tolist() == [[7, 8, 9]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), ending=st.sampled_from(sorted(LAYOUTS)), plural=st.booleans(), compressed=st.booleans())
def test_every_kind_reads_back(tmp_path, data, ending, plural, compressed):
    shape = data.draw(arrays.array_shapes(min_dims=2, max_dims=2, max_side=6))
    matrix = data.draw(arrays.arrays(LAYOUTS[ending][1], shape))
    stem = ending.removesuffix("32")
    name = f"a.{stem}{'s' if plural else ''}{ending[len(stem) :]}"
    path = tmp_path / (name + ".gz" if compressed else name)
    content = vecs(matrix, ending)
    path.write_bytes(gzip.compress(content, mtime=0) if compressed else content)
    np.testing.assert_array_equal(read_hvecs(path), matrix)


def test_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("visterm.exchange.readers.hvecs._BLOCK_BYTES", 100)
    matrix = np.arange(70 * 11).reshape(70, 11)
    (tmp_path / "a.ivecs").write_bytes(vecs(matrix, "ivec"))
    np.testing.assert_array_equal(read_hvecs(tmp_path / "a.ivecs"), matrix)
    (tmp_path / "a.ivecs").write_bytes(vecs(matrix[:60], "ivec") + vecs(matrix.reshape(-1, 22)[:1], "ivec") + bytes(4))
    with pytest.raises(InputError, match="vector 60 does not have 11 values"):
        read_hvecs(tmp_path / "a.ivecs")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.fvecs", b"", "is empty"),
        ("a.fvecs", b"\1\0", "is empty"),
        ("a.fvecs", b"\0\0\0\0" * 4, "not whole vectors of 0 values"),
        ("a.fvecs", b"\xff\xff\xff\xff" * 4, "not whole vectors of 4294967295 values"),
        ("a.hvecs", b"\2\0\1\0\1", "not whole vectors"),
        ("a.fvecs.gz", b"not gzip at all", "cannot be decompressed"),
        ("a.fvecs.gz", gzip.compress(vecs(np.ones((9, 9)), "fvec"), mtime=0)[:-12], "cannot be decompressed"),
        ("a.fvecs.gz", gzip.compress(bytes(10**6), mtime=0), "more than 1000 bytes"),
        ("a.fvecs", vecs(np.ones((100, 100)), "fvec"), "more than 1000 bytes"),
        ("a.npy", b"", "no known extension"),
        ("a.xvecs", b"", "no known extension"),
    ],
)
def test_damaged_matrices_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_hvecs(tmp_path / name, max_bytes=1000)
