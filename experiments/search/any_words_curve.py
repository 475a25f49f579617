"""Search by any words with 0 to 1,000 captions, and before: words, words that no caption has, sentences (flickr1500).

    python experiments/search/any_words_curve.py --data FOLDER --work FOLDER [--test] [--before SOURCE] [--features W]

``--work`` keeps a workspace for each number of captions. ``--before`` is the ``src`` folder of an earlier version,
which runs in a process and a workspace of its own on the same queries. Without ``--test`` nothing looks at the test
pictures. The last point of the curve chooses method and features as ``visterm train`` does; the others use
``ridge-tags`` on ``deep+deep-lite2``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from any_words_asked import (
    Asking,
    drawn_words,
    figures,
    flickr,
    misspelt,
    new_words,
    rare_words,
    sentence_queries,
    word_queries,
    workspace,
)

CURVE = (0, 10, 30, 100, 300, 1000)
ALL = 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of research data")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--features", type=Path, help="a workspace to take features from")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--captions", type=int, nargs="*", default=list(CURVE))
    options = parser.parse_args()
    part = "test" if options.test else "validation"
    for n in options.captions:
        values = _measured(options, part, n)
        print(json.dumps({"captions": n, **values}), flush=True)
    if options.before:
        again = [argument for argument in sys.argv[1:] if argument not in ("--before", str(options.before))]
        work = ["--work", str(options.work / "before"), "--captions", str(ALL)]
        path = {**os.environ, "PYTHONPATH": str(options.before)}
        subprocess.run([sys.executable, __file__, *again, *work], env=path, check=True)  # noqa: S603


def _measured(options: argparse.Namespace, part: str, n: int) -> dict[str, Any]:
    pictures = flickr(options.data, part)
    folder = options.work / f"{part}-{n}"
    photos = workspace(folder, pictures, n, options.features, chosen=n == ALL)
    new = new_words(pictures, ALL)
    queries = [
        *word_queries(pictures, n, drawn_words(options.data, part)),
        *new,
        *misspelt(pictures, new),
        *rare_words(pictures, n),
        *sentence_queries(pictures, 1),
    ]
    words = [type(query)(query.text, "words", query.relevant) for query in queries if query.kind not in _APART]
    asking = Asking(photos, pictures.truth)
    return figures(asking, [*queries, *words], len(pictures.truth))


_APART = ("new", "new, spelled right", "misspelt", "rare", "sentence")

if __name__ == "__main__":
    main()
