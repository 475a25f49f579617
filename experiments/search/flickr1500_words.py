"""A person types words of captions: what does search find among pictures that nobody described?

    python experiments/search/flickr1500_words.py --data FOLDER [--part validation] [--workspace FOLDER] [--out FILE]

``visterm add`` and ``visterm train`` see the 1,000 captioned training pictures of flickr1500 and the pictures of one
part without their captions. Queries are one to three content words of a caption of that part, drawn at random, as
simplemma writes them (*jump* for *jumping*); 200 of each length. A picture is relevant to a query if its five captions
together have all its words. Only pictures of the part count: the training pictures are found by what people wrote.

A word is known if at least three training pictures have it, in any form. The figures:

- AvgP: average precision of the ranking with all guesses (``--all``); pictures that are not listed count as never found
- no ranking: queries that list no picture of the part, and queries of known words only that list none
- shown: of the pictures that are shown without ``--all`` as matching all words, how many match, and what was stated;
  and the same of pictures shown without some of the words, judged by the words that remain
- calibration error: in ten bands of stated probability, of the shown pictures and of all that have a probability

``--workspace`` keeps the workspace, so that it is trained once; ``--features`` takes features from another one.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from simplemma import lemmatize

import visterm
from visterm.contracts import Task
from visterm.errors import UsageError

N_QUERIES, MAX_WORDS, KNOWN_FROM = 200, 3, 3
_EMPTY = """
    a about above across after against all along also alongside amid among an and another any appear are around as at
    atop away back be because before behind below beneath beside between beyond both but by can can't cannot could do
    down dressed during each either etc every few for from front get go have he her herself him himself his i if in
    inside into it its itself just like look lot make many may more most much near next no nor not of off on once one
    only onto or other out outside over own past she should so some somebody someone something such take than that the
    their them themselves then there these they thing this those through to together toward towards under up upon use
    very via we what when where which while whilst who whose will with within without would you your photo photograph
    picture image show see find
