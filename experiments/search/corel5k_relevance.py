"""Are the probabilities of search right, and its "nothing found"? On Corel5K and on postcards.

    python experiments/search/corel5k_relevance.py --data FOLDER_OF_RESEARCH_DATA [--postcards-only] [--out results]

Corel5K: methods learn from 4,000 pictures and probabilities from 500 others (the validation pictures). Everything is
measured once on the 499 test pictures. Postcards: of 1,000 painted postcards, a quarter of the tagged training pictures
is held out for the probabilities; the test pictures are measured. Queries are up to three words of a training caption,
drawn at random: some have relevant pictures among those measured, others have none. A picture is relevant if it has all
words. Writes results/search_relevance.md and .png; scores are kept in results/search_scores.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm import registry
from visterm.calibration import together
from visterm.calibration.nothing_found import cut_off
from visterm.calibration.relevance import Relevance, _queries
from visterm.contracts import take, word_scores
from visterm.measures import AveragePrecision, evaluate
from visterm.ranking import TagRanker, queries
from visterm.ranking.queries import vectors_of_words

METHODS = ("knn-tags", "ridge-tags", "tagprop-rare")
N_QUERIES = 4000
BINS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: The features of the recipe tagging that are quick to compare.
FEATURES = (
    *("gist", "hsv-stripes", "lab-stripes", "lbp-stripes"),
    *("sift-words", "opponent-words", "lab-words", "hue-words"),
)
Array = NDArray[Any]


@dataclass(frozen=True)
class Scored:
    """Word scores of the pictures held out for the probabilities and of the test pictures, and the tags of all."""

    data: str
    method: str
    held_out: Array
    test: Array
    held_out_tags: Array
    test_tags: Array
    train_tags: Array
    own_ranking: Array  # (n_queries, n_test) scores of the queries below by the method's own ranker


def main() -> None:
    """Measure everything; write the table and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--postcards-only", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    lines = [
        "data | method | Brier, frequency / ours | log loss, frequency / ours | calibration error"
        " | F, flat / ours | nothing is right, flat / ours | something is right | AvgP, own / calibrated",
        " | ".join(["---"] * 9),
    ]
    curves = {}
    for scored in _all(options):
        line, curve = measured(scored)
        lines.append(line)
        curves[f"{scored.data}, {scored.method}"] = curve
        print(line, flush=True)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "search_relevance.md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")
        plot(curves, options.out / "search_relevance.png")


def _all(options: argparse.Namespace) -> Iterator[Scored]:
    sources = {"Postcards": postcards} if options.postcards_only else {"Postcards": postcards, "Corel5K": corel5k}
    for data, source in sources.items():
        kept = options.out / "search_scores" / data
        if len(list(kept.glob("*.npz"))) < len(METHODS):
            for scored in source(options):
                kept.mkdir(parents=True, exist_ok=True)
                np.savez(kept / f"{scored.method}.npz", **asdict(scored))
                yield scored
        else:
            for name in METHODS:
                arrays = np.load(kept / f"{name}.npz")
                yield Scored(data, name, *(arrays[field.name] for field in fields(Scored)[2:]))


def corel5k(options: argparse.Namespace) -> Iterator[Scored]:
    """Neighbours by one feature, TagProp and ridge regression by eight."""
    from visterm.research import load_pictures

    data = load_pictures("corel5k", options.data, "tagging", cache=options.cache)
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    order = np.random.default_rng(0).permutation(len(train))
    held_out, train = train[order[:500]], train[order[500:]]
    several = {name: data.X[name] for name in FEATURES}
    for name, X, parameters in (
        ("knn-tags", several["sift-words"], {"n_neighbors": 32, "metric": "chi2"}),
        ("ridge-tags", several, {"alpha": 0.1, "kernel": "product"}),
        ("tagprop-rare", several, {}),
    ):
        estimator = registry.get(name).create(**parameters).fit(take(X, train), data.tags[train])
        yield scored_by("Corel5K", name, estimator, X, data.tags, train, held_out, test)


