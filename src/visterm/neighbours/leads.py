"""How far the pictures that carry a tag stand out: what makes the scores of frequent and rare tags comparable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A tag's lead counts as if so many more of its pictures stood out as is typical.
_TYPICAL_PICTURES = 20.0


def tag_leads(scores: NDArray[Any], present: NDArray[Any], deviations: NDArray[Any]) -> NDArray[Any]:
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
