"""Few labelled pictures per class: how many answers are right, how sure they seem, and what belongs to no class.

Every draw labels some pictures of each class; all other pictures are in the collection without a class, and tell the
truth. With ``--left-out``, a third of the classes has no labelled picture, and "none of these" is the right answer for
their pictures. Compared are scikit-learn's LogisticRegression on the same features, ``sdca`` alone, and what
``visterm train`` takes: ``prototypes+graph`` up to three pictures a class, else ``sdca+graph``.

``right``: the share of right classes among pictures of labelled classes. ``sure``: the mean probability of the answers
less the share of right ones. ``error``: the calibration error of the answers, none included, in ten bands over all
draws. ``none``: the area under the ROC curve of "none of these". ``covers``: how often the interval that ``train``
states of its accuracy holds the truth. ± is the deviation over draws.

--collection scenes8 (32 pictures of 8 classes); corel5k (50 classes; only the truth of its test part is asked);
corel5k-draws (6, 10 or 20 classes drawn from its training part with 30, 60 or 90 pictures each: settings were chosen
on these, with other seeds).

Run: python experiments/few/few_labels.py --data FOLDER [--collection scenes8] [--left-out]
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from visterm import registry
from visterm.contracts import Task, take
from visterm.documents.figure import Stratum, figure
from visterm.learn import Dataset, train_method
from visterm.learn.explaining import facts_of
from visterm.research import load_pictures

RECIPES = ("deep", "deep-lite2")
N_BANDS = 10
#: The method for classes that typically have at most three labelled pictures, and for others.
FEW, PROTOTYPES, MORE = 3, "prototypes+graph", "sdca+graph"

Table = dict[str, dict[str, list]]


def load(name: str, folder: Path, cache: Path) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The features, the classes, and which pictures may be labelled."""
    X = {}
    for recipe in RECIPES:
        pictures = load_pictures(name, folder, recipe, cache=cache)
        X[recipe] = np.asarray(pictures.X[recipe])
    return X, np.asarray(pictures.y), ~pictures.is_test


def drawn(X: dict, y: np.ndarray, may: np.ndarray, rng: np.random.Generator) -> tuple[dict, np.ndarray, np.ndarray]:
    """Some classes of the training part, each with as many pictures."""
    classes, n = rng.permutation(50)[: rng.choice([6, 10, 20])], rng.choice([30, 60, 90])
    rows = np.concatenate([rng.permutation(np.flatnonzero((y == c) & may))[:n] for c in classes])
    return take(X, rows), np.unique(y[rows], return_inverse=True)[1], np.ones(len(rows), bool)


def calibration_error(p: np.ndarray, right: np.ndarray) -> float:
    """The mean distance between probability and share of right answers, in bands of equal width."""
    band = np.minimum((N_BANDS * p).astype(int), N_BANDS - 1)
    return float(np.abs(np.bincount(band, weights=p - right)).sum() / len(p))


def draw(X: dict, y: np.ndarray, may: np.ndarray, n: int, left_out: bool, seed: int, found: Table) -> None:
    """Label, learn, and compare with the truth."""
    rng = np.random.default_rng(seed)
    n_classes = int(y.max()) + 1
    y = rng.permutation(n_classes)[y]
    n_known = n_classes - (round(n_classes / 3) if left_out else 0)
    labelled = [rng.permutation(np.flatnonzero((y == k) & may))[:n] for k in range(n_known)]
    given = np.full(len(y), -1)
    given[np.concatenate(labelled)] = y[np.concatenate(labelled)]
    asked = np.flatnonzero(~may) if not may.all() else np.flatnonzero(given < 0)
    nothing = sparse.csr_array((len(y), 0))
    data = Dataset("pictures", X, given, tuple(map(str, range(n_known))), nothing, ())
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in X.values()]
    joined, rows = np.hstack(unit) / np.sqrt(len(unit)), np.flatnonzero(given >= 0)
    model = LogisticRegression(C=100, max_iter=300).fit(joined[rows], given[rows])
    keep(found["LogisticRegression"], model.predict_proba(joined[asked]), y[asked])
    if n > 1:
        alone = registry.get("sdca").create().fit(take(X, rows), given[rows])
        keep(found["sdca"], alone.predict_proba(take(X, asked)), y[asked])
    trained = train_method(registry.get(PROTOTYPES if n <= FEW else MORE), data)
    p = trained.estimator.predict_proba(take(X, asked))
    keep(found["train"], p, y[asked])
    found["train"]["covers"].append(covers(trained, p, y[asked]))


def keep(found: dict[str, list], p: np.ndarray, y: np.ndarray) -> None:
    """The figures of one method in one draw."""
    none, known = np.maximum(1 - p.sum(axis=1), 0), y < p.shape[1]
    sure, right = answers(p, y)
    found["right"].append((p.argmax(axis=1) == y)[known].mean())
    found["sure"].append(sure.mean() - right.mean())
    found["p"].append(sure)
    found["is right"].append(right)
    if not known.all():
        found["none"].append(roc_auc_score(~known, none if none.max() > 0.01 else -p.max(axis=1)))


def answers(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each answer, a class or none, and whether it is right."""
    none, best = 1 - p.sum(axis=1), p.max(axis=1)
    return np.maximum(best, none), np.where(none > best, y >= p.shape[1], p.argmax(axis=1) == y)


def covers(trained: object, p: np.ndarray, y: np.ndarray) -> float:
    """Whether the stated interval holds the truth; NaN if none is stated."""
    if trained.performance is None:
        return np.nan
    each, none = trained.performance.each[Task.CLASSIFY], facts_of(trained)["none_of_these"]
    strata = [Stratum(1 - none["share"], float(each.sum()), len(each))]
    if none["share"] >= 0.02 and none["measured"]:
        strata.append(Stratum(none["share"], none["right"], none["measured"]))
    said = figure("classes", "labelled pictures", strata)
    return np.nan if said.low is None else float(said.low <= answers(p, y)[1].mean() <= said.high)


def row(n: int, name: str, found: dict[str, list]) -> str:
    """A line of the table."""
    right, sure = 100 * np.array(found["right"]), 100 * np.array(found["sure"])
    error = calibration_error(np.concatenate(found["p"]), np.concatenate(found["is right"]))
    none = f"{np.mean(found['none']):.3f}" if found["none"] else ""
    stated = [value for value in found["covers"] if not np.isnan(value)] if "covers" in found else []
    holds = f"{sum(stated):.0f} of {len(stated)}" if stated else ""
    spread = right.std(ddof=1) if len(right) > 1 else 0.0
    return f"| {n} | {name} | {right.mean():.1f} ± {spread:.1f} | {sure.mean():+.1f} | {error:.3f} | {none} | {holds} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--collection", choices=["scenes8", "corel5k", "corel5k-draws"], default="scenes8")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--left-out", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, may = load(options.collection.removesuffix("-draws"), options.data, options.cache)
    print("| labels | method | right, % | sure | error | none | covers |", "|---" * 7 + "|", sep="\n", flush=True)
    for n in options.sizes:
        found: Table = defaultdict(lambda: defaultdict(list))
        for seed in range(options.seed, options.seed + options.draws):
            one = X, y, may
            if options.collection == "corel5k-draws":
                one = drawn(X, y, may, np.random.default_rng(seed))
            draw(*one, n, options.left_out, seed, found)
        for name, measured in found.items():
            print(row(n, name, measured), flush=True)


if __name__ == "__main__":
    main()
