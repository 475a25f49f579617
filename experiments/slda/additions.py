"""What supervised LDA does beyond the paper, measured on held-out training pictures; no test picture is used.

- LabelMe-8: weights of classes, with eight training pictures in half of the classes and fifty in the others, 20 topics.
- Corel5K's region clusters, 60 topics: refinement; the temperature of the probabilities; samples of the topics of a
  picture instead of their mean.

Run: python experiments/slda/additions.py --data FOLDER
Writes results/slda-additions.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_softmax, softmax

from visterm.calibration import fit_temperature
from visterm.learn.engine import splits
from visterm.research import research_data
from visterm.storage import write_text_atomically
from visterm.topics import RefinedSupervisedLDA, responsibilities, roots

N_FEW, N_MANY, N_DRAWS = 8, 50, 8
N_HELD, N_SAMPLES = 500, 200


def training_pictures(name: str, folder: Path) -> tuple[sparse.csr_array, Any]:
    """Bags and classes of the pictures given for training."""
    data = research_data.load(name, folder)
    train = data.select(splits.given(data.splits).train)
    return sparse.csr_array(train.X), train.y


def unbalanced(folder: Path) -> list[str]:
    """Mean class accuracy with and without weights of classes."""
    X, y = training_pictures("labelme8", folder)
    reached: dict[str | None, list[float]] = {None: [], "balanced": []}
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        shown = [rng.permutation(np.flatnonzero(y == c))[: N_FEW if c % 2 else N_MANY] for c in range(8)]
        train = np.concatenate(shown)
        held = np.setdiff1d(np.arange(len(y)), train)
        for weight, values in reached.items():
            said = RefinedSupervisedLDA(20, class_weight=weight, refine=25, random_state=seed)
            said = said.fit(X[train], y[train]).predict(X[held])
            values.append(float(np.mean([(said[y[held] == c] == c).mean() for c in range(8)])))
    cells = [f"{100 * np.mean(values):.1f} ± {100 * np.std(values):.1f} %" for values in reached.values()]
    return [f"| weights of classes, LabelMe-8, mean class accuracy | {' | '.join(cells)} |"]


def short_bags(folder: Path) -> list[str]:
    """Refinement, temperature and samples of topics, on validation pictures of the region clusters."""
    X, y = training_pictures("corel5k-blobs", folder)
    order = np.random.default_rng(0).permutation(len(y))
    held, train = order[:N_HELD], order[N_HELD:]
    lines, accuracies = [], []
    for name, refine in (("the paper's model", 0), ("refined", 25)):
        model = RefinedSupervisedLDA(60, refine=refine, random_state=0).fit(X[train], y[train])
        plain = model.predict_proba(X[held])
        accuracies.append(f"{100 * (plain.argmax(axis=1) == y[held]).mean():.1f} %")
        sampled = sampled_proba(model, X[held])
        cells = " | ".join(described(chances, y[held]) for chances in (plain, sampled))
        lines.append(f"| samples of topics, {name}, log-likelihood; accuracy | {cells} |")
        scores, half = model.decision_function(X[held]), np.arange(N_HELD) % 2 == 0
        temperature = fit_temperature(scores[half], y[held][half])
        rows = np.arange(np.count_nonzero(~half)), y[held][~half]
        cold, warm = (log_softmax(scores[~half] / t, axis=1)[rows].mean() for t in (1.0, temperature))
        lines.append(f"| temperature, {name}, log-likelihood | {cold:.3f} | {warm:.3f} |")
    return [f"| refinement, accuracy | {' | '.join(accuracies)} |", *lines]


def sampled_proba(model: RefinedSupervisedLDA, X: sparse.csr_array) -> Any:
    """The mean over samples of the codewords' topics of softmax(eta . zbar), instead of softmax(eta . E[zbar])."""
    rng = np.random.default_rng(0)
    cumulated = responsibilities(model.infer(X).gamma, X, model.topic_codewords_).cumsum(axis=1)
    owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    total = np.zeros((X.shape[0], len(model.classes_)))
    for _ in range(N_SAMPLES):
        topics = np.minimum((rng.random((X.nnz, 1)) > cumulated).sum(axis=1), model.n_topics - 1)
        zbar = np.zeros((X.shape[0], model.n_topics))
        np.add.at(zbar, (owners, topics), X.data)
        zbar /= np.maximum(zbar.sum(axis=1, keepdims=True), 1)
        features = roots(zbar) if model.is_refined else zbar
        total += softmax(features @ model.class_coefficients_.T + model.class_intercepts_, axis=1)
    return total / N_SAMPLES


def described(chances: Any, y: Any) -> str:
    """Mean log-likelihood and accuracy."""
    likelihood = np.log(chances[np.arange(len(y)), y] + 1e-12).mean()
    return f"{likelihood:.3f}; {100 * (chances.argmax(axis=1) == y).mean():.1f} %"


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results"))
    asked = parser.parse_args()
    lines = ["| addition | without | with |", "|---|---|---|", *unbalanced(asked.data), *short_bags(asked.data)]
    text = "\n".join(lines) + "\n"
    print(text)
    asked.results.mkdir(parents=True, exist_ok=True)
    write_text_atomically(asked.results / "slda-additions.md", text)


if __name__ == "__main__":
    main()
