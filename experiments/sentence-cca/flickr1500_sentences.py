"""Sentences and pictures of flickr1500: learners on the validation part, the chosen one on the test part.

    python experiments/sentence-cca/flickr1500_sentences.py --data FOLDER [--features CACHE.npz] [--test]

The learners place pictures (EfficientNet-Lite0 and 2) and sentences in one space, from the 1,000 training pictures with
five captions each. Without ``--test`` nothing looks at the test pictures. ``--features`` keeps features between runs.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from visterm.compute.rows import unit
from visterm.language import text_encoder
from visterm.ranking import SentenceCCA
from visterm.subspace import KernelMap
from visterm.vision.network.imagenet_classes import class_probabilities
from visterm.vision.recipes import recipe

RECIPES = ("deep", "deep-lite2")
CUTS = (1, 5, 10)
CURVE = (0, 10, 30, 100, 300, 1000)
Scores = Callable[[dict[str, Any], list[str]], np.ndarray]


class Part:
    """Pictures of one part: features, five captions each."""

    def __init__(self, X: dict[str, np.ndarray], texts: list[list[str]]) -> None:
        self.X, self.texts = X, texts
        self.all_texts = [text for own in texts for text in own]

    def head(self, n: int) -> list[list[str]]:
        """The captions of the first pictures; none for the others."""
        return self.texts[:n] + [[] for _ in self.texts[n:]]


def read(folder: Path, cache: Path | None) -> dict[str, Part]:
    """The parts of flickr1500, with features."""
    with (folder / "captions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if cache is not None and cache.exists():
        X = dict(np.load(cache))
    else:
        pixels = [np.asarray(Image.open(folder / "pictures" / row["file_name"]).convert("RGB")) for row in rows]
        X = {name: recipe(name).compute_batch(pixels) for name in RECIPES}
        if cache is not None:
            np.savez(cache, **X)
    texts = [[row[f"caption{k}"] for k in range(1, 6)] for row in rows]
    parts = {}
    for name in ("train", "validation", "test"):
        of = [i for i, row in enumerate(rows) if row["split"] == name]
        parts[name] = Part({key: values[of] for key, values in X.items()}, [texts[i] for i in of])
    return parts


def recalls(scores: np.ndarray) -> list[float]:
    """R@1, 5, 10 of sentence to picture, then of picture to sentence; ``scores`` (n_texts, n_pictures)."""
    n_texts, n_pictures = scores.shape
    own = np.repeat(np.arange(n_pictures), n_texts // n_pictures)
    rank = (scores > scores[np.arange(n_texts), own][:, None]).sum(axis=1)
    best = np.array([(scores[own != p, p] > scores[own == p, p].max()).sum() for p in range(n_pictures)])
    return [100 * float((of < k).mean()) for of in (rank, best) for k in CUTS]


def line(name: str, scores: np.ndarray, seconds: float | None = None) -> str:
    """A row of a table."""
    took = "" if seconds is None else f" {seconds:.1f} |"
    return f"| {name} | " + " | ".join(f"{value:.1f}" for value in recalls(scores)) + " |" + took


def rooted(X: dict[str, np.ndarray]) -> np.ndarray:
    """Roots of length one, side by side, as SentenceCCA takes them."""
    return np.hstack([unit(np.sqrt(np.maximum(matrix, 0))) for matrix in X.values()])


def ridge_to_texts(train: Part, ridge: float, whiten: float) -> Scores:
    """Ridge regression of the mean vector of a picture's texts; cosines in the (partly whitened) text space."""
    encode = text_encoder().encode
    R, E = rooted(train.X), encode(train.all_texts).reshape(len(train.texts), -1, 512)
    x_mean, mean = R.mean(0), E.mean((0, 1))
    C, S = np.cov(R.T), np.cov(E.reshape(-1, 512).T)
    C += ridge * np.trace(C) / len(C) * np.eye(len(C), dtype=C.dtype)
    S += whiten * np.trace(S) / len(S) * np.eye(len(S), dtype=S.dtype)
    W = np.linalg.solve(C, (R - x_mean).T @ (E.mean(1) - mean) / len(R))
    L = np.linalg.cholesky(np.linalg.inv(S))
    return lambda X, texts: unit((encode(texts) - mean) @ L) @ unit((rooted(X) - x_mean) @ W @ L).T


