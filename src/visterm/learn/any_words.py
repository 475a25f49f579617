"""Search by any words: what is learned of pictures and texts together, and how far it can be trusted."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Collection as Many
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from visterm.calibration import DEPENDENCE, Asked, TextQuery, TextRelevance, standardised, together
from visterm.catalogue.parts import is_test
from visterm.collection import scores
from visterm.collection.features import Computed, described, ready_recipe, stored_features
from visterm.collection.text_view import NAME, TASK, encoder_in_use, newest_model, text_view
from visterm.compute import progress
from visterm.contracts import Task, leaves_out, take
from visterm.errors import InputError, VistermError
from visterm.language import filler_words, folded, stop_words, text_encoder, word_key
from visterm.models import Model, ModelInfo, save_model
from visterm.ranking import AnyWords, Said

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings
    from visterm.collection.moment import Collection

Array = NDArray[Any]

#: Learned from at most this many pictures, and this many texts of theirs: more take time and change little.
_MAX_PICTURES, _MAX_TEXTS = 10_000, 16_000
#: This share of the pictures with texts, and at most so many, is held out to learn how far texts can be trusted.
_HELD_OUT, _MAX_HELD_OUT = 0.25, 1000
#: How far a picture stands out is measured among at most so many others.
_MAX_OTHERS = 2000
#: Fewer held-out pictures tell too little.
_ENOUGH = 10
#: If held-out pictures have fewer unknown words, this share of rare words is left out: those that are said of at most
#: this share of the pictures, or of five, and of three at least. Where all tags have a model, unknown words and queries
#: with one were stated twice as probable as they were (4,000 tagged pictures of Corel5K).
_ENOUGH_UNKNOWN, _LEFT_OUT, _RARE, _FEWEST_RARE = 100, 0.25, 0.01, (3, 5)
#: Queries of each kind.
_MAX_QUERIES = 300
#: A picture is found easily if it is among so many.
_FIRST = 10
_MAX_WORDS = 3
_SENTENCES = (Asked.SENTENCE, Asked.FOREIGN)
#: A text of this many words is a sentence.
_SENTENCE = 4
#: Pictures whose features are missing are described on demand if that takes at most so many seconds.
PATIENCE = 60.0


@dataclass(frozen=True)
class AnyWordsLearned:
    """What search by any words learned from: ``texts`` of ``pictures``.

    ``found`` is the share of ``asked`` held-out sentences whose picture is among the first ten of ``among`` pictures;
    None if there are too few sentences to tell.
    """

    pictures: int
    texts: int
    found: float | None
    asked: int
    among: int


@dataclass(frozen=True, eq=False)
class _Pictures:
    """Pictures, and what people said of each: the texts, and the forms of their words."""

    rows: NDArray[np.intp]
    texts: list[list[str]]
    words: list[frozenset[str]]

    def at(self, places: NDArray[np.intp]) -> _Pictures:
        """Some of these pictures."""
        kept = places.tolist()
        return _Pictures(self.rows[places], [self.texts[i] for i in kept], [self.words[i] for i in kept])


@dataclass(frozen=True)
class _Drawn:
    """A query that was drawn from what is said of the picture in ``row``: its text, and the forms of its words."""

    kind: Asked
    text: str
    words: frozenset[str]
    row: int


def learn_any_words(holdings: Holdings, *, wait: bool = True) -> Model:
    """Learn from what people said of pictures, measure it, and keep it; features that these lack are computed.

    ``wait`` is as in :func:`visterm.collection.features.described`.
    """
    started = time.perf_counter()
    collection = holdings.collection()
    view = text_view()
    recipe = ready_recipe(holdings, view.recipe)
    keys = collection.frame.keys
    chosen = _chosen(collection)
    present, _ = described(holdings, recipe, [keys[place] for place in chosen.rows.tolist()], wait=wait)
    if not len(present):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    with progress.task("Learning to find pictures by any words"):
        pictures = chosen.at(present)
        X = stored_features(holdings, recipe, [keys[place] for place in pictures.rows])
        said = _said(pictures, view.encoder)
        queries = list(_queries(holdings, collection, pictures, X, said))
        relevance = TextRelevance().fit(queries)
        model = AnyWords(view.encoder, is_pair=view.is_pair).fit(X, said, _names(collection))
    info = ModelInfo(
        name=NAME,
        version=0,
        method="any-words",
        tasks=(TASK,),
        classes=(),
        tags=(),
        tag_counts=(),
        n_tagged=0,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
        training={
            "pictures": int((said.counts > 0).sum()),
            "texts": len(said.of),
            **_found(queries),
            "encoder": encoder_in_use(),
            "helps_known": bool(relevance.helps_known_),
            "queries": {kind.name.lower(): int(n) for kind, n in zip(Asked, relevance.n_queries_, strict=True)},
            "took": round(time.perf_counter() - started, 1),
        },
    )
    return _kept(holdings, Model.of(info, model, recipe, relevance))


def any_words_learned(holdings: Holdings) -> AnyWordsLearned | None:
    """Learn anew, and say what; None, with a note, where pictures and texts cannot be compared."""
    try:
        known = learn_any_words(holdings).info.training
    except VistermError as error:  # such as no network installed
        progress.note(f"search knows only the words that people use: {error}")
        return None
    return AnyWordsLearned(**{name: known[name] for name in ("pictures", "texts", "found", "asked", "among")})


def look_at_all(holdings: Holdings) -> Computed:
    """Compute what the models in use and search by any words need of every picture; then no reader has to wait."""
    if newest_model(holdings) is None:
        any_words_learned(holdings)
    return scores.look_at_all(holdings)


def ready_any_words(holdings: Holdings) -> Model | None:
    """What was learned last, or else learned now, unless describing the pictures would take too long."""
    known = newest_model(holdings)
    if known is not None:
        return known
    keys = holdings.collection().frame.keys
    try:
        missing = holdings.library.seconds_to_describe(text_view().recipe, keys)
        if not keys or missing > PATIENCE or not holdings.library.readers_compute:
            return None
        return learn_any_words(holdings, wait=False)
    except VistermError as error:  # such as no network installed, or a disk that cannot be written to
        progress.note(f"only words that people wrote are searched: {error}")
        return None


def _kept(holdings: Holdings, model: Model) -> Model:
    """The model as the newest version; earlier ones, which nobody needs, are removed."""
    shelf = holdings.text_shelf
    with shelf.adding(NAME) as version:
        info = replace(model.info, version=version, sequence=version)
        place = shelf.place(NAME, version)
        save_model(Model.of(info, model.estimator, model.recipe, model.relevance), place)
        for older in place.parent.iterdir():
            if older.name.isdigit() and int(older.name) < version:
                with suppress(OSError):
                    shutil.rmtree(older)
    return shelf.load(place)


def _chosen(collection: Collection) -> _Pictures:
    """At most 10,000 pictures, those with texts first; and their texts."""
    frame = collection.frame
    of = [_texts_of(collection, row) for row in frame.rows]
    order = np.random.default_rng(0).permutation(len(of))
    with_texts = [place for place in order.tolist() if of[place]]
    others = [place for place in order.tolist() if not of[place]]
    rows = np.sort(np.array((with_texts + others)[:_MAX_PICTURES], np.intp))
    most = max(1, _MAX_TEXTS // max(1, min(len(with_texts), _MAX_PICTURES)))
    texts = [of[place][:most] for place in rows.tolist()]
    words = [_words(of[place], frame.language) for place in rows.tolist()]
    return _Pictures(rows, texts, words)


def _texts_of(collection: Collection, row: int) -> list[str]:
    """The lines of the caption, and the class and tags that it does not mention; nothing of a test picture."""
    truth = collection.truth
    if is_test(truth.splits[row]):
        return []
    caption = truth.captions[row] or ""
    texts = [line.strip() for line in caption.splitlines() if line.strip()]
    tags = truth.tags.indices[truth.tags.indptr[row] : truth.tags.indptr[row + 1]]
    names = [*([truth.classes[row]] if truth.classes[row] else []), *(truth.tag_names[tag] for tag in tags)]
    mentioned = f" {_forms(caption, collection.frame.language)} "
    more = [name for name in names if name and f" {_forms(name, collection.frame.language)} " not in mentioned]
    return [*texts, ", ".join(dict.fromkeys(more))] if more else texts


def _forms(text: str, language: str) -> str:
    return folded(word_key(text), language)


def _words(texts: Sequence[str], language: str) -> frozenset[str]:
    """The forms of the words that say what is in a picture."""
    ignored = stop_words(language) | filler_words(language)
    every = {word for text in texts for word in word_key(text).split()} - ignored
    return frozenset(folded(word, language) for word in every)


def _said(pictures: _Pictures, encoder: str) -> Said:
    """The texts as vectors."""
    texts = [text for own in pictures.texts for text in own]
    of = np.repeat(np.arange(len(pictures.texts)), [len(own) for own in pictures.texts])
    return Said(text_encoder(encoder).encode(texts), of.astype(np.intp), len(pictures.texts))


def _names(collection: Collection) -> list[str]:
    truth = collection.truth
    return [*truth.tag_names, *sorted({name for name in truth.classes if name})]


def _queries(
    holdings: Holdings, collection: Collection, pictures: _Pictures, X: Any, said: Said
) -> Iterator[TextQuery]:
    """Queries as people might ask them, to pictures that were held out."""
    view = text_view()
    rng = np.random.default_rng(0)
    with_texts = rng.permutation(np.flatnonzero(said.counts))
    held_out = np.sort(with_texts[: min(_MAX_HELD_OUT, round(_HELD_OUT * len(with_texts)))])
    if len(held_out) < _ENOUGH:
        return
    train = np.setdiff1d(np.arange(len(pictures.rows)), held_out)
    known = _known_words(holdings, collection, [pictures.rows[row] for row in held_out])
    left_out = _left_out(pictures, held_out, known)
    known = {word: log_p for word, log_p in known.items() if word not in left_out}
    told = _without(said, pictures, left_out, collection.frame.language).select(train)
    model = AnyWords(view.encoder, is_pair=view.is_pair).fit(take(X, train), told)
    # Who was learned from is less near to other texts. At a search, too, a picture stands out among them all.
    codes = model.picture_codes(take(X, np.concatenate([held_out, train[:: -(-len(train) // _MAX_OTHERS)]])))
    place = {row: at for at, row in enumerate(held_out.tolist())}
    asked = list(_asked(pictures, held_out, known, collection.frame.language))
    words_of = [pictures.words[row] for row in held_out.tolist()]
    scores = model.score(codes, [each.text for each in asked])
    for each, of_near, of_seen in zip(asked, scores.near, scores.seen, strict=True):
        relevant = np.array([each.words <= own for own in words_of])
        by_word = [known[word] for word in sorted(each.words) if word in known] if each.kind != Asked.FOREIGN else []
        log_odds = logit(np.exp(together(by_word, DEPENDENCE))) if by_word else None
        near, stands_out, seen = (column[: len(held_out)] for column in (of_near, standardised(of_near), of_seen))
        yield TextQuery(each.kind, near, stands_out, seen, log_odds, relevant, place[each.row])


def _left_out(pictures: _Pictures, held_out: NDArray[np.intp], known: Many[str]) -> frozenset[str]:
    """Rare words to learn nothing of, so that they stand for words that nobody used; none if there are such words."""
    n_unknown = len({word for row in held_out.tolist() for word in pictures.words[row]} - set(known))
    if n_unknown >= _ENOUGH_UNKNOWN:
        return frozenset()
    counts = Counter(word for own in pictures.words for word in own)
    most = max(_FEWEST_RARE[1], _RARE * sum(map(bool, pictures.words)))
    rare = sorted(word for word in known if _FEWEST_RARE[0] <= counts[word] <= most)
    return frozenset(np.random.default_rng(0).permutation(rare)[: round(_LEFT_OUT * len(rare))].tolist())


def _without(said: Said, pictures: _Pictures, words: frozenset[str], language: str) -> Said:
    """What is said without some words; only texts with one of them are turned into vectors again."""
    vectors, kept = said.vectors.copy(), np.ones(len(said.of), np.bool_)
    fewer = {}
    for number, text in enumerate(text for own in pictures.texts for text in own):
        others = [word for word in text.split() if words.isdisjoint(_forms(word, language).split())]
        if len(others) < len(text.split()):
            fewer[number] = " ".join(others)
            kept[number] = bool(others)
    if fewer:
        vectors[list(fewer)] = text_encoder(text_view().encoder).encode(list(fewer.values()))
    return Said(vectors[kept], said.of[kept], said.n_pictures)


def _found(queries: Sequence[TextQuery]) -> dict[str, Any]:
    """How often a picture that matches a sentence is among the ten nearest."""
    asked = [query for query in queries if query.kind == Asked.FOREIGN]
    if len(asked) < _ENOUGH:
        return {"found": None, "asked": len(asked), "among": 0}
    first = [query.relevant[np.argsort(-query.near, kind="stable")[:_FIRST]].any() for query in asked]
    return {"found": round(float(np.mean(first)), 3), "asked": len(asked), "among": len(asked[0].near)}


def _known_words(holdings: Holdings, collection: Collection, places: Sequence[int]) -> dict[str, Array]:
    """The log-probabilities of the pictures at ``places``, by the form of each word that the model for tags knows.

    Only of a model that scores pictures it learned from as if it had not: others would seem too good.
    """
    if holdings.shelf.best(Task.RANK) is None:
        return {}
    model = holdings.shelf.model(Task.RANK)
    if not leaves_out(model.estimator):
        return {}
    keys = [collection.frame.keys[place] for place in places]
    snapshot = scores.word_index(holdings, model, keys).snapshot
    slots = snapshot.find(keys)
    if (slots < 0).any():
        return {}
    names = collection.frame.current_names("tag", model.info.tags)
    forms = {_forms(name, collection.frame.language): place for place, name in enumerate(names) if name}
    return {form: snapshot.dimension_at(place, slots) for form, place in forms.items() if " " not in form}


def _asked(pictures: _Pictures, held_out: NDArray[np.intp], known: dict[str, Array], language: str) -> Iterator[_Drawn]:
    """Up to three words that were said of one picture, and whole sentences; of each kind at most 300."""
    rng = np.random.default_rng(0)
    n_of = dict.fromkeys(Asked, 0)
    found = set()
    for row in rng.permutation(np.repeat(held_out, _MAX_WORDS)).tolist():
        for text, of_text in (*_words_of(pictures.words[row], known, rng), *_sentences(pictures.texts[row], rng)):
            query = _words([text], language) if of_text in _SENTENCES else frozenset(text.split())
            if (of_text, text) not in found and n_of[of_text] < _MAX_QUERIES and query:
                found.add((of_text, text))
                n_of[of_text] += 1
                yield _Drawn(of_text, text, query, row)


def _words_of(words: Many[str], known: Many[str], rng: np.random.Generator) -> Iterator[tuple[str, Asked]]:
    """Up to three of the words, and of those that are not known: most words are known, and would be asked alone."""
    unknown = sorted(set(words) - set(known))
    for of in (sorted(words), unknown):
        drawn = rng.permutation(of)[: int(rng.integers(1, _MAX_WORDS + 1))].tolist()
        n_known = sum(word in known for word in drawn)
        if drawn:
            kind = Asked.KNOWN if n_known == len(drawn) else Asked.MIXED if n_known else Asked.UNKNOWN
            yield " ".join(drawn), kind


def _sentences(texts: Sequence[str], rng: np.random.Generator) -> Iterator[tuple[str, Asked]]:
    """One of the texts that is a sentence, asked with known words and without."""
    long = [text for text in texts if len(text.split()) >= _SENTENCE and "," not in text[:-1]]
    if long:
        text = long[int(rng.integers(len(long)))]
        yield text, Asked.SENTENCE
        yield text, Asked.FOREIGN
