"""The one ridge regression: many targets from one factorisation, exact leave-one-out scores, known negatives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from visterm.contracts import check_denied, rows_with_tags
from visterm.errors import InputError
from visterm.margin.solver.inner_products import GramInnerProducts, InnerProducts

Array = NDArray[Any]

#: Coefficients of this many bytes are computed at a time.
_BLOCK_BYTES = 16 * 2**20
#: Eigenvalues below this are zero; and the least ``alpha Q_ii`` of regressions whose alpha is found.
_RANK, _LEAST_OWN = 1e-9, 1e-6
#: Errors that agree to this many digits are equal but for rounding.
_DIGITS = 12
#: This many columns of an inverse are mirrored at a time.
_MIRRORED_COLUMNS = 256


class Bordered(NamedTuple):
    """Coefficients and leave-one-out scores of the pictures, and of the others of which one target is known."""

    theta: Array
    of_others: Array
    left_out: Array
    others_left_out: Array


class Ridge:
    """The factorisation of a ridge regression; it solves any number of targets, some at a time.

    With the inverse ``Q = (G + alpha I)^-1`` the coefficients of a target t are ``theta = Q t`` and the score of
    picture i without itself is ``t_i - theta_i / Q_ii``. ``diagonal`` has the ``Q_ii``. With fewer features than
    pictures, ``G = F F'`` and ``Q = (I - F (F' F + alpha I)^-1 F') / alpha``.

    >>> theta, left_out = Ridge(alpha=1.0).fit(GramInnerProducts(np.eye(2))).solve(np.array([[1.0], [0.0]]))
    >>> theta.ravel(), left_out.ravel()
    (array([0.5, 0. ]), array([0., 0.]))
    """

    diagonal: Array
    #: ``alpha Q_ii`` is at least this, so that a picture that alone decides its score has one without itself.
    _least: float = 0.0

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha

    def fit(self, products: InnerProducts) -> Self:
        """Factorise. A Gram matrix that only the argument refers to is freed before the inverse is computed."""
        if isinstance(products, GramInnerProducts):
            system, shift = products.G.astype(np.float64), products.shift
            del products
            system += shift
            system[np.diag_indices_from(system)] += self.alpha
            self._inverse = _inverse(system).T  # the same matrix, stored by rows, as sparse products need it
            self.diagonal = np.diag(self._inverse).copy()
            return self
        features = products.with_constant()
        system = features.T @ features
        system[np.diag_indices_from(system)] += self.alpha
        return self._smooth(features, features @ _inverse(system))

    @classmethod
    def of_least_error(cls, features: Array, targets: Array, shares: Sequence[float]) -> tuple[Self, Array, Array]:
        """The regression on dense features whose leave-one-out scores err least, its coefficients and these scores.

        The alphas tried are ``shares`` of the mean eigenvalue of ``F' F``, whose eigenvectors serve all of them. Of
        equal errors, as of a single picture, the first counts.
        """
        values, vectors = np.linalg.eigh(features.T @ features)
        values = np.maximum(values, 0.0)
        scale = values.sum() / max(1, np.count_nonzero(values > _RANK))
        rotated = features @ vectors
        projected, squares = rotated.T @ targets, rotated**2
        best: tuple[float, float, Array, Array] | None = None  # only one of the large results is kept
        for alpha in (share * scale for share in shares):
            shrunk = 1.0 / (values + alpha)
            theta = (targets - rotated @ (shrunk[:, None] * projected)) / alpha
            own = np.maximum(1.0 - squares @ shrunk, _LEAST_OWN) / alpha
            left_out = targets - theta / own[:, None]
            error = round(float(((left_out - targets) ** 2).mean()), _DIGITS)
            if best is None or error < best[0]:
                best = error, alpha, theta, left_out
        if best is None:
            raise ValueError("of_least_error needs an alpha to try")
        _, alpha, theta, left_out = best
        found = cls(alpha)
        found._least = _LEAST_OWN
        return found._smooth(rotated, rotated / (values + alpha)), theta, left_out

    def _smooth(self, features: Array, smoother: Array) -> Self:
        """``Q = (I - S F') / alpha`` with the smoother ``S = F (F' F + alpha I)^-1``."""
        self._features, self._smoother = features, smoother
        self.diagonal = (1.0 - np.einsum("ij,ij->i", smoother, features)) / self.alpha
        return self

    def solve(self, targets: Array | sparse.csr_array) -> tuple[Array, Array]:
        """Coefficients (n_pictures, n_targets) over the pictures, and the exact leave-one-out scores of the pictures.

        Sparse targets cost as much as their entries; the results are dense.
        """
        targets = targets.astype(np.float64)
        theta = self._coefficients(targets)
        return theta, self._without(targets, theta, self.diagonal[:, None])

    def border(self, theta: Array, t: Array, across: Array, among: Array, of_others: Array | float = 0.0) -> Bordered:
        """The regression of one target ``t`` with the coefficients ``theta`` that also knows it at other pictures.

        There it is ``of_others``: 0 at known negatives. ``across`` (n_others, n_pictures) and ``among`` (n_others,
        n_others) are the others' inner products. With ``W = Q across'`` and the Schur complement ``S = among + alpha I
        - across W`` the coefficients become

            theta_D = S^-1 (t_D - W' t),     theta = Q t - W theta_D,

        and the diagonal of Q grows by that of ``W S^-1 W'``; that of the others is the diagonal of ``S^-1``.
        """
        W = self._coefficients(across.T)
        S = among + self.alpha * np.eye(len(among)) - across @ W
        theta_of_others = np.linalg.solve(S, of_others - W.T @ t)
        theta = theta - W @ theta_of_others
        diagonal = self.diagonal + np.einsum("ij,ji->i", W, np.linalg.solve(S, W.T))
        others_left_out = of_others - theta_of_others / np.diag(np.linalg.inv(S))
        return Bordered(theta, theta_of_others, self._without(t, theta, diagonal), others_left_out)

    def _coefficients(self, targets: Array | sparse.csr_array) -> Array:
        if hasattr(self, "_inverse"):
            return np.asarray((targets.T @ self._inverse).T)
        theta = -self._smoother @ np.asarray((targets.T @ self._features).T)
        theta += targets
        theta /= self.alpha
        return theta

    def _without(self, targets: Array | sparse.csr_array, theta: Array, diagonal: Array) -> Array:
        """The leave-one-out scores."""
        left_out = theta / -np.maximum(diagonal, self._least / self.alpha)
        left_out += targets
        return left_out

    def blocks(self, targets: sparse.csr_array) -> Iterator[tuple[slice, Array, Array]]:
        """:meth:`solve` for some targets after the other, with their columns; memory stays bounded."""
        by_target, (n_pictures, n_targets) = sparse.csc_array(targets), targets.shape
        size = max(1, _BLOCK_BYTES // (8 * max(1, n_pictures)))
        for start in range(0, n_targets, size):
            columns = slice(start, min(start + size, n_targets))
            yield columns, *self.solve(sparse.csr_array(by_target[:, columns]))


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
    def of(cls, tags: sparse.csr_array, denied: Any = None) -> "Lessons":
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
    """Ridge regressions of tags; a tag also learns that its indicator is 0 at its known negatives (``Ridge.border``).

    ``products`` makes the inner products of the lessons' rows.
    """

    def __init__(self, lessons: Lessons, products: Callable[[], InnerProducts], alpha: float) -> None:
        self._lessons = lessons
        self._products = products() if len(lessons.rows) > len(lessons.tagged) else None
        known = Ridge(alpha)
        self._known = known.fit(products() if self._products is None else self._products.subset(lessons.tagged))

    @property
    def own_weights(self) -> Array:
        """For each of the rows ``1 / Q_ii - alpha``; 0 for pictures without tags. See :class:`LeavesOut`."""
        weights = np.zeros(len(self._lessons.rows))
        weights[self._lessons.tagged] = 1 / self._known.diagonal - self._known.alpha
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
        theta[tagged], theta[own], left_out, _ = self._known.border(theta[tagged], t, G[:, tagged], G[:, own])
        return left_out


def least_squares_machines(ridge: Ridge, tags: sparse.csr_array) -> Iterator[tuple[slice, Array, Array]]:
    """Machines that minimise ``||w||^2 / 2 + C / 2 sum_i (y_i - <w, x_i>)^2`` for labels ``y`` of -1 and 1, per tag.

    ``ridge`` is fitted with ``alpha = 1 / C``. Gives the columns of some tags after the other, their coefficients
    (n_pictures, n_columns) and the scores of each picture by machines that have not seen it (Suykens and Vandewalle,
    Neural Processing Letters 1999).
    """
    # y is 2 t - 1 for the 0/1 indicator t, and everything is linear in the labels.
    of_ones, ones_left_out = ridge.solve(np.ones((tags.shape[0], 1)))
    for columns, theta, left_out in ridge.blocks(tags):
        yield columns, 2 * theta - of_ones, 2 * left_out - ones_left_out


def _inverse(system: Array) -> Array:
    """The inverse of a symmetric positive definite matrix, computed in place."""
    try:
        # LAPACK stores matrices by columns. The transpose, which is the same matrix, is stored like that.
        factor, _ = linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise InputError("the kernel is not positive definite: raise alpha, or check the precomputed kernel") from error
    inverse, failed = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise InputError("the kernel is too close to singular: raise alpha")
    _mirror(inverse)
    return inverse


def _mirror(matrix: Array) -> None:
    """Copy the lower triangle to the upper one, a block of columns at a time."""
    n = len(matrix)
    for start in range(0, n, _MIRRORED_COLUMNS):
        stop = min(start + _MIRRORED_COLUMNS, n)
        own = matrix[start:stop, start:stop]
        own[:] = np.tril(own) + np.tril(own, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
