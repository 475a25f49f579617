"""Corrects log-odds that are too sure, because each tag's own sigmoid saw the pictures that it is fitted to.

Each quarter of the held-out pictures is judged by sigmoids fitted to the others. How often these judgements were right
gives one correction for all tags: an offset, and a slope on each stretch of log-odds. A higher score stays higher.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from visterm.calibration.likelihood import fit_own
from visterm.calibration.stretches import stretches

Floats = NDArray[np.floating[Any]]

#: Where the slope of the correction may change.
_KNOTS = np.array([-1.0, 0.0, 1.0, 2.0])
#: Each of so many parts of the pictures is judged by the others.
_N_PARTS = 4
#: Judgements are counted in so many equal bins of log-odds between minus and plus ``SUREST``.
_N_BINS, SUREST = 360, 9.0
#: The offset and the slopes stay near 0 and 1 as if by a Gaussian prior of this precision.
_PRIOR = 5.0
_LEAST_SLOPE = 0.05


def count(shared: Floats, present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(2, n_bins) the pairs of a picture and a tag, and the tags that are present, by the log-odds others taught.

    ``shared`` are the log-odds by what all tags share.
    """
    counts = np.zeros((2, _N_BINS))
    for part in range(_N_PARTS):
        judged = np.arange(len(shared)) % _N_PARTS == part
        own = fit_own(shared[~judged], present[~judged])
        odds = own[0] * shared[judged] + own[1]
        places = np.clip((odds + SUREST) * _N_BINS / (2 * SUREST), 0, _N_BINS - 1).astype(np.intp).ravel()
        counts[0] += np.bincount(places, minlength=_N_BINS)
        counts[1] += np.bincount(places, present[judged].ravel(), _N_BINS)
    return counts


def fit(counts: Floats) -> NDArray[np.float64]:
    """The offset and the slopes that make the counted judgements most likely."""
    from scipy.optimize import minimize

    middle = (np.arange(_N_BINS) + 0.5) * 2 * SUREST / _N_BINS - SUREST
    terms, (n_pairs, n_right) = _terms(middle), counts
    usual = np.append(0.0, np.ones(len(terms) - 1))

    def surprise(at: Floats) -> tuple[float, Floats]:
        odds = at @ terms
        value = (n_pairs * np.logaddexp(0, odds) - n_right * odds).sum() + _PRIOR * ((at - usual) ** 2).sum() / 2
        return float(value), terms @ (n_pairs * expit(odds) - n_right) + _PRIOR * (at - usual)

    bounds = [(None, None), *[(_LEAST_SLOPE, None)] * (len(terms) - 1)]
    return np.asarray(minimize(surprise, usual, jac=True, method="L-BFGS-B", bounds=bounds).x)


def corrected(log_odds: Floats, correction: Floats) -> Floats:
    """The log-odds after a correction.

    >>> corrected(np.array([-3.0, 0.5, 4.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0, 0.5]))
    array([-3. ,  0.5,  3. ])
    """
    return np.asarray(np.tensordot(correction, _terms(log_odds), 1), log_odds.dtype)


def _terms(log_odds: Floats) -> Floats:
    """What the correction multiplies: 1, and the part of the log-odds on each stretch; these parts add up to them."""
    return np.stack([np.ones_like(log_odds), *stretches(log_odds, _KNOTS)])
