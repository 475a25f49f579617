"""Choosing a classifier's parameters by cross-validation; all folds and settings share one Gram matrix.

:func:`choose_parameters` tries any settings of a classifier. :func:`choose_c` finds the C of one-vs-all functions.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from visterm.calibration import fit_temperature, surprise
from visterm.compute import progress
from visterm.contracts import UNKNOWN_CLASS, Features, check_classes, n_pictures
from visterm.errors import InputError
from visterm.margin.functions.expansion import folds, generator
from visterm.margin.functions.one_vs_all import both_sides, class_labels, cross_scores, known_rows
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.inner_products import InnerProducts
from visterm.margin.solver.losses import Loss
from visterm.margin.solver.tasks import Problem

Array = NDArray[Any]

#: The values of C that :func:`choose_c` may try, for pictures whose inner product with themselves is 1, and the first.
#: A smaller C can have little surprise only because it always answers with a class of thousands of pictures.
C_PATH, FIRST_C = (1.0, 3.0, 10.0, 30.0), 10.0
#: The number of folds, and the number for more pictures than this: the folds differ less then, and cost more.
N_FOLDS, MANY_PICTURES, N_FOLDS_OF_MANY = 5, 500, 3
#: The temperature is found with this many more pictures, whose class could be any.
PRIOR_PICTURES = 1.0
#: Functions learned from all pictures are longer than those of the folds. They are right more often too, but by less:
#: the temperature rises with this power of the growth (chosen among 0, 0.5, ..., 2 on training pictures).
GROWTH_POWER = 0.5
#: The duality gap of functions that are only compared.
PATH_TOL = 1e-2


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


@dataclass(frozen=True, slots=True, eq=False)
class ChosenC:
    """The best kernel and C, the temperature, ``(kernel, C, surprise)`` of all tried, and near dual variables ``b``."""

    kernel: str
    C: float
    temperature: float
    tried: tuple[tuple[str, float, float], ...]
    b: Array

    @property
    def surprise(self) -> float:
        """That of the last one tried."""
        return self.tried[-1][2]


def choose_c(
    candidates: Mapping[str, InnerProducts],
    labels: Array,
    codes: Array,
    weights: Array,
    loss: Loss,
    *,
    rng: np.random.Generator,
) -> ChosenC:
    """The C whose held-out probabilities are least surprised by the classes, and the kernel if there are several.

    ``candidates`` are the inner products by each kernel, ``labels`` (n_tasks, n_pictures) and ``codes`` those of
    :func:`class_labels`, ``weights`` the weight of each picture. C is relative to the mean inner product of a picture
    with itself, so the scale of the features does not matter. Kernels are compared at C = 10. From there the search
    goes on in the direction in which the surprise falls. All attempts share the folds. Each C starts from the solution
    of its neighbour, each fold from that of all pictures.

    The temperature is that of the held-out scores, raised by the growth of the functions.

    Surprise (the mean negative log probability, at the best temperature) separates values of C on a few pictures, where
    many have the same accuracy. A class of a single picture cannot be learned without it, so that picture is not asked.
    """
    parts = folds(codes, N_FOLDS if len(codes) <= MANY_PICTURES else N_FOLDS_OF_MANY, rng)
    asked = np.where(np.bincount(codes)[codes] > 1, codes, UNKNOWN_CLASS)

    def attempt(kernel: str, place: int, start: Array | None = None) -> ChosenC:
        single = candidates[kernel].astype(np.float32)
        C = float(f"{C_PATH[place] / single.mean_square():.3g}")  # a number that people can write
        every = np.broadcast_to(C * weights, labels.shape)
        of_all = solve(Problem(single, labels, every, loss), tol=PATH_TOL, rng=rng, start=start)

        squares: list[float] = []

        def learn(inner: InnerProducts, rest: Array) -> Array:
            problem = Problem(inner, labels[:, rest], every[:, rest], loss)
            without = solve(problem, tol=PATH_TOL, rng=rng, start=of_all.b[:, rest])
            squares.append(without.squared_length)
            return without.theta

        scores = both_sides(cross_scores(single, parts, len(labels), learn).T)
        temperature = fit_temperature(scores, asked, prior=PRIOR_PICTURES)
        tried.append((kernel, C, surprise(scores, asked, temperature)))
        bar.advance()
        growth = math.sqrt(of_all.squared_length / np.mean(squares)) if min(squares) > 0 else 1.0
        return ChosenC(kernel, C, temperature * growth**GROWTH_POWER, tuple(tried), of_all.b)

    tried: list[tuple[str, float, float]] = []
    with progress.task("Choosing C") as bar:
        place = C_PATH.index(FIRST_C)
        best = min((attempt(kernel, place) for kernel in candidates), key=lambda found: found.surprise)
        for step in (-1, 1):
            at = place + step
            while 0 <= at < len(C_PATH):
                following = attempt(best.kernel, at, best.b)
                if following.surprise >= best.surprise:
                    break
                best, at = following, at + step
            if at != place + step:
                break  # the surprise fell in this direction, so it rises in the other
    return replace(best, tried=tuple(tried))
