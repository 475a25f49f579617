"""Which questions of a review measure, and which teach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: One question in so many measures, until the measuring sample has enough pictures; then one in so many.
_EVERY, _LATER, _SETTLED = 5, 10, 60


def is_measuring_next(measured: int, answers: int, sample: int) -> bool:
    """Whether the next question measures, after ``answers`` in all, of which ``measured`` measured.

    ``sample`` is the number of pictures in the measuring sample.

    >>> [is_measuring_next(0, answers, 0) for answers in range(6)]
    [False, False, False, False, True, True]
    """
    every = _EVERY if sample < _SETTLED else _LATER
    return (measured + 1) * every <= answers + 1


def mixed(
    teaching: Iterable[int], to_measure: Iterable[int], *, measured: int, answers: int, sample: int, limit: int
) -> Iterator[tuple[int, bool]]:
    """The next pictures to ask about, and whether each is to measure; each picture once.

    If nothing is left that teaches, the rest measures.
    """
    teaching, to_measure = iter(teaching), iter(to_measure)
    asked: set[int] = set()
    while len(asked) < limit:
        measures = is_measuring_next(measured, answers, sample)
        first, second = (to_measure, teaching) if measures else (teaching, to_measure)
        row = next((row for row in first if row not in asked), None)
        if row is None:
            row, measures = next((row for row in second if row not in asked), None), not measures
        if row is None:
            return
        asked.add(row)
        yield row, measures
        measured, answers = measured + measures, answers + 1
