"""Hidden tags, which serve to choose strengths and to calibrate probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: With fewer pictures than this whose tags are hidden, choices would be noise.
FEWEST = 4
#: The assumed share of hidden tags that are unrelated to their picture, so that one strange tag has a finite cost.
SLIP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class HiddenTags:
    """Tags, with those of ``rows`` hidden."""

    shown: sparse.csr_array  # (n_pictures, n_tags)
    rows: NDArray[np.intp]
    tags: sparse.csr_array  # the hidden ones, (len(rows), n_tags)


def hide_tags(tags: sparse.csr_array, share: float, random_state: Any) -> HiddenTags | None:
    """Hide the tags of a share of the tagged pictures; None if too few would be hidden or shown.

    >>> hide_tags(sparse.csr_array(np.eye(20)), 0.2, 0).rows
    array([ 1,  8, 18, 19])
    """
    from sklearn.utils import check_random_state

    tagged = np.flatnonzero(np.diff(tags.indptr))
    n_hidden = round(share * len(tagged))
    if n_hidden < FEWEST or len(tagged) - n_hidden < FEWEST:
        return None
    rows = np.sort(check_random_state(random_state).permutation(tagged)[:n_hidden])
    kept = np.ones((tags.shape[0], 1), tags.dtype)
    kept[rows] = 0
    shown = sparse.csr_array(tags.multiply(kept))
    shown.eliminate_zeros()
    return HiddenTags(shown, rows, tags[rows])


def tag_surprise(chances: NDArray[Any], tags: sparse.csr_array) -> float:
    """The mean log-probability of a hidden tag, with ``SLIP``; rows of ``chances`` (n_pictures, n_tags) sum to one."""
    rows = np.repeat(np.arange(tags.shape[0]), np.diff(tags.indptr))
    given = chances[rows, tags.indices]
    return float(np.log((1 - SLIP) * given + SLIP / tags.shape[1]).mean())
