"""What the experiments on search by any words share: the collections, their queries, and what the program answers."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flickr1500_words import Said, average_precision, draw, lemmas, mean, read

import visterm
from visterm.contracts import Task
from visterm.errors import UsageError, VistermError

#: Features and method of curves; the choice of ``train`` would differ from point to point.
RECIPE, METHOD = "deep+deep-lite2", "ridge-tags"
#: A word is known from as many pictures on as the vocabulary of captions asks for.
KNOWN_FROM = 3
_FEW = 0.05


@dataclass(frozen=True)
class Query:
    """A text, its kind, and the pictures that match it."""

    text: str
    kind: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class Pictures:
    """A collection: files, what is said of the training pictures, in a random order, and the truth of the others."""

    files: Mapping[str, Path]
    said: Mapping[str, Sequence[str]]
    field: str
    truth: Mapping[str, frozenset[str]]
    sentences: Sequence[tuple[str, str]] = ()

    def known(self, n: int) -> set[str]:
        """The words that the first ``n`` labelled pictures make known."""
        counts = self._counts(n)
        return {word for word, count in counts.items() if count >= (KNOWN_FROM if self.field == "caption" else 1)}

    def used(self, n: int) -> set[str]:
        """All words said of the first ``n`` pictures."""
        return set(self._counts(n))

    def _counts(self, n: int) -> Counter[str]:
        return Counter(word for own in list(self.said.values())[:n] for word in self._words(own))

    def _words(self, own: Sequence[str]) -> set[str]:
        return {word for text in own for word in lemmas(text)} if self.field == "caption" else set(own)


def flickr(data: Path, part: str) -> Pictures:
    """Captioned pictures; those of ``part`` are held out."""
    train, held_out = read(data / "flickr1500", part)
    names = [*train]
    said = {names[row]: train[names[row]] for row in np.random.default_rng(1).permutation(len(names)).tolist()}
    return Pictures(
        {name: data / "flickr1500" / "pictures" / name for name in (*train, *held_out)},
        said,
        "caption",
        {name: frozenset(word for text in own for word in lemmas(text)) for name, own in held_out.items()},
        [(text, name) for name, own in held_out.items() for text in own],
    )


def corel(data: Path, part: str) -> Pictures:
    """Tagged pictures; the last 500 of the training pictures are held out for validation."""
    folder = data / "corel5k"
    words = (folder / "labels" / "words").read_text(encoding="utf-8").split()
    tags, files = {}, {}
    for name, of in (("train", "training"), ("test", "test")):
        for line in (folder / "labels" / f"{of}_label").read_text(encoding="utf-8").splitlines():
            if line.strip():
                picture, *numbers = line.split()
                tags[f"{picture}.jpeg"] = tuple(dict.fromkeys(words[int(number) - 1] for number in numbers))
                files[f"{picture}.jpeg"] = folder / "images" / name / f"{picture}.jpeg"
    train = [name for name in tags if files[name].parent.name == "train"]
    train = [train[row] for row in np.random.default_rng(0).permutation(len(train)).tolist()]
    learn, held_out = (train[:-500], train[-500:])
    if part == "test":
        learn, held_out = train, [name for name in tags if name not in set(train)]
    return Pictures(
        {name: files[name] for name in (*learn, *held_out)},
        {name: tags[name] for name in learn},
        "tags",
        {name: frozenset(tags[name]) for name in held_out},
    )


def workspace(folder: Path, pictures: Pictures, n: int, features: Path | None, *, chosen: bool) -> visterm.Workspace:
    """A trained workspace in which ``n`` pictures are labelled; as it is if it was trained before.

    ``features`` are taken from another workspace. ``chosen``: ``train`` chooses method and features.
    """
    if (folder / "trained").exists():
        return visterm.open(folder)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for name, file in pictures.files.items():
        if not (folder / "pictures" / name).exists():
            shutil.copyfile(file, folder / "pictures" / name)
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as table:
        for name, own in list(pictures.said.items())[:n]:
            table.write(json.dumps({"file_name": f"pictures/{name}", pictures.field: list(own)}) + "\n")
    photos = visterm.open(folder, create=True)
    if features:
        for kind in ("features", "recipes"):
            if (features / ".visterm" / kind).exists():
                shutil.copytree(features / ".visterm" / kind, folder / ".visterm" / kind, dirs_exist_ok=True)
    photos.add()
    if n and chosen:
        photos.train()
    elif n:
        with suppress(VistermError):  # ten pictures may teach no tag
            photos.train(METHOD, recipe=RECIPE)
    if not n or not chosen:
        _learn_any_words(photos)
    (folder / "trained").touch()
    return photos


def _learn_any_words(photos: visterm.Workspace) -> None:
    """``train`` does this when it chooses; earlier versions had nothing to learn."""
    try:
        from visterm.learn.any_words import learn_any_words
    except ImportError:
        return
    learn_any_words(photos)


def word_queries(pictures: Pictures, n: int, drawn: Iterable[Sequence[str]]) -> list[Query]:
    """Queries of words: of known words, of unknown ones, and of both."""
    known, queries = pictures.known(n), []
    for words in drawn:
        n_known = sum(word in known for word in words)
        kind = "known" if n_known == len(words) else "mixed" if n_known else "unknown"
        queries.append(Query(" ".join(words), kind, relevant_to(pictures, words)))
    return queries


def drawn_words(data: Path, part: str) -> list[tuple[str, ...]]:
    """One to three words of a caption of flickr1500."""
    return [query.words for query in draw(*read(data / "flickr1500", part))]


def new_words(pictures: Pictures, n: int) -> list[Query]:
    """Every word of the held-out pictures that nobody said of the labelled ones."""
    used = pictures.used(n)
    words = sorted({word for own in pictures.truth.values() for word in own} - used)
    return [Query(word, "new", relevant_to(pictures, [word])) for word in words]


def rare_words(pictures: Pictures, n: int) -> list[Query]:
    """Every word of the held-out pictures that people said of too few of the first ``n`` to be known."""
    words = {word for own in pictures.truth.values() for word in own} & pictures.used(n)
    return [Query(word, "rare", relevant_to(pictures, [word])) for word in sorted(words - pictures.known(n))]


def misspelt(pictures: Pictures, new: Iterable[Query]) -> list[Query]:
    """The new words again: those that are misspelt are right for the pictures of the word that was meant."""
    queries = tomllib.loads((Path(__file__).parent / "queries" / "any_words.toml").read_text(encoding="utf-8"))
    meant: dict[str, str] = queries["slips"]
    return [
        Query(query.text, "misspelt", relevant_to(pictures, [meant[query.text]]))
        if query.text in meant
        else Query(query.text, "new, spelled right", query.relevant)
        for query in new
    ]


def sentence_queries(pictures: Pictures, each: int) -> list[Query]:
    """``each`` sentences of every held-out picture, which alone counts as right."""
    of: Counter[str] = Counter()
    queries = []
    for text, name in pictures.sentences:
        if of[name] < each:
            of[name] += 1
            queries.append(Query(text, "sentence", frozenset([name])))
    return queries


def relevant_to(pictures: Pictures, words: Iterable[str]) -> frozenset[str]:
    """The held-out pictures with all words."""
    return frozenset(name for name, own in pictures.truth.items() if own.issuperset(words))


@dataclass(frozen=True)
class Answer:
    """The held-out pictures that match all words, best first; which of them are shown, and whether as guesses.

    ``listed`` counts those that lack a word, too.
    """

    names: list[str]
    stated: list[float]
    shown: list[bool]
    guessed: bool
    listed: int = 0


class Asking:
    """What ``visterm search`` lists of some pictures."""

    def __init__(self, photos: visterm.Workspace, among: Iterable[str]) -> None:
        self.photos, self._among = photos, set(among)
        self._model = photos.shelf.best(Task.RANK) and photos.shelf.model(Task.RANK)

    def answer(self, text: str, *, everything: bool = True) -> Answer:
        """The answer to a query: all pictures that have a probability, or those that are listed by default."""
        ready = self.photos.searchers.ready(self._model, _plain(text))
        try:
            hits = ready.search(_plain(text), 10_000, unlikely=everything)
        except UsageError:
            return Answer([], [], [], guessed=False)
        frame = ready.collection.frame
        names = [Path(frame.paths[frame.rows[row]]).name for row in hits.rows.tolist()]
        kept = [i for i, name in enumerate(names) if name in self._among and not hits.missing[i]]
        likely = hits.likely.tolist()
        return Answer(
            [names[i] for i in kept],
            [float(hits.probabilities[i]) for i in kept],
            [likely[i] for i in kept],
            guessed=bool(getattr(hits, "by_look", False)) and not any(likely),
            listed=sum(name in self._among for name in names),
        )


def _plain(text: str) -> str:
    """The text without what has a meaning in queries."""
    return " ".join("".join(c if c.isalnum() or c in "'-" else " " for c in text).split()).replace(" -", " ")


def figures(asking: Asking, queries: Sequence[Query], among: int) -> dict[str, Any]:
    """What is found, and whether it is as probable as stated, by kind of query."""
    by_kind: dict[str, list[tuple[Query, Answer]]] = {}
    answers: dict[str, Answer] = {}
    for query in queries:
        if query.text not in answers:
            answers[query.text] = asking.answer(query.text)
        by_kind.setdefault(query.kind, []).append((query, answers[query.text]))
    values: dict[str, Any] = {}
    for kind, rows in by_kind.items():
        values[kind] = _figures(rows, among)
    return values


def _figures(rows: Sequence[tuple[Query, Answer]], among: int) -> dict[str, Any]:
    shown, likely, every = Said(), Said(), Said()
    for query, answer in rows:
        for name, stated, is_shown in zip(answer.names, answer.stated, answer.shown, strict=True):
            right = name in query.relevant
            every.add(stated, right)
            if stated >= _FEW:
                likely.add(stated, right)
            if is_shown:
                shown.add(stated, right)
        # pictures that are not listed are stated to have no chance
        n_left = among - len(answer.names)
        for place in range(n_left):
            every.add(0.0, place < len(query.relevant - set(answer.names)))
    found = [(query, answer.names) for query, answer in rows if query.relevant]
    first = [_place(query, names) for query, names in found]
    values = {
        "queries": len(rows),
        "AvgP": mean(average_precision(set(query.relevant), names) for query, names in found),
        "ranked": mean(bool(answer.names) for _, answer in rows),
        "guessed": mean(answer.guessed for _, answer in rows),
        **{f"R@{k}": mean(place < k for place in first) for k in (1, 5, 10)},
    }
    for name, said in (("shown", shown), ("p>=.05", likely), ("every", every)):
        values |= said.values(name)
    return values


def _place(query: Query, names: Sequence[str]) -> float:
    return next((place for place, name in enumerate(names) if name in query.relevant), float("inf"))