"""
EMPTY = frozenset(_EMPTY.split())
#: Where simplemma is wrong, or splits forms of one word.
FIXES = {
    "people": "person", "playing": "play", "sitting": "sit", "hanging": "hang", "smoking": "smoke", "singing": "sing",
    "swinging": "swing", "crosses": "cross", "poles": "pole", "wrestling": "wrestle", "shorts": "shorts",
    "sunglasses": "sunglasses", "goggles": "goggle", "graffiti": "graffiti", "overalls": "overalls",
    "tights": "tights", "binoculars": "binoculars", "writing": "write", "drawing": "draw", "railing": "railing",
    "shot": "shoot", "bare": "bare",
}  # fmt: skip


@dataclass(frozen=True)
class Query:
    """Words that a person types, and whether each is known."""

    words: tuple[str, ...]
    known: tuple[bool, ...]


@dataclass(frozen=True)
class Listed:
    """A picture in an answer; ``missing`` words were left out to find it."""

    name: str
    stated: float
    missing: tuple[str, ...]


def lemmas(caption: str) -> list[str]:
    """The content words of a caption in dictionary form."""
    tokens = "".join(c if c.isalpha() or c == "-" else " " for c in caption.lower().replace("'s", " ")).split()
    tokens = [token.strip("-") for token in tokens if token.strip("-")]
    words = (FIXES.get(token) or lemmatize(token, lang="en") for token in tokens)
    return [word.lower() for word in words if len(word) > 1 and word.lower() not in EMPTY]


def read(folder: Path, part: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The captions of the training pictures and of the pictures of ``part``."""
    with (folder / "captions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    captions = {row["file_name"]: [row[f"caption{k}"] for k in range(1, 6)] for row in rows}
    train, held_out = ([row["file_name"] for row in rows if row["split"] == name] for name in ("train", part))
    return {name: captions[name] for name in train}, {name: captions[name] for name in held_out}


def draw(train: dict[str, list[str]], held_out: dict[str, list[str]]) -> list[Query]:
    """Queries of one to three words of a held-out caption, each once."""
    counts = Counter(word for own in train.values() for word in {w for text in own for w in lemmas(text)})
    bags = [sorted(set(lemmas(text))) for own in held_out.values() for text in own]
    rng, drawn = np.random.default_rng(0), {}
    for n_words in range(1, MAX_WORDS + 1):
        goal = len(drawn) + N_QUERIES
        while len(drawn) < goal:
            bag = bags[rng.integers(len(bags))]
            if len(bag) >= n_words:
                words = tuple(rng.choice(bag, n_words, replace=False).tolist())
                drawn.setdefault(frozenset(words), words)
    return [Query(words, tuple(counts[word] >= KNOWN_FROM for word in words)) for words in drawn.values()]


def make(folder: Path, data: Path, train: dict[str, list[str]], held_out: Iterable[str]) -> visterm.Workspace:
    """A workspace with both parts, of which only the training pictures have captions."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for name in (*train, *held_out):
        shutil.copyfile(data / "pictures" / name, folder / "pictures" / name)
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as file:
        for name, own in train.items():
            file.write(json.dumps({"file_name": f"pictures/{name}", "caption": own}) + "\n")
    return visterm.open(folder, create=True)


def trained(options: argparse.Namespace, folder: Path, train: Any, held_out: Any) -> visterm.Workspace:
    """The workspace after add and train; as it is if it was trained before."""
    if (folder / ".visterm" / "models").exists():
        return visterm.open(folder)
    photos = make(folder, options.data, train, held_out)
    if options.features:
        for name in ("features", "recipes"):
            shutil.copytree(options.features / ".visterm" / name, folder / ".visterm" / name, dirs_exist_ok=True)
    added = photos.add()
    print(f"add: {added.caption_words} words are tags, {added.caption_tags} labels, {added.other_words} other words")
    started = time.perf_counter()
    done = photos.train()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"train: {time.perf_counter() - started:.0f} s, peak {peak:.2f} GB")
    for outcome in done.outcomes:
        print(f"  {outcome.what}: {outcome.model} {outcome.method} {outcome.recipe} {outcome.quality} {outcome.reason}")
    return photos


def average_precision(relevant: set[str], ranked: list[str]) -> float:
    """The mean precision at the relevant pictures; those that are not listed count 0."""
    hits = [place for place, name in enumerate(ranked) if name in relevant]
    return sum((n + 1) / (place + 1) for n, place in enumerate(hits)) / len(relevant)


def calibration_error(stated: list[float], right: list[bool]) -> float:
    """The expected calibration error in ten bands."""
    p, y = np.array(stated), np.array(right, float)
    bands = np.minimum((p * 10).astype(int), 9)
    return float(sum(abs(p[bands == b].sum() - y[bands == b].sum()) for b in range(10)) / max(1, len(p)))


class Searching:
    """What ``visterm search`` lists, without what it tells of each picture beside its probability."""

    def __init__(self, photos: visterm.Workspace) -> None:
        self._photos, self._model = photos, photos.shelf.model(Task.RANK)

    def listed(self, words: tuple[str, ...], *, everything: bool) -> tuple[list[Listed], list[str]]:
        """The pictures, best first, and the words that nobody has used."""
        query = " ".join(words)
        ready = self._photos.searchers.ready(self._model, query)
        try:
            hits = ready.search(query, 5000, unlikely=everything)
        except UsageError:  # it takes every word for an empty one
            return [], list(words)
        frame = ready.collection.frame
        names = [Path(frame.paths[frame.rows[row]]).name for row in hits.rows.tolist()]
        unknown = [note.word for note in hits.notes if note.meant is None]
        return list(map(Listed, names, hits.probabilities.tolist(), hits.missing)), unknown


class Said:
    """What was stated of pictures, and whether it was right."""

    def __init__(self) -> None:
        self.stated: list[float] = []
        self.right: list[bool] = []

    def add(self, stated: float, right: bool) -> None:
        """One picture."""
        self.stated.append(stated)
        self.right.append(right)

    def values(self, name: str) -> dict[str, float]:
        """The figures."""
        return {
            f"{name}: pictures": len(self.stated),
            f"{name}: stated": mean(self.stated),
            f"{name}: right": mean(self.right),
            f"{name}: calibration error": round(calibration_error(self.stated, self.right), 4),
        }


def measure(photos: visterm.Workspace, queries: list[Query], held_out: dict[str, list[str]]) -> dict[str, Any]:
    """All figures."""
    words_of = {name: {word for text in own for word in lemmas(text)} for name, own in held_out.items()}
    searching, rows = Searching(photos), []
    shown: dict[str, Said] = {}
    for query in queries:
        relevant = {name for name, own in words_of.items() if own.issuperset(query.words)}
        every, unknown = searching.listed(query.words, everything=True)
        every = [each for each in every if each.name in words_of]
        for each in every if not unknown else ():
            shown.setdefault("every", Said()).add(each.stated, each.name in relevant)
        for each in searching.listed(query.words, everything=False)[0]:
            if each.name in words_of:
                kind = "part" if each.missing else "whole"
                right = words_of[each.name].issuperset(set(query.words) - set(each.missing))
                for name in (kind, f"{kind}, {len(query.words)} words"):
                    shown.setdefault(name, Said()).add(each.stated, right)
        ranked = [each.name for each in every]
        rows.append((query, average_precision(relevant, ranked), bool(ranked)))
    known = [row for row in rows if all(row[0].known)]
    values: dict[str, Any] = {"queries": len(rows), "known": len(known)}
    values |= {"AvgP": mean(row[1] for row in rows), "AvgP, known words": mean(row[1] for row in known)}
    values |= {
        f"AvgP, {n} words": mean(row[1] for row in rows if len(row[0].words) == n) for n in range(1, MAX_WORDS + 1)
    }
    values |= {
        "AvgP, some word unknown": mean(row[1] for row in rows if not all(row[0].known)),
        "no ranking": mean(not row[2] for row in rows),
        "no ranking, known words": mean(not row[2] for row in known),
        "known words without a ranking": ", ".join(" ".join(row[0].words) for row in known if not row[2])[:200],
    }
    for name in sorted(shown):
        values |= shown[name].values(name)
    return values


def mean(numbers: Iterable[float]) -> float:
    """In percent."""
    every = list(numbers)
    return round(100 * float(np.mean(every)), 2) if every else float("nan")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder flickr1500")
    parser.add_argument("--part", default="validation", choices=("validation", "test"))
    parser.add_argument("--workspace", type=Path)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    train, held_out = read(options.data, options.part)
    with tempfile.TemporaryDirectory() as temporary:
        photos = trained(options, options.workspace or Path(temporary) / "photos", train, held_out)
        started = time.perf_counter()
        values = measure(photos, draw(train, held_out), held_out)
        values["seconds"] = round(time.perf_counter() - started, 1)
    text = json.dumps(values, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
