"""Neighbours that vote for their tags: tallies, likelihoods, and weights of base distances that raise them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress

Floats = NDArray[np.float64]


def fading(base: NDArray[Any], weights: Floats) -> Floats:
    """``exp(-weights . base)``, normalised over each picture's neighbours."""
    fall = base @ weights.astype(base.dtype)
    shares = np.exp(fall.min(axis=1, initial=np.inf, keepdims=True) - fall, dtype=np.float64)
    return shares / shares.sum(axis=1, keepdims=True)


class Votes:
    """Neighbours and their tags, ready for many evaluations of the likelihood."""

    def __init__(self, neighbours: NDArray[np.intp], tags: Any, *, of_training: bool = True) -> None:
        self.neighbours = neighbours
        self.ends, self.tags, self.n_tags = tags.indptr, tags.indices, tags.shape[1]
        if of_training:
            self.present = tags.toarray() > 0
            n_present = max(1, tags.nnz)
            self.gain, self.loss = 1 / n_present, 1 / max(1, self.present.size - n_present)

    def tally(self, shares: Floats) -> Floats:
        """The weight of the neighbours that carry each tag, (n_pictures, n_tags)."""
        from visterm.neighbours import _kernels

        votes = np.empty((len(shares), self.n_tags))
        _kernels.propagate(shares, self.neighbours, self.ends, self.tags, votes)
        return votes

    def likelihood(
        self, shares: Floats, slope: Floats, offset: Floats, *, expected: bool = False
    ) -> tuple[float, Floats]:
        """The weighted log-likelihood and its slope in every neighbour's share.

        ``expected``: for shares that sum to one, the slope that makes ``shares * slope`` the E step of EM, in which a
        neighbour without a tag explains its absence.
        """
        from visterm.neighbours import _kernels

        votes = self.tally(shares)
        slopes_of_votes = np.empty_like(votes)
        value = _kernels.log_likelihood(votes, self.present, self.gain, self.loss, slope, offset, slopes_of_votes)
        slopes = np.empty_like(shares)
        _kernels.gather(slopes_of_votes, self.neighbours, self.ends, self.tags, slopes)
        if expected:
            slopes -= np.where(self.present, 0, slopes_of_votes).sum(axis=1, keepdims=True)
        return float(value), slopes


def likeliest_weights(
    votes: Votes,
    base: NDArray[Any],
    start: Floats,
    slope: Floats,
    offset: Floats,
    *,
    max_iter: int,
    bar: progress.Bar,
) -> tuple[Floats, list[float]]:
    """The weights of the base distances (n_pictures, n_neighbors, n_features) under which tags are likeliest.

    Neighbours vote with ``exp(-weights . base)``. The exact gradient by projected quasi-Newton steps: no weight
    becomes negative. Returns the weights and the log-likelihood after every step.
    """
    from scipy.optimize import minimize

    trace: list[float] = []

    def cost(weights: Floats) -> tuple[float, Floats]:
        shares = fading(base, weights)
        value, slopes = votes.likelihood(shares, slope, offset)
        pull = shares * (slopes - (shares * slopes).sum(axis=1, keepdims=True))
        return -value, np.einsum("ik,ikf->f", pull, base, optimize=True)

    def note(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun))
        bar.report(objective=trace[-1])
        bar.advance()

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        callback=note,
        options={"maxiter": max_iter},
    )
    return found.x, trace
