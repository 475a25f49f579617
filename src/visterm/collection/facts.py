"""What the files of the pictures say besides labels, as columns: when and where they were taken, how they are rated."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.geography import Gazetteer, Places

Floats = NDArray[np.float64]
Columns = dict[str, list[Any]]
#: Where nobody knows the time: before every date.
UNKNOWN_TIME = np.iinfo(np.int64).min
_MONTH = len("2019-07")


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
    """One row for each picture that has a file, in their order; all of it is read when first needed."""

    def __init__(self, read: Callable[[], Columns]) -> None:
        self._read = read
        self._coded: dict[str, Coded] = {}
        self._numbers: dict[str, Floats] = {}

    @cached_property
    def _columns(self) -> Columns:
        return self._read()

    def numbers(self, name: str) -> Floats:
        """A column of numbers, such as ``rating``; NaN where it is not known."""
        if name not in self._numbers:
            self._numbers[name] = np.array(self._columns[name], np.float64)
        return self._numbers[name]

    def texts(self, name: str) -> Coded:
        """A column of texts, such as ``camera``."""
        if name not in self._coded:
            self._coded[name] = Coded.of(self._columns[name])
        return self._coded[name]

    @cached_property
    def seconds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last second at which each picture can have been taken, by the clock of its place."""
        taken = self.texts("taken")
        spans = np.array([*map(seconds_of, taken.names), (UNKNOWN_TIME, UNKNOWN_TIME)], np.int64)
        first, last = spans[taken.codes].T
        return first, last

    @cached_property
    def months(self) -> Coded:
        """The months in which pictures were taken, such as ``2019-07``; none where only the year is known."""
        return Coded.of(
            [None if text is None or len(text) < _MONTH else text[:_MONTH] for text in self._columns["taken"]]
        )

    @cached_property
    def places(self) -> Places:
        """Where pictures were taken, as far as the gazetteer knows."""
        return Gazetteer.open().places(self.numbers("latitude"), self.numbers("longitude"))


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
