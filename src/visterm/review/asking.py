"""Which questions of a review measure, and which teach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: One question in ten measures, as soon as there are 150 answers; before, fewer: first answers teach most.
_EVERY, _SETTLED = 10, 150


def is_measuring_next(measured: int, answers: int) -> bool:
    """Whether the next question measures, after ``answers`` in all, of which ``measured`` measured.

    >>> [next(n for n in range(1000) if is_measuring_next(measured, n)) + 1 for measured in (0, 1, 14, 15)]
    [39, 55, 150, 160]
    """
    n = answers + 1
    return (measured + 1) * _EVERY <= n * min(1.0, n / _SETTLED)


def mixed(
    teaching: Iterable[int], to_measure: Iterable[int], *, measured: int, answers: int, limit: int
) -> Iterator[tuple[int, bool]]:
    """The next pictures to ask about, and whether each is to measure; each picture once.

    If nothing is left that teaches, the rest measures.
    """
    teaching, to_measure = iter(teaching), iter(to_measure)
    asked: set[int] = set()
    while len(asked) < limit:
        measures = is_measuring_next(measured, answers)
        first, second = (to_measure, teaching) if measures else (teaching, to_measure)
        row = next((row for row in first if row not in asked), None)
        if row is None:
            row, measures = next((row for row in second if row not in asked), None), not measures
        if row is None:
            return
        asked.add(row)
        yield row, measures
        measured, answers = measured + measures, answers + 1
