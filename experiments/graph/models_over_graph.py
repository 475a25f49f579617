"""Every kind of model with and without the graph, and whether its probabilities are right.

    python experiments/graph/models_over_graph.py --data FOLDER [--samples corel16k002 corel16k003] [--models NAME ...]

The setting of shao-2014_corel16k.py, one draw of each sample, 30 topics: a quarter of the pictures is tagged. Each
model runs alone (strength 0), with strengths of 1 and 10 times its curvature, and with the strength that hidden tags
choose. For the mixture, a second table shows how often suggestions of each probability are right.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from visterm.graph import GraphRegularized, PictureGraph
from visterm.learn import Dataset
from visterm.learn.engine import splits
from visterm.measures import CompleteLength, TagAccuracy
from visterm.research import research_data
from visterm.topics import LDA, PLSA, RefinedSupervisedLDA, SupervisedLDA, UnigramMixture

BINS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1)


def models() -> dict[str, Any]:
    """The paper's three cases: discrete variables, point estimates, Dirichlet posteriors (without and with labels)."""
    common = {"n_topics": 30, "max_iter": 40, "random_state": 0}
    return {
        "mixture of unigrams": UnigramMixture(**common, n_restarts=1),
        "pLSA, codewords and tags": PLSA(**common, asymmetric=False, held_out_share=0),
        "LDA, tags counted afterwards": LDA(**common),
        "supervised LDA, the paper's": SupervisedLDA(**common, alpha=0.1),
        "supervised LDA, refined": RefinedSupervisedLDA(**common, refine=25),
    }


def curvature(model: Any, X: Any) -> float:
    """What strengths are multiplied by: the tokens and pseudo-counts of a picture, 1 for the mixture."""
    tokens = float(X.sum() / X.shape[0])
    if isinstance(model, UnigramMixture):
        return 1.0
    return tokens if isinstance(model, PLSA) else tokens + model.n_topics * model.alpha


def measure(tagger: GraphRegularized, data: Dataset, split: splits.Split, graph: PictureGraph) -> tuple[Any, ...]:
    """Accuracy, complete length, strength, seconds and the scores."""
    known = data.without_labels(split.test)
    began = time.process_time()
    tagger.fit(data.X, known.tags, graph=graph)
    seconds = time.process_time() - began
    scores, truth = tagger.score_training()[split.test], data.tags[split.test]
    frequencies = np.asarray(known.tags.sum(axis=0)).ravel()
    accuracy, length = (m(truth, scores, frequencies=frequencies) for m in (TagAccuracy(), CompleteLength()))
    return accuracy, length, tagger.strength_, seconds, scores


def reliability(scores: np.ndarray, truth: np.ndarray) -> str:
    """Predicted and observed frequency for each bin of probability; their mean distance, weighted by bin size."""
    lines = ["| said | suggestions | mean said | right |\n", "|---|---|---|---|\n"]
    error = 0.0
    for low, high in itertools.pairwise(BINS):
        chosen = (scores >= low) & (scores < high)
        said, right = scores[chosen].mean(), truth[chosen].mean()
        error += abs(said - right) * chosen.mean()
        lines.append(f"| {low:.0%} to {high:.0%} | {chosen.sum():,} | {said:.1%} | {right:.1%} |\n")
    return "".join([*lines, f"\nExpected calibration error {error:.4f}.\n"])


def main() -> None:
    """Run, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--samples", nargs="+", default=["corel16k002", "corel16k003"])
    parser.add_argument("--models", nargs="+", help="only these models, by name")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    found, said = defaultdict(list), []
    for sample in arguments.samples:
        data = research_data.load(sample, arguments.data)
        data = data.select(np.flatnonzero(np.array(data.splits) != "second test"))
        split = splits.share_tagged(data.tags, 0.25, 0)
        graph = PictureGraph(10).fit(data.X)
        for name, model in models().items():
            if name not in (arguments.models or models()):
                continue
            for how in ("alone", "strength x 1", "strength x 10", "chosen"):
                factor = {"alone": 0.0, "strength x 1": 1.0, "strength x 10": 10.0}.get(how)
                strength = "auto" if factor is None else factor * curvature(model, data.X)
                tagger = GraphRegularized(model, strength=strength, held_out_share=0.2 if factor is None else 0)
                *values, scores = measure(tagger, data, split, graph)
                found[name, how].append(values)
                print(sample, name, how, *(f"{value:.4g}" for value in values), flush=True)
                if isinstance(model, UnigramMixture) and how == "chosen":
                    said.append((scores.ravel(), data.tags[split.test].toarray().ravel()))
    lines = ["| model | | accuracy, % | complete length | strength | seconds |\n", "|---|---|---|---|---|---|\n"]
    for (name, how), values in found.items():
        accuracy, length, chosen, seconds = np.mean(values, axis=0)
        lines.append(f"| {name} | {how} | {100 * accuracy:.1f} | {length:.1f} | {chosen:.2g} | {seconds:.0f} |\n")
    text = "".join(lines)
    if said:
        text += "\n" + reliability(*(np.concatenate(part) for part in zip(*said, strict=True)))
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "models_over_graph.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
