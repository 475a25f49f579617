"""Orders of lists by what files say: when pictures were taken, how they are rated, how large they are."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.collection.facts import Facts
from visterm.find.words.conditions import pixels

#: ``date``: taken last first; ``rating``: the best first; ``size``: most pixels first. What is not known comes last.
FactsOrder = Literal["date", "rating", "size"]
FACTS_ORDERS: tuple[str, ...] = get_args(FactsOrder)


def by_facts(facts: Facts, rows: NDArray[np.intp], order: str) -> NDArray[np.intp]:
    """The places of ``rows`` in an order; equal ones stay as they were."""
    if order == "date":
        return np.argsort(-facts.seconds[0][rows].astype(np.float64), kind="stable")
    column = facts.numbers("rating") if order == "rating" else pixels(facts)
    return np.argsort(-np.nan_to_num(column[rows], nan=-np.inf), kind="stable")
