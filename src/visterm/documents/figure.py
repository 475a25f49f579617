"""How good something is: a share with its interval, and what it was measured on; in words too."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from visterm.documents.wording import counted, percent

#: What a figure rests on: pictures drawn at random, pictures that a person chose to label, or test pictures.
Basis = Literal["measuring sample", "labelled pictures", "test pictures"]
#: The share of all intervals that contain the truth.
LEVEL = 0.9
#: Fewer pictures give no figure.
LEAST = 10
#: The measuring sample serves from this many pictures on.
ENOUGH = 20
#: This many pictures of the measuring sample are asked for.
GOAL = 40

_SUBJECTS = {"classes": "classes", "tags": "likeliest tags", "search": "first pictures found"}
_BASES = {
    "measuring sample": "{} drawn at random",
    "labelled pictures": "{} that you labelled",
    "test pictures": "{} marked as test pictures",
}


def interval(right: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Between which shares the truth lies if ``right`` of ``n`` are right (Clopper and Pearson, 1934).

    It is exact for counts. For the mean of ``n`` shares, ``right`` is their sum: shares vary less than zeros and ones
    with the same mean, so that the interval is a little too wide.

    >>> [round(end, 3) for end in interval(12, 12)], [round(end, 3) for end in interval(97, 100)]
    ([0.779, 1.0], [0.924, 0.992])
    """
    from scipy.special import betaincinv

    right, tail = min(max(right, 0.0), n), (1 - level) / 2
    low = float(betaincinv(right, n - right + 1, tail)) if right > 0 else 0.0
    high = float(betaincinv(right + 1, n - right, 1 - tail)) if right < n else 1.0
    return low, high


@dataclass(frozen=True)
class Stratum:
    """A part of the pictures: its ``share`` of all, how many of it were measured, and the sum of what was right."""

    share: float
    right: float
    measured: int


@dataclass(frozen=True)
class Figure:
    """How good the model in use, or the review, is at one of classes, tags and search.

    The ``value`` is a share of answers that are right: of classes, of as many of the likeliest tags as a picture has,
    or of the first pictures of searches. With a certainty of 90 % it lies between ``low`` and ``high`` for all pictures
    of the ``basis``; ``pictures`` of them were measured. ``baseline`` is what guessing reaches. Without a value, too
    little is known; ``advice`` says how to learn more. ``words`` says all of it.
    """

    what: str
    model: str | None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    pictures: int = 0
    basis: Basis | None = None
    baseline: float | None = None
    advice: str = ""
    words: str = ""


def figure(
    what: str,
    basis: Basis,
    strata: Sequence[Stratum],
    *,
    model: str | None = None,
    baseline: float | None = None,
    advice: str = "",
) -> Figure:
    """The figure of what was measured in ``strata``; none if these are too few pictures.

    Parts of which more was measured than their share weigh as much as their share; the interval is then that of as
    many pictures as would vary as much.
    """
    used = [each for each in strata if each.share > 0]
    pictures = sum(each.measured for each in used)
    if pictures < LEAST or any(not each.measured for each in used):
        words = "too few pictures were measured to say how good it is" + (f": {advice}" if advice else "")
        return Figure(what, model, pictures=pictures, baseline=baseline, advice=advice, words=words)
    whole = sum(each.share for each in used)
    value = sum(each.share / whole * each.right / each.measured for each in used)
    n = 1 / sum((each.share / whole) ** 2 / each.measured for each in used)
    low, high = interval(value * n, n)
    words = _in_words(what, value, low, high, pictures, basis)
    if baseline is not None:
        words += f"; guessing: {percent(baseline)}" + (", so it is worse than guessing" if value < baseline else "")
    words += f"; {advice}" if advice else ""
    known = Figure(what, model, value, low, high, pictures=pictures, basis=basis)
    return replace(known, baseline=baseline, advice=advice, words=words)


def _in_words(what: str, value: float, low: float, high: float, pictures: int, basis: Basis) -> str:
    """A share is never said to be all or nothing without what it may be.

    >>> _in_words("classes", 0.97, 0.924, 0.992, 100, "measuring sample")
    '97% of classes right (between 92% and 99%; measured on 100 pictures drawn at random)'
    >>> _in_words("classes", 1.0, 0.779, 1.0, 12, "labelled pictures")
    'all of 12 classes right (at least 78%; measured on 12 pictures that you labelled)'
    """
    subject = _SUBJECTS[what]
    measured = f"measured on {_BASES[basis].format(counted(pictures, 'picture'))}"
    many = f"{pictures} {subject}" if what == "classes" else f"the {subject}"
    if value >= 1:
        return f"all of {many} right (at least {percent(low)}; {measured})"
    if value <= 0:
        return f"none of {many} right (at most {percent(high)}; {measured})"
    shown, the = percent(min(0.99, max(0.01, value))), "" if what == "classes" else "the "
    return f"{shown} of {the}{subject} right (between {percent(low)} and {percent(high)}; {measured})"
