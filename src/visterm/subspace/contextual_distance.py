"""Canonical contextual distance: codes whose Euclidean distance measures how two pictures differ in meaning."""

from dataclasses import KW_ONLY
from numbers import Integral
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import INSIDE, Features, Options, check_feature_mapping, check_tags, declared, n_pictures
from visterm.subspace.cca import CCA
from visterm.subspace.linear.moments import Moments

#: The largest correlation. A correlation of one would leave no uncertainty and make distances infinite.
_MOST_CORRELATED = 1 - 1e-6


@declared
class ContextualDistance(CCA):
    """Probabilistic CCA: a picture is a Gaussian over latent meanings, and distances compare the Gaussians.

    With correlations ``Lambda``, ``M_x = Lambda^beta`` and ``M_y = Lambda^{1 - beta}``, the features alone give the
    meaning ``z`` of a picture

        E(z|x) = M_x U_x^T (x - x_mean),   Phi_x = I - M_x^2                              (6), (7)

    If its tags are known too, equations (8) and (9) give ``E(z|x,y)`` and ``Phi_xy``. ``views=1`` (CCD1) codes every
    picture as ``Phi_x^{-1/2} E(z|x)``; ``views=2`` (CCD2) codes queries as ``Phi_xy^{-1/2} E(z|x)`` and tagged training
    pictures, by :meth:`transform_training`, as ``Phi_xy^{-1/2} E(z|x,y)``. Squared distances of codes are
    Kullback-Leibler divergences (10), (11) up to their constants. ``ridge`` and ``reduce_to`` are those of
    :class:`CCA`.

    Nakayama, Harada, Kuniyoshi: Evaluation of dimensionality reduction methods for image auto-annotation, BMVC 2010.

    >>> rng = np.random.default_rng(0)
    >>> tags = rng.integers(0, 2, (100, 3))
    >>> X = tags @ rng.standard_normal((3, 8)) + rng.standard_normal((100, 8))
    >>> codes = ContextualDistance(2).fit(X, tags)
    >>> codes.transform(X[:5]).shape, codes.transform_training(X[:5], tags[:5]).shape
    ((5, 2), (5, 2))
    """

    _: KW_ONLY
    views: Annotated[int, Options(Integral, {1, 2})] = 2
    beta: Annotated[float, INSIDE] = 0.5
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "uncertainty_x_": "n_code",
        "uncertainty_xy_": "n_code",
        "training_components_": "n_features n_code",
        "training_tag_components_": "n_tags n_code",
    }

    def transform_training(self, X: Features, tags: Any) -> NDArray[Any]:
        """The codes of pictures whose tags are known. Rows without tags get the codes of queries."""
        features = check_feature_mapping(self, X, fitting=False)
        tags = check_tags(tags, n_pictures(features), n_tags=len(self.y_mean_))
        codes = self._projected(features, self.components_)
        if self.views == 1:
            return codes
        tagged = np.flatnonzero(np.diff(tags.indptr))
        seen = self._projected(features, self.training_components_, tagged)
        codes[tagged] = seen + self._from_tags(tags[tagged]).astype(codes.dtype)
        return codes

    def fit_transform(self, X: Features, tags: Any = None) -> NDArray[Any]:
        """Fit, then return the codes of the same pictures, which also use their tags."""
        return self.fit(X, tags).transform_training(X, tags)

    def _solve(self, moments: Moments) -> None:
        super()._solve(moments)
        correlation = np.minimum(self.correlations_, _MOST_CORRELATED)
        M_x, M_y = correlation**self.beta, correlation ** (1 - self.beta)
        apart = 1 / (1 - correlation**2)  # (I - Lambda^2)^{-1}
        x_weight, y_weight = apart * (M_x - correlation * M_y), apart * (M_y - correlation * M_x)
        self.uncertainty_x_ = 1 - M_x**2  # Phi_x
        self.uncertainty_xy_ = 1 - x_weight * M_x - y_weight * M_y  # Phi_xy
        scale = 1 / np.sqrt(self.uncertainty_x_ if self.views == 1 else self.uncertainty_xy_)
        self.components_ = self.x_components_ * (M_x * scale)
        self.training_components_ = self.x_components_ * (x_weight * scale)
        self.training_tag_components_ = self.tag_components_ * (y_weight * scale)

    def _undo(self, scales: NDArray[np.float64]) -> None:
        super()._undo(scales)
        self.training_components_ = self.training_components_ * scales[:, None]

    def _from_tags(self, tags: sparse.csr_array) -> NDArray[Any]:
        return tags @ self.training_tag_components_ - self.y_mean_ @ self.training_tag_components_
