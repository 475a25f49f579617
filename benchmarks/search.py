"""The cost of search in a large collection: evaluating every picture, or only those that can be among the best.

    python benchmarks/search.py [--pictures 200000] [--words 374]

Every time is that of one query, end to end in Python: from the typed words to the pictures with their probabilities and
reasons, or from a vector to keys. All 200 different queries are asked five times; for each the least clock time counts,
since other programs use the processor too. Processor time is the mean of all. "First" is the first time that a searcher
is asked for the words.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index

N_QUERIES = 200
N_PASSES = 5


def milliseconds(*passes: Callable[[int], object]) -> tuple[float, float, float]:
    """The median and the 95th percentile of the least wall milliseconds of each query, and the processor's mean."""
    times = np.empty((len(passes), N_QUERIES))
    busy = time.process_time()
    for n, work in enumerate(passes):
        for i in range(N_QUERIES):
            started = time.perf_counter()
            work(i)
            times[n, i] = time.perf_counter() - started
    busy = 1000 * (time.process_time() - busy) / times.size
    least = 1000 * times.min(axis=0)
    return float(np.median(least)), float(np.percentile(least, 95)), busy


def show(name: str, times: tuple[float, float, float], note: str = "") -> None:
    """One line of the table."""
    median, most, busy = times
    print(f"  {name:46} median {median:7.3f}  95% {most:7.3f}  processor {busy:7.3f} ms  {note}", flush=True)


def words(n_pictures: int, n_words: int, rng: np.random.Generator) -> None:
    """Queries of one to three words over pictures; a tenth of them is tagged."""
    names = [f"word{i:04d}" for i in range(n_words)]
    keys = [f"{i:064x}" for i in range(n_pictures)]
    # Pictures of 100 kinds; each kind has its own words and some of the others', like captions.
    kinds = rng.integers(0, 100, n_pictures)
    lean = np.where(rng.random((100, n_words)) < 0.05, 3.0, -5.0) + rng.standard_normal((100, n_words))
    index = Index(n_words, dtype="float16", folder=Path(tempfile.mkdtemp()))
    started = time.perf_counter()
    for start in range(0, n_pictures, 20_000):
        some = kinds[start : start + 20_000]
        odds = lean[some] + 1.5 * rng.standard_normal((len(some), n_words))
        index.add(keys[start : start + 20_000], -np.logaddexp(0, -odds))
    built = time.perf_counter() - started
    tagged = rng.random(n_pictures) < 0.1
    tags = sparse.random_array((n_pictures, n_words), density=4 / n_words, format="csr", rng=rng)
    tags.data[:] = 1
    tags = sparse.csr_array(tags.multiply(tagged[:, None]))
    evidence = Evidence([f"photos/IMG_{i:06d}.jpg" for i in range(n_pictures)], tags=tags, tag_names=names)
    started = time.perf_counter()
    beliefs = Beliefs(index.snapshot(), names, keys)
    searcher = Searcher(evidence, beliefs)
    searcher.search(names[0])
    opened = time.perf_counter() - started
    print(f"{n_pictures:,} pictures, {n_words} words in float16: {2 * n_words} bytes per picture on disk; ", end="")
    print(f"indexed in {built:.1f} s, opened in {opened:.1f} s")
    own = [np.argsort(-row)[:8] for row in lean]
    apart = [[names[w] for w in rng.choice(n_words, 5, replace=False)] for _ in range(N_QUERIES)]
    close = [[names[w] for w in rng.choice(own[i % 100], 3, replace=False)] for i in range(N_QUERIES)]
    kinds_of_query = {
        "one word": [three[0] for three in close],
        "two words that go together": [" ".join(three[:2]) for three in close],
        "three words that go together": [" ".join(three) for three in close],
        **{f"{n} words at random": [" ".join(five[:n]) for five in apart] for n in (2, 3, 4, 5)},
        "a -b": [f"{a} -{b}" for a, b, *_ in apart],
        "a^2 b": [f"{a}^2 {b}" for a, b, *_ in apart],
        "tag:a b": [f"tag:{a} {b}" for a, b, *_ in apart],
        "a OR b": [f"{a} OR {b}" for a, b, *_ in apart],
        "(a OR b) -c": [f"({a} OR {b}) -{c}" for a, b, c in close],
        "(a OR b) -c at random": [f"({a} OR {b}) -{c}" for a, b, c, *_ in apart],
    }
    whole = Searcher(evidence, beliefs)
    whole._look = lambda asked, _n: whole._look_at(asked)  # type: ignore[method-assign] - as if all could be the best
    for name, texts in kinds_of_query.items():
        asks = [lambda i, s=s, texts=texts: s.search(texts[i]) for s in (whole, *_opened(evidence, beliefs, texts[-1]))]
        show(f"{name}: every picture", milliseconds(*asks[:1] * 2))
        show(f"{name}: first", milliseconds(*asks[1:]))
        show(f"{name}: again", milliseconds(*asks[1:2] * N_PASSES))
    asked = [text for texts in kinds_of_query.values() for text in texts[:20]]
    same = all(searcher.search(text).hits == whole.search(text).hits for text in asked)
    print(f"  the same pictures either way: {same}")
    started = time.perf_counter()
    index.add([f"{n_pictures:064x}"], np.full((1, n_words), -3.0))
    show_one = time.perf_counter() - started
    started = time.perf_counter()
    index.remove(keys[:1])
    print(
        f"  a picture is added in {1000 * show_one:.1f} ms, removed in {1000 * (time.perf_counter() - started):.1f} ms"
    )


def _opened(evidence: Evidence, beliefs: Beliefs, text: str) -> list[Searcher]:
    """New searchers, each asked only one query."""
    searchers = [Searcher(evidence, beliefs) for _ in range(N_PASSES)]
    for searcher in searchers:
        searcher.search(text)
    return searchers


def codes(n_pictures: int, n_dims: int, rng: np.random.Generator) -> None:
    """Look-alikes by codes: a thousand clusters of unequal size, like pictures of the same things."""
    centres = rng.standard_normal((1000, n_dims)) * 1.2
    X = centres[(rng.pareto(1.0, n_pictures) * 100).astype(int) % 1000] + rng.standard_normal((n_pictures, n_dims))
    X = X.astype(np.float32)
    queries = (X[rng.choice(n_pictures, N_QUERIES)] + 0.5 * rng.standard_normal((N_QUERIES, n_dims))).astype(np.float32)
    keys = [f"{i:064x}" for i in range(n_pictures)]
    for dtype in ("float32", "float16"):
        index = Index(n_dims, dtype=dtype)
        index.add(keys, X)
        print(f"{n_pictures:,} codes of {n_dims} dimensions, {dtype}")
        show("all codes compared", milliseconds(*[lambda i, index=index: index.nearest(queries[i], 10)] * 2))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=200_000)
    parser.add_argument("--words", type=int, default=374)
    parser.add_argument("--dims", type=int, default=128)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    words(options.pictures, options.words, rng)
    codes(options.pictures, options.dims, rng)


if __name__ == "__main__":
    main()
