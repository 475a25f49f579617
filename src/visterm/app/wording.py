"""Numbers as people read them, for the command line, contact sheets and the page."""

from __future__ import annotations


def percent(probability: float) -> str:
    """A probability for people.

    >>> percent(0.834), percent(0.002)
    ('83%', 'under 1%')
    """
    return "under 1%" if 0 < probability < 0.01 else f"{probability:.0%}"
