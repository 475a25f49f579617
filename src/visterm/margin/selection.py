"""Choosing a classifier's parameters by cross-validation; all folds and settings share one Gram matrix."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from visterm.compute import progress
from visterm.contracts import Features, check_classes, n_pictures
from visterm.errors import InputError
from visterm.margin.expansion import folds
from visterm.margin.one_vs_all import class_labels, generator, known_rows

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """The best setting, its accuracy on held-out pictures, and the accuracy of every setting tried."""

    parameters: dict[str, Any]
    accuracy: float
    tried: tuple[tuple[dict[str, Any], float], ...]


def choose_parameters(
    estimator: Any,
    X: Features,
    y: ArrayLike,
    grid: Mapping[str, Sequence[Any]],
    *,
    n_folds: int = 2,
    random_state: Any = 0,
) -> Choice:
    """The setting of ``grid`` with the best accuracy on held-out folds; the first one in case of a tie.

    For the kernel classifiers of this package: :class:`SDCAClassifier`, :class:`StackedSDCA`, :class:`TopKSDCA` and
    :class:`MultitaskSDCA`. The kernel is computed once for all folds and settings; the features of a
    ``weighted-product`` are weighed once, by the classes of all pictures. A classifier with ``warm_start`` goes along
    its path of C (smallest first), from each solution to the next. The paper chooses C by two folds.

    >>> from visterm.margin import SDCAClassifier
    >>> X, y = np.repeat(np.eye(3), 6, axis=0) + 0.1, np.repeat([0, 1, 2], 6)
    >>> choice = choose_parameters(SDCAClassifier(), X, y, {"C": [0.01, 1.0]})
    >>> choice.parameters
    {'C': 0.01}
    >>> model = SDCAClassifier(**choice.parameters).fit(X, y)
    """
    if n_folds < 2:
        raise InputError(f"n_folds must be at least 2, not {n_folds}: each fold is held out of the others")
    settings = _settings(estimator, grid)
    one_for_all = clone(estimator)
    checked = one_for_all._check_fit_features(X)
    classes = check_classes(y, n_pictures(checked))
    rows = known_rows(classes)
    labels = class_labels(classes[rows])[2]
    G = one_for_all._training_gram(checked, rows, labels)
    parts = folds(np.unique(classes[rows], return_inverse=True)[1], n_folds, generator(random_state))
    correct = np.zeros(len(settings))
    with progress.task("Choosing parameters", total=len(parts) * len(settings)) as bar:
        for part in parts:
            rest = np.setdiff1d(np.arange(len(rows)), part)
            training, held_out = np.ascontiguousarray(G[np.ix_(rest, rest)]), G[np.ix_(part, rest)]
            model = clone(estimator).set_params(kernel="precomputed", calibration_folds=0)  # only classes are needed
            if "warm_start" in model.get_params():
                model.set_params(warm_start=True)
            for s, setting in enumerate(settings):
                model.set_params(**setting).fit(training, classes[rows[rest]])
                correct[s] += np.count_nonzero(model.predict(held_out) == classes[rows[part]])
                bar.advance()
    accuracy = correct / len(rows)
    best = int(np.argmax(accuracy))
    return Choice(settings[best], float(accuracy[best]), tuple(zip(settings, accuracy.tolist(), strict=True)))


def _settings(estimator: Any, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations. C varies fastest, smallest first, so that each is a warm start for the next."""
    known = estimator.get_params()
    for name, values in grid.items():
        if name not in known or name == "kernel":
            raise InputError(f"{name!r} cannot be chosen by cross-validation over one kernel matrix: use C, mu or lam")
        if not len(values):
            raise InputError(f"no values of {name!r} to choose from were given")
    names = [name for name in grid if name != "C"] + (["C"] if "C" in grid else [])
    ordered = [sorted(grid[name]) if name == "C" else list(grid[name]) for name in names]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*ordered)]
