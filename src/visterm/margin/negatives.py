"""Known negatives: tags that a person denied at pictures that nobody tagged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import check_denied, rows_with_tags
from visterm.margin.inner_products import InnerProducts
from visterm.margin.kernel_ridge import Ridge

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """The pictures to learn from: the tagged ones, and those that nobody tagged but a person denied a tag of.

    ``rows`` are both, in ascending order; ``tagged`` are the places of the tagged ones among them, ``tags`` their tags.
    ``denied`` (n_tags columns) has the places of a tag's known negatives. A tagged picture has none, since every tag
    that it lacks counts as absent anyway.
    """

    rows: Array
    tagged: Array
    tags: sparse.csr_array
    denied: sparse.csc_array

    @classmethod
    def of(cls, tags: sparse.csr_array, denied: Any = None) -> Lessons:
        """What checked ``tags`` and ``denied`` (both (n_pictures, n_tags)) teach; an error if no picture is tagged."""
        tagged = rows_with_tags(tags)
        if denied is None:
            nothing = sparse.csc_array((len(tagged), tags.shape[1]), dtype=np.float32)
            return cls(tagged, np.arange(len(tagged)), tags[tagged], nothing)
        checked = check_denied(denied, tags)
        rows = np.union1d(tagged, np.flatnonzero(np.diff(checked.indptr)))
        places = np.searchsorted(rows, tagged)
        untagged = np.ones((len(rows), 1), np.float32)
        untagged[places] = 0
        known = sparse.csc_array(checked[rows].multiply(untagged))
        known.eliminate_zeros()
        return cls(rows, places, tags[tagged], known)

    @property
    def labels(self) -> Array:
        """(n_tags, len(rows)) 1 where a tag is present, -1 elsewhere."""
        labels = np.full((self.tags.shape[1], len(self.rows)), -1, np.int8)
        places, columns = self.tags.nonzero()
        labels[columns, self.tagged[places]] = 1
        return labels


class LessonRidge:
    """Ridge regressions of tags; a tag also learns that its indicator is 0 at its known negatives.

    With ``Q = (G + alpha I)^-1`` of the tagged pictures, a tag with the known negatives D has a system bordered by
    their rows. With ``W = Q G_.D`` and the Schur complement ``S = G_DD + alpha I - G_D. W``, its coefficients for the
    indicator t are

        theta_D = -S^-1 W' t,     theta = Q t - W theta_D,

    and the diagonal of Q, by which pictures are left out, grows by that of ``W S^-1 W'``. ``products`` makes the inner
    products of the lessons' rows.
    """

    def __init__(self, lessons: Lessons, products: Callable[[], InnerProducts], alpha: float) -> None:
        self._lessons, self._alpha = lessons, alpha
        self._products = products() if len(lessons.rows) > len(lessons.tagged) else None
        known = Ridge(alpha)
        self._known = known.fit(products() if self._products is None else self._products.subset(lessons.tagged))

    @property
    def own_weights(self) -> Array:
        """For each of the rows ``1 / Q_ii - alpha``; 0 for pictures without tags. See :class:`LeavesOut`."""
        weights = np.zeros(len(self._lessons.rows))
        weights[self._lessons.tagged] = 1 / self._known.diagonal - self._alpha
        return weights

    def of_tags(self) -> Iterator[tuple[slice, Array, Array]]:
        """Some tags after the other: columns, coefficients over the rows, leave-one-out scores of tagged pictures."""
        of, by_tag = self._lessons, sparse.csc_array(self._lessons.tags)
        for columns, theta, left_out in self._known.blocks(of.tags):
            wide = self._widened(theta)
            for place, tag in enumerate(range(columns.start, columns.stop)):
                own = of.denied.indices[of.denied.indptr[tag] : of.denied.indptr[tag + 1]]
                if self._products is not None and len(own):
                    t = by_tag[:, [tag]].toarray()[:, 0].astype(np.float64)
                    left_out[:, place] = self._border(self._products, wide[:, place], t, own)
            yield columns, wide, left_out

    def of_others(self, targets: sparse.csr_array) -> Iterator[tuple[slice, Array]]:
        """Further targets of the tagged pictures, without known negatives: columns, coefficients over the rows."""
        for columns, theta, _ in self._known.blocks(targets):
            yield columns, self._widened(theta)

    def _widened(self, theta: Array) -> Array:
        if self._products is None:
            return theta
        wide = np.zeros((len(self._lessons.rows), theta.shape[1]))
        wide[self._lessons.tagged] = theta
        return wide

    def _border(self, products: InnerProducts, theta: Array, t: Array, own: Array) -> Array:
        """Correct the coefficients of one tag by its known negatives; returns its leave-one-out scores."""
        tagged = self._lessons.tagged
        G = products.scores_of(np.eye(len(own), dtype=products.dtype), own).astype(np.float64)
        W = self._known.solve(G[:, tagged].T)[0]
        S = G[:, own] + self._alpha * np.eye(len(own)) - G[:, tagged] @ W
        theta[own] = -np.linalg.solve(S, W.T @ t)
        theta[tagged] -= W @ theta[own]
        diagonal = self._known.diagonal + np.einsum("ij,ji->i", W, np.linalg.solve(S, W.T))
        return np.asarray(t - theta[tagged] / diagonal)
