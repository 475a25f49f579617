"""Random queries: each is answered or refused in words, in a short time.

python tests/attacks/fuzz_queries.py --runs 100000
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mutations import Trial, main
from scipy import sparse

from visterm.collection import Evidence
from visterm.errors import VistermError
from visterm.find import Beliefs, Searcher, parse
from visterm.index import Index

NAMES = ["boat", "boats", "sea", "tall building", "tall-building", "*", "?", "C", "C++", "OR", "-x", "a:b", '"', "été"]
_WORDS = [
    *NAMES,
    "AND boat",
    "OR sea",
    "NOT C",
    "-boat",
    "^2",
    "the",
    "photos of",
    "tag:sea",
    "class:coast",
    "is:untagged",
]
_WORDS += [
    '"C++"',
    '""""',
    '"tall building"',
    'class:"open country"',
    "filename:IMG_00*",
    "(boat OR sea)",
    "like:a.jpg",
]
_PIECES = [*NAMES, *_WORDS, *"()\"^-*?:\\'&|!~#@.,;=/<>[]{}", "AND", "OR", "NOT", " ", "\t", "\n", "\0", "^0", "^nan"]
_PIECES += ["tag:", "class:", "caption:", "filename:", "like:", "is:", "nowhere:", "[a-", '"sea', 'sea"', "((", "))"]
_PIECES += ["\u202e", "\ud800", "\U0001f6a4", "e\u0301", "ﬁ", "İ", "ß", "1e400"]


def searcher() -> Searcher:
    """A collection of pictures with difficult names, and a model."""
    dice, n = np.random.default_rng(0), 40
    tags = sparse.csr_array((dice.random((n, len(NAMES))) < 0.2).astype(np.int8))
    paths = [f"{'norway' if row % 2 else '[a-z]'}/IMG_{row:04}.jpg" for row in range(n)]
    captions = [None if row % 3 else "two boats at sea *" for row in range(n)]
    classes = [[None, "coast", "*", "open country"][row % 4] for row in range(n)]
    evidence = Evidence(paths, tags=tags, tag_names=NAMES, captions=captions, classes=classes)
    index = Index(len(NAMES), dtype="float16")
    index.add([str(row) for row in range(n)], np.log(dice.uniform(0.01, 0.99, (n, len(NAMES)))))
    beliefs = Beliefs(index.snapshot(), NAMES, [str(row) for row in range(n)])
    return Searcher(evidence, beliefs, like=lambda name: np.full(n, -1.0, np.float32))


def query(dice: random.Random) -> str:
    """A query: most often words with a few odd pieces, else odd pieces only; now and then a very long one."""
    n = 3000 if dice.random() < 0.001 else dice.randint(1, dice.choice([3, 8, 30]))
    odd = dice.choice([0.0, 0.05, 0.3, 1.0])
    pieces = (dice.choice(_PIECES if dice.random() < odd else _WORDS) for _ in range(n))
    return dice.choice([" ", " ", ""]).join(pieces)


def targets(folder: Path | None = None) -> Mapping[str, Trial]:
    """The parser, and the search."""
    asked = searcher()

    def ask(dice: random.Random) -> None:
        text = query(dice)
        try:
            parse(text)
            refused = False
        except VistermError:
            refused = True
        found = asked.search(text, dice.choice([1, 20]), unlikely=dice.random() < 0.5)
        assert not refused, "the search answered what the parser refuses"
        for hit in found.hits:
            assert 0 <= hit.probability <= 1
        _ = [str(note) for note in found.notes]

    return {"queries": ask}


if __name__ == "__main__":
    sys.exit(main(targets))
