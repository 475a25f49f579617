"""Corel5K, one to three tags of a held-out picture: does the look of pictures help the words that a model knows?

    python experiments/search/any_words_corel5k.py --data FOLDER --work FOLDER [--test] [--features WORKSPACE]

Learned from all tags, from those of one tenth of the pictures, and from none. The look of pictures counts where the
program lets it, never, and always. Validation: 500 of the 4,500 training pictures and 600 queries; with ``--test`` the
499 test pictures and all their 2,457 queries of at most three words.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from any_words_asked import Asking, Pictures, Query, corel, figures, relevant_to, word_queries, workspace
from scipy import sparse

from visterm.collection.any_words import AnyText
from visterm.collection.text_view import newest_model
from visterm.ranking.queries import from_tags

N_QUERIES = 600
_AS_DECIDED = AnyText.helps


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--parts", type=float, nargs="*", default=[1, 0.1, 0])
    parser.add_argument("--skip", nargs="*", default=[], help="such as: always")
    parser.add_argument("--chosen", action="store_true", help="let train choose method and features")
    options = parser.parse_args()
    part = "test" if options.test else "validation"
    pictures = corel(options.data, part)
    for share in options.parts:
        n = round(share * len(pictures.said))
        folder = options.work / f"corel-{part}-{n}{'-chosen' * options.chosen}"
        photos = workspace(folder, pictures, n, options.features, chosen=options.chosen)
        model = newest_model(photos)
        values = {"tagged": n, "helps": bool(model is not None and model.relevance.helps_known_)}
        never: tuple[tuple[str, Any], ...] = (("never", lambda *_: False), ("always", lambda *_: True))
        for name, helps in (("as decided", _AS_DECIDED), *(never if n else ())):
            if name in options.skip:
                continue
            AnyText.helps = helps  # type: ignore[method-assign, assignment]
            found = figures(Asking(photos, pictures.truth), _queries(pictures, n, options.test), len(pictures.truth))
            print(json.dumps({**values, "look": name, **found}), flush=True)


def _queries(pictures: Pictures, n: int, every: bool) -> list[Query]:
    """All sets of one to three tags of a held-out picture that a training picture has, too; or some of them."""
    names = sorted({word for own in pictures.said.values() for word in own})
    column = {name: place for place, name in enumerate(names)}
    tags = np.zeros((len(pictures.truth), len(names)), np.int8)
    for row, own in enumerate(pictures.truth.values()):
        tags[row, [column[word] for word in own if word in column]] = 1
    asked = from_tags(sparse.csr_array(tags), max_words=3).words
    drawn: list[Sequence[str]] = [[names[i] for i in asked[[row]].indices] for row in range(asked.shape[0])]
    if not every:
        drawn = [drawn[i] for i in np.random.default_rng(0).permutation(len(drawn))[:N_QUERIES]]
    return [
        query
        for own, kind in zip(drawn, word_queries(pictures, n, drawn), strict=True)
        for query in (kind, Query(kind.text, "every", relevant_to(pictures, own)))
    ]


if __name__ == "__main__":
    main()
