"""Training on captions: time, memory and quality of every tagger with 8,000 pictures and 4,200 words.

python benchmarks/captions.py [METHOD ...] [--pictures 8000] [--words 4200]

Captions have 17 words on average. Words follow Zipf's law and belong to themes. A picture shows a few themes; its
network features (1,280 numbers) or its bag (240 codewords or 10,000 visterms, 200 counts) are made from them, as the
recipe of the method says. Each method runs in a process of its own: it trains and measures a model and calibrates its
search, as ``visterm train`` does once features are there.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from scipy import sparse

from visterm import registry
from visterm.contracts import Task
from visterm.learn import Dataset, learned_search, train_method

N_THEMES, N_DIMS, N_COUNTS, CAPTION = 200, 1280, 200, 17
#: The codewords of a bag, by the first word of its recipe's name.
N_CODEWORDS = {"bow": 240, "visterms": 10_000}
#: This many bags are drawn at a time.
BLOCK = 500
#: A method that takes longer than this is stopped.
LIMIT = 1800


def captions(n_pictures: int, n_words: int, *, recipe: str) -> Dataset:
    """Captioned pictures whose features depend on the themes of their words."""
    n_codewords = N_CODEWORDS.get(recipe.split("-")[0])
    rng = np.random.default_rng(0)
    of_word = rng.integers(N_THEMES, size=n_words)
    frequency = 1 / (np.arange(n_words) + 10.0)
    themes = np.array([rng.choice(N_THEMES, 3, replace=False) for _ in range(n_pictures)])
    shows = np.zeros((n_pictures, N_THEMES), np.float32)
    np.put_along_axis(shows, themes, rng.dirichlet([3, 3, 3], n_pictures), axis=1)
    rows, columns = [], []
    for picture in range(n_pictures):
        chances = frequency * (0.002 + shows[picture, of_word])
        words = rng.choice(n_words, max(1, rng.poisson(CAPTION)), replace=False, p=chances / chances.sum())
        rows.append(np.full(len(words), picture))
        columns.append(words)
    words, pictures = np.concatenate(columns), np.concatenate(rows)
    tags = sparse.csr_array((np.ones(len(words), np.float32), (pictures, words)), shape=(n_pictures, n_words))
    X = _bags(shows, n_codewords, rng) if n_codewords else _features(shows, tags, rng)
    names = tuple(f"word{word}" for word in range(n_words))
    return Dataset("captions", X, np.full(n_pictures, -1), (), tags, names)


def _features(shows: np.ndarray, tags: sparse.csr_array, rng: np.random.Generator) -> np.ndarray:
    """Network-like features: positive, made of the themes, a little of each word, and noise."""
    of_theme = rng.standard_normal((N_THEMES, N_DIMS)).astype(np.float32)
    of_word = rng.standard_normal((tags.shape[1], N_DIMS)).astype(np.float32)
    signal = shows @ of_theme + 0.1 * (tags @ of_word)
    signal += 0.5 * rng.standard_normal(signal.shape, dtype=np.float32)
    return np.logaddexp(0, 2 * signal)


def _bags(shows: np.ndarray, n_codewords: int, rng: np.random.Generator) -> sparse.csr_array:
    """Counts of codewords; every theme has codewords of its own."""
    of_theme = rng.dirichlet(np.full(n_codewords, 0.05), N_THEMES)
    bags = []
    for start in range(0, len(shows), BLOCK):
        chances = 0.8 * shows[start : start + BLOCK] @ of_theme + 0.2 / n_codewords
        chances /= chances.sum(axis=1, keepdims=True)
        bags.append(sparse.csr_array(rng.multinomial(N_COUNTS, chances).astype(np.float32)))
    return sparse.csr_array(sparse.vstack(bags))


def measure(name: str, n_pictures: int, n_words: int) -> None:
    """Train one method in this process and print its figures."""
    method = registry.get(name)
    data = captions(n_pictures, n_words, recipe=method.recipe)
    wall, cpu = time.perf_counter(), time.process_time()
    trained = train_method(method, data)
    learned_search(trained)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    metrics = trained.metrics
    word_f = f"{100 * metrics['word F@5']:6.2f}" if "word F@5" in metrics else "     -"
    print(f"{name:18} {wall:8.1f} {cpu:8.1f} {peak:8.0f} {word_f} {100 * metrics['AvgP']:7.2f}", flush=True)


def main() -> None:
    """Print a row for every method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--pictures", type=int, default=8000)
    parser.add_argument("--words", type=int, default=4200)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.methods or [method.name for method in registry.methods(Task.RANK)]
    if arguments.here:
        for name in names:
            measure(name, arguments.pictures, arguments.words)
        return
    print(f"{'method':18} {'seconds':>8} {'cpu s':>8} {'peak MB':>8} {'word F':>6} {'AvgP':>7}", flush=True)
    sizes = ["--pictures", str(arguments.pictures), "--words", str(arguments.words)]
    for name in names:
        try:
            subprocess.run([sys.executable, __file__, name, "--here", *sizes], check=True, timeout=LIMIT)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"{name:18} {type(error).__name__}", flush=True)


if __name__ == "__main__":
    main()
