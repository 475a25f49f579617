"""How good a recipe is for scenes: accuracy of scikit-learn's LinearSVC on half of the pictures, 5 random halves.

Run: python benchmarks/recipe_quality.py [--pictures ../shared/data/scenes8] [RECIPE ...]

Recipes that learn do so from all pictures, without their classes. Bags and histograms are square-rooted shares; other
features are scaled to unit deviation, Fisher vectors and networks to unit length. C is chosen by 3-fold
cross-validation on the training half.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from visterm.errors import MissingExtraError
from visterm.features import features_of_files
from visterm.learn.engine.splits import stratified
from visterm.vision import TrainingPictures, recipe, recipe_names


def condensed(X: np.ndarray) -> np.ndarray:
    """Rows with the same inner products in at most as many dimensions as there are rows: the same SVM, much faster."""
    if X.shape[1] <= len(X):
        return X
    values, vectors = np.linalg.eigh((X @ X.T).astype(np.float64))
    return vectors * np.sqrt(np.maximum(values, 0))


def prepared(X: Any) -> Any:
    """``X`` prepared for a linear classifier."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    X = np.asarray(X, dtype=np.float32)
    if X.min() >= 0 and X.shape[1] < 20_000:
        return np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1e-12))
    if X.shape[1] >= 20_000:
        return normalize(X)
    return normalize((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6))


def accuracy(X: Any, y: np.ndarray, n_splits: int = 5) -> tuple[float, float]:
    """Mean and deviation over random halves."""
    scores = []
    for seed in range(n_splits):
        split = stratified(y, 0.5, seed)
        search = GridSearchCV(LinearSVC(max_iter=5000), {"C": [0.1, 1, 10, 100]}, cv=3)
        scores.append(search.fit(X[split.train], y[split.train]).score(X[split.test], y[split.test]))
    return float(np.mean(scores)), float(np.std(scores, ddof=1))


def main() -> None:
    """Print a line for every recipe and output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, default=Path("../shared/data/scenes8"))
    parser.add_argument("recipes", nargs="*")
    arguments = parser.parse_args()
    files = sorted(arguments.pictures.glob("*/*"))
    y = np.array([file.parent.name for file in files])
    for name in arguments.recipes or recipe_names():
        made = recipe(name)
        started = time.perf_counter()
        try:
            if made.n_training_pictures:
                made.train(TrainingPictures(files, pixel_budget=made.pixel_budget))
            X, kept, _ = features_of_files(made, files)
        except MissingExtraError as error:
            print(f"{name:<24} {error}")
            continue
        spent = time.perf_counter() - started
        for output, matrix in (X if isinstance(X, Mapping) else {"": X}).items():
            mean, deviation = accuracy(condensed(prepared(matrix)), y[kept])
            print(
                f"{name + ('.' + output if output else ''):<24} {mean:.1%} ± {deviation:.1%}   {spent:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
