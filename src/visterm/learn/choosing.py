"""Which features and methods are compared for classes, tags and search, and how long a choice is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.collection.features import ready_recipe
from visterm.compute import n_cores
from visterm.contracts import Task
from visterm.contracts.tasks import LEARNED
from visterm.documents.wording import counted
from visterm.errors import InputError
from visterm.graph.methods import OVER_GRAPH
from visterm.learn import Candidate, Choice, Dataset, choose, sample_rows
from visterm.learn.data import labelled, labels_only, only_test_pictures
from visterm.learn.engine.attempts import by_measures
from visterm.learn.learned_search import by_search

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings
    from visterm.models import ModelInfo

#: The methods that are compared. They were the best of all on Corel5K and scenes8 training pictures.
_METHODS = {"classes": ("sdca", "knn"), "tags": ("ridge-tags", "label-propagation"), "search": ("caption-ridge",)}
#: The one method for classes that typically have at most this many pictures: nothing else learns from one of each. On
#: classes of Corel5K training pictures, its log loss was the least up to three or four.
_OF_FEW, _FEW = ("prototypes",), 3
#: Methods that are not compared if there are more pictures than this, with labels or without: they would take minutes.
_UP_TO = {"label-propagation": 20_000}
#: Up to this many pictures, what a model believes of classes and tags is spread over the graph of all of them.
_SPREAD_UP_TO = 20_000
#: And up to this many numbers, pictures times names.
_SPREAD_NUMBERS = 2**25
#: The features that are compared, the cheapest first.
RECIPES = ("deep", "deep+deep-lite2+layers", "deep+deep-lite2+layers+tagging-fast")
#: Other parameters that the best method is tried with on several features. On Corel5K training pictures the hinge loss
#: was three points better for 50 classes, on scenes8 no better; the steeper kernel was half a point better for tags.
_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "sdca": ({"loss": "hinge", "C": 10.0}, {"loss": "hinge", "C": 10.0, "kernel": "product"}),
    "ridge-tags": ({"kernel": "weighted-product:2", "alpha": 0.03},),
}
#: Tried as well if one class has this many times as many pictures as the typical class. One class of 1,000 pictures and
#: ten of 5 (Corel5K training pictures): accuracy 77 to 81 %, mean accuracy of the classes 14 to 41 %.
_UNEVEN, _FOR_UNEVEN = 5, {"sdca": ({"class_weight": "balanced"},)}
#: Tags are learned if one is on so many pictures: stray keywords, each on one picture, teach nothing.
_SHARED = 2
#: The features if the network is not installed.
_WITHOUT_NETWORK = ("tagging-fast",)
MINUTES = 3.0
#: Features beyond the first are compared if all labelled pictures get them in this many times the time for choosing:
#: who learns from them needs them of all.
_DESCRIBING = 4
#: A model of its own for search must be better by this much average precision than the model for tags.
_OWN_MODEL = 0.01
#: A choice is kept until the collection has this many times as many labelled pictures.
_GROWTH = 2


class Chooser:
    """Chooses a method, a recipe and parameters for each of classes, tags and search; ``recipe`` fixes the features."""

    def __init__(self, holdings: Holdings, recipe: str | None = None, *, choose_again: bool = False) -> None:
        self._holdings, self._collection = holdings, holdings.collection()
        self._choose_again = choose_again
        self.labels = labels_only(holdings, self._collection)
        #: The recipes that are compared, and what those need that this installation cannot compute.
        self._recipes, self.missing = _usable((recipe,) if recipe else RECIPES)

    def choose(self, what: str, seconds: float, tags: ModelInfo | None) -> tuple[dict[str, Any], Choice | None]:
        """What to train, as it is kept with the model; and how it was chosen, within about ``seconds``.

        There is no new choice if an earlier one is kept, or nothing can be compared. ``tags`` is the model for tags
        that was just trained: search is compared with it.
        """
        kept = self._kept(what, tags)
        if kept is not None:
            return kept, None
        choice = self._compared(what, seconds, tags)
        if choice is None:
            method = tags.method if what == "search" and tags is not None else self._method_names(what)[0]
            chosen = {"method": method, "recipe": self._recipes[0], "parameters": {}, "labelled": 0}
        else:
            best = choice.best.candidate
            chosen = {"method": best.method.name, "recipe": best.recipe, "parameters": dict(best.parameters)}
            chosen["labelled"] = self._n_labelled(what)
        return chosen | {"method": self._with_graph(what, str(chosen["method"]), tags)}, choice

    def _with_graph(self, what: str, method: str, tags: ModelInfo | None) -> str:
        """The chosen method, followed by spreading where that can be done; its strength is chosen while it learns."""
        if what == "search":  # the model for tags, or one of its own, which ranks
            return tags.method if tags is not None and method == _first(tags.method) else method
        n_names = len(self.labels.class_names if what == "classes" else self.labels.tag_names)
        too_many = len(self.labels) > _SPREAD_UP_TO or len(self.labels) * n_names > _SPREAD_NUMBERS
        if too_many or method == "label-propagation":
            if too_many:
                self.missing.append(
                    f"{what} were not spread over similar pictures: too many pictures, or too many names"
                )
            return method
        return method + OVER_GRAPH

    def _method_names(self, what: str) -> tuple[str, ...]:
        """The methods that are compared."""
        if what != "classes":
            return _METHODS[what]
        counts = np.bincount(self.labels.y[self.labels.has_class & ~self.labels.is_test])
        return _OF_FEW if np.median(counts[counts > 0]) <= _FEW else _METHODS[what]

    def _kept(self, what: str, tags: ModelInfo | None) -> dict[str, Any] | None:
        """The choice of the newest model of this name, unless the collection has outgrown it.

        If the model for tags searched best, search has no model of its own and shares the choice of the tags.
        """
        if self._choose_again or len(self._recipes) == 1:
            return None
        infos = self._holdings.shelf.infos()
        own = [info for info in infos if info.name == what]
        if what == "search" and not own and tags is not None and tags.version > 1:
            own = [info for info in infos if info.name == "tags"]
        kept = own[-1].training.get("choice") if own else None
        if not isinstance(kept, dict) or self._n_labelled(what) >= _GROWTH * kept.get("labelled", 0):
            return None
        method = str(kept.get("method"))
        too_many = method.endswith(OVER_GRAPH) and len(self.labels) > _SPREAD_UP_TO
        return None if too_many or self._is_too_slow(_first(method)) else kept

    def _compared(self, what: str, seconds: float, tags: ModelInfo | None) -> Choice | None:
        """The best of what is compared; None if there are too few pictures to hold some out."""
        task, recipes, parameters = LEARNED[what], self._recipes, {}
        able = self._method_names(what)
        names = tuple(name for name in able if not self._is_too_slow(name))
        self.missing += [
            f"{name} was not compared: it is meant for at most {_UP_TO[name]:,} pictures"
            for name in able
            if name not in names
        ]
        if what == "search" and tags is not None:
            # Is a model of its own better than the model for tags, on the same features and as it was trained?
            names, recipes = (_first(tags.method), *names), (tags.recipe,)
            parameters[_first(tags.method)] = tags.training["choice"].get("parameters") or {}
        recipes = (recipes[0], *(recipe for recipe in recipes[1:] if self._is_worth_describing(what, recipe, seconds)))
        candidates = [
            Candidate(method, recipes[0], parameters.get(method.name, {}))
            for method in map(registry.get, dict.fromkeys(names))
            if method.takes_any_features or "+" not in recipes[0]
        ]
        rows = sample_rows(self.labels, task)
        try:
            choice = choose(
                task,
                candidates,
                recipes,
                lambda recipe: labelled(self._holdings, self._collection, ready_recipe(self._holdings, recipe), rows)[
                    0
                ],
                seconds=seconds,
                cost_of=lambda recipe: self._cost(recipe, rows),
                variants=self._variants(what) if "+" in recipes[-1] else {},
                measuring=by_search if task is Task.RANK else by_measures,
            )
        except InputError:
            return None
        if what == "search" and tags is not None:
            of_tags = next((each for each in choice.tried if each.candidate.method.name == _first(tags.method)), None)
            if of_tags is not None and choice.best.value(task) - of_tags.value(task) < _OWN_MODEL:
                return replace(choice, best=of_tags)
        return choice

    def _is_too_slow(self, method: str) -> bool:
        return len(self.labels) > _UP_TO.get(method, len(self.labels))

    def _is_worth_describing(self, what: str, recipe: str, seconds: float) -> bool:
        """Whether the winner, too, can learn from these features soon."""
        needed = self._cost(recipe, np.flatnonzero(self.labels.labelled(LEARNED[what])))
        if needed <= _DESCRIBING * max(seconds, 60.0 * MINUTES):
            return True
        self.missing.append(
            f"{recipe} was not compared: its features would take about {needed / 60:.0f} minutes; 'visterm features"
            f" {recipe}' computes them before"
        )
        return False

    def _n_labelled(self, what: str) -> int:
        return int((self.labels.labelled(LEARNED[what]) & ~self.labels.is_test).sum())

    def _variants(self, what: str) -> dict[str, tuple[dict[str, Any], ...]]:
        """The other parameters to try, by the name of the method."""
        if what == "search":
            return {}
        counts = np.bincount(self.labels.y[self.labels.has_class & ~self.labels.is_test])
        if what == "classes" and counts.max() >= _UNEVEN * np.median(counts[counts > 0]):
            return {name: given + _FOR_UNEVEN.get(name, ()) for name, given in _VARIANTS.items()}
        return dict(_VARIANTS)

    def _cost(self, recipe: str, rows: NDArray[np.int64]) -> float:
        """About how many seconds the missing features take."""
        keys = self._collection.truth.sha256
        return self._holdings.library.seconds_to_describe(recipe, [keys[row] for row in rows]) / n_cores()


def why_not(task: Task, labels: Dataset) -> str:
    """Why nothing can be learned for a task; empty if it can."""
    what, option = ("a class", "--class") if task is Task.CLASSIFY else ("tags", "--tag")
    n_learned = int((labels.labelled(task) & ~labels.is_test).sum())
    how = f"'visterm label PICTURE {option} NAME'"
    if only_test := only_test_pictures(labels, task):
        return only_test
    if not n_learned:
        return f"no picture has {what}: give some with {how}, or import them"
    if task is not Task.CLASSIFY:
        if n_learned == 1:
            return f"only one picture has tags: tag some more with {how}, or import tags"
        most = int(np.bincount(labels.tags[~labels.is_test].indices, minlength=1).max())
        if most < _SHARED:
            return f"no tag is on more than {counted(most, 'picture')}: tag some more with {how}, or import tags"
        return ""
    counts = np.bincount(labels.y[labels.has_class & ~labels.is_test], minlength=len(labels.class_names))
    known = np.flatnonzero(counts)
    if len(known) == 1:
        name = labels.class_names[known[0]]
        return f"the only class is {name!r}, and what is not? Give another class to pictures that are not, with {how}"
    return ""


def _first(method: str) -> str:
    """The name of a method without the spreading that follows it."""
    return method.removesuffix(OVER_GRAPH)


def _usable(recipes: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """The recipes that this installation can compute, and what is missing."""
    from visterm.vision.recipes import recipe as recipe_named

    usable, missing = [], []
    for name in recipes:
        try:
            _ = recipe_named(name).hash
            usable.append(name)
        except InputError as error:
            if len(recipes) == 1:
                raise
            missing.append(str(error))
    return tuple(usable) or _WITHOUT_NETWORK, list(dict.fromkeys(missing))
