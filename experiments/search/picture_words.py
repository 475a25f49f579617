"""Collections with features and the words of every picture, for experiments with words that a collection lacks.

FOLDER has NAME.npz: the arrays "deep" and "deep-lite2" of the recipes, and the "files" of the pictures.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visterm.language import filler_words, folded, stop_words, text_encoder, word_key
from visterm.ranking import AnyWords, Said
from visterm.subspace import reduced

COLLECTIONS = ("scenes8", "corel", "flickr", "postcards")
#: Names of folders that no person would type.
CLASSES = {"insidecity": "city", "inside_city": "city", "tallbuilding": "tall building", "opencountry": "open country"}


@dataclass(frozen=True)
class Pictures:
    """Features ``X``, their leading directions ``Z``, the ``names`` of words, and ``truth`` (n_words, n_pictures)."""

    X: dict[str, np.ndarray]
    Z: np.ndarray
    names: list[str]
    truth: np.ndarray


def read(name: str, features: Path, data: Path) -> Pictures:
    """A collection; ``data`` is the folder of all collections."""
    stored = np.load(features / f"{name}.npz")
    X = {key: stored[key] for key in ("deep", "deep-lite2")}
    words = list(_words(name, [Path(file) for file in stored["files"]], data))
    names = sorted({word for own in words for word in own})
    place = {word: number for number, word in enumerate(names)}
    truth = np.zeros((len(names), len(words)), np.bool_)
    for picture, own in enumerate(words):
        truth[[place[word] for word in own], picture] = True
    return Pictures(X, reduced(np.asarray(X["deep"], np.float32)), names, truth)


def _words(name: str, files: list[Path], data: Path) -> list[list[str]]:
    if name == "scenes8":
        return [[CLASSES.get(file.parent.name.lower(), file.parent.name.lower())] for file in files]
    if name == "corel":
        folder = data / "corel5k" / "labels"
        words = (folder / "words").read_text().split()
        lines = [line.split() for part in ("training", "test") for line in (folder / f"{part}_label").open()]
        own = {line[0]: [words[int(number) - 1] for number in line[1:]] for line in lines}
        return [own[file.stem] for file in files]
    if name == "flickr":
        ignored = stop_words("en") | filler_words("en")
        with (data / "flickr1500" / "captions.csv").open(encoding="utf-8") as file:
            rows = {row["file_name"]: " ".join(row[f"caption{k}"] for k in range(1, 6)) for row in csv.DictReader(file)}
        return [sorted({folded(word, "en") for word in word_key(rows[f.name]).split()} - ignored) for f in files]
    with (files[0].parent.parent / "truth.jsonl").open(encoding="utf-8") as lines:
        truth = {Path(row["file_name"]).name: [row["class"], *row["tags"]] for row in map(json.loads, lines)}
    return [truth[file.name] for file in files]


def text_view(X: dict[str, np.ndarray], said: list[str] | None = None) -> tuple[AnyWords, np.ndarray]:
    """What is learned of pictures and texts, and the codes of the pictures; ``said`` may be empty for some."""
    texts = [(row, text) for row, text in enumerate(said or []) if text]
    vectors = text_encoder().encode([text for _, text in texts]) if texts else np.zeros((0, 512), np.float32)
    of = np.array([row for row, _ in texts], np.intp)
    model = AnyWords().fit(X, Said(vectors, of, len(X["deep"])))
    return model, model.picture_codes(X)


def average_precision(relevant: np.ndarray, scores: np.ndarray) -> float:
    """The mean precision at the relevant pictures."""
    hits = relevant[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()) if hits.any() else 0.0
