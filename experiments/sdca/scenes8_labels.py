"""Few labelled pictures per class on network features: sdca as registered beside scikit-learn's linear classifiers.

Every draw takes 10 or 30 pictures of each class to learn from. scenes8 has 32 pictures per class, and all others are
for testing (22 or 2 per class; with 30, there are 8 times as many draws). Of Corel5K (``--collection corel5k``), only
the training pictures are used: 50 classes, the folders of the original CDs, 10, 30 or 60 pictures to learn from and 20
others of each class to test on.

The peers get the features side by side, each with rows of unit length, and choose C by cross-validation. On other draws
this was better than StandardScaler for both. The calibration error compares the probability of the first guess with how
often it is right, in 15 bins of equal width, over the pictures of all draws. Seconds are those of the clock, for one
fit. "Both networks" are their last vectors, "layers" adds what their inner stages know, "colours" is tagging-fast.

Run: python experiments/sdca/scenes8_labels.py --data FOLDER [--collection corel5k]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from visterm import registry
from visterm.research import load_pictures
from visterm.vision import recipe

RECIPES = ("deep", "deep-lite2", "layers", "tagging-fast")
N_BINS = 15
#: For each collection: pictures per class to learn from, test pictures per class, and draws as a multiple.
SIZES = {"scenes8": ((10, None, 1), (30, None, 8)), "corel5k": ((10, 20, 1), (30, 20, 1), (60, 20, 1))}

#: The features of each recipe.
OUTPUTS = {name: tuple(recipe(name).outputs) for name in RECIPES}

Features = dict[str, np.ndarray]


def draw(y: np.ndarray, size: int, n_test: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to test on."""
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
    end = None if n_test is None else size + n_test
    return np.concatenate([rows[:size] for rows in dealt]), np.concatenate([rows[size:end] for rows in dealt])


def logistic_regression() -> Any:
    """Multinomial, with C by 5-fold cross-validation."""
    return make_pipeline(LogisticRegressionCV(Cs=[1, 3, 10, 30, 100, 300], cv=5, max_iter=300))


def linear_svc() -> Any:
    """One-vs-rest, with C by cross-validation."""
    return make_pipeline(GridSearchCV(LinearSVC(), {"C": [0.1, 0.3, 1.0, 3.0, 10.0]}, cv=5))


def methods(names: list[str] | None) -> dict[str, tuple[Callable[[], Any], tuple[str, ...]]]:
    """Each classifier and the recipes that it sees."""
    found: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
        "sdca": (registry.get("sdca").create, RECIPES[:1]),
        "sdca, C 10, hinge": (lambda: registry.get("sdca").create(C=10.0, loss="hinge"), RECIPES[:1]),
        "LogisticRegressionCV": (logistic_regression, RECIPES[:1]),
        "LinearSVC": (linear_svc, RECIPES[:1]),
    }
    variants = {"": {}, ", hinge": {"C": 10.0, "loss": "hinge"}}
    variants[", hinge, equal weights"] = variants[", hinge"] | {"kernel": "product"}
    for what, recipes in {"both networks": RECIPES[:2], "layers": RECIPES[:3], "layers and colours": RECIPES}.items():
        for variant, parameters in variants.items():
            found[f"sdca{variant}, {what}"] = (partial(registry.get("sdca").create, **parameters), recipes)
        found[f"LogisticRegressionCV, {what}"] = (logistic_regression, recipes)
    colours = (*RECIPES[:2], RECIPES[3])
    found["sdca, hinge, both networks and colours"] = (
        partial(registry.get("sdca").create, **variants[", hinge"]),
        colours,
    )
    return {name: method for name, method in found.items() if names is None or name in names}


def given(X: Features, recipes: tuple[str, ...], rows: np.ndarray, *, side_by_side: bool) -> Any:
    """The features of some rows: one matrix, or a mapping where the method can take it."""
    some = {name: X[name][rows] for recipe in recipes for name in OUTPUTS[recipe]}
    if side_by_side:
        return np.hstack([normalize(matrix) for matrix in some.values()])
    return next(iter(some.values())) if len(some) == 1 else some


def calibration_error(probabilities: np.ndarray, right: np.ndarray) -> float:
    """The mean distance between the probability of the first guess and its accuracy, over bins of equal width."""
    first = probabilities.max(axis=1)
    places = np.minimum((first * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(places, weights=first - right, minlength=N_BINS)
    return float(np.abs(gaps).sum() / len(first))


def measure(
    make: Callable[[], Any], recipes: tuple[str, ...], X: Features, y: np.ndarray, size: Any, seeds: range
) -> str:
    """One row of the table, without its name."""
    n_train, n_test, _ = size
    accuracies, seconds, rights, chances, surprises = [], [], [], [], []
    for seed in seeds:
        train, test = draw(y, n_train, n_test, seed)
        model = make()
        side_by_side = isinstance(model, Pipeline)
        began = time.perf_counter()
        model.fit(given(X, recipes, train, side_by_side=side_by_side), y[train])
        seconds.append(time.perf_counter() - began)
        asked = given(X, recipes, test, side_by_side=side_by_side)
        right = model.predict(asked) == y[test]
        accuracies.append(100 * right.mean())
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(asked)
            chances.append(probabilities)
            rights.append(right)
            surprises.append(-np.log(np.maximum(probabilities[np.arange(len(test)), y[test]], 1e-12)))
    error = f"{calibration_error(np.vstack(chances), np.concatenate(rights)):.3f}" if chances else ""
    loss = f"{np.concatenate(surprises).mean():.3f}" if chances else ""
    spread = np.std(accuracies, ddof=1) if len(accuracies) > 1 else 0.0
    return f"{np.mean(accuracies):.1f} ± {spread:.1f} | {error} | {loss} | {np.mean(seconds):.1f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--collection", choices=list(SIZES), default="scenes8")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first draw")
    parser.add_argument("--sizes", type=int, nargs="+", help="only these numbers of pictures per class")
    parser.add_argument("--methods", nargs="+", help="only these rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)  # defaults that scikit-learn is going to change
    X: Features = {}
    for name in RECIPES:
        pictures = load_pictures(options.collection, options.data, name, cache=options.cache)
        keep = np.flatnonzero(~pictures.is_test)
        X |= {output: np.asarray(pictures.X[output])[keep] for output in OUTPUTS[name]}
        y = np.asarray(pictures.y)[keep]
    print(
        "| pictures per class | classifier | accuracy, % | calibration error | log loss | s |",
        "|---|---|---|---|---|---|",
        sep="\n",
    )
    for size in SIZES[options.collection]:
        if options.sizes and size[0] not in options.sizes:
            continue
        seeds = range(options.seed, options.seed + options.draws * size[2])
        for name, (make, recipes) in methods(options.methods).items():
            print(f"| {size[0]} | {name} | {measure(make, recipes, X, y, size, seeds)}", flush=True)


if __name__ == "__main__":
    main()
