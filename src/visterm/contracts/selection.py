"""From scores to a short list of tags, by one tie rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.contracts.tasks import Scores


def best_tags(scores: Scores, n_best: int, tag_counts: NDArray[Any] | None = None) -> NDArray[np.intp]:
    """The ``n_best`` tags of each picture, best first: (n_pictures, n_best) columns.

    Ties go to the rarer tag when ``tag_counts`` (uses in training) are given, then to the lower column.

    >>> best_tags(np.array([[0.5, 0.5, 0.1]]), 2, tag_counts=np.array([9, 3, 1]))
    array([[1, 0]])
    """
    n_pictures, n_tags = scores.shape
    n_best = min(n_best, n_tags)
    # Columns laid out in tie order, so that a stable sort on the score alone keeps it.
    order = np.arange(n_tags) if tag_counts is None else np.argsort(tag_counts, kind="stable")
    ranked = np.argsort(-scores[:, order], axis=1, kind="stable")[:, :n_best]
    return order[ranked].reshape(n_pictures, n_best)
