"""Searchers over the collection, kept until the collection or the models change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from visterm import find
from visterm.calibration.combining import DEPENDENCE
from visterm.calibration.nothing_found import NOTHING_BELOW
from visterm.catalogue.labels import Kind
from visterm.collection.any_words import AnyText, Texts, any_words
from visterm.collection.filters import Filters
from visterm.collection.holdings import Holdings
from visterm.collection.judgements import Age
from visterm.collection.moment import Collection, Frame
from visterm.collection.scores import Reading, class_index, edition, is_same, pair_index, prepare, word_index
from visterm.collection.text_view import newest_model
from visterm.compute import progress
from visterm.contracts import Task
from visterm.errors import InputError, ModelError
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.pairs import Pairs
from visterm.find.rank.searcher import Hits, Searcher
from visterm.find.words.conditions import Known, Mask
from visterm.find.words.query import Node, parse
from visterm.find.words.query import terms as terms_of
from visterm.language import installed, lookup_forms, name_key, word_key
from visterm.models import Model, SearchSettings

#: Searchers and beliefs kept; each belongs to a model, and a few models are used in turn.
_MAX_KEPT = 16
T = TypeVar("T")


@dataclass(eq=False)
class Ready:
    """A searcher over a collection; one thread at a time asks it, for it remembers what it has looked up.

    ``notes`` say which pictures the models have not seen yet; ``models`` answer for tags and classes.
    """

    collection: Collection
    searcher: Searcher
    notes: list[str]
    models: list[tuple[Kind, Model]]
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def search(self, query: str, limit: int, *, unlikely: bool) -> Hits:
        """The best pictures."""
        with self._guard:
            return self.searcher.search(query, limit, unlikely=unlikely)

    @cached_property
    def ages(self) -> list[Age]:
        """How old what the models say is."""
        return [Age.of(model.info, kind).now(self.collection.truth) for kind, model in self.models]

    @property
    def classified(self) -> bool:
        """Whether a model answers for classes."""
        return any(kind == "class" for kind, _ in self.models)


class Searchers:
    """Makes searchers and keeps them.

    What a model says of every picture is kept as long as the pictures and the names of the vocabulary stay the same;
    a searcher is made anew when a label changes, which takes a few milliseconds. While another thread or process
    computes features, searches use what is there; such a searcher is not kept, except where readers compute nothing.
    """

    def __init__(self, holdings: Holdings) -> None:
        self.holdings = holdings
        #: Whether ``like:`` may name any file; a server that strangers may ask knows only pictures of the collection.
        self.read_files = True
        #: Learns pictures and texts together, if that was not done yet and does not take long.
        self.learn_any_words: Callable[[Holdings], Model | None] = newest_model
        self._guard = threading.RLock()
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def ready(self, model: Model | None, query: str, collection: Collection | None = None) -> Ready:
        """What answers ``query`` with what ``model`` knows; without one, with people's words only.

        The pictures are those of ``collection``, by default as it is now.
        """
        tree = parse(query)
        if not self.read_files:
            self._refuse_files(tree)
        collection = collection or self.holdings.collection()
        together = model is not None and sum(1 for _ in terms_of(tree)) > 1
        classifier = self._classifier(model, tree, collection)
        vectors = installed.installed()
        texts = newest_model(self.holdings)
        state = (collection, model, classifier, together, vectors and vectors.file, texts)
        if self._known("searcher", state) is None:
            # This may take minutes, so nobody waits for it: meanwhile other threads search what is there.
            self._prepare(collection.frame, model, classifier)
        with self._guard:
            ready, _ = self._keep("searcher", state, lambda: self._make(collection, model, classifier, together, texts))
            return ready

    def _prepare(self, frame: Frame, model: Model | None, classifier: Model | None) -> None:
        """Compute the features of pictures that the models have not seen yet."""
        for kind, used in (("words", model), ("classes", classifier)):
            if used is not None and frame.keys and self._known(kind, (frame, used)) is None:
                prepare(self.holdings, used, kind, frame.keys)

    def _make(
        self,
        collection: Collection,
        model: Model | None,
        classifier: Model | None,
        together: bool,
        learned: Model | None,
    ) -> tuple[Ready, str | None]:
        frame = collection.frame
        notes: list[str | None] = []
        settings = SearchSettings(DEPENDENCE, NOTHING_BELOW)
        tag_beliefs, pairs = None, None
        if model is not None and frame.keys:
            settings = model.search_settings or SearchSettings(DEPENDENCE, 0.0)  # never measured: anything is found
            tag_beliefs, note = self._keep("words", (frame, model), lambda: self._beliefs("tag", frame, model))
            notes.append(note)
            if together and settings.pair_weight:
                weight = settings.pair_weight
                pairs, note = self._keep("pairs", (frame, model), lambda: self._pairs(frame, model, weight))
                notes.append(note)
        class_beliefs = None
        if classifier is not None and frame.keys:
            class_beliefs, note = self._keep(
                "classes", (frame, classifier), lambda: self._beliefs("class", frame, classifier)
            )
            notes.append(note)
        searcher = Searcher(
            collection.evidence,
            tag_beliefs,
            class_beliefs,
            like=lambda reference: find.similar.log_likeness(self.holdings, reference, collection),
            vectors=installed.installed(),
            pairs=pairs,
            aliases={str(kind): names for kind, names in frame.aliases.items()},
            dependence=settings.dependence,
            nothing_below=settings.nothing_below,
            texts=Texts(_helps_known(learned), lambda learn: self._texts(frame, learned, learn=learn)),
            facts=known_of(self.holdings, collection),
        )
        left_out = list(dict.fromkeys(note for note in notes if note is not None))
        models: list[tuple[Kind, Model]] = [("tag", model)] if model is not None and tag_beliefs is not None else []
        models += [("class", classifier)] if classifier is not None and class_beliefs is not None else []
        return Ready(collection, searcher, left_out, models), " ".join(left_out) or None

    def _beliefs(self, kind: Kind, frame: Frame, model: Model) -> tuple[Beliefs, str | None]:
        index, learned = (word_index, model.info.tags) if kind == "tag" else (class_index, model.info.classes)
        scored = index(self.holdings, model, frame.keys)
        names = frame.current_names(kind, learned)
        return Beliefs(scored.snapshot, names, frame.keys, exclusive=kind == "class"), scored.note

    def _pairs(self, frame: Frame, model: Model, weight: float) -> tuple[Pairs, str | None]:
        """What a model says of two words together, and how much that counts."""
        scored, columns = pair_index(self.holdings, model, frame.keys)
        names = frame.current_names("tag", model.info.tags)
        return Pairs(scored.snapshot, [(names[a], names[b]) for a, b in columns], frame.keys, weight), scored.note

    def _texts(self, frame: Frame, learned: Model | None, *, learn: bool) -> AnyText | None:
        """What judges pictures by their look; where nothing was learned yet, it may ``learn`` that now."""
        if learned is None and learn and frame.keys:
            learned = self.learn_any_words(self.holdings)  # this may take a minute; nobody waits for it
        if learned is None or not frame.keys:
            return None
        model = learned
        try:
            with self._guard:
                texts, _ = self._keep("texts", (frame, model), lambda: any_words(self.holdings, model, frame))
                return texts
        except ModelError as error:  # people's words and the models of tags answer without it
            progress.note(str(error))
            return None

    def _refuse_files(self, tree: Node) -> None:
        for term in terms_of(tree):
            if term.field == "like" and self.holdings.picture(term.text) is None:
                raise InputError(f"like:{term.text}: there is no such picture in the collection")

    def _classifier(self, model: Model | None, tree: Node, collection: Collection) -> Model | None:
        """What says something of classes, where a query may ask for one: the searching model if it can, else the best.

        A word that is no tag may be taken for a class: by its meaning, in another language, or misspelt.
        """
        shelf = self.holdings.shelf
        infos = [info for info in shelf.infos() if info.does(Task.CLASSIFY)]
        classes = {name_key(name) for info in infos for name in info.classes} | set(collection.evidence.class_names)
        terms = list(terms_of(tree))
        exactly = {name_key(term.text) for term in terms if term.field is None}
        language = collection.frame.language
        # A name of several words may be typed as several words, in another form and without quotes.
        typed = [form for term in terms if term.field is None for form in lookup_forms(word_key(term.text), language)]
        words = {word for form in typed for word in form.split()}
        named = bool(classes & exactly) or any(
            set(form.split()) <= words
            for name in classes
            if (key := word_key(name))
            for form in lookup_forms(key, language)
        )
        is_tag = collection.evidence.n_with_tag
        taken = any(
            not any(map(is_tag, lookup_forms(word_key(term.text), language))) for term in terms if not term.field
        )
        if not (named or taken or any(term.field == "class" for term in terms)):
            return None
        if model is not None and model.info.does(Task.CLASSIFY):
            return model
        return shelf.model(Task.CLASSIFY) if shelf.best(Task.CLASSIFY) else None

    def _known(self, kind: str, state: tuple[Any, ...]) -> Any:
        """What was made for the same objects before, and why it is not complete; None if nothing was."""
        place = _place(kind, state)
        with self._guard:
            kept = self._kept.get(place)
            if kept is None:
                return None
            made, held, editions, reading = kept
            if editions and not (is_same(editions, self._editions(held)) or reading.is_recent()):
                return None  # there are more features or scores now
            self._kept.move_to_end(place)
            return made

    def _editions(self, state: tuple[Any, ...]) -> list[object]:
        """What tells whether the features of the models in ``state`` are still those of before."""
        models = [part for part in state if isinstance(part, Model)]
        return [part for model in models for part in edition(self.holdings, model)]

    def _keep(
        self, kind: str, state: tuple[Any, ...], make: Callable[[], tuple[T, str | None]]
    ) -> tuple[T, str | None]:
        """What was made for the same objects before, else what ``make`` makes, and why it is not complete.

        What is not complete is kept only where readers compute nothing, and until there are more features.
        """
        known = self._known(kind, state)
        if known is not None:
            return known
        may_keep = not self.holdings.library.readers_compute
        editions = self._editions(state) if may_keep else []
        started = time.thread_time()
        made, note = make()
        if note is None or may_keep:
            reading = Reading.since(started)
            # The state is held, so that no other object gets its id.
            self._kept[_place(kind, state)] = ((made, note), state, [] if note is None else editions, reading)
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return made, note


def known_of(holdings: Holdings, collection: Collection) -> Known:
    """What answers the conditions of queries over a collection."""

    def narrowed(filters: Filters) -> Mask:
        view = holdings.views.newest()  # what it tells may be newer than the collection
        ids = collection.truth.ids[collection.frame.rows]
        return np.isin(ids, view.ids[filters.mask(view)])

    def position(reference: str) -> tuple[float, float]:
        picture = holdings.picture(reference)
        if picture is None:
            raise InputError(f"near:{reference}: there is no such picture in the collection")
        said = picture.metadata
        if said.latitude is None or said.longitude is None:
            raise InputError(f"near:{reference}: nobody knows where this picture was taken")
        return said.latitude, said.longitude

    return Known(collection.facts, collection.frame, narrowed, position)


def _helps_known(learned: Model | None) -> bool:
    """Whether the look of pictures says more than models of the words, as its training found."""
    return learned is not None and bool(learned.info.training.get("helps_known", False))


def _place(kind: str, state: tuple[Any, ...]) -> tuple[Any, ...]:
    return (kind, *(part if isinstance(part, (bool, type(None))) else id(part) for part in state))
