"""Packages show their names without importing what is heavy; estimators declare what their parameters may be."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages

import pytest

from visterm.contracts import Estimator
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
