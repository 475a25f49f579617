"""Tags by kernel ridge regression, with exact leave-one-out scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from visterm.calibration import fit_platt, sigmoid, tag_scales
from visterm.contracts import Features, Scores, check_tags, n_pictures
from visterm.errors import InputError
from visterm.margin.expansion import ExpansionEstimator, TrainingPictures
from visterm.margin.one_vs_all import check_positive
from visterm.margin.solver import FeaturePictures, GramPictures

Array = NDArray[Any]


class KernelRidgeAnnotator(ExpansionEstimator):
    """One ridge regression a tag, solved in closed form for all tags at once.

    Minimises ``sum_i (t_i - f(x_i))^2 + alpha ||f||^2`` for the 0/1 indicator t of each tag. What each picture would
    have scored had it been left out of training is known exactly from the same factorisation, without a second fit.
    By these scores each tag is brought to one scale with the others (``tag_power=0`` leaves scores as they are; see
    :func:`visterm.calibration.tag_scales`), so that frequent and rare tags can be compared, and calibrated.

    - ``kernel``: ``linear``, ``hellinger``, ``chi2``, ``exp-chi2[:GAMMA]``, ``precomputed``; for several features
      ``product[:SCALE]`` or ``weighted-product[:SCALE]``; ``auto`` is ``exp-chi2`` for one and the latter for several.
    - ``intercept_scaling``: the constant feature that carries the intercept; 0 for none.

    Rows without tags are left out.

    >>> X, tags = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> KernelRidgeAnnotator().fit(X, tags).score_tags([[1.0, 0.0]]).round(1)
    array([[ 1.3, -1.2]])
    """

    scores_are_probabilities = False
    _kernel_of_one_feature = "exp-chi2"

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        kernel: str = "auto",
        tag_power: float = 1.0,
        intercept_scaling: float = 1.0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.tag_power = tag_power
        self.intercept_scaling = intercept_scaling

    def fit(self, X: Features, tags: Any) -> Self:
        """Solve for the tagged pictures and score each as if it had been left out."""
        X = self._check_fit_features(X)
        tags = check_tags(tags, n_pictures(X))
        check_positive(alpha=self.alpha)
        rows = np.flatnonzero(np.diff(tags.indptr))
        if not len(rows):
            raise InputError("no picture has a tag: at least one is needed to learn from")
        present = tags[rows].toarray()
        theta, left_out = ridge(self._training_pictures(X, rows, 2 * present.T - 1), present, self.alpha)
        self._keep(X, rows, np.ascontiguousarray(theta.T))
        self.tag_means_, self.tag_scales_ = tag_scales(left_out, present, self.tag_power)
        self.tag_platt_ = fit_platt(left_out, present)
        return self

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), each tag on the scale of its scores at left-out training pictures."""
        return (self._task_scores(X) - self.tag_means_) / self.tag_scales_

    def tag_probabilities(self, X: Features) -> Scores:
        """(n_pictures, n_tags) probabilities, by Platt's sigmoid on the left-out scores."""
        return sigmoid(self._task_scores(X), *self.tag_platt_.T)


def ridge(pictures: TrainingPictures, targets: Array, alpha: float) -> tuple[Array, Array]:
    """Coefficients (n_pictures, n_targets) over the pictures, and the exact leave-one-out scores of the pictures.

    With the inverse ``Q = (G + alpha I)^-1`` the coefficients are ``Q t`` and the score of picture i without itself is
    ``t_i - (Q t)_i / Q_ii``.

    >>> theta, left_out = ridge(GramPictures(np.eye(2)), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> theta.ravel(), left_out.ravel()
    (array([0.5, 0. ]), array([0., 0.]))
    """
    targets = np.asarray(targets, dtype=np.float64)
    if isinstance(pictures, GramPictures):
        system = pictures.G.astype(np.float64)
        system += pictures.shift
        system[np.diag_indices_from(system)] += alpha
        inverse = _inverse(system)
        theta, diagonal = inverse @ targets, np.diag(inverse)
    else:
        theta, diagonal = _ridge_of_features(pictures, targets, alpha)
    return theta, targets - theta / diagonal[:, None]


def _ridge_of_features(pictures: FeaturePictures, targets: Array, alpha: float) -> tuple[Array, Array]:
    """``Q targets`` and the diagonal of ``Q``, by ``Q = (I - X (X^T X + alpha I)^-1 X^T) / alpha``."""
    constant = np.full((pictures.n_pictures, 1), np.sqrt(pictures.shift))
    X = np.hstack([pictures.X.astype(np.float64), constant])
    system = X.T @ X
    system[np.diag_indices_from(system)] += alpha
    smoother = X @ _inverse(system)
    theta = (targets - smoother @ (X.T @ targets)) / alpha
    return theta, (1.0 - np.einsum("ij,ij->i", smoother, X)) / alpha


def _inverse(system: Array) -> Array:
    """The inverse of a symmetric positive definite matrix, in its place."""
    try:
        # LAPACK counts columns first: the transpose, which is the same matrix, lies in memory as it wants it.
        factor, _ = linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise InputError("the kernel is not positive definite: raise alpha, or check the precomputed kernel") from error
    inverse, failed = linalg.lapack.dpotri(factor, lower=True, overwrite_c=True)
    if failed:
        raise InputError("the kernel is too close to singular: raise alpha")
    _mirror(inverse)
    return inverse


def _mirror(matrix: Array) -> None:
    """Write the lower triangle over the upper one, a block of columns at a time."""
    n, size = len(matrix), 256
    for start in range(0, n, size):
        stop = min(start + size, n)
        own = matrix[start:stop, start:stop]
        own[:] = np.tril(own) + np.tril(own, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
