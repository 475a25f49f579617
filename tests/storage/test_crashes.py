"""What is left of a folder of arrays when its writer is killed, or its disk is full, at any step of any change.

Two kinds are tested: the feature store, whose files grow, and the index, whose files never change.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import StringIO
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from visterm.compute import progress
from visterm.errors import VistermError
from visterm.features import FeatureStore
from visterm.storage import BusyError, RowSpec

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")


@pytest.fixture(scope="module", autouse=True)
def quick_disk() -> Iterator[None]:
    """Nothing here cuts the power, so nothing needs to wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def keys_of(numbers: range) -> list[str]:
    return [sha256(str(number).encode()).hexdigest() for number in numbers]


def contents(folder: Path) -> dict[str, list[float]]:
    found = FeatureStore.open(folder)
    keys = found.keys()
    rows = found.rows(keys)
    return dict(zip(keys, (rows.toarray() if found.spec.sparse else rows).tolist(), strict=True))


def add(store: FeatureStore, numbers: range, rows: list[list[float]]) -> None:
    store.append(keys_of(numbers), rows)


def in_child(work: Callable[[], object]) -> int:
    """Do ``work`` in a forked process; returns 0, or the exit code or (negative) signal that ended it."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def interrupted(at: int, interrupt: Callable[[], object]) -> Iterator[None]:
    """Call ``interrupt`` before step number ``at`` of those that reach the disk; of a write, after half of it."""
    steps = count()

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            if next(steps) == at:
                interrupt()
            return original(*args, **kwargs)

        return step

    def torn(path: Path, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        file = open_path(path, mode, *args, **kwargs)
        return file if mode == "rb" else Torn(file)

    class Torn:
        def __init__(self, file: IO[bytes]) -> None:
            self.file = file

        def __enter__(self) -> Torn:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: Any) -> int:
            if next(steps) == at:
                self.file.write(memoryview(data)[: len(data) // 2])
                self.file.flush()
                interrupt()
            return self.file.write(data)

    open_path = Path.open
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace", "open", "ftruncate"):
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        patch.setattr(Path, "open", counted(torn))
        yield


def write_one_by_one(store: FeatureStore) -> None:
    with store.writer(batch_bytes=1) as writer:
        writer.add(keys_of(range(8, 9))[0], [8, 8])
        writer.add(keys_of(range(9, 10))[0], [9, 9])


CHANGES: dict[str, Callable[[Any], object]] = {
    "append": lambda store: add(store, range(2, 6), [[7, 7]] * 4),
    "remove": lambda store: store.remove(keys_of(range(1, 3))),
    "compact": lambda store: store.compact(),
    "writer": write_one_by_one,
}


@pytest.fixture
def template(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store with live, replaced and removed rows."""
    folder = tmp_path / "template"
    store = FeatureStore(folder, RowSpec(2, "float32", sparse=request.param == "sparse"))
    store.append(keys_of(range(4)), [[0, 1], [2, 0], [0, 0], [6, 7]])
    store.append(keys_of(range(1)), [[5, 5]])
    store.remove(keys_of(range(3, 4)))
    return folder


def committed_states(template: Path, change: str) -> list[dict[str, list[float]]]:
    """What the store may hold when ``change`` is interrupted, the state after it last."""
    after = template.with_name("after")
    shutil.copytree(template, after)
    CHANGES[change](FeatureStore.open(after))
    states = [contents(template), contents(after)]
    if change == "writer":
        states.insert(1, {key: row for key, row in states[1].items() if row != [9, 9]})
    return states


