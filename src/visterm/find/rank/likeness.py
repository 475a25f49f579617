"""How likely similar pictures show the same thing, learned from the labelled pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from visterm.calibration import fit_platt

Floats = NDArray[np.floating[Any]]

#: At most this many labelled pictures are compared with all others to learn from.
_N_COMPARED = 256
#: Slope and offset if too few pictures are labelled to learn from: even odds at a similarity of 1/3, one in 50 at 0.
#: They lie between those of collections of 8, 10 and 50 classes, with centred cosines of network features.
_UNMEASURED = (12.0, -4.0)
#: It is learned from at least this many pairs of pictures that are alike, and as many that are not.
_FEWEST_PAIRS = 10
#: The number of the class of a picture whose class is unknown.
_UNKNOWN = -1


class Likeness:
    """Turns a similarity s into the probability that two pictures have the same labels: ``sigmoid(slope s + offset)``.

    Two pictures are alike if they have the same class. If a class is unknown, they are alike if they share at least
    half of the tags of the picture that has fewer.

    >>> classes = ["coast"] * 5 + ["street"] * 5
    >>> similar = np.where(np.equal.outer(classes, classes), 0.8, 0.2)
    >>> likeness = Likeness().fit(lambda rows: similar[rows], classes, np.zeros((10, 2)))
    >>> p = np.exp(likeness.log_probabilities(np.array([0.9, 0.1])))
    >>> bool(p[0] > 0.5 > p[1])
    True
    """

    def fit(self, similarities: Callable[[NDArray[np.intp]], Floats], classes: Sequence[str | None], tags: Any) -> Self:
        """Learn from ``similarities`` of some rows to all (larger is more alike), and the labels of all rows."""
        from scipy import sparse

        tags = sparse.csr_array(tags)
        names = sorted({name for name in classes if name is not None})
        y = np.array([_UNKNOWN if name is None else names.index(name) for name in classes], np.intp)
        n_tags = np.diff(tags.indptr)
        labelled = np.flatnonzero((y != _UNKNOWN) | (n_tags > 0))
        rng = np.random.default_rng(0)
        chosen = rng.choice(labelled, min(_N_COMPARED, len(labelled)), replace=False)
        self.slope_, self.offset_ = _UNMEASURED
        shared = (tags[chosen] @ tags.T).toarray()
        fewer = np.minimum(n_tags[chosen][:, np.newaxis], n_tags)
        both_classed = (y[chosen][:, np.newaxis] != _UNKNOWN) & (y != _UNKNOWN)
        alike = np.where(both_classed, y[chosen][:, np.newaxis] == y, 2 * shared >= fewer)
        comparable = both_classed | (fewer > 0)
        comparable[np.arange(len(chosen)), chosen] = False  # with itself
        n_alike = int(alike[comparable].sum())
        if min(n_alike, int(comparable.sum()) - n_alike) < _FEWEST_PAIRS:
            return self
        seen = np.asarray(similarities(chosen))[comparable]
        slope, offset = fit_platt(seen[:, np.newaxis], alike[comparable][:, np.newaxis])[0]
        if slope > 0:
            self.slope_, self.offset_ = float(slope), float(offset)
        return self

    def log_probabilities(self, similarities: Floats) -> NDArray[np.float32]:
        """Log-probabilities that pictures of these similarities are alike."""
        return np.asarray(log_expit(self.slope_ * similarities + self.offset_), dtype=np.float32)
