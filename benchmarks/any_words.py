"""Search by any words in a large collection: time of a query, memory, and time to learn.

    python benchmarks/any_words.py WORKSPACE [--pictures 50000] [--learn 8000]

The codes of the pictures of WORKSPACE (trained, with captions) are repeated with noise. Times are processor time and
the shortest time by the clock of several queries, all different. ``--learn`` repeats the features with noise instead,
gives every picture five captions, and learns from them as ``visterm train`` does.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import visterm
from visterm.calibration import TextRelevance
from visterm.collection.any_words import AnyText, Texts, any_words
from visterm.collection.evidence import Evidence
from visterm.collection.features import ready_recipe, stored_features
from visterm.collection.text_view import newest_model, text_view
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index
from visterm.learn import any_words as learning
from visterm.ranking import AnyWords, Said

WORDS = [f"thing{i}" for i in range(200)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--learn", type=int)
    options = parser.parse_args()
    photos = visterm.open(options.workspace)
    if options.learn:
        learn(photos, options.learn)
    else:
        search(photos, options.pictures)


def search(photos: visterm.Workspace, n: int) -> None:
    """Sentences, unknown words, and known words with and without the look of pictures."""
    rng = np.random.default_rng(0)
    small = any_words(photos, newest_model(photos), photos.collection().frame)[0]
    codes = np.asarray(small.codes)[rng.integers(0, len(small.codes), n)]
    n_code = small.model.estimator.n_code_
    codes[:, :n_code] += 0.02 * rng.standard_normal((n, n_code)).astype(np.float32)
    keys = [f"{i:064x}" for i in range(n)]
    index = Index(codes.shape[1], dtype="float16")
    index.add(keys, codes)
    before = _memory()
    snapshot = index.snapshot()
    texts = AnyText(small.model, np.arange(n), snapshot.vectors(np.arange(n)), n)
    print(
        f"{n:,} pictures: {2 * codes.shape[1]} bytes a picture in the index, {_memory() - before:.0f} MB to keep ready"
    )
    words = Index(len(WORDS), dtype="float16")
    words.add(keys, -np.logaddexp(0, 4 + 2 * rng.standard_normal((n, len(WORDS)))))
    tags = sparse.random_array((n, len(WORDS)), density=0.002, format="csr", rng=rng)
    tags.data[:] = 1
    evidence = Evidence([f"{i}.jpg" for i in range(n)], tags=sparse.csr_array(tags), tag_names=WORDS)
    beliefs = Beliefs(words.snapshot(), WORDS, keys)
    sentences = [f"a {a} {b} in the {c}" for a in ("red", "big") for b in ("dog", "boat", "child") for c in _PLACES]
    queries = {
        "a sentence": sentences,
        "an unknown word": [
            "yacht",
            "submarine",
            "sofa",
            "bicycle",
            "dolphin",
            "violin",
            "soldier",
            "bread",
            "kitchen",
        ],
        "a known word": WORDS[:20],
        "two known words": [f"{a} {b}" for a, b in zip(WORDS[:20], WORDS[20:40], strict=True)],
    }
    for helps in (True, False):
        searcher = Searcher(evidence, beliefs, texts=Texts(helps, lambda _: texts))
        searcher.search("a warm query that nobody asked")
        for name, asked in queries.items():
            if helps or "known word" in name.replace("unknown", ""):
                wall, own = _milliseconds(searcher, asked)
                print(
                    f"  {name}, the look {'counts' if helps else 'does not count'}: {wall:.1f} ms, processor {own:.1f}"
                )


_PLACES = ("snow", "water", "street", "garden")


def _milliseconds(searcher: Searcher, queries: list[str]) -> tuple[float, float]:
    walls, own = [], []
    for query in queries:
        started, used = time.perf_counter(), time.thread_time()
        searcher.search(query)
        walls.append(time.perf_counter() - started)
        own.append(time.thread_time() - used)
    return 1000 * min(walls), 1000 * float(np.median(own))


def _memory() -> float:
    """In use, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def learn(photos: visterm.Workspace, n: int) -> None:
    """Everything that learning does with ``n`` pictures of five captions each, but for reading and writing."""
    rng = np.random.default_rng(0)
    collection, view = photos.collection(), text_view()
    keys = collection.frame.keys
    captioned = [place for place, row in enumerate(collection.frame.rows) if collection.truth.captions[row]]
    X = stored_features(photos, ready_recipe(photos, view.recipe), [keys[place] for place in captioned])
    drawn = rng.integers(0, len(captioned), n)
    Y: dict[str, Any] = {}
    for name, matrix in X.items():
        rows = np.asarray(matrix, np.float32)[drawn]
        Y[name] = rows * (1 + 0.1 * rng.standard_normal(rows.shape).astype(np.float32))
    texts = [learning._texts_of(collection, collection.frame.rows[captioned[row]]) for row in drawn]
    started, used = time.perf_counter(), time.process_time()
    most = max(1, learning._MAX_TEXTS // n)
    texts = [own[:most] for own in texts]
    words = [learning._words(own, "en") for own in texts]
    pictures = learning._Pictures(np.arange(n), texts, words)
    said = learning._said(pictures, view.encoder)
    print(f"{len(said.of):,} texts encoded: {time.process_time() - used:.1f} s of processor", flush=True)
    queries = list(learning._queries(_NoModel(), collection, pictures, Y, said))
    relevance = TextRelevance().fit(queries)
    print(f"queries and what they teach: {time.process_time() - used:.1f} s; {relevance.n_queries_}", flush=True)
    AnyWords(view.encoder).fit(Y, Said(said.vectors, said.of, n), [])
    print(f"all: {time.process_time() - used:.1f} s of processor, {time.perf_counter() - started:.1f} s by the clock")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


class _NoModel:
    """Holdings without a model for tags."""

    class shelf:  # noqa: N801
        """No model."""

        @staticmethod
        def best(_task: Any) -> None:
            """None."""


if __name__ == "__main__":
    main()
