"""The common ancestor of all methods."""

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, InvalidParameterError

from visterm.errors import InputError

#: What many parameters accept: numbers within a range, and whole numbers from 0, 1 or 2.
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FROM_0, FROM_1, FROM_2 = (Interval(Integral, least, None, closed="left") for least in (0, 1, 2))


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose pictures may be dense rows or sparse bags.

    A method declares the values each parameter accepts, as scikit-learn does. Its ``fit`` begins with
    ``self._validate_params()``. It also declares what its ``fit`` leaves, so that a damaged model is refused.
    """

    #: Parameter name to the values it accepts: types, ``Interval``, ``StrOptions``, None, ...
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    #: Fitted attribute to its kind, shape and range, as :mod:`visterm.models.fitted` reads it; bases add theirs.
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_features_in_": "n_features=int >0",
        "feature_widths_": "mapping",
    }

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
