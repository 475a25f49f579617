"""Table 1 of Lapin, Schiele, Hein (CVPR 2014): single-task and multitask SDCA on the digits of Kang et al. 2011.

Five random draws of 5 to 100 training pictures a class and 500 validation pictures from a fixed set of 1500; parameters
are chosen on the validation pictures, accuracy is measured on the fixed 500 test pictures.

Run: python experiments/mtl-sdca/lapin-2014_digits.py --data FOLDER   (the folder that holds usps_mnist_mtl)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from visterm.margin.multitask import MultitaskSDCA
from visterm.margin.sdca import SDCAClassifier

SIZES = (5, 10, 20, 50, 100)
PUBLISHED = {
    ("usps", "STL"): (69.4, 76.3, 83.7, 88.5, 90.8),
    ("usps", "MTL"): (71.4, 77.2, 84.6, 90.0, 90.6),
    ("mnist", "STL"): (65.6, 73.6, 79.8, 83.1, 85.7),
    ("mnist", "MTL"): (66.2, 74.0, 79.7, 83.4, 86.0),
}
#: The grids: C of one-vs-all, alone and as the start of multitask learning (besides the best), C = 1 / (lam n) of the
#: predictors and C = 1 / (mu n T) of the map.
ALONE = tuple(10.0 ** np.arange(-3, 4.1, 0.5))
START = (0.1, 1.0)
PREDICTORS = (0.1, 1.0, 10.0)
MAP = tuple(10.0 ** np.arange(-1, 2.1, 0.5))


def read(data: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The 1500 pictures to draw from, their digits, the test pictures and their digits; features of unit length.

    Unit length raises the validation accuracy of one-vs-all at every size (by 0.4 to 1.3 points).
    """
    stored = loadmat(data / "usps_mnist_mtl" / name / f"split1_{name}_1000train.mat")
    pool = np.vstack([stored["digit_trainx"], stored["digit_validx"]])
    digits = np.concatenate([stored["digit_trainy"], stored["digit_validy"]]).ravel()
    return _unit(pool), digits, _unit(stored["digit_testx"]), stored["digit_testy"].ravel()


def _unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def draw(digits: np.ndarray, per_class: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and 500 others to validate on."""
    order = rng.permutation(len(digits))
    validation, rest = order[:500], order[500:]
    train = np.concatenate([rest[digits[rest] == digit][:per_class] for digit in np.unique(digits)])
    return np.sort(train), np.sort(validation)


def best(models: list, X: np.ndarray, y: np.ndarray) -> object:
    """The model most accurate on validation pictures; of equals, the one in the middle of them."""
    scores = np.array([model.score(X, y) for model in models])
    equal = np.flatnonzero(scores == scores.max())
    return models[equal[len(equal) // 2]]


def run(data: Path, name: str, per_class: int, seed: int) -> tuple[float, float]:
    """The test accuracy of single-task and multitask learning for one draw."""
    X, y, X_test, y_test = read(data, name)
    train, validation = draw(y, per_class, np.random.default_rng(1000 * per_class + seed))
    common = {"calibration_folds": 0, "random_state": seed}
    n, n_tasks = len(train), len(np.unique(y))
    alone = best([SDCAClassifier(C, **common).fit(X[train], y[train]) for C in ALONE], X[validation], y[validation])
    together = best(
        [
            MultitaskSDCA(C, lam=1 / (C_w * n), mu=1 / (C_u * n * n_tasks), **common).fit(X[train], y[train])
            for C in {*START, alone.C}
            for C_w in PREDICTORS
            for C_u in MAP
        ],
        X[validation],
        y[validation],
    )
    return alone.score(X_test, y_test), together.score(X_test, y_test)


def main() -> None:
    """Print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/mtl-sdca-digits.md"))
    options = parser.parse_args()
    lines = ["| data | method | a class | published | ours ± sd/√draws | seconds |", "|---|---|---|---|---|---|"]
    print(*lines, sep="\n")
    for name in ("usps", "mnist"):
        for column, size in enumerate(SIZES):
            began = time.process_time()
            accuracy = 100 * np.array([run(options.data, name, size, seed) for seed in range(options.draws)])
            seconds = (time.process_time() - began) / options.draws
            for method, values in zip(("STL", "MTL"), accuracy.T, strict=True):
                error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
                published = PUBLISHED[name, method][column]
                lines.append(
                    f"| {name} | {method} | {size} | {published} | {values.mean():.1f} ± {error:.1f} | {seconds:.0f} |"
                )
                print(lines[-1], flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
