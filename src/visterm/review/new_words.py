"""Words that a collection does not have yet: suggested for pictures without labels, or typed, taught by answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection as Collection_
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import Asked
from visterm.catalogue.labels import clean_name
from visterm.collection.any_words import AnyText, any_words
from visterm.collection.filters import in_state
from visterm.collection.judgements import LikelyName
from visterm.collection.rows import columns_of, rows_of
from visterm.collection.view import View
from visterm.errors import InputError, VistermError
from visterm.labels.deciding import Decision, decide
from visterm.labels.labelling import Labelled
from visterm.language import folded, word_key
from visterm.learn.any_words import ready_any_words
from visterm.review.head import group
from visterm.review.heads import REVIEW
from visterm.review.naming import Named, fits, named_groups
from visterm.review.prior_head import corrected, next_questions, probabilities
from visterm.review.reviewer import NOT_LOOKED_AT
from visterm.review.word_documents import DeclinedWords, SuggestedWord, SuggestedWords, WordQuestions
from visterm.storage import write_text_atomically
from visterm.subspace import sample
from visterm.vision.network.everyday_words import everyday_words

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings
    from visterm.collection.moment import Collection, Frame
    from visterm.models import Model
    from visterm.review.reviewer import Reviewer

Floats = NDArray[np.floating[Any]]

#: The most groups, twice as many as a person names: groups with the same word are put together again.
_MOST_GROUPS = 120
#: Groups are found among at most this many pictures; the others join the nearest.
_MOST_GROUPED = 5000
#: After this many answers a new word is a tag whose likely pictures are shown.
ENOUGH = 20
#: Pictures of at least this probability are listed, and at most this many.
_LIKELY, _MOST_LIKELY = 0.3, 500
#: Without anything that knows the word, this is the log-odds that a picture shows it.
_RARE = -3.0


@dataclass(frozen=True, eq=False)
class _Basis:
    """What suggested words rest on."""

    collection: Collection
    texts: AnyText
    Z: NDArray[np.float32]
    declined: frozenset[str]

    def is_that_of(self, other: _Basis) -> bool:
        """Whether nothing differs."""
        same = self.collection is other.collection and self.texts is other.texts and self.Z is other.Z
        return same and self.declined == other.declined


class _Named(NamedTuple):
    """The ``words``, what they name (rows of ``places``, which are rows of the view), and how many had no label."""

    words: list[str]
    named: list[Named]
    places: NDArray[np.intp]
    n_unlabelled: int


class NewWords:
    """Suggests words for a collection's pictures, and asks about words that it does not know."""

    def __init__(self, holdings: Holdings, reviewer: Reviewer) -> None:
        self._holdings, self._reviewer = holdings, reviewer
        self._guard = threading.RLock()
        self._read: tuple[Frame, Model, AnyText] | None = None
        self._named: tuple[_Basis, _Named] | None = None
        self._declined_file = holdings.state / "declined-words.json"

    # Suggested words

    def suggested(self, *, limit: int = 24) -> SuggestedWords:
        """Words for the pictures without labels; none that the collection uses, nor any that a person declined."""
        view = self._holdings.views.newest()
        found = self._named_now(view)
        shown = []
        for each in found.named[:limit]:
            pictures = columns_of(self._holdings, view, found.places[each.rows])
            shown.append(SuggestedWord(found.words[each.word], round(each.fit, 2), pictures))
        return SuggestedWords(shown, found.n_unlabelled)

    def accept(self, word: str, name: str | None = None) -> Labelled:
        """Give the pictures of a suggested word the tag of that ``name`` (default: the word): accepted suggestions."""
        found = next((each for each in self.suggested(limit=1000).words if each.word == word), None)
        if found is None:
            raise InputError(f"{word!r} is not suggested now: 'visterm vocabulary --suggest' lists the words")
        tag = clean_name(name or word)
        return decide(self._holdings, [Decision(number, "tag", tag, "accepted") for number in found.pictures.ids])

    def decline(self, word: str, *, decline: bool = True) -> DeclinedWords:
        """Stop suggesting a word; without ``decline``, suggest it again."""
        if decline and clean_name(word) not in everyday_words():
            raise InputError(f"{word!r} is never suggested: 'visterm vocabulary --suggest' lists the words")
        with self._guard:
            declined = self._declined()
            (declined.add if decline else declined.discard)(clean_name(word))
            write_text_atomically(self._declined_file, json.dumps(sorted(declined)))
        return DeclinedWords(sorted(declined))

    def _declined(self) -> set[str]:
        with suppress(OSError, ValueError, TypeError):
            return set(map(str, json.loads(self._declined_file.read_text(encoding="utf-8"))))
        return set()

    def _named_now(self, view: View) -> _Named:
        """The words as of now; they are found anew if the labels, the pictures or what was learned have changed."""
        texts = self._texts(view)  # first, since outside a server it looks at the pictures
        places, Z = self._reviewer.looked_at(view)
        basis = _Basis(view.collection, texts, Z, frozenset(self._declined()))
        with self._guard:
            if self._named is None or not self._named[0].is_that_of(basis):
                self._named = (basis, self._name(view, basis, places))
            return self._named[1]

    def _name(self, view: View, basis: _Basis, places: NDArray[np.intp]) -> _Named:
        texts = basis.texts
        rows = np.flatnonzero(in_state(view, "unlabelled")[places] & np.isin(places, texts.rows))
        taken = self._taken(view)
        kinds = {word: classes for word, classes in everyday_words().items() if word not in taken}
        if not len(rows) or not kinds:
            return _Named([], [], places, len(rows))
        words = list(kinds)
        fit = np.full((len(words), len(places)), -np.inf)
        at = np.searchsorted(texts.rows, places[rows])  # both are in order
        fit[:, rows] = fits(texts.near(words), texts.share_seen(list(kinds.values())))[:, at]
        return _Named(words, named_groups(fit, look_alikes(basis.Z, rows)), places, len(rows))

    def _taken(self, view: View) -> set[str]:
        """The words that are not suggested: those in use, and those that a person dropped or declined."""
        frame, truth = view.collection.frame, view.collection.truth
        names = {*truth.tag_names, *view.class_names, *frame.dropped["tag"], *frame.aliases["tag"], *self._declined()}
        forms = {folded(word_key(name), frame.language) for name in names}
        return {word for word in everyday_words() if folded(word_key(word), frame.language) in forms}

    # Questions about one word

    def questions(self, word: str, *, without: Collection_[int] = (), limit: int = 12) -> WordQuestions:
        """Pictures that may show a word, known or not: by their look, and by what people answered about it so far."""
        name = clean_name(word)
        view = self._holdings.views.newest()
        name = view.collection.frame.aliases["tag"].get(name, name)
        places, Z = self._reviewer.looked_at(view)
        answers = _answers(view, name)[places]
        answered = np.flatnonzero(answers)
        yes = answers[answered] > 0
        found = corrected(Z, self._prior(view, name)[places], answered, yes)
        p = probabilities(found, yes)
        ids = view.ids[places]
        open_ = (answers == 0) & ~np.isin(ids, list(without))
        asked_before = np.flatnonzero((answers != 0) | np.isin(ids, list(without)))
        chosen = next_questions(Z, found.log_odds, open_, asked_before, limit)
        known = {row.id: row for row in rows_of(self._holdings, ids[chosen].tolist(), view)}
        questions = [
            replace(known[number], asked=LikelyName(name, round(float(p[row]), 4), "tag", REVIEW))
            for row, number in zip(chosen, ids[chosen].tolist(), strict=True)
            if number in known
        ]
        likely = np.flatnonzero((answers == 0) & (p >= _LIKELY)) if len(answered) >= ENOUGH else np.empty(0, np.intp)
        likely = likely[np.argsort(-p[likely], kind="stable")][:_MOST_LIKELY]
        return WordQuestions(
            word=name,
            questions=questions,
            yes=int((answers > 0).sum()),
            no=int((answers < 0).sum()),
            enough=ENOUGH,
            left=int(open_.sum()),
            likely=columns_of(self._holdings, view, places[likely]),
        )

    def _prior(self, view: View, word: str) -> Floats:
        """(n_pictures,) the log-odds that pictures show a word, before any answer."""
        try:
            log_odds = self._texts(view).log_odds(Asked.UNKNOWN, word)
        except VistermError:  # such as no network installed: only the answers tell
            return np.full(len(view), _RARE)
        return np.where(np.isfinite(log_odds), log_odds, _RARE)

    def _texts(self, view: View) -> AnyText:
        """What counts of every picture for any text, kept until the pictures or what was learned of them change."""
        model = ready_any_words(self._holdings)
        if model is None:
            raise InputError(NOT_LOOKED_AT)
        frame = view.collection.frame
        with self._guard:
            if self._read is None or self._read[0] is not frame or self._read[1] is not model:
                texts, note = any_words(self._holdings, model, frame)
                if note is not None:  # some pictures are still being looked at
                    return texts
                self._read = (frame, model, texts)
            return self._read[2]


def _answers(view: View, tag: str) -> NDArray[np.int8]:
    """(n_pictures,) 1 where people gave the tag, -1 where they denied it, else 0."""
    truth = view.collection.truth
    answers = np.zeros(len(view), np.int8)
    if tag in truth.tag_names:
        column = [truth.tag_names.index(tag)]
        answers[truth.rejected[view.rows][:, column].toarray().ravel() > 0] = -1
        answers[truth.tags[view.rows][:, column].toarray().ravel() > 0] = 1
    return answers


def look_alikes(Z: NDArray[np.float32], rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Groups of look-alikes: of many pictures, a sample is grouped, and every picture joins the nearest centre."""
    some = rows if len(rows) <= _MOST_GROUPED else rows[sample(len(rows), _MOST_GROUPED)]
    n_groups = int(np.clip(2 * round((len(some) / 3) ** 0.5), 2, _MOST_GROUPS))
    found = group(Z, some, n_groups)
    if len(some) == len(rows):
        return [np.asarray(each.rows) for each in found]
    centres = np.stack([Z[each.rows, :-1].mean(axis=0) for each in found])
    nearest = (Z[rows, :-1] @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
    return [rows[nearest == number] for number in range(len(found))]
