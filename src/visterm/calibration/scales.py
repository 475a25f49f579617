"""What makes the scores of frequent and rare tags comparable: each tag's deviation, and its lead."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Shrinks a tag's lead towards the typical lead, as if by 20 more pictures.
_TYPICAL_PICTURES = 20.0
#: Added to every deviation: a tag whose scores hardly vary does not become loud by dividing by almost nothing.
_LEAST_DEVIATION = 1e-3


def deviations(scores: Array, power: float = 1.0) -> tuple[Array, Array]:
    """The mean of each tag's held-out scores, and its deviation to the given power.

    Scores of a frequent tag spread wider than those of a rare one; in a list of the best tags the rare one would never
    appear. Power 1 gives every tag unit deviation, 0 leaves the spread as it is.
    """
    return scores.mean(axis=0), (scores.std(axis=0) + _LEAST_DEVIATION) ** power


def tag_leads(scores: Array, present: Array, deviations: Array) -> Array:
    """The mean score of every tag's own pictures less that of all pictures.

    ``scores`` are those of pictures left out of learning, ``deviations`` each tag's. The lead of a tag of few pictures
    is drawn towards what is typical of tags of its deviation; where no tag stands out, deviations take its place.

    >>> scores = np.array([[4.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    >>> leads = tag_leads(scores, scores > 0, scores.std(axis=0))
    >>> leads / leads[1]
    array([4., 1.])
    """
    n_present = present.sum(axis=0, dtype=np.float64)
    of_own = (scores * present).sum(axis=0) / np.maximum(n_present, 1.0)
    lead = np.maximum(of_own - scores.mean(axis=0), 0.0) * n_present
    typical = lead.sum() / max(n_present @ deviations, np.finfo(np.float64).tiny)
    if not typical > 0:
        return deviations
    return np.asarray((lead + _TYPICAL_PICTURES * typical * deviations) / (n_present + _TYPICAL_PICTURES))


def tag_scales(scores: Array, present: Array, power: float) -> tuple[Array, Array]:
    """What to subtract from each tag's scores and to divide them by, from held-out scores.

    The divisor is the tag's lead to the given power. In units of it, pictures score the same at the tags they carry,
    however frequent and however well told these are.
    """
    means, spread = deviations(scores)
    return means, tag_leads(scores, present, spread) ** power
