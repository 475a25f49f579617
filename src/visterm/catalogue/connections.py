"""The connections to a catalogue's file: one per thread, opened when first needed."""

from __future__ import annotations

import threading
from pathlib import Path

from visterm.catalogue import read_only, schema
from visterm.catalogue.log import Connection
from visterm.errors import VistermError


class Connections:
    """Connections to ``file``, one per thread; those of ended threads are closed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._guard = threading.RLock()
        self._of_thread: dict[threading.Thread, Connection] = {}
        self._watcher: Connection | None = None
        self._closed = False

    def mine(self) -> Connection:
        """The connection of the calling thread."""
        thread = threading.current_thread()
        connection = self._of_thread.get(thread)
        if connection is None:
            with self._guard:
                self._refuse_when_closed()
                for ended in [known for known in self._of_thread if not known.is_alive()]:
                    self._of_thread.pop(ended).close()
                connection = self._of_thread[thread] = read_only.connect(self._file)
        return connection

    def version(self) -> tuple[int, int]:
        """SQLite's data version, seen from a connection that never writes, and the sequence number."""
        with self._guard:
            if self._watcher is None:
                self._refuse_when_closed()
                self._watcher = read_only.connect(self._file)
            with schema.snapshot(self._watcher):
                (sequence,) = self._watcher.execute("SELECT number FROM sequence").fetchone()
                (version,) = self._watcher.execute("PRAGMA data_version").fetchone()
            return int(version), int(sequence)

    def close(self) -> None:
        """Close all connections."""
        with self._guard:
            self._closed = True
            for connection in (*self._of_thread.values(), self._watcher):
                if connection is not None:
                    connection.close()
            self._of_thread.clear()
            self._watcher = None

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise VistermError("this workspace was closed: open it again")
