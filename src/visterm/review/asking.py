"""Which questions of a review measure, which teach, and whether these ask for tags as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: One question in so many measures, as soon as there are so many answers; before, fewer: first answers teach most.
_EVERY, _SETTLED = 10, 150

#: Seconds that a person takes: to see a picture and give its class, to turn to its tags and to end, to choose one tag.
#: They are assumptions (docs/results/review.md).
CLASS_SECONDS, TAGS_SECONDS, CHOSEN_SECONDS = 1.55, 1.55, 0.5


@dataclass(frozen=True)
class Learned:
    """How much is wrong of what was learned from this number of pictures: of classes, or of tags."""

    error: float
    pictures: int

    @property
    def gain(self) -> float:
        """What one more picture brings, up to a factor: the error falls as a power of the number of pictures."""
        return self.error / max(1, self.pictures)


def tags_pay(classes: Learned, tags: Learned, tags_a_picture: float) -> bool:
    """Whether the tags of a picture gain more per second of a person's time than the class of another one.

    >>> tags_pay(Learned(0.3, 40), Learned(0.5, 40), 4), tags_pay(Learned(0.05, 100), Learned(0.5, 40), 4)
    (False, True)
    """
    return tags.gain / (TAGS_SECONDS + CHOSEN_SECONDS * tags_a_picture) >= classes.gain / CLASS_SECONDS


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
