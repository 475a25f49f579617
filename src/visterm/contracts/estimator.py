"""The common ancestor of all methods."""

from dataclasses import dataclass, fields
from inspect import get_annotations
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform, get_args, get_origin

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils._param_validation import Options as Options
from sklearn.utils._param_validation import StrOptions as StrOptions

from visterm.errors import InputError

#: What many parameters accept: numbers within a range, and whole numbers from 0, 1 or 2.
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
FROM_0, FROM_1, FROM_2 = (Interval(Integral, least, None, closed="left") for least in (0, 1, 2))
#: Shares: from 0 to less than 1; more than 0, up to 1; and between the two.
SHARE, FRACTION, INSIDE = (Interval(Real, 0, 1, closed=end) for end in ("left", "right", "neither"))
#: What a parameter of a type accepts if it is not narrowed.
_OF_TYPE: dict[Any, Any] = {bool: "boolean", int: Integral, float: Real}

E = TypeVar("E", bound="type[Estimator]")


class Estimator(BaseEstimator):
    """A scikit-learn estimator whose pictures may be dense rows or sparse bags.

    A method declares its parameters by :func:`declared`. Its ``fit`` begins with ``self._validate_params()``. It also
    declares what its ``fit`` leaves, so that a damaged model is refused.
    """

    #: Parameter name to the values it accepts, as scikit-learn reads it.
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


@dataclass_transform(eq_default=False)
def declared(cls: E) -> E:
    """Make the annotated names of a class the parameters of its constructor, and check their values in ``fit``.

    The type says what a parameter accepts, or ``Annotated`` does: types, ``Interval``, ``StrOptions`` and the other
    constraints of scikit-learn. A parameter that is annotated again accepts what it did in the base class, unless it is
    narrowed again, too. One that becomes a ``ClassVar`` is fixed. Those after ``_: KW_ONLY`` are passed by name.

    >>> @declared
    ... class Damped(Estimator):
    ...     ridge: Annotated[float | None, NOT_NEGATIVE] = 0.1
    ...     centred: bool = True
    >>> Damped(0.5)
    Damped(ridge=0.5)
    >>> Damped(-1.0)._validate_params()
    Traceback (most recent call last):
      ...
    visterm.errors.InputError: The 'ridge' parameter of Damped must be ...
    """
    dataclass(eq=False, repr=False)(cls)
    cls._parameter_constraints = {parameter.name: _accepted(cls, parameter.name) for parameter in fields(cls)}
    constructor = vars(cls)["__init__"]
    constructor.__annotations__ = {name: _type_of(given) for name, given in constructor.__annotations__.items()}
    return cls


def _accepted(cls: type, parameter: str) -> list[Any]:
    given = [one for base in cls.__mro__ if (one := get_annotations(base).get(parameter)) is not None]
    narrowed = next((one for one in given if get_origin(one) is Annotated), None)
    of_type = _type_of(given[0] if narrowed is None else narrowed)
    types = get_args(of_type) if isinstance(of_type, UnionType) else (of_type,)
    if narrowed is None:
        accepted = [_OF_TYPE.get(one, one) for one in types if one is not NoneType]
    else:
        accepted = list(narrowed.__metadata__)
    return [*accepted, *([None] if NoneType in types else [])]


def _type_of(given: Any) -> Any:
    return get_args(given)[0] if get_origin(given) is Annotated else given
