"""Numbers as people read them, for the command line, contact sheets and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: A share of fewer answers than this is said with how sure it is.
_FEW = 50
#: With fewer than this, a figure says nothing.
_TOO_FEW = 5
#: From here on, a number that should be a share is taken for a percentage; a smaller one is more likely a slip.
_LEAST_PERCENTAGE = 10


def percent(probability: float) -> str:
    """A probability for people.

    >>> percent(0.834), percent(0.002)
    ('83%', 'under 1%')
    """
    return "under 1%" if 0 < probability < 0.01 else f"{probability:.0%}"


def not_a_share(what: str, value: float) -> str:
    """What is wrong with a share that is not between 0 and 1.

    >>> not_a_share("the precision", 60.0)
    'the precision is a share between 0 and 1, not 60: did you mean 0.6?'
    >>> not_a_share("the precision", 1.5)
    'the precision is a share between 0 and 1, not 1.5'
    """
    is_percentage = _LEAST_PERCENTAGE <= value <= 100
    meant = f": did you mean {value / 100:g}?" if is_percentage else ""
    return f"{what} is a share between 0 and 1, not {value:g}{meant}"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "picture"), counted(3, "class")
    ('1 picture', '3 classes')
    """
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith('s') else 's'}"


def how_good(
    what: str,
    measures: Mapping[str, float],
    quality: float | None,
    baseline: float | None,
    held_out: int,
    suggestions: int | None = None,
) -> str:
    """How good a model is at classes, tags or search, in words; ``quality`` is the main measure.

    ``suggestions`` is the number of tags that were suggested for the held-out pictures; None if it is not known.
    """
    if quality is None:
        return "learned, but not measured: too few labelled pictures to hold some out"
    guessing = "" if baseline is None else f" (guessing: {percent(baseline)})"
    measured = f" on {counted(held_out, 'held-out picture')}" if held_out else " on held-out pictures"
    bad = "; worse than guessing" if baseline is not None and quality < baseline else ""
    if what == "classes":
        return f"{percent(quality)} right{measured}{_how_sure(quality, held_out)}{guessing}{bad}"
    if what == "search":
        first = measures.get("P@1", 0.0)
        sure = _how_sure(first, held_out)
        return f"the first picture is right for {percent(first)} of queries of one to three words{measured}{sure}{bad}"
    right = measures.get("suggestions right")
    found = percent(measures.get("tags found", 0.0))
    if right is None:
        return f"nothing is likely enough to be suggested yet; 'visterm tag --best 3' shows the best guesses{bad}"
    # Suggestions for one picture depend on each other: more of them than pictures do not make the share surer.
    number = held_out if suggestions is None else min(suggestions, held_out)
    of_what = "suggestions" if number == held_out else counted(number, "suggestion")
    sure = _how_sure(right, number)
    return f"{percent(right)} of {of_what} right{measured}{sure}; they cover {found} of the tags{bad}"


def _how_sure(share: float, number: int) -> str:
    """The standard error of a share of ``number`` answers, in words; empty if they are many or not counted.

    Two right and two wrong answers are added (Agresti and Coull), so that a few answers that are all right are not said
    to be sure.

    >>> _how_sure(0.85, 20), _how_sure(1.0, 2)
    (', give or take 8 points', ', too few to say how good it is')
    """
    if not 0 < number < _FEW:
        return ""
    if number < _TOO_FEW:
        return ", too few to say how good it is"
    near = (share * number + 2) / (number + 4)
    return f", give or take {100 * math.sqrt(near * (1 - near) / (number + 4)):.0f} points"