def postcards(_options: argparse.Namespace) -> Iterator[Scored]:
    """Three methods on their default features."""
    from visterm.collection.features import ready_recipe
    from visterm.learn.data import labelled
    from visterm.postcards import make_postcards
    from visterm.workspace import Workspace

    with tempfile.TemporaryDirectory() as folder:
        make_postcards(Path(folder), 1000)
        with Workspace.create(Path(folder)) as workspace:
            workspace.add()
            for name in METHODS:
                method = registry.get(name)
                data, _ = labelled(workspace, workspace.collection(), ready_recipe(workspace, method.recipe))
                tagged = np.flatnonzero(data.has_tags & ~data.is_test)
                order = np.random.default_rng(0).permutation(len(tagged))
                n_held_out = len(tagged) // 4
                held_out, train = tagged[order[:n_held_out]], tagged[order[n_held_out:]]
                test = np.flatnonzero(data.is_test & data.has_tags)
                estimator = method.create().fit(take(data.X, train), data.tags[train])
                yield scored_by("Postcards", name, estimator, data.X, data.tags, train, held_out, test)


def scored_by(
    data: str, method: str, estimator: Any, X: Any, tags: Any, train: Array, held_out: Array, test: Array
) -> Scored:
    """Everything the measures need, so that the estimator can be freed."""
    ranker = TagRanker.of_fitted(estimator, take(X, held_out), int(tags.shape[1]))
    asked = queries.from_tags(tags[test], max_words=3)
    counts = np.bincount(tags[train].indices, minlength=tags.shape[1])
    return Scored(
        data,
        method,
        word_scores(estimator, take(X, held_out)),
        word_scores(estimator, take(X, test)),
        tags[held_out].toarray() > 0,
        tags[test].toarray() > 0,
        tags[train].toarray() > 0,
        ranker.score_queries(take(X, test), vectors_of_words(asked.columns(), counts, len(train))),
    )


def measured(scored: Scored) -> tuple[str, Array]:
    """One line of the table, and the reliability: (mean probability, share relevant, pairs) of every bin."""
    counts, n_train = scored.train_tags.sum(axis=0), len(scored.train_tags)
    relevance = Relevance().fit(
        scored.held_out,
        scored.held_out_tags.astype(int),
        tag_counts=counts,
        n_tagged=n_train,
        asked=sparse.csr_array(scored.train_tags.astype(int)),
    )
    log_p = relevance.log_probabilities(scored.test).astype(np.float64)
    asked = _queries(sparse.csr_array(scored.train_tags.astype(int)), N_QUERIES, np.random.default_rng(1))
    joint = [together(list(log_p[:, list(words)].T), relevance.dependence_) for words in asked]
    relevant = [scored.test_tags[:, list(words)].all(axis=1) for words in asked]
    share = np.maximum(counts, 0.5) / n_train
    p, y = np.exp(np.concatenate(joint)), np.concatenate(relevant)
    # The baseline never looks at the picture: the share of training pictures that have all words.
    often = np.concatenate(
        [np.full(len(j), _share(scored, words, share)) for j, words in zip(joint, asked, strict=True)]
    )
    found = [np.exp(j) >= cut_off(j, relevance.nothing_below_) for j in joint]
    flat = _flat(scored, asked, counts, _nothing_held_out(scored, relevance, asked))
    F, none, some = _decisions(found, relevant)
    flat_F, flat_none, _ = _decisions(flat, relevant)
    test_queries = queries.from_tags(scored.test_tags.astype(int), max_words=3)
    own = evaluate([AveragePrecision()], test_queries.relevance, scored.own_ranking)["AvgP"]
    ranked = np.array([together(list(log_p[:, list(w)].T), relevance.dependence_) for w in test_queries.columns()])
    ours = evaluate([AveragePrecision()], test_queries.relevance, ranked)["AvgP"]
    curve = _reliability(p, y)
    counted = curve[curve[:, 0] >= 0.03]
    error = float(np.average(np.abs(counted[:, 0] - counted[:, 1]), weights=counted[:, 2]))
    line = (
        f"{scored.data} | {scored.method} | {_brier(often, y):.5f} / {_brier(p, y):.5f}"
        f" | {_log_loss(often, y):.5f} / {_log_loss(p, y):.5f} | {error:.3f} | {flat_F:.3f} / {F:.3f}"
        f" | {flat_none:.0%} / {none:.0%} | {some:.0%} | {100 * own:.1f} / {100 * ours:.1f}"
    )
    return line, curve


