"""PAMIR with the three picture kernels of Grangier & Bengio (TPAMI 2008, Table IV), on validation pictures of Corel5K.

    python experiments/pamir/grangier-2008_kernels.py --data FOLDER [--pictures 1000]

The kernels of local descriptors compare all blocks of all pictures, so all kernels learn from the same part of the
training pictures. The parameters of each kernel and of PAMIR are those with the best average precision on the 500
validation pictures. No test picture is used. The table goes to ``results/``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm.catalogue.records import Reading
from visterm.exchange.readers import corel
from visterm.features import FeatureLibrary
from visterm.measures import AveragePrecision
from visterm.ranking import PAMIR, LocalDescriptors, best_matches, expected_likelihood
from visterm.ranking.queries import from_tags, query_vectors
from visterm.research import load_pictures
from visterm.vision import decode_rgb

AGGRESSIVENESS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def main() -> None:
    """Fit and measure PAMIR with every kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    pictures = load_pictures("corel5k", arguments.data, "visterms-10k", cache=arguments.cache)
    own = np.flatnonzero(~pictures.is_test)
    order = np.random.default_rng(0).permutation(len(own))
    train, validation = own[order[500 : 500 + arguments.pictures]], own[order[:500]]
    lines = ["| kernel | validation AvgP | c | processor s |", "|---|---|---|---|"]
    for name, kernel, X, X_validation, seconds in kernels(arguments, pictures.X, train, validation):
        tags, asked = pictures.tags[train], from_tags(pictures.tags[validation])
        model = PAMIR(AGGRESSIVENESS, 1_000_000, kernel=kernel, random_state=0)
        model.fit(X, tags, validation=(X_validation, pictures.tags[validation]))
        scores = model.score_queries(X_validation, query_vectors(asked.words, model.idf_))
        figure = 100 * AveragePrecision()(asked.relevance, scores)
        lines.append(f"| {name} | {figure:.1f} | {model.aggressiveness_:g} | {seconds:.0f} |")
        print(lines[-1], flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "grangier-2008_kernels.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def kernels(
    arguments: argparse.Namespace, features: Any, train: np.ndarray, validation: np.ndarray
) -> Iterator[tuple[str, str, Any, Any, float]]:
    """The name of every kernel, PAMIR's name for it, what it compares, and the seconds to compute it."""
    (counts,) = features.values()
    counts = sparse.csr_array(counts, dtype=np.float32)
    for kernel in ("visterm", "log-visterm"):
        yield kernel, kernel, counts[train], counts[validation], 0.0
    blocks = [blocks_of(arguments, rows) for rows in (train, validation)]
    for smallest in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0):
        began = time.process_time()
        own, others = (part.gaussians(smallest_variance=smallest) for part in blocks)
        G, K = expected_likelihood(own), expected_likelihood(others, own)
        name = f"expected likelihood, variances at least {smallest:g} of the whole"
        yield name, "precomputed", G, K, time.process_time() - began
    spread = float(np.sqrt(blocks[0].rows.var(axis=0).sum()))
    for share in (0.125, 0.25, 0.5, 1.0, 2.0):
        began = time.process_time()
        deviation = share * spread
        G, K = best_matches(blocks[0], deviation=deviation), best_matches(blocks[1], blocks[0], deviation=deviation)
        name = f"best matches, deviation {share:g} of the whole"
        yield name, "precomputed", G, K, time.process_time() - began


def blocks_of(arguments: argparse.Namespace, rows: np.ndarray) -> LocalDescriptors:
    """The blocks that visterms are made of, as square roots: their distances compare histograms."""
    recipe = FeatureLibrary(arguments.cache / "corel5k").recipe("visterms-10k", {})
    labels = arguments.data / "corel5k" / "labels"
    files = [corel.base(labels) / record.path for record in corel.read(labels, Reading(str(labels), corel.FORMAT))]
    files = [file for file in files if file.is_file()]
    pictures = (decode_rgb(files[row], pixel_budget=recipe.pixel_budget) for row in rows)
    return LocalDescriptors.of([np.sqrt(recipe.descriptors.describe(rgb)[1]) for rgb in pictures])


if __name__ == "__main__":
    main()
