"""Numbers as people read them, for the command line, contact sheets and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: With fewer held-out pictures than this, a line says how sure the figure is.
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
    what: str, measures: Mapping[str, float], quality: float | None, baseline: float | None, held_out: int
) -> str:
    """How good a model is at classes, tags or search, in words; ``quality`` is the main measure."""
    if quality is None:
        return "learned, but not measured: too few labelled pictures to hold some out"
    guessing = "" if baseline is None else f" (guessing: {percent(baseline)})"
    measured = f" on {counted(held_out, 'held-out picture')}" if held_out else " on held-out pictures"
    if 0 < held_out < _TOO_FEW:
        measured += ", too few to say how good it is"
    elif 0 < held_out < _FEW:
        error = math.sqrt(max(quality * (1 - quality), 0.05) / held_out)
        measured += f", give or take {100 * error:.0f} points"
    bad = "; worse than guessing" if baseline is not None and quality < baseline else ""
    if what == "classes":
        return f"{percent(quality)} right{measured}{guessing}{bad}"
    if what == "search":
        first = measures.get("P@1", 0.0)
        return f"the first picture is right for {percent(first)} of queries of one to three words{measured}{bad}"
    right = measures.get("suggestions right")
    found = percent(measures.get("tags found", 0.0))
    if right is None:
        return f"nothing is likely enough to be suggested yet; 'visterm tag --best 3' shows the best guesses{bad}"
    return f"{percent(right)} of suggestions right{measured}; they cover {found} of the tags{bad}"
