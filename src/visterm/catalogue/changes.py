"""Remembers which transaction of this process changed the labels of which pictures, to update copies quickly."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from visterm.catalogue.labels import rank_of

#: The number of transactions remembered; an older copy is read again as a whole.
_MAX_REMEMBERED = 1000


class Noted:
    """The pictures whose labels one transaction changes, and whether it changes nothing else."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.pictures: set[int] = set()
        self.labels_only = False
        self._connection = connection
        self._before = connection.total_changes
        self._n_label_changes = 0

    @contextmanager
    def labels(self, pictures: Iterable[int], source: str) -> Iterator[None]:
        """Wraps a change of labels. Labels of a model do not belong to the truth, so they change no picture."""
        before = self._connection.total_changes
        yield
        self._n_label_changes += self._connection.total_changes - before
        if rank_of(source)[0]:
            self.pictures.update(int(picture) for picture in pictures)

    def end(self) -> None:
        """Find out whether the transaction changed only labels."""
        self.labels_only = self._connection.total_changes - self._before == self._n_label_changes


class LabelChanges:
    """Remembers the pictures of each transaction that changed only labels."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pictures: OrderedDict[int, frozenset[int]] = OrderedDict()
        self._open = threading.local()

    def begin(self, connection: sqlite3.Connection) -> Noted:
        """Begin the outermost transaction of a thread."""
        self._open.noted = noted = Noted(connection)
        return noted

    def labels(self, pictures: Iterable[int], source: str) -> AbstractContextManager[None]:
        """Wraps a change of labels inside a transaction."""
        noted: Noted = self._open.noted
        return noted.labels(pictures, source)

    def remember(self, sequence: int, noted: Noted) -> None:
        """Remember a committed transaction."""
        if noted.labels_only:
            with self._guard:
                self._pictures[sequence] = frozenset(noted.pictures)
                while len(self._pictures) > _MAX_REMEMBERED:
                    self._pictures.popitem(last=False)

    def since(self, sequence: int, now: int) -> set[int] | None:
        """The pictures of all transactions after ``sequence`` up to ``now``; None if one of them is not known."""
        with self._guard:
            found: set[int] = set()
            for number in range(sequence + 1, now + 1):
                if number not in self._pictures:
                    return None
                found |= self._pictures[number]
            return found
