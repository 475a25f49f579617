"""What search gains when it also asks a model for pairs of words: `caption-ridge` on Corel5K.

    python experiments/search/corel5k_pairs.py --data FOLDER_OF_RESEARCH_DATA [--test] [--out results]

`caption-ridge` learns from 4,000 pictures by the kernel exp(-3 d), where d is the mean of the distances by all
features of the recipe tagging, each scaled to a mean of 1. Without ``--test``, probabilities are learned from half of
the 500 validation pictures and measured on the other half, then the other way round. With it, they are learned from the
validation pictures and measured on the 499 test pictures. Queries are all sets of up to three words of a caption of the
pictures measured. Writes results/search_pairs.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration.relevance import Relevance
from visterm.contracts import pairs_of, word_scores
from visterm.measures import AveragePrecision
from visterm.ranking import CaptionRidge
from visterm.ranking.queries import from_tags, idf, query_vectors
from visterm.research import load_distances

WIDTH, ALPHA = 3.0, 0.1
Array = NDArray[Any]


def main() -> None:
    """Fit once, measure, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--tables", type=Path, default=Path("results/distances/corel5k"))
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    data, tables = load_distances("corel5k", options.data, cache=options.cache, tables=options.tables)
    own = np.flatnonzero(~data.is_test)
    order = np.random.default_rng(0).permutation(len(own))
    train, held_out = own[np.sort(order[500:])], own[np.sort(order[:500])]
    others = np.concatenate([held_out, np.flatnonzero(data.is_test)]) if options.test else held_out
    kernel = _kernel(tables, np.concatenate([train, others]), train)
    model = CaptionRidge(ALPHA, kernel="precomputed").fit(kernel[: len(train)], data.tags[train])
    places = np.arange(len(others))
    if options.test:
        parts = [(places < len(held_out), places >= len(held_out))]
    else:
        parts = [(places % 2 == 0, places % 2 == 1), (places % 2 == 1, places % 2 == 0)]
    figures: dict[str, list[list[float]]] = {}
    for learned, asked in parts:
        for name, of_one in _measured(model, kernel[len(train) :], data.tags[train], data.tags[others], learned, asked):
            figures.setdefault(name, []).append(of_one)
    lines = ["| ranked by | AvgP | one word | several words | log loss | Brier |", "|---|---|---|---|---|---|"]
    for name, of_one in figures.items():
        *precision, loss, brier = np.mean(of_one, axis=0)
        shown = " | ".join(f"{100 * value:.1f}" for value in precision)
        lines.append(f"| {name} | {shown} | {f'{loss:.5f} | {brier:.5f}' if loss < 1 else '- | -'} |")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "search_pairs.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def _kernel(tables: Any, rows: Array, train: Array) -> Array:
    total = np.zeros((len(rows), len(train)), np.float32)
    for table in tables.values():
        distances = np.asarray(table[rows][:, train], np.float32)
        total += distances / distances[: len(train)].mean()
    return np.exp(-WIDTH / len(tables) * total)


def _measured(
    model: CaptionRidge, kernel: Array, train_tags: Any, tags: Any, learned: Array, asked: Array
) -> Iterator[tuple[str, list[float]]]:
    """AvgP of all queries, of one word, of several; log loss and Brier score of several words (1 if unknown)."""
    counts, n_tagged = np.bincount(train_tags.indices, minlength=tags.shape[1]), train_tags.shape[0]
    scores = word_scores(model, kernel)
    numbers, pairs = pairs_of(model)
    log_pairs = model.set_log_probabilities(kernel)[:, numbers]
    column = {pair: i for i, pair in enumerate(pairs)}
    relevance = Relevance().fit(scores[learned], tags[learned], tag_counts=counts, n_tagged=n_tagged, asked=train_tags)
    log_p = relevance.log_probabilities(scores)
    relevance.fit_pairs(log_p[learned], log_pairs[learned], pairs, tags[learned])
    queries = from_tags(tags[asked], max_words=3)
    words = queries.columns()
    rankings = {
        "the words": [relevance.joint(log_p[asked], of_one) for of_one in words],
        "the words and pairs of them": [relevance.joint(log_p[asked], o, log_pairs[asked], column) for o in words],
    }
    several = queries.n_words > 1
    relevant = queries.relevance.toarray() > 0
    for name, ranking in rankings.items():
        joint = np.minimum(np.stack(ranking), -1e-9)
        precision = AveragePrecision().per_query(queries.relevance, joint)
        fits, p = relevant[several], joint[several]
        loss = -np.where(fits, p, np.log(-np.expm1(p))).mean()
        brier = ((np.exp(p) - fits) ** 2).mean()
        yield name, [precision.mean(), precision[~several].mean(), precision[several].mean(), loss, brier]
    Q = query_vectors(queries.words, idf(counts, n_tagged))
    precision = AveragePrecision().per_query(queries.relevance, model.score_queries(kernel[asked], Q))
    yield "the method's own scores", [precision.mean(), precision[~several].mean(), precision[several].mean(), 1.0, 1.0]


if __name__ == "__main__":
    main()
