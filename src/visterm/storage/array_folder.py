"""Growing arrays in a folder, and a small manifest that says which part of them is valid.

A change first writes new bytes that nothing refers to yet, and waits until they are on disk. Then it replaces the
manifest in one step, which makes the change visible. So a process killed at any moment leaves the folder as it was
before or after a change. One process can write while others read, and a reader sees a whole change or none of it.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from visterm.errors import InputError, VistermError
from visterm.storage.array_file import ArrayFile, damaged
from visterm.storage.atomic import TEMPORARY_PATTERN, sync_folder, write_error, write_text_atomically
from visterm.storage.files import make_folder
from visterm.storage.lock import BusyError, WriteLock

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Manifest = TypeVar("Manifest", bound=DataclassInstance)
else:
    Manifest = TypeVar("Manifest")
State = TypeVar("State")

#: File names to the number of valid rows and their CRC-32.
Checksums = dict[str, tuple[int, int]]

MANIFEST = "manifest.json"
#: A manifest is smaller than this.
MAX_BYTES = 2**20
#: The clock of file times ticks every few milliseconds. Two manifests written within one tick can look alike.
_TICK_NS = 50_000_000


@dataclass(frozen=True, slots=True)
class _Seen(Generic[Manifest, State]):
    """The state that was read last; ``stamp`` identifies its manifest file."""

    stamp: tuple[int, ...]
    manifest: Manifest
    state: State


class ArrayFolder(ABC, Generic[Manifest, State]):
    """The folder ``path``: its manifest, its only writer, its readers and the remains of unfinished writes.

    A subclass defines the contents of the manifest (a dataclass of JSON values), which files it refers to, and how they
    become the ``State`` that readers use. Files are called ``TOKEN.WHAT``, and the manifest names the tokens in use.
    ``about`` says what the folder must hold; a folder that holds something else raises an error.
    """

    #: The name and the version of the format, as the manifest gives them.
    format: ClassVar[str]
    version: ClassVar[int] = 1
    #: The start of the message for an empty folder, and the name of contents of another kind.
    absent: ClassVar[str]
    other: ClassVar[str]
    #: The pattern of all file names that the folder's writers create, except the manifest.
    file_names: ClassVar[re.Pattern[str]]

    def __init__(self, path: Path, about: object) -> None:
        self.path, self.about = path, about
        self._lock = WriteLock(path)
        self._turn = threading.RLock()  # threads of this process take turns, as processes do by the lock
        self._guard = threading.RLock()
        self._seen: _Seen[Manifest, State] | None = None

    # What a subclass provides

    @classmethod
    @abstractmethod
    def parse(cls, fields: dict[str, Any]) -> Manifest:
        """The manifest of these JSON values; a ValueError, TypeError or KeyError if they do not form one."""

    @staticmethod
    @abstractmethod
    def about_of(manifest: Manifest) -> object:
        """What a folder with this manifest holds, to be compared with ``about``."""

    @staticmethod
    @abstractmethod
    def tokens(manifest: Manifest) -> set[str]:
        """The tokens of the files in use; a file's name begins with its token."""

    @abstractmethod
    def arrays(self, manifest: Manifest) -> list[tuple[ArrayFile, int]]:
        """Every array in use, with the number of its valid rows."""

    @abstractmethod
    def load(self, manifest: Manifest, since: tuple[Manifest, State] | None) -> State:
        """The state that readers use. ``since`` is their previous state; its unchanged parts need not be read again.

        A missing file raises an OSError: another process may have replaced the manifest since this one was read.
        """

    # Reading

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """The manifest of the folder ``path``."""
        return cls._read(path)[0]

    @classmethod
    def _read(cls, path: Path) -> tuple[Manifest, Checksums]:
        """The manifest, and the checksums of its files; folders of earlier versions have none."""
        file = path / MANIFEST
        try:
            status = file.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                raise ValueError("not a small plain file")
            found = json.loads(file.read_bytes())
            if not isinstance(found, dict) or found.get("format") != cls.format:
                raise ValueError(f"not the manifest of a folder of {cls.format!r}")
            if found.get("version") != cls.version:
                raise ValueError(f"format version {found.get('version')!r}, while this program reads {cls.version}")
            if found.pop("checksum", None) not in (None, _checksum(found)):
                raise ValueError("it fails its checksum")
            checksums = {name: (int(n), int(crc)) for name, (n, crc) in found.pop("checksums", {}).items()}
            return cls.parse(found), checksums
        except FileNotFoundError as error:
            raise InputError(f"{cls.absent} in {path}: it has no {MANIFEST}") from error
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}") from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise damaged(file, error) from error

    def manifest(self) -> Manifest:
        """The current manifest; an error if the folder holds something else."""
        manifest = self.read(self.path)
        found = self.about_of(manifest)
        if found != self.about:
            raise InputError(f"{self.path} holds {self.other}: {found} instead of {self.about}")
        return manifest

    def exists(self) -> bool:
        """Whether the folder has a manifest."""
        return (self.path / MANIFEST).exists()

    def current(self) -> State:
        """The state of the newest manifest. Nothing is read as long as the manifest is the same file."""
        seen = self._seen
        if seen is not None and seen.stamp == self._stamp():
            return seen.state
        with self._guard:
            while True:
                stamp = self._stamp()
                manifest = self.manifest()
                seen = self._seen
                if seen is not None and seen.manifest == manifest:
                    state = seen.state
                else:
                    try:
                        state = self.load(manifest, None if seen is None else (seen.manifest, seen.state))
                    except OSError as error:
                        if self._stamp() == stamp:  # else another process has replaced the manifest meanwhile
                            raise _unreadable(error) from error
                        continue
                self._seen = _Seen(stamp if self._is_settled(stamp) else (), manifest, state)
                return state

    def check(self) -> list[str]:
        """The problems of the files, one line each; empty for an intact folder."""
        manifest = self.manifest()
        problems = [line for array, n_rows in self.arrays(manifest) for line in array.problems(n_rows)]
        problems += [f"{file.name}: left by an unfinished write; the next one removes it" for file in self._strays()]
        if not problems:
            try:
                problems += self._changed_files(manifest)
                self.verify(self.load(manifest, None))
            except InputError as error:
                problems.append(str(error))
            except OSError as error:
                problems.append(str(_unreadable(error)))
        return problems

    def verify(self, state: State) -> None:
        """Raise an :class:`InputError` if ``state`` contradicts itself; checks more than :meth:`load` does."""

    # Writing

    def create(self, first: Callable[[], Manifest]) -> None:
        """Create the folder with the manifest ``first()``, unless it has one; others hold it only for a moment."""
        if self.exists():
            return
        is_new = not self.path.exists()
        try:
            make_folder(self.path)
            with self._turn, self._lock.held():
                if not self.exists():  # no other writer was faster
                    self.commit(first())
        except (OSError, VistermError) as error:
            if is_new and not self.exists():  # such as on a full disk
                shutil.rmtree(self.path, ignore_errors=True)
            if isinstance(error, OSError):
                raise write_error(self.path / MANIFEST, error) from error
            raise

    @contextmanager
    def holding(self, *, wait: bool = True) -> Iterator[None]:
        """Be the only writer inside the block; first remove what a killed writer left.

        Writers take turns. One that does not ``wait`` gets a :class:`BusyError` while it is another's turn.
        """
        if not self._turn.acquire(blocking=wait):
            raise BusyError(f"{self.path} is being written to by another thread: try again when it is done")
        try:
            with self._lock.held(wait=wait) as first:
                if first:
                    self._tidy()
                yield
        finally:
            self._turn.release()

    @contextmanager
    def changing(self, *, wait: bool = True) -> Iterator[State]:
        """Be the only writer and change files; a failure leaves a committed state and nothing else."""
        with self.holding(wait=wait):
            try:
                yield self.current()
            except BaseException as error:
                with suppress(VistermError):  # the first failure matters more than a failed clean-up
                    self._tidy()
                if isinstance(error, OSError):
                    raise write_error(self.path, error) from error
                raise

    def commit(self, manifest: Manifest) -> None:
        """Install ``manifest``, whose files are on disk; delete files that only the previous manifest used."""
        before: set[str] = set()
        known: Checksums = {}
        if self.exists():
            earlier, known = self._read(self.path)
            before = self.tokens(earlier)
        if self.tokens(manifest) - before:
            sync_folder(self.path)  # the names of new files, before the manifest refers to them
        checksums = self._checksums(manifest, known, before)
        fields = {"format": self.format, "version": self.version} | asdict(manifest) | {"checksums": checksums}
        fields = json.loads(json.dumps(fields))  # as it will be read: tuples become lists
        fields["checksum"] = _checksum(fields)
        write_text_atomically(self.path / MANIFEST, json.dumps(fields, indent=2) + "\n")
        if before - self.tokens(manifest):
            self._remove_strays()

    # Inside

    def _checksums(self, manifest: Manifest, known: Checksums, before: set[str]) -> Checksums:
        """The checksums of all files in use: only what was written since the ``known`` ones is read.

        Files of an earlier version that have no checksum get none until they are rewritten.
        """
        checksums: Checksums = {}
        for array, n_rows in self.arrays(manifest):
            name = array.path.name
            start, crc = known.get(name, (0, 0))
            if start > n_rows:
                start, crc = 0, 0
            if name in known or name.partition(".")[0] not in before:
                checksums[name] = (n_rows, array.checksum(n_rows, start=start, before=crc))
        return checksums

    def _changed_files(self, manifest: Manifest) -> Iterator[str]:
        """Read every file that has a checksum, and tell which fail it."""
        _, known = self._read(self.path)
        for array, n_rows in self.arrays(manifest):
            if array.path.name in known and known[array.path.name] != (n_rows, array.checksum(n_rows)):
                yield str(damaged(array.path, "it fails its checksum"))

    def _stamp(self) -> tuple[int, ...]:
        """Identifies a manifest file, to tell it from the next one."""
        try:
            status = (self.path / MANIFEST).stat()
        except OSError as error:
            raise InputError(f"{self.path} is gone: {error.strerror or error}") from error
        return (status.st_ino, status.st_mtime_ns, status.st_size)

    @staticmethod
    def _is_settled(stamp: tuple[int, ...]) -> bool:
        """Whether a later manifest would surely have another stamp; a very recent one is read again next time."""
        return time.time_ns() - stamp[1] > _TICK_NS

    def _tidy(self) -> None:
        """Remove what unfinished writes left. Only the writer may call this."""
        manifest = self.manifest()
        self._remove_strays()
        try:
            for array, n_rows in self.arrays(manifest):
                array.trim(n_rows)
        except FileNotFoundError as error:
            raise _unreadable(error) from error
        except OSError as error:
            raise write_error(self.path, error) from error

    def _remove_strays(self) -> None:
        for file in self._strays():
            with suppress(OSError):  # Windows keeps a file that is mapped: a later write removes it
                file.unlink()

    def _strays(self) -> list[Path]:
        """Files that a writer of this folder created but the manifest does not refer to."""
        used = self.tokens(self.manifest())
        files = (file for file in self.path.iterdir() if self.file_names.fullmatch(file.name))
        strays = [file for file in files if file.name.partition(".")[0] not in used]
        return sorted([*strays, *self.path.glob(TEMPORARY_PATTERN)])


def _checksum(fields: dict[str, Any]) -> int:
    """The checksum of a manifest's values."""
    return zlib.crc32(json.dumps(fields, sort_keys=True).encode())


def _unreadable(error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{error.filename} is missing: delete the folder, and it is created again")
    reason = error.strerror or error
    return InputError(f"cannot read {error.filename}: {reason}; delete the folder, and it is created again")
