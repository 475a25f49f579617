"""The cost of conditions such as ``date:2019`` in a search of a large collection, with words and without.

    python benchmarks/conditions.py [--pictures 200000] [--words 374]

Every time is that of one query, warm, end to end in Python: from the typed words to the first 20 pictures with their
reasons. Each query is asked 20 times; the median and the longest count. "First" is the first time, when the condition
is not yet known.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.collection.facts import Facts
from visterm.collection.moment import Frame
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.searcher import Searcher
from visterm.find.words.conditions import Known
from visterm.index.index import Index

QUERIES = (
    "date:2019",
    "date:2019-07-14",
    "date:summer",
    "rating:>=3",
    "place:norway",
    "word0001 date:2019",
    "word0001 word0002 date:2015..2020",
    "word0001 rating:>=3 orientation:portrait",
    "word0001 place:norway -camera:canon",
    "word0001 date:summer size:>12mp",
    "(word0001 OR word0002) NOT date:2019 rating:>=4",
    "word0001 near:x",
    "word0001 folder:photos",
    "2019-07 word0001",
)


def facts(n: int, rng: np.random.Generator) -> Facts:
    """Metadata of photographs of twenty years, taken around a thousand places."""
    days = np.datetime64("2004-01-01", "s") + rng.integers(0, 20 * 365 * 86400, n)
    places = rng.uniform((-60, -180), (70, 180), (1000, 2))[rng.integers(0, 1000, n)] + rng.normal(0, 0.05, (n, 2))
    cameras = [f"Maker{i % 7} Model {i}" for i in range(40)] + ["Canon EOS 5D"]
    wide = rng.random(n) < 0.6
    columns = {
        "taken": np.datetime_as_string(days).tolist(),
        "latitude": places[:, 0].tolist(),
        "longitude": places[:, 1].tolist(),
        "camera": [cameras[i] for i in rng.integers(0, len(cameras), n)],
        "rating": [None if i == 0 else int(i) for i in rng.integers(0, 6, n)],
        "width": np.where(wide, 6000, 4000).tolist(),
        "height": np.where(wide, 4000, 6000).tolist(),
        "bytes": [5_000_000] * n,
    }
    return Facts(lambda: columns)


def searcher(n: int, n_words: int, rng: np.random.Generator) -> Searcher:
    """A searcher over ``n`` pictures, a tenth of them tagged, with a model of all words."""
    names, keys = [f"word{i:04d}" for i in range(n_words)], [f"{i:064x}" for i in range(n)]
    index = Index(n_words, dtype="float16", folder=Path(tempfile.mkdtemp()))
    for start in range(0, n, 20_000):
        odds = rng.normal(-5, 2.5, (min(20_000, n - start), n_words))
        index.add(keys[start : start + 20_000], -np.logaddexp(0, -odds))
    tags = sparse.random_array((n, n_words), density=0.4 / n_words, format="csr", rng=rng)
    tags.data[:] = 1
    paths = [f"{'photos' if i % 2 else 'scans'}/IMG_{i:06d}.jpg" for i in range(n)]
    evidence = Evidence(paths, tags=sparse.csr_array(tags), tag_names=names)
    frame = Frame(Path(), keys, list(paths), {}, [None] * n, {"tag": {}, "class": {}}, {"tag": [], "class": []}, "en")
    known = facts(n, rng)
    started = time.perf_counter()
    _ = known.places, known.seconds, known.months
    print(f"read and placed in {time.perf_counter() - started:.2f} s, once")
    position = (float(known.numbers("latitude")[0]), float(known.numbers("longitude")[0]))
    asked = Known(known, frame, lambda _: np.zeros(n, np.bool_), lambda _: position)
    return Searcher(evidence, Beliefs(index.snapshot(), names, keys), facts=asked)


def main() -> None:
    """Print one line for each query."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=200_000)
    parser.add_argument("--words", type=int, default=374)
    options = parser.parse_args()
    asked = searcher(options.pictures, options.words, np.random.default_rng(0))
    asked.search("word0001 word0002")
    for query in QUERIES:
        times = []
        for _ in range(21):
            started = time.perf_counter()
            found = asked.search(query).hits
            times.append(1000 * (time.perf_counter() - started))
        first, *again = times
        shown = f"median {np.median(again):7.2f}  longest {max(again):7.2f}  first {first:7.2f} ms"
        print(f"  {query:52} {shown}  {len(found)} shown", flush=True)


if __name__ == "__main__":
    main()
