"""Packages show their names without importing what is heavy; estimators declare what their parameters may be."""

import inspect
import subprocess
import sys
from dataclasses import KW_ONLY
from importlib import import_module
from numbers import Integral, Real
from pkgutil import walk_packages
from typing import Annotated, Any, ClassVar

import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from visterm.contracts.estimator import FROM_1, NOT_NEGATIVE, Estimator, declared
from visterm.errors import InputError
from visterm.neighbours import CodeAnnotator, KnnAnnotator, TagProp, TwoPassKnn
from visterm.subspace import CCA, PCA, ContextualDistance, KernelMap

PACKAGES = (
    "calibration",
    "contracts",
    "distances",
    "graph",
    "margin",
    "neighbours",
    "ranking",
    "subspace",
    "topics",
)


def estimators(package):
    for info in walk_packages(import_module(f"visterm.{package}").__path__, f"visterm.{package}."):
        module = import_module(info.name)
        for cls in vars(module).values():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, Estimator) and not cls.__name__.startswith("_"):
                yield cls


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package):
    module = import_module(f"visterm.{package}")
    for name in module.__all__:
        assert not inspect.ismodule(getattr(module, name)), name
    assert {cls.__name__ for cls in estimators(package)} <= set(module.__all__)


def test_packages_cost_nothing_until_a_name_is_used():
    names = ", ".join(f"visterm.{package}" for package in PACKAGES)
    code = f"import sys, {names}; print([m for m in ('scipy', 'sklearn', 'numba', 'numpy') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_parameter_is_declared(package):
    for cls in estimators(package):
        assert set(cls._get_param_names()) == set(cls._parameter_constraints), cls.__name__


@pytest.mark.parametrize(
    ("method", "parameter"),
    [
        (KnnAnnotator(shrinkage=float("nan")), "shrinkage"),
        (CodeAnnotator(n_dims="many"), "n_dims"),
        (CodeAnnotator(code_bytes=0), "code_bytes"),
        (TagProp(weighting="equal"), "weighting"),
        (TagProp(n_rounds=0), "n_rounds"),
        (TagProp(tag_power=-1), "tag_power"),
        (TwoPassKnn(bandwidth=0), "bandwidth"),
        (PCA(2.0), "n_dims"),
        (CCA(ridge=-0.1), "ridge"),
        (CCA(reduce_to=0), "reduce_to"),
        (ContextualDistance(views=3), "views"),
        (ContextualDistance(beta=1.0), "beta"),
        (KernelMap(n_landmarks=1), "n_landmarks"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_message_names_the_parameter(method, parameter):
    with pytest.raises(InputError, match=f"'{parameter}' parameter of {type(method).__name__}"):
        method.fit([[0.0, 1.0], [1.0, 0.0]], [[1], [1]])


class Narrowing(Estimator):
    """Says what a parameter accepts that the classes below declare."""

    ridge: Annotated[float | None, NOT_NEGATIVE]


@declared
class Declared(Narrowing):
    """Has a parameter of each kind."""

    n_dims: Annotated[Any, FROM_1, StrOptions({"auto"})] = "auto"
    _: KW_ONLY
    ridge: float | None = 0.5
    centred: bool = True
    name: str | None = None
    rate: float = 1
    n_steps: int = 2
    learned_: ClassVar[int] = 3


@declared
class Fixed(Declared):
    """Does not let anybody choose ``n_dims`` or ``rate``."""

    n_dims: ClassVar[int] = 7
    rate: ClassVar[float] = 0.25
    ridge: float | None = None


def test_types_and_bases_say_what_declared_parameters_accept():
    accepted = Declared._parameter_constraints
    assert list(map(str, accepted["n_dims"])) == ["an int in the range [1, inf)", "a str among {'auto'}"]
    assert accepted["ridge"] == [NOT_NEGATIVE, None], "as the base class says"
    assert accepted["centred"] == ["boolean"]
    assert accepted["name"] == [str, None]
    assert (accepted["rate"], accepted["n_steps"]) == ([Real], [Integral])
    for wrong in ({"ridge": -1.0}, {"n_dims": "many"}, {"centred": 3}, {"name": 5}, {"n_steps": 1.5}):
        with pytest.raises(InputError, match=f"'{next(iter(wrong))}' parameter of Declared"):
            Declared(**wrong)._validate_params()


def test_declared_parameters_are_those_of_a_constructor():
    signature = inspect.signature(Declared)
    assert list(signature.parameters) == ["n_dims", "ridge", "centred", "name", "rate", "n_steps"]
    assert [one.kind for one in signature.parameters.values()] == [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [
        inspect.Parameter.KEYWORD_ONLY
    ] * 5
    assert signature.parameters["n_dims"].annotation is Any, "what it accepts is not part of its type"
    assert clone(Declared(3, name="a")).get_params() == Declared(3, name="a").get_params()
    assert Declared().set_params(rate=2.0).rate == 2.0
    assert Declared(3) != Declared(3), "estimators are compared by what they are, not by their parameters"
    assert repr(Declared(3, ridge=1.0)) == "Declared(n_dims=3, ridge=1.0)", "scikit-learn's: only what was chosen"


def test_a_class_can_fix_a_parameter_of_its_base():
    assert sorted(Fixed().get_params()) == ["centred", "n_steps", "name", "ridge"]
    assert set(Fixed._parameter_constraints) == set(Fixed().get_params())
    assert (Fixed().n_dims, Fixed().rate, Fixed().ridge) == (7, 0.25, None)
    assert Fixed._parameter_constraints["ridge"] == [NOT_NEGATIVE, None]
    with pytest.raises(TypeError, match="rate"):
        Fixed(rate=1.0)
