"""What the files of the pictures say besides labels, as columns: when and where they were taken, how they are rated."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.geography import Gazetteer, Places

Floats = NDArray[np.float64]
Columns = dict[str, list[Any]]
#: Where nobody knows the time: before every date.
UNKNOWN_TIME = np.iinfo(np.int64).min
_MONTH = len("2019-07")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts: the different ones, and of each picture the number of its own; -1 for none."""

    names: list[str]
    codes: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Coded:
        """The column of ``texts``."""
        number: dict[str, int] = {}
        codes = [-1 if text is None else number.setdefault(text, len(number)) for text in texts]
        return cls(list(number), np.array(codes, np.int32))

    def where(self, fits: Callable[[str], bool]) -> NDArray[np.bool_]:
        """The pictures whose text fits."""
        known = np.array([*map(fits, self.names), False], np.bool_)
        return known[self.codes]


class Facts:
    """One row for each picture that has a file, in their order; all of it is read when first needed.

    What was made of the ``earlier`` facts of the same pictures is kept if nothing has changed.
    """

    def __init__(self, read: Callable[[], Columns], earlier: Facts | None = None) -> None:
        self._read, self._earlier = read, earlier
        self._columns: Columns | None = None
        self._kept: dict[str, Any] = {}

    def numbers(self, name: str) -> Floats:
        """A column of numbers, such as ``rating``; NaN where it is not known."""
        return self._made(name, lambda columns: np.array(columns[name], np.float64))

    def texts(self, name: str) -> Coded:
        """A column of texts, such as ``camera``."""
        return self._made(name, lambda columns: Coded.of(columns[name]))

    @property
    def seconds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last second at which each picture can have been taken, by the clock of its place."""
        return self._made("seconds", lambda _: _seconds(self.texts("taken")))

    @property
    def months(self) -> Coded:
        """The months in which pictures were taken, such as ``2019-07``; none where only the year is known."""

        def made(columns: Columns) -> Coded:
            taken = columns["taken"]
            return Coded.of([text[:_MONTH] if text is not None and len(text) >= _MONTH else None for text in taken])

        return self._made("months", made)

    @property
    def places(self) -> Places:
        """Where pictures were taken, as far as the gazetteer knows."""
        return self._made(
            "places", lambda _: Gazetteer.open().places(self.numbers("latitude"), self.numbers("longitude"))
        )

    def _made(self, name: str, make: Callable[[Columns], T]) -> T:
        """What ``make`` makes of the columns, made once."""
        if self._columns is None:
            columns, earlier = self._read(), self._earlier
            if earlier is not None and earlier._columns == columns:
                self._kept = dict(earlier._kept)
            self._columns, self._earlier = columns, None  # else every state of the collection would be held
        if name not in self._kept:
            self._kept[name] = make(self._columns)
        made: T = self._kept[name]
        return made


def _seconds(taken: Coded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    spans = np.array([*map(seconds_of, taken.names), (UNKNOWN_TIME, UNKNOWN_TIME)], np.int64)
    first, last = spans[taken.codes].T
    return first, last


def seconds_of(text: str) -> tuple[int, int]:
    """The first and the last second since 1970 that a time in ISO format may mean, as far as it is written.

    >>> seconds_of("2019-07-14T12:30:05.25"), seconds_of("2019")
    ((1563107405, 1563107405), (1546300800, 1577836799))
    """
    date, _, clock = text[:19].partition("T")
    year, month, day = (*map(int, date.split("-")), 0, 0)[:3]
    hour, minute, second = (*map(int, filter(None, clock.split(":"))), 0, 0, 0)[:3]
    start = datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=UTC)
    days = 1 if day else monthrange(year, month)[1] if month else 365 + isleap(year)
    length = {0: 86400 * days, 5: 60}.get(len(clock), 1)
    return int(start.timestamp()), int(start.timestamp()) + length - 1
