"""Is the difference real: Wilcoxon signed rank, letters for a table of systems.

All compare values paired by query or picture. A pair that is undefined (NaN) on both sides, such as a query without a
relevant picture, is left out. A pair undefined on one side only is an error, since the pairs would not match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_letters

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from visterm.errors import InputError
from visterm.measures.inputs import Floats

#: Up to this many non-zero differences the null distribution is computed exactly.
EXACT_UP_TO = 50


@dataclass(frozen=True, slots=True)
class SignedRank:
    """The outcome of a Wilcoxon signed rank test: ``positive`` and ``negative`` rank sums, two-sided ``p_value``."""

    positive: float
    negative: float
    n_pairs: int
    p_value: float


def wilcoxon(a: ArrayLike, b: ArrayLike) -> SignedRank:
    """Test whether the differences ``a - b`` are symmetric around zero, two-sided.

    Pairs without a difference are dropped (Wilcoxon's own rule; p = 1 if none is left), tied differences share their
    mean rank. The p-value is exact for up to :data:`EXACT_UP_TO` remaining pairs, ties included; beyond, it is the
    normal approximation with tie correction and without continuity correction.

    >>> wilcoxon([0.9, 0.8, 0.7, 0.6], [0.1, 0.2, 0.3, 0.6])  # 3 of 3 differences positive: 2 / 2^3
    SignedRank(positive=6.0, negative=0.0, n_pairs=3, p_value=0.25)
    """
    first, second = _pairs(a, b)
    difference = first - second
    difference = difference[difference != 0]
    ranks = stats.rankdata(np.abs(difference))
    positive, negative = (float(ranks[side].sum()) for side in (difference > 0, difference < 0))
    if len(difference) <= EXACT_UP_TO:
        # SciPy's exact distribution does not support ties.
        p_value = _exact_p(np.round(2 * ranks).astype(np.int64), round(2 * min(positive, negative)))
    else:
        p_value = float(stats.wilcoxon(difference, correction=False, method="asymptotic").pvalue)
    return SignedRank(positive, negative, len(difference), p_value)


def holm(p_values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The p-values adjusted for multiple tests (Holm, 1979): those below alpha are significant together.

    Alpha is shared out by ``weights``, which must not depend on the data; by default all tests get the same.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    >>> holm([0.01, 0.04, 0.03], weights=[2, 1, 1])
    array([0.02, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    weight = np.ones_like(p) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(p / weight, kind="stable")
    remaining = np.cumsum(weight[order][::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] / weight[order] * remaining), 1.0)
    return adjusted


def letters(
    values: Mapping[str, ArrayLike], alpha: float = 0.05, *, higher_is_better: bool = True, baseline: str | None = None
) -> dict[str, str]:
    """For every system, the letters of those it beats; the systems are a, b, c, ... in the given order.

    One system beats another when the Wilcoxon test over their paired values rejects at level ``alpha``, after Holm's
    correction for all pairs of systems, and both the rank sums and the means are on its side. With many systems most
    pairs are of two systems that both know something. So half of ``alpha`` is kept for the pairs with ``baseline``, if
    it is among them: fewer values are then enough to tell what is better than guessing.

    >>> baseline = [0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.1, 0.2]
    >>> letters({"baseline": baseline, "knn": [value + 0.3 for value in baseline], "again": baseline})
    {'baseline': '', 'knn': 'ac', 'again': ''}
    """
    if not 0.0 < alpha < 1.0:
        raise InputError(f"alpha must lie between 0 and 1, not {alpha}")
    if len(values) > len(ascii_letters):
        raise InputError(f"at most {len(ascii_letters)} systems can be compared, not {len(values)}")
    letter = dict(zip(values, ascii_letters, strict=False))
    pairs = list(combinations(values, 2))
    tests = [wilcoxon(values[one], values[other]) for one, other in pairs]
    beaten: dict[str, list[str]] = {name: [] for name in values}
    adjusted = holm([test.p_value for test in tests], _weights(pairs, baseline))
    for (one, other), test, p_value in zip(pairs, tests, adjusted, strict=True):
        mean = float(np.subtract(*_pairs(values[one], values[other])).mean()) if p_value < alpha else 0.0
        for winner, loser, sign in ((one, other, 1.0), (other, one, -1.0)):
            better = sign if higher_is_better else -sign
            if better * mean > 0 and better * (test.positive - test.negative) > 0:
                beaten[winner].append(letter[loser])
    return {name: "".join(sorted(of, key=ascii_letters.index)) for name, of in beaten.items()}


def _weights(pairs: Sequence[tuple[str, str]], baseline: str | None) -> Floats:
    """The share of alpha for each pair: half for those with the baseline together, never less than for the others."""
    with_baseline = np.array([baseline in pair for pair in pairs], dtype=np.bool_)
    n_first, n_others = int(with_baseline.sum()), int((~with_baseline).sum())
    return np.where(with_baseline, 1.0, min(1.0, n_first / n_others) if n_first and n_others else 1.0)


def _exact_p(twice_ranks: ArrayLike, smaller_sum: int) -> float:
    """Twice the chance of a (doubled) rank sum of at most ``smaller_sum`` when every sign is a fair coin."""
    chance = np.ones(1)
    for rank in np.asarray(twice_ranks).tolist():
        chance = 0.5 * (np.append(chance, np.zeros(rank)) + np.append(np.zeros(rank), chance))
    return min(1.0, 2.0 * float(chance[: smaller_sum + 1].sum()))


def _pairs(a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    """The defined pairs of two lists of values."""
    try:
        first, second = (np.asarray(values, dtype=np.float64) for values in (a, b))
    except (TypeError, ValueError) as error:
        raise InputError(f"paired values must be numbers: {error}") from error
    if first.ndim != 1 or first.shape != second.shape:
        raise InputError(f"paired values must be two lists of the same length, not {first.shape} and {second.shape}")
    if np.isinf(first).any() or np.isinf(second).any():
        raise InputError("paired values must be finite, or NaN if they are not defined")
    undefined = np.isnan(first)
    if (undefined != np.isnan(second)).any():
        where = int(np.flatnonzero(undefined != np.isnan(second))[0])
        raise InputError(f"pair {where} is defined on one side only: compare values of the same queries or pictures")
    return first[~undefined], second[~undefined]
