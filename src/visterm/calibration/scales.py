"""Makes the scores of frequent and rare tags comparable: by each tag's deviation, and by its lead."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Shrinks a tag's lead towards the typical lead, as if by 20 more pictures.
_TYPICAL_PICTURES = 20.0
#: Added to every deviation, so that a tag whose scores hardly vary is not divided by almost zero.
_LEAST_DEVIATION = 1e-3


def deviations(scores: Array, power: float = 1.0) -> tuple[Array, Array]:
    """The mean of each tag's held-out scores, and its deviation to the given power.

    Scores of a frequent tag vary more than those of a rare one, so a list of the best tags would never contain the rare
    one. Power 1 gives every tag unit deviation, power 0 leaves the scores as they are.
    """
    return scores.mean(axis=0), (scores.std(axis=0) + _LEAST_DEVIATION) ** power


def tag_leads(scores: Array, present: Array, deviations: Array) -> Array:
    """For every tag, the mean score of its own pictures minus that of all pictures: its lead.

    ``scores`` are those of held-out pictures, ``deviations`` those of each tag. The lead of a tag with few pictures is
    shrunk towards the typical lead of tags with its deviation. If no tag has a lead, the deviations are returned.

    >>> scores = np.array([[4.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    >>> leads = tag_leads(scores, scores > 0, scores.std(axis=0))
    >>> leads / leads[1]
    array([4., 1.])
    """
    n_present = present.sum(axis=0, dtype=np.float64)
    of_own = (scores * present).sum(axis=0) / np.maximum(n_present, 1.0)
    return _leads(of_own - scores.mean(axis=0), n_present, deviations)


def _leads(leads: Array, n_present: Array, deviations: Array) -> Array:
    """:func:`tag_leads` of what was measured: the plain leads."""
    lead = np.maximum(leads, 0.0) * n_present
    typical = lead.sum() / max(n_present @ deviations, np.finfo(np.float64).tiny)
    if not typical > 0:
        return deviations
    return np.asarray((lead + _TYPICAL_PICTURES * typical * deviations) / (n_present + _TYPICAL_PICTURES))


def tag_scales(scores: Array, present: Array, power: float) -> tuple[Array, Array]:
    """What to subtract from each tag's scores, and then to divide them by, learned from held-out scores.

    The divisor is the tag's lead to the given power. After division, pictures have similar scores at the tags they
    carry, whether a tag is frequent or rare, and easy or hard to predict.
    """
    means, spread = deviations(scores)
    return means, tag_leads(scores, present, spread) ** power


def tag_scales_of_moments(means: Array, spread: Array, of_own: Array, n_present: Array, power: float) -> Array:
    """The divisor of :func:`tag_scales` without the scores, for many pictures.

    It takes the mean and the deviation of each tag's scores, the mean of those of its own pictures, and their number.
    """
    return _leads(of_own - means, n_present.astype(np.float64), spread + _LEAST_DEVIATION) ** power