@pytest.mark.parametrize(
    ("template", "change"),
    [(kind, change) for kind in ("dense", "sparse") for change in CHANGES],
    indirect=["template"],
)
def test_a_kill_at_any_step_leaves_a_committed_state(template: Path, change: str) -> None:
    states = committed_states(template, change)
    seen = []
    for step in count():
        folder = template.with_name(f"{change}-{step}")
        shutil.copytree(template, folder)

        def killed(folder: Path = folder, step: int = step) -> None:
            store = FeatureStore.open(folder)
            with interrupted(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                CHANGES[change](store)

        exit_code = in_child(killed)
        seen.append(states.index(contents(folder)))

        store = FeatureStore.open(folder)
        add(store, range(50, 51), [[1, 1]])  # not blocked by the dead process's lock, which it tidies after
        assert store.check() == []
        assert contents(folder) == states[seen[-1]] | {keys_of(range(50, 51))[0]: [1, 1]}
        if exit_code == 0:
            break
        assert exit_code == -signal.SIGKILL

    assert step > 5
    assert seen == sorted(seen)
    assert seen[-1] == states.index(states[-1])


def complaint(change: Callable[[Any], object], store: FeatureStore) -> str:
    """The message of the error that ``change`` ends with, or nothing."""
    try:
        change(store)
    except VistermError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
@pytest.mark.parametrize(
    ("template", "change"),  # sparse stores have more files, and so more steps, than dense ones
    [("sparse", change) for change in CHANGES],
    indirect=["template"],
)
def test_a_full_disk_at_any_step_leaves_a_committed_state(template: Path, change: str, forever: bool) -> None:
    states = committed_states(template, change)
    for step in count():
        folder = template.with_name(f"{change}-{step}-{forever}")
        shutil.copytree(template, folder)
        store = FeatureStore.open(folder)
        failed = []

        def fail(failed: list[int] = failed) -> None:
            failed.append(1)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        at: Any = AtLeast(step) if forever else step
        with interrupted(at, fail):
            message = complaint(CHANGES[change], store)

        assert "No space left on device" in message or not message
        assert contents(folder) in states
        if message and not forever:
            assert store.check() == []
        CHANGES[change](store)  # there is space again
        assert contents(folder) == states[-1]
        assert store.check() == []
        if not failed:
            break
    assert step > 5


class AtLeast(int):
    """Equal to itself and all larger numbers."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and other >= int(self)

    __hash__ = int.__hash__


def test_a_real_limit_on_file_size_is_one_clear_line(tmp_path: Path) -> None:
    import resource

    store = FeatureStore(tmp_path, RowSpec(1000))
    store.append(keys_of(range(2)), np.ones((2, 1000)))
    before = contents(tmp_path)

    def outgrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with pytest.raises(VistermError, match=r"cannot write .*: File too large"):
            store.append(keys_of(range(2, 102)), np.ones((100, 1000)))

    assert in_child(outgrow) == 0
    assert contents(tmp_path) == before
    assert store.check() == []


def test_a_writer_killed_at_random_leaves_a_prefix_of_whole_batches(tmp_path: Path) -> None:
    FeatureStore(tmp_path, RowSpec(500))
    batch = 7
    n_rows = 0
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                store = FeatureStore.open(tmp_path)
                for start in count(len(store), batch):
                    numbers = range(start, start + batch)
                    store.append(keys_of(numbers), np.repeat(np.arange(start, start + batch), 500).reshape(batch, 500))
            finally:
                os._exit(1)
        reader = FeatureStore.open(tmp_path)
        seen = n_rows
        while seen < n_rows + 3 * batch:
            seen = len(reader)
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

        store = FeatureStore.open(tmp_path)
        n_rows = len(store)
        assert n_rows >= seen
        assert n_rows % batch == 0
        assert store.keys() == keys_of(range(n_rows))
        np.testing.assert_array_equal(
            store.rows(store.keys())[:, [0, -1]], np.repeat(np.arange(n_rows), 2).reshape(-1, 2)
        )


class TestLock:
    def test_a_second_writer_waits_and_readers_do_not(self, tmp_path: Path) -> None:
        store, other = FeatureStore(tmp_path, RowSpec(2)), FeatureStore(tmp_path, RowSpec(2))
        order: list[str] = []

        def write_too() -> None:
            other.append(keys_of(range(2, 3)), [[5, 6]])
            order.append("second")

        second = threading.Thread(target=write_too)
        with store.writer() as writer:
            writer.add(keys_of(range(1))[0], [1, 2])
            second.start()
            assert len(other) == 0
            store.append(keys_of(range(1, 2)), [[3, 4]])
            order.append("first")
        second.join()
        assert order == ["first", "second"]
        assert len(store) == 3

    def test_who_does_not_wait_is_told_who_writes(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, RowSpec(2))

        def intrude() -> None:
            with (
                pytest.raises(BusyError, match=f"written to by process {os.getppid()}: try again"),
                FeatureStore.open(tmp_path).writer(wait=False),
            ):
                pass

        with store.writer():
            assert in_child(intrude) == 0

    def test_another_process_waits_with_progress(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, RowSpec(2))
        shown = StringIO()

        def append() -> None:
            with progress.use(progress.JsonLines(shown)):
                FeatureStore.open(tmp_path).append(keys_of(range(1)), [[1, 2]])

        with store.writer():
            thread = threading.Thread(target=append)
            thread.start()
            while "Waiting for process" not in shown.getvalue():
                thread.join(0.01)
        thread.join()
        assert f"Waiting for process {os.getpid()}, which writes {tmp_path.name}" in shown.getvalue()
        assert store.keys() == keys_of(range(1))

    def test_a_folder_that_may_not_be_written_can_be_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        FeatureStore(tmp_path, RowSpec(2)).append(keys_of(range(1)), [[1, 2]])
        original = os.open

        def read_only(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return original(path, flags, *args, **kwargs)

        monkeypatch.setattr(os, "open", read_only)
        store = FeatureStore.open(tmp_path)
        assert store.rows(store.keys()).tolist() == [[1, 2]]
        with pytest.raises(VistermError, match=r"cannot write .*lock: Permission denied"):
            store.remove(store.keys())


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of a process as Linux counts it")
def test_writing_streaming_and_compacting_take_a_bounded_amount_of_memory(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
import numpy as np
from visterm.features import FeatureStore
from visterm.storage import RowSpec

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

keys = [f"{number:064x}" for number in range(1250)]
store = FeatureStore(Path(sys.argv[1]), RowSpec(2**14))
before = peak()
with store.writer(batch_bytes=2**20) as writer:
    for number, key in enumerate(keys):
        writer.add(key, np.full(2**14, number))
print(peak() - before)
assert all(rows[0, 0] == part.start for part, rows in store.blocks(keys, block_bytes=2**20))
print(peak() - before)
store.remove(keys[::10])
store.compact()
print(peak() - before)
assert len(store) == 1125
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    written, streamed, compacted = (int(line) for line in done.stdout.split())
    assert written < 25  # MiB, of 78 MiB of rows
    assert streamed < 25
    assert compacted < 90  # in batches of 32 MiB, of which it holds two
