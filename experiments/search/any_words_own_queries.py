"""Queries of our own (queries/any_words.toml): nothing fits, something fits, translations, and sheets to judge by eye.

    python experiments/search/any_words_own_queries.py WORKSPACE --data FOLDER --collection flickr|corel [--test]
        [--sheets FOLDER]

The workspaces are those that any_words_curve.py and any_words_corel5k.py keep. *Honest*: of the queries that nothing
fits, the share for which no picture counts as found. *Silent*: of those that something fits, the share for which
nothing is listed, neither pictures that lack a word nor guesses. Translated queries rank the held-out pictures; beside
each AvgP is that of the English query. ``--sheets``: pictures with the ten best of all pictures without labels for each
sentence.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from any_words_asked import Asking, Pictures, corel, flickr, relevant_to
from flickr1500_words import average_precision, lemmas, mean
from PIL import Image, ImageDraw

import visterm

LANGUAGES = ("English", "German", "French", "Spanish", "Italian", "Dutch")
N_BEST, PER_SHEET, SIDE = 10, 10, 128


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collection", choices=("flickr", "corel"), required=True)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--sheets", type=Path)
    options = parser.parse_args()
    queries = tomllib.loads((Path(__file__).parent / "queries" / "any_words.toml").read_text(encoding="utf-8"))
    of = flickr if options.collection == "flickr" else corel
    pictures = of(options.data, "test" if options.test else "validation")
    photos = visterm.open(options.workspace)
    asking = Asking(photos, pictures.files)
    print(json.dumps(_found(asking, queries, options.collection)))
    for language, values in _translated(Asking(photos, pictures.truth), pictures, queries, options.collection).items():
        print(json.dumps({language: values}), flush=True)
    if options.sheets:
        _sheets(asking, pictures, queries["sentences"][options.collection], options.sheets / options.workspace.name)


def _found(asking: Asking, queries: dict[str, Any], collection: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for kind, of in (("nothing", queries["nothing"]), ("fits", queries["fits"][collection])):
        for length in ("words", "sentences"):
            best = {text: _best(asking, text) for text in of[length]}
            values[f"{kind}, {length}"] = {
                "queries": len(best),
                "nothing found": mean(not found for found, _, _ in best.values()),
                "silent": mean(not listed for _, listed, _ in best.values()),
                "found": {text: [found, round(p, 2)] for text, (found, _, p) in best.items() if found},
            }
    return values


def _best(asking: Asking, text: str) -> tuple[int, int, float]:
    """How many pictures count as found, how many are listed, and the best probability."""
    answer = asking.answer(text, everything=False)
    found = [p for p, shown in zip(answer.stated, answer.shown, strict=True) if shown]
    return len(found), answer.listed, max(found, default=0.0)


def _translated(asking: Asking, pictures: Pictures, queries: dict[str, Any], collection: str) -> dict[str, Any]:
    values = {}
    for place, language in enumerate(LANGUAGES):
        precisions = []
        for texts in queries["translated"][collection]:
            words = lemmas(texts[0]) if collection == "flickr" else texts[0].split()
            relevant = set(relevant_to(pictures, words))
            precisions.append(average_precision(relevant, asking.answer(texts[place]).names) if relevant else np.nan)
        values[language] = {
            "AvgP": mean(p for p in precisions if p == p),
            "each": [round(100 * float(p)) if p == p else None for p in precisions],
        }
    return values


def _sheets(asking: Asking, pictures: Pictures, texts: list[str], folder: Path) -> None:
    """One row of the ten best pictures for each text."""
    folder.mkdir(parents=True, exist_ok=True)
    collection = asking.photos.collection()
    labelled = {
        Path(collection.frame.paths[row]).name for row in collection.frame.rows if _is_labelled(collection, row)
    }
    for start in range(0, len(texts), PER_SHEET):
        rows = texts[start : start + PER_SHEET]
        sheet = Image.new("RGB", (N_BEST * SIDE, len(rows) * (SIDE + 14)), "white")
        for row, text in enumerate(rows):
            answer = asking.answer(text)
            best = [(name, p) for name, p in zip(answer.names, answer.stated, strict=True) if name not in labelled]
            top = row * (SIDE + 14)
            stated = " ".join(f"{p:.2f}" for _, p in best[:N_BEST])
            ImageDraw.Draw(sheet).text((2, top + 1), f"{start + row + 1}. {text}   {stated}", fill="black")
            for column, (name, _) in enumerate(best[:N_BEST]):
                picture = Image.open(pictures.files[name]).convert("RGB")
                picture.thumbnail((SIDE - 2, SIDE - 2))
                sheet.paste(picture, (column * SIDE, top + 13))
        sheet.save(folder / f"{start // PER_SHEET + 1}.png")


def _is_labelled(collection: Any, row: int) -> bool:
    truth = collection.truth
    return bool(truth.captions[row]) or truth.tags.indptr[row + 1] > truth.tags.indptr[row]


if __name__ == "__main__":
    main()
