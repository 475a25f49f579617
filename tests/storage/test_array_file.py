"""A file of rows: which headers are read, what is wrong with others, and that no Python is parsed for it."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.storage import ArrayFile

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def written(file, rows=ROWS):
    file.create()
    file.extend(rows, start=0)


@pytest.mark.parametrize("rows", [ROWS, ROWS[:0], ROWS[:, 0]])
def test_rows_are_read_as_we_and_numpy_write_them(tmp_path, rows):
    width = rows.shape[1] if rows.ndim == 2 else None
    ours, theirs = (ArrayFile(tmp_path / name, "<f4", width) for name in ("ours.npy", "theirs.npy"))
    written(ours, rows)
    np.save(theirs.path, rows)
    for file in (ours, theirs):
        np.testing.assert_array_equal(file.map(len(rows)), rows)
        np.testing.assert_array_equal(np.load(file.path), rows)
        assert file.map(len(rows)).dtype == np.float32


@pytest.mark.parametrize(
    "other",
    [ROWS.astype(np.float64), ROWS.astype(">f4"), np.asfortranarray(ROWS), ROWS[:, :1], ROWS[:, 0], ROWS[None]],
    ids=["longer", "big-endian", "by columns", "narrower", "of one dimension", "of three dimensions"],
)
def test_other_arrays_are_refused(tmp_path, other):
    np.save(tmp_path / "other.npy", other)
    with pytest.raises(InputError, match="not an array of float32 rows of 2 values"):
        ArrayFile(tmp_path / "other.npy", "<f4", 2).map(1)


@pytest.mark.parametrize("at", [0, 6, 12, 100, 127])
def test_a_header_with_one_other_byte_is_refused(tmp_path, at):
    file = ArrayFile(tmp_path / "rows.npy", "<f4", 2)
    written(file)
    data = bytearray(file.path.read_bytes())
    data[at] ^= 0x55
    file.path.write_bytes(data)
    with pytest.raises(InputError, match="not an array of float32 rows of 2 values"):
        file.map(3)


def test_no_python_is_parsed_to_read_a_header(tmp_path, monkeypatch):
    """Python 3.11 fails when two threads parse at the same time and garbage is collected meanwhile."""
    file = ArrayFile(tmp_path / "rows.npy", "<f4", 2)
    written(file)
    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", lambda *_, **__: pytest.fail("Python was parsed"))
        with pytest.raises(pytest.fail.Exception, match="parsed"):
            np.load(file.path)
        read = file.map(3)
    np.testing.assert_array_equal(read, ROWS)
