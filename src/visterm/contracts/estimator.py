"""The common ancestor of all methods."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

from visterm.errors import InputError


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose pictures may be dense rows or sparse bags.

    A method declares the values each parameter accepts, as scikit-learn does. Its ``fit`` begins with
    ``self._validate_params()``.
    """

    #: Parameter name to the values it accepts: types, ``Interval``, ``StrOptions``, None, ...
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def _validate_params(self) -> None:
        """Check the parameters against the class's declaration; the message names the parameter and its range."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InputError(str(error)) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
