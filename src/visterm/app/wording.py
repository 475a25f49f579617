"""Numbers as people read them, for the command line, contact sheets and the page."""

from __future__ import annotations


def percent(probability: float) -> str:
    """A probability for people.

    >>> percent(0.834), percent(0.002)
    ('83%', 'under 1%')
    """
    return "under 1%" if 0 < probability < 0.01 else f"{probability:.0%}"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "picture"), counted(3, "class")
    ('1 picture', '3 classes')
    """
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}{'es' if thing.endswith('s') else 's'}"
