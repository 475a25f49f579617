"""The open database of a catalogue: its connections, its transactions, and what they changed."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from visterm.catalogue import consistency, log, schema
from visterm.catalogue.changes import LabelChanges
from visterm.catalogue.connections import Connections
from visterm.catalogue.records import PERSON
from visterm.errors import VistermError

P = ParamSpec("P")
R = TypeVar("R")
#: Errors by which wrong values in a damaged database show up.
_SYMPTOMS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, sqlite3.Error)


class Database:
    """The database in ``file``, which must exist. Any number of threads may use it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._connections = Connections(file)
        self._label_changes = LabelChanges()
        self._guard = threading.Lock()
        self._last_stamp = 0
        _ = self._connection  # refuse an unusable file now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file. If what failed inside is explained by damage of the database, say that instead."""
        try:
            if isinstance(error, _SYMPTOMS) and not isinstance(error, VistermError) and (problems := self.check()):
                raise schema.damage(self.file, problems[0]) from error
        finally:
            self.close()

    def check(self) -> list[str]:
        """What is wrong with the database; empty if nothing is."""
        return consistency.problems(self._connection)

    def close(self) -> None:
        """Close the file, also for other threads; committed changes stay."""
        self._connections.close()

    @contextmanager
    def transaction(self, what: str | None = None, *, who: str = PERSON) -> Iterator[None]:
        """Make several changes one: all are kept, or none if an error leaves the ``with`` block.

        They are one action of the history, which says ``what`` was done and ``who`` said so: a person or an import.
        """
        connection = self._connection
        if connection.in_transaction:
            log.describe(connection, what, who)
            yield
            return
        noted = self._label_changes.begin(connection)
        with (
            schema.sqlite_errors(self.file),
            schema.transaction(connection) as change,
            log.action(connection, self._stamp()),
        ):
            log.describe(connection, what, who)
            yield
            noted.end()
        if change.sequence is not None:
            self._label_changes.remember(change.sequence, noted)

    # What changed

    def version(self) -> tuple[int, int]:
        """A pair that changes whenever any process changes the catalogue.

        The first number is SQLite's own, the second is the sequence number of the last change.
        """
        with schema.sqlite_errors(self.file):
            return self._connections.version()

    def relabelled_since(self, sequence: int) -> set[int] | None:
        """The ids of the pictures whose labels this object changed after ``sequence``; None if anything else changed.

        Anything else is a change by another process, or a change of pictures, files or vocabulary.
        """
        return self._label_changes.since(sequence, self.version()[1])

    def _read(self, question: Callable[Concatenate[log.Connection, P], R], *args: P.args, **options: P.kwargs) -> R:
        """The answer to a question about the database."""
        with schema.sqlite_errors(self.file):
            return question(self._connection, *args, **options)

    def _stamp(self) -> int:
        """The time now in microseconds, later than every earlier stamp, so that the newest label is always known."""
        with self._guard:
            self._last_stamp = max(time.time_ns() // 1000, self._last_stamp + 1)
            return self._last_stamp

    @property
    def _connection(self) -> log.Connection:
        """The connection of this thread."""
        return self._connections.mine()
