"""Do denied tags teach? Painted postcards, whose tags are all known; a person denies 20 false suggestions of a tag.

    python experiments/calibration/postcards_denials.py [--learned 150] [METHOD ...]

A method learns from the tagged postcards and suggests tags for 350 others. For each of the six tags with most false
suggestions, 20 of these (at random) are denied; nothing else becomes known of these pictures. The method learns again,
and both models are judged on the remaining postcards of 900. Figures are means over three draws, network features.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import sparse
from scipy.special import expit

from visterm import registry
from visterm.calibration import PRECISION
from visterm.contracts import word_scores
from visterm.features import FeatureLibrary
from visterm.learn import Dataset, train_method
from visterm.learn.learned_search import learned_search
from visterm.measures import AveragePrecision
from visterm.postcards import TAGS, paint

N_CARDS, N_ASKED, N_TAGS, N_DENIED, N_DRAWS = 900, 350, 6, 20, 3


def main() -> None:
    """Print two rows for each method: before and after the denials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=["ridge-tags", "caption-ridge", "label-propagation"])
    parser.add_argument("--learned", type=int, default=150, help="tagged postcards to learn from")
    asked = parser.parse_args()
    X, tags = postcards()
    print("| method | denials | false | right | AvgP | false, other tags | right, other tags |")
    print("|---|---|---|---|---|---|---|")
    for method in map(registry.get, asked.methods):
        draws = [compare(method, X, tags, asked.learned, seed) for seed in range(N_DRAWS)]
        for when, values in zip(("none", f"{N_DENIED} each"), np.mean(draws, axis=0), strict=True):
            false, right, precision, *others = values
            figures = f"{false:.0f} | {right:.0f} | {precision:.3f} | {others[0]:.0f} | {others[1]:.0f}"
            print(f"| `{method.name}` | {when} | {figures} |", flush=True)


def postcards() -> tuple[np.ndarray, np.ndarray]:
    """The network features of postcards, and which tags they have."""
    tags = np.zeros((N_CARDS, len(TAGS)), bool)
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for number in range(N_CARDS):
            card = paint(1000 + number)
            tags[number] = np.isin(TAGS, card.tags)
            files[f"{number:064x}"] = Path(folder, f"{number}.jpg")
            Image.fromarray(card.pixels).save(files[f"{number:064x}"], quality=90)
        library = FeatureLibrary(Path(folder, "features"))
        recipe = library.recipe("deep", files)
        library.describe(files, recipe)
        (X,) = library.features(recipe, list(files)).values()
        return np.array(X, np.float32), tags


def compare(method: registry.Method, X: np.ndarray, tags: np.ndarray, n_learned: int, seed: int) -> list[list[float]]:
    """The figures before and after the denials."""
    rng = np.random.default_rng(seed)
    learned, asked, judged = np.split(rng.permutation(N_CARDS), [n_learned, n_learned + N_ASKED])
    rows, denied = np.concatenate([learned, asked]), np.zeros_like(tags)
    given = np.where(np.isin(np.arange(N_CARDS), learned)[:, None], tags, False)[rows]
    data = Dataset("cards", X[rows], np.full(len(rows), -1), (), as_csr(given), tuple(TAGS))

    def suggested(data: Dataset, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        trained = train_method(method, data.select(np.flatnonzero(data.has_tags | data.only_denied)))
        relevance, _ = learned_search(trained)
        if relevance is None:
            raise SystemExit(f"{method.name}: no picture was held out")
        p = expit(relevance.log_odds(word_scores(trained.estimator, X[at])))
        return p, p >= relevance.thresholds(PRECISION)

    _, before = suggested(data, asked)
    wrong = before & ~tags[asked]
    worst = np.argsort(-wrong.sum(axis=0), kind="stable")[:N_TAGS]
    for tag in worst:
        denied[asked[rng.permutation(np.flatnonzero(wrong[:, tag]))[:N_DENIED]], tag] = True
    taught = replace(data, denied=as_csr(denied[rows]))
    return [figures(*suggested(each, judged), tags[judged], worst) for each in (data, taught)]


def figures(p: np.ndarray, suggested: np.ndarray, truth: np.ndarray, worst: np.ndarray) -> list[float]:
    """False and right suggestions and average precision of the denied tags; false and right ones of the others."""
    others = np.setdiff1d(np.arange(truth.shape[1]), worst)
    counts = [
        [float((suggested & ~truth)[:, some].sum()), float((suggested & truth)[:, some].sum())]
        for some in (worst, others)
    ]
    return [*counts[0], AveragePrecision()(truth[:, worst].T, p[:, worst].T), *counts[1]]


def as_csr(matrix: np.ndarray) -> sparse.csr_array:
    """Booleans as a sparse 0/1 matrix."""
    return sparse.csr_array(matrix, dtype=np.float32)


if __name__ == "__main__":
    main()
