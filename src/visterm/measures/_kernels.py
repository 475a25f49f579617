"""Compiled loops of the measures."""

from typing import Any

from visterm.compute.compiled import compiled


@compiled
def count_places(scores: Any, most: int, indptr: Any, indices: Any, above: Any, tied: Any) -> None:
    """For every relevant picture, count the pictures above it and those tied with it, if a query has at most ``most``.

    In NumPy, with ``row = scores[query]`` and ``own = row[indices[entry]]``: ``above[entry] = (row > own).sum()`` and
    ``tied[entry] = (row == own).sum()``.
    """
    for query in range(scores.shape[0]):
        row = scores[query]
        start, end = indptr[query], indptr[query + 1]
        if end - start > most:
            continue
        for entry in range(start, end):
            own = row[indices[entry]]
            n_above = n_tied = 0
            for picture in range(scores.shape[1]):
                n_above += row[picture] > own
                n_tied += row[picture] == own
            above[entry] = n_above
            tied[entry] = n_tied