def _share(scored: Scored, words: tuple[int, ...], share: Array) -> float:
    together_in_training = scored.train_tags[:, list(words)].all(axis=1).mean()
    return float(together_in_training if together_in_training else share[list(words)].prod())


def _flat(scored: Scored, asked: list[tuple[int, ...]], counts: Array, nothing: float) -> list[Array]:
    """What one threshold for all queries on the model's own scores finds.

    On the held-out pictures it rightly finds nothing as often as ours. Scores of several words are the idf-weighted
    sum of each word's standardised scores, as in rankers.
    """
    mean, deviation = scored.held_out.mean(axis=0), scored.held_out.std(axis=0) + 1e-9
    Q = vectors_of_words(asked, counts, len(scored.train_tags))
    held_out, test = (np.asarray(Q @ ((scores - mean) / deviation).T) for scores in (scored.held_out, scored.test))
    in_vain = [not scored.held_out_tags[:, list(words)].all(axis=1).any() for words in asked]
    return list(test >= np.quantile(held_out[in_vain].max(axis=1), nothing))


def _nothing_held_out(scored: Scored, relevance: Relevance, asked: list[tuple[int, ...]]) -> float:
    """How often ours finds nothing for queries without a relevant held-out picture."""
    log_p = relevance.log_probabilities(scored.held_out)
    joint = [together(list(log_p[:, list(words)].T), relevance.dependence_) for words in asked]
    found = [np.exp(j) >= cut_off(j, relevance.nothing_below_) for j in joint]
    return _decisions(found, [scored.held_out_tags[:, list(words)].all(axis=1) for words in asked])[1]


def _decisions(found: list[Array], relevant: list[Array]) -> tuple[float, float, float]:
    """Mean F of queries with a relevant picture; how often nothing is found without one, and something with one."""
    some = [(f, r) for f, r in zip(found, relevant, strict=True) if r.any()]
    none = [f for f, r in zip(found, relevant, strict=True) if not r.any()]
    F = [2 * (f & r).sum() / max(1, f.sum() + r.sum()) for f, r in some]
    return (
        float(np.mean(F)) if F else math.nan,
        float(np.mean([not f.any() for f in none])) if none else math.nan,
        float(np.mean([f.any() for f, _ in some])) if some else math.nan,
    )


def _brier(p: Array, y: Array) -> float:
    return float(((p - y) ** 2).mean())


def _log_loss(p: Array, y: Array) -> float:
    p = np.clip(p, 1e-7, 1 - 1e-7)
    return float(-np.where(y, np.log(p), np.log1p(-p)).mean())


def _reliability(p: Array, y: Array) -> Array:
    place = np.clip(np.searchsorted(BINS, p, side="right") - 1, 0, len(BINS) - 2)
    inside = [place == i for i in range(len(BINS) - 1)]
    return np.array([(p[some].mean(), y[some].mean(), some.sum()) for some in inside if some.sum() >= 20])


def plot(curves: dict[str, Array], file: Path) -> None:
    """How often pictures shown with a probability match."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    for name, curve in curves.items():
        style = "o-" if name.startswith("Corel5K") else "s--"
        axes.plot(curve[:, 0], curve[:, 1], style, label=name, markersize=4, linewidth=1.2)
    axes.set(xlabel="probability shown", ylabel="share of pictures that fit", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
