"""Searchers over the collection, kept until the collection or the models change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from visterm.app.collection import Collection, Frame
from visterm.app.indexing import class_index, pair_index, word_index
from visterm.contracts import Task
from visterm.language import folded, installed, word_key
from visterm.models import Model, SearchSettings
from visterm.search.beliefs import DEPENDENCE, Beliefs, Floats
from visterm.search.pairs import Pairs
from visterm.search.query import Node, Not, Term, parse
from visterm.search.searcher import Hits, Searcher
from visterm.search.threshold import NOTHING_BELOW

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

#: Searchers and beliefs kept; each belongs to a model, and a few models are used in turn.
_MAX_KEPT = 16
T = TypeVar("T")


@dataclass(eq=False)
class Ready:
    """A searcher over a collection; one thread at a time asks it, for it remembers what it has looked up."""

    collection: Collection
    searcher: Searcher
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def search(self, query: str, limit: int, *, unlikely: bool) -> Hits:
        """The best pictures."""
        with self._guard:
            return self.searcher.search(query, limit, unlikely=unlikely)


class Searchers:
    """Makes searchers and keeps them.

    What a model says of every picture is kept as long as the pictures and the names of the vocabulary stay the same;
    a searcher is made anew when a label changes, which takes a few milliseconds.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._guard = threading.RLock()
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def ready(self, model: Model | None, query: str) -> Ready:
        """What answers ``query`` with what ``model`` knows; without one, with people's words only."""
        tree = parse(query)
        with self._guard:
            collection = self._workspace.collection()
            together = model is not None and sum(1 for _ in _terms(tree)) > 1
            classifier = self._classifier(model, tree, collection)
            vectors = installed.installed()
            state = (collection, model, classifier, together, vectors and vectors.file)
            return self._keep("searcher", state, lambda: self._make(collection, model, classifier, together))

    def _make(self, collection: Collection, model: Model | None, classifier: Model | None, together: bool) -> Ready:
        frame = collection.frame
        settings = SearchSettings(DEPENDENCE, NOTHING_BELOW)
        tag_beliefs, pairs = None, None
        if model is not None and frame.keys:
            settings = model.search_settings or SearchSettings(DEPENDENCE, 0.0)  # never measured: anything is found
            tag_beliefs = self._keep("words", (frame, model), lambda: self._words(frame, model))
            if together and settings.pair_weight:
                weight = settings.pair_weight
                pairs = self._keep("pairs", (frame, model), lambda: self._pairs(frame, model, weight))
        class_beliefs = None
        if classifier is not None and frame.keys:
            class_beliefs = self._keep("classes", (frame, classifier), lambda: self._classes(frame, classifier))
        searcher = Searcher(
            collection.evidence,
            tag_beliefs,
            class_beliefs,
            like=lambda reference: self._like(reference, collection),
            vectors=installed.installed(),
            pairs=pairs,
            dependence=settings.dependence,
            nothing_below=settings.nothing_below,
        )
        return Ready(collection, searcher)

    def _words(self, frame: Frame, model: Model) -> Beliefs:
        index = word_index(self._workspace, model, frame.keys)
        return Beliefs(index.snapshot(), frame.current_names("tag", model.info.tags), frame.keys)

    def _pairs(self, frame: Frame, model: Model, weight: float) -> Pairs:
        """What a model says of two words together, and how much that counts."""
        index, columns = pair_index(self._workspace, model, frame.keys)
        names = frame.current_names("tag", model.info.tags)
        return Pairs(index.snapshot(), [(names[a], names[b]) for a, b in columns], frame.keys, weight)

    def _classes(self, frame: Frame, model: Model) -> Beliefs:
        index = class_index(self._workspace, model, frame.keys)
        return Beliefs(index.snapshot(), frame.current_names("class", model.info.classes), frame.keys)

    def _like(self, reference: str, collection: Collection) -> Floats:
        from visterm.app.similar import log_likeness

        return log_likeness(self._workspace, reference, collection)

    def _classifier(self, model: Model | None, tree: Node, collection: Collection) -> Model | None:
        """What says something of classes, where the query names one: the searching model if it can, else the best."""
        shelf = self._workspace.shelf
        infos = [info for info in shelf.infos() if info.does(Task.CLASSIFY)]
        classes = {word_key(name) for info in infos for name in info.classes} | set(collection.evidence.class_names)
        terms = list(_terms(tree))
        language = collection.frame.language
        # A name of several words may be typed as several words, in another form and without quotes.
        words = {word for term in terms if term.field is None for word in folded(word_key(term.text), language).split()}
        named = any(set(folded(name, language).split()) <= words for name in classes if name)
        if not (named or any(term.field == "class" for term in terms)):
            return None
        if model is not None and model.info.does(Task.CLASSIFY):
            return model
        return shelf.model(Task.CLASSIFY) if shelf.best(Task.CLASSIFY) else None

    def _keep(self, kind: str, state: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What was made for the same objects before, else what ``make`` makes."""
        place = (kind, *(part if isinstance(part, (bool, type(None))) else id(part) for part in state))
        kept = self._kept.get(place)
        if kept is None:
            kept = self._kept[place] = (make(), state)  # the state is held, so that no other object gets its id
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(place)
        made: T = kept[0]
        return made


def _terms(node: Node) -> Iterator[Term]:
    if isinstance(node, Term):
        yield node
    else:
        for part in (node.part,) if isinstance(node, Not) else node.parts:
            yield from _terms(part)