def pamir_to_texts(train: Part, aggressiveness: float, n_steps: int, n_axes: int = 256) -> Scores:
    """PAMIR's passive-aggressive steps with texts as queries: F(q, p) = q . W p, W from zero.

    Texts are whitened (ridge 1) and of length one, pictures on their first principal axes and of length one; the mean
    of W over the steps is kept, as in ``PAMIR(averaged=True)``.
    """
    encode, rng = text_encoder().encode, np.random.default_rng(0)
    R, E = rooted(train.X), encode(train.all_texts)
    x_mean, mean = R.mean(0), E.mean(0)
    axes = np.linalg.svd(R - x_mean, full_matrices=False)[2][:n_axes].T
    S = np.cov(E.T)
    L = np.linalg.cholesky(np.linalg.inv(S + np.trace(S) / len(S) * np.eye(len(S)))).astype(np.float32)
    P, Q = unit((R - x_mean) @ axes).astype(np.float32), unit((E - mean) @ L).astype(np.float32)
    W, total = np.zeros((Q.shape[1], n_axes), np.float32), np.zeros((Q.shape[1], n_axes), np.float32)
    n, each = len(P), len(Q) // len(P)
    since = 0
    for step in range(n_steps):
        text, other = rng.integers(len(Q)), rng.integers(n)
        if other == text // each:
            continue
        q, way = Q[text], P[text // each] - P[other]
        loss = 1 - float(q @ W @ way)
        if loss <= 0:
            continue
        total += W * (step - since)
        since = step
        W += min(aggressiveness, loss / float(way @ way)) * np.outer(q, way)
    total += W * (n_steps - since)
    return lambda X, texts: unit((encode(texts) - mean) @ L) @ (unit((rooted(X) - x_mean) @ axes) @ total.T).T


def landmarks(train: Part, **settings: Any) -> Scores:
    """SentenceCCA on kernel principal components: exp-chi2 kernels with all training pictures as landmarks."""
    maps = {name: KernelMap(999, metric="chi2", n_landmarks=1000).fit(shares(X)) for name, X in train.X.items()}

    def mapped(X: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        # SentenceCCA takes signed roots: squares with their signs come out as they were.
        codes = {name: maps[name].transform(shares(matrix)) for name, matrix in X.items()}
        return {name: np.sign(code) * code**2 for name, code in codes.items()}

    model = SentenceCCA(**settings).fit(mapped(train.X), texts=train.texts)
    return lambda X, texts: model.score_texts(mapped(X), texts)


def shares(X: np.ndarray) -> np.ndarray:
    """Non-negative numbers as a histogram."""
    positive = np.maximum(X, 0)
    return positive / positive.sum(axis=1, keepdims=True)


def cca(train: Part, *, n: int = 1000, seen: bool = True, crowds: bool = True, **settings: Any) -> Scores:
    """SentenceCCA from the captions of the first ``n`` pictures."""
    classes = class_probabilities(train.X["deep-lite2"]) if seen else None
    model = SentenceCCA(**settings).fit(train.X, texts=train.head(n), class_probabilities=classes)
    if crowds:
        return model.score_texts
    return lambda X, texts: model.text_codes(texts)[:, :-2] @ model.picture_codes(X)[:, :-2].T


def scaled(scorer: Scores, train: Part) -> Scores:
    """Another learner's scores, with the crowding of texts and pictures taken off."""
    of_train = scorer(train.X, train.all_texts).reshape(len(train.texts), -1, len(train.texts)).mean(1)
    spread = of_train.std()

    def score(X: dict[str, Any], texts: list[str]) -> np.ndarray:
        scores = scorer(X, texts) / spread
        of_pictures = np.sort(scorer(X, train.all_texts) / spread, axis=0)[-10:].mean(0)
        of_texts = np.sort(scorer(train.X, texts) / spread, axis=1)[:, -10:].mean(1)
        return 2 * scores - of_pictures - of_texts[:, None]

    return score


LEARNERS: dict[str, Callable[[Part], Scores]] = {
    "ridge to texts": lambda train: ridge_to_texts(train, 6.0, 1.0),
    "ridge to texts, crowding": lambda train: scaled(ridge_to_texts(train, 6.0, 1.0), train),
    "PAMIR to texts, c 0.1": lambda train: pamir_to_texts(train, 0.1, 60_000),
    "PAMIR to texts, c 0.01": lambda train: pamir_to_texts(train, 0.01, 60_000),
    "PAMIR to texts, c 0.1, crowding": lambda train: scaled(pamir_to_texts(train, 0.1, 60_000), train),
    "CCA": lambda train: cca(train, seen=False, crowds=False),
    "CCA, crowding": lambda train: cca(train, seen=False),
    "CCA, crowding, kernel landmarks": lambda train: landmarks(train, picture_ridge=1.0),
    "CCA, classes seen": lambda train: cca(train, crowds=False),
    "CCA, classes seen, crowding (sentence-cca)": lambda train: cca(train),
}
#: The settings that were tried; the defaults of the class are the best.
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"text_ridge": 0.5},
    {"text_ridge": 2.0},
    {"n_seen": 300.0},
    {"n_seen": 2000.0},
    {"picture_ridge": 1.0},
    {"picture_ridge": 6.0},
    {"n_dims": 64},
    {"n_dims": 256},
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds flickr1500")
    parser.add_argument("--features", type=Path, help="a file to keep the features in")
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS), help="which learners, by the start of a name")
    parser.add_argument("--settings", action="store_true", help="try other settings of sentence-cca")
    parser.add_argument("--test", action="store_true", help="measure sentence-cca on the test part: once")
    asked = parser.parse_args()
    parts = read(asked.data / "flickr1500", asked.features)
    train, held_out = parts["train"], parts["test" if asked.test else "validation"]
    print("| learner | s-p R@1 | R@5 | R@10 | p-s R@1 | R@5 | R@10 | s |\n|---|---|---|---|---|---|---|---|")
    if asked.settings:
        for settings in SETTINGS:
            for n in (30, 1000):
                name = f"{n} captioned, {settings or 'defaults'}"
                print(line(name, cca(train, n=n, **settings)(held_out.X, held_out.all_texts)), flush=True)
        return
    if not asked.test:
        for name, learn in LEARNERS.items():
            if name.startswith(tuple(asked.learners)):
                started = time.perf_counter()
                scorer = learn(train)
                took = time.perf_counter() - started
                print(line(name, scorer(held_out.X, held_out.all_texts), took), flush=True)
    for n in CURVE:
        started = time.perf_counter()
        scorer = cca(train, n=n)
        took = time.perf_counter() - started
        print(line(f"sentence-cca, {n} captioned", scorer(held_out.X, held_out.all_texts), took), flush=True)


if __name__ == "__main__":
    main()
