"""NUS-WIDE's matrices of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.exchange.readers.nuswide import read_matrix


def test_what_is_written_is_read(tmp_path):
    expected = np.random.default_rng(0).random((7, 5)).astype(np.float32)
    file = tmp_path / "Train_Normalized_EDH.dat"
    file.write_text("".join(" ".join(map(repr, row)) + " \n" for row in expected.astype(float).tolist()))
    found = read_matrix(file)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 2\n3\n", "line 2: expected 2 numbers as in the first line, found 1"),
        ("1 2\n\n3 4\n", "line 2"),
        ("1 two\n", "line 1: expected numbers, found '1 two'"),
        ("1 nan\n", "not finite"),
        ("1 1e99\n", "not finite"),
        ("", "empty"),
        ("\xff\n", "UTF-8"),
    ],
)
def test_damaged_files_are_refused(content, message, tmp_path):
    file = tmp_path / "features.dat"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=message):
        read_matrix(file)


def test_files_that_are_too_large(tmp_path):
    (tmp_path / "a.dat").write_text("1 2 3\n" * 100)
    with pytest.raises(InputError, match="max_bytes"):
        read_matrix(tmp_path / "a.dat", max_bytes=64)
