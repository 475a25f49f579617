"""Files that others made: what is opened, how much of it is read, and for how long."""

from __future__ import annotations

import os
import threading
import time

import pytest

from visterm.errors import InputError
from visterm.storage import opening
from visterm.storage.opening import open_regular, read_regular


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused = []

    def read():
        for work in (open_regular, lambda path: read_regular(path, 10)):
            with pytest.raises(InputError, match="not a regular file"):
                work(tmp_path / "pipe")
            refused.append(True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert len(refused) == 2


def test_a_file_that_never_states_its_size_is_empty(tmp_path):
    with open_regular("/proc/self/status") as stream:
        assert (stream.peek(), stream.read()) == (b"", b"")
    assert read_regular("/proc/self/status", 10)[0] == b""


def test_a_file_is_read_as_far_as_the_limit(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    data, status = read_regular(tmp_path / "file", 10)
    assert (data, status.st_size) == (b"0123456789", 10)
    for work in (open_regular, read_regular):
        with pytest.raises(InputError, match="the file is larger than 9 bytes"):
            work(tmp_path / "file", 9)


def test_a_file_that_comes_too_slowly_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "slow").write_bytes(b"0123456789")
    monkeypatch.setattr(opening, "_BLOCK_BYTES", 1)
    moments = iter(range(0, 1000, 100))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    with pytest.raises(InputError, match="takes more than 300 seconds"):
        read_regular(tmp_path / "slow", 10)
