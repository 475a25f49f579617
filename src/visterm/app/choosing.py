"""Training with nothing named: chooses features and methods for what the labels allow, trains, tells the outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.app.document import Document
from visterm.app.features import ready_recipe
from visterm.app.training import TrainedModel, labelled, labels_only, only_test_pictures, train
from visterm.catalogue.records import Skipped
from visterm.compute import n_cores
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learning import Choice, Dataset, choose, sample_rows
from visterm.search.learned import search_values

if TYPE_CHECKING:
    from visterm.app.collection import Collection
    from visterm.app.workspace import Workspace

#: What a person may ask to be trained, and the task it means; also the names of the models.
WANTED = {"classes": Task.CLASSIFY, "tags": Task.ANNOTATE, "search": Task.RANK}
#: The methods that are compared. They were the best of all on Corel5K and scenes8 training pictures.
_METHODS = {"classes": ("sdca", "knn"), "tags": ("ridge-tags", "label-propagation"), "search": ("caption-ridge",)}
#: The features that are compared, the cheapest first.
RECIPES = ("deep", "deep+deep-lite2", "deep+deep-lite2+tagging-fast")
#: Other parameters that the best method is tried with on several features. On Corel5K training pictures the hinge loss
#: was three points better for 50 classes, on scenes8 no better; the steeper kernel was half a point better for tags.
_VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "sdca": ({"loss": "hinge", "C": 10.0},),
    "ridge-tags": ({"kernel": "weighted-product:2", "alpha": 0.03},),
}
#: Tried as well if one class has this many times as many pictures as the typical class. One class of 1,000 pictures and
#: ten of 5 (Corel5K training pictures): accuracy 77 to 81 %, mean accuracy of the classes 14 to 41 %.
_UNEVEN, _FOR_UNEVEN = 5, {"sdca": ({"class_weight": "balanced"},)}
#: The features if the network is not installed.
_WITHOUT_NETWORK = ("tagging-fast",)
MINUTES = 3.0
#: A model of its own for search must be better by this much average precision than the model for tags.
_OWN_MODEL = 0.01
#: The share of the time for choosing that is left to each of the tasks that follow.
_LEFT_TO_OTHERS = 0.15
#: A choice is kept until the collection has this many times as many labelled pictures.
_GROWTH = 2
#: A class or tag counts as weak below this quality, if it has at least this many pictures.
_WEAK, _WEAK_PICTURES = 0.5, 3


@dataclass(frozen=True)
class Attempt:
    """A method on some features, and the main measure that it reached, with its standard error."""

    method: str
    recipe: str
    value: float
    error: float
    seconds: float
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came out for one of classes, tags and search.

    ``model`` is None if nothing could be learned; ``reason`` says why. ``quality`` is the main measure on
    ``held_out`` pictures, ``baseline`` that of guessing. ``suggestions`` is the number of tags that were suggested for
    them. ``measures`` has all measures by name. ``tried`` is empty if an earlier choice was kept. ``untried`` did not
    fit into the time. ``half_quality`` is what half of the labelled pictures gave in the comparison. ``weak`` are the
    classes or tags that are recognised worst.
    """

    what: str
    model: str | None = None
    method: str = ""
    recipe: str = ""
    quality: float | None = None
    baseline: float | None = None
    held_out: int = 0
    suggestions: int | None = None
    learned_from: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    tried: list[Attempt] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    half_quality: float | None = None
    weak: list[str] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True)
class Training(Document):
    """What ``train`` did with nothing named: one outcome for classes, tags and search.

    ``labelled`` pictures were learned from; ``left_out`` ones have labels, too, but could not be, with the reason.
    ``earlier`` counts the suggestions that are kept of earlier versions of the models and that nobody has decided.
    """

    outcomes: list[Outcome]
    pictures: int
    labelled: int
    seconds: float
    missing: list[str]
    left_out: list[Skipped] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)


def train_all(
    workspace: Workspace,
    wanted: Sequence[str] = tuple(WANTED),
    *,
    recipe: str | None = None,
    minutes: float = MINUTES,
    choose_again: bool = False,
) -> Training:
    """Choose and train what ``wanted`` names, as far as the labels allow; ``recipe`` fixes the features.

    Choosing takes about ``minutes`` at most. A choice that was made before is kept until there are twice as many
    labelled pictures, or until the person asks to ``choose_again``.
    """
    started = time.perf_counter()
    collection = workspace.collection()
    labels = labels_only(workspace, collection)
    recipes, missing = _usable((recipe,) if recipe else RECIPES)
    reasons = {what: _why_not(WANTED[what], labels) for what in WANTED if what in wanted}
    able = [what for what, reason in reasons.items() if not reason]
    outcomes = [Outcome(what, reason=reason) for what, reason in reasons.items() if reason]
    if not able:
        raise InputError("; ".join(dict.fromkeys(outcome.reason for outcome in outcomes)))
    session = _Session(workspace, collection, recipes, choose_again)
    seconds = 60 * minutes
    for place, what in enumerate(able):
        # The first one computes the features that the others use, too: it may take nearly all of the time.
        began = time.perf_counter()
        choice = session.choose(what, seconds - _LEFT_TO_OTHERS * 60 * minutes * (len(able) - 1 - place))
        seconds -= time.perf_counter() - began
        outcomes.append(session.train(what, choice))
    n_labelled = _n_learned_from(workspace, labels, able, {outcome.recipe for outcome in outcomes if outcome.model})
    order = list(WANTED)
    outcomes.sort(key=lambda outcome: order.index(outcome.what))
    seconds = round(time.perf_counter() - started, 1)
    left_out = list(session.left_out.values())
    return Training(outcomes, len(labels), n_labelled, seconds, missing, left_out, session.earlier)


def _n_learned_from(workspace: Workspace, labels: Dataset, able: Sequence[str], recipes: Iterable[str]) -> int:
    """How many pictures have a label for what was learned, and all features."""
    is_labelled = np.zeros(len(labels), np.bool_)
    for what in able:
        is_labelled |= labels.has_class if what == "classes" else labels.has_tags
    rows = np.flatnonzero(is_labelled & ~labels.is_test)
    truth = workspace.collection().truth
    for recipe in recipes:
        rows = rows[workspace.library.present(ready_recipe(workspace, recipe), [truth.sha256[row] for row in rows])]
    return len(rows)


class _Session:
    """One run of training: what was chosen for tags also serves search."""

    def __init__(
        self, workspace: Workspace, collection: Collection, recipes: tuple[str, ...], choose_again: bool
    ) -> None:
        self._workspace, self._collection, self._recipes = workspace, collection, recipes
        self._labels = labels_only(workspace, collection)
        self._choose_again = choose_again
        self._tags: TrainedModel | None = None
        self.left_out: dict[str, Skipped] = {}
        self.earlier: dict[str, int] = {}
        self._tag_parameters: dict[str, Any] = {}

    def choose(self, what: str, seconds: float) -> Choice | None:
        """What is best, within about ``seconds``; None if an earlier choice is kept or nothing can be compared."""
        if self._kept_choice(what) is not None:
            return None
        task, recipes = WANTED[what], self._recipes
        names = _METHODS[what]
        if what == "search" and self._tags is not None:
            # Is a model of its own better than the model for tags, on the same features?
            names, recipes = (self._tags.method, *names), (self._tags.recipe,)
        methods = [registry.get(name) for name in dict.fromkeys(names)]
        rows = sample_rows(self._labels, task)
        try:
            choice = choose(
                task,
                [method for method in methods if method.takes_any_features or "+" not in recipes[0]],
                recipes,
                lambda recipe: labelled(self._workspace, self._collection, ready_recipe(self._workspace, recipe), rows),
                seconds=seconds,
                cost_of=lambda recipe: self._cost(recipe, rows),
                measure_each=search_values if task is Task.RANK else None,
                variants=self._variants(what) if "+" in recipes[-1] else {},
                # The model for tags is compared as it was trained.
                parameters={self._tags.method: self._tag_parameters} if what == "search" and self._tags else {},
            )
        except InputError:  # too few pictures to hold some out: nothing can be compared
            return None
        of_tags = next((each for each in choice.tried if self._tags and each.method.name == self._tags.method), None)
        if what == "search" and of_tags is not None and choice.best.value - of_tags.value < _OWN_MODEL:
            return replace(choice, best=of_tags)
        return choice

    def train(self, what: str, choice: Choice | None) -> Outcome:
        """Train what was chosen; a search that the model for tags does best needs no model of its own."""
        kept = self._kept_choice(what)
        if choice is not None:
            kept = {
                "method": choice.best.method.name,
                "recipe": choice.best.recipe,
                "parameters": dict(choice.best.parameters),
                "labelled": self._n_labelled(what),
            }
        elif kept is None:
            method = self._tags.method if what == "search" and self._tags is not None else _METHODS[what][0]
            kept = {"method": method, "recipe": self._recipes[0], "parameters": {}, "labelled": 0}
        if what == "search" and self._tags is not None and kept["method"] == self._tags.method:
            return _outcome(what, self._tags, choice)
        model = train(
            self._workspace,
            kept["method"],
            name=what,
            recipe=kept["recipe"],
            parameters=kept.get("parameters"),
            choice=kept,
        )
        self.left_out |= {skipped.where: skipped for skipped in model.left_out}
        self.earlier |= model.earlier
        if what == "tags":
            self._tags, self._tag_parameters = model, dict(kept.get("parameters") or {})
        return _outcome(what, model, choice)

    def _kept_choice(self, what: str) -> dict[str, Any] | None:
        """The choice of the newest model of this name, unless the collection has outgrown it.

        A search that the model for tags did best has no model: its choice is that of the tags.
        """
        if self._choose_again or len(self._recipes) == 1:
            return None
        infos = self._workspace.shelf.infos()
        own = [info for info in infos if info.name == what]
        if what == "search" and not own and self._tags is not None and self._tags.version > 1:
            own = [info for info in infos if info.name == "tags"]
        kept = own[-1].training.get("choice") if own else None
        if not isinstance(kept, dict) or self._n_labelled(what) >= _GROWTH * kept.get("labelled", 0):
            return None
        return kept

    def _n_labelled(self, what: str) -> int:
        labels = self._labels
        return int(((labels.has_class if what == "classes" else labels.has_tags) & ~labels.is_test).sum())

    def _variants(self, what: str) -> dict[str, tuple[dict[str, Any], ...]]:
        """The other parameters to try, by the name of the method."""
        if what == "search":
            return {}
        counts = np.bincount(self._labels.y[self._labels.has_class & ~self._labels.is_test])
        if what == "classes" and counts.max() >= _UNEVEN * np.median(counts[counts > 0]):
            return {name: given + _FOR_UNEVEN.get(name, ()) for name, given in _VARIANTS.items()}
        return dict(_VARIANTS)

    def _cost(self, recipe: str, rows: NDArray[np.int64]) -> float:
        """About how many seconds the features take that are missing."""
        keys = self._collection.truth.sha256
        return self._workspace.library.seconds_to_describe(recipe, [keys[row] for row in rows]) / n_cores()


def _why_not(task: Task, labels: Dataset) -> str:
    """Why nothing can be learned for a task; empty if it can."""
    what, option = ("a class", "--class") if task is Task.CLASSIFY else ("tags", "--tag")
    has = labels.has_class if task is Task.CLASSIFY else labels.has_tags
    n_learned = int((has & ~labels.is_test).sum())
    how = f"'visterm label PICTURE {option} NAME'"
    if only_test := only_test_pictures(labels, has, what):
        return only_test
    if not n_learned:
        return f"no picture has {what}: give some with {how}, or import them"
    if task is not Task.CLASSIFY:
        return "" if n_learned > 1 else f"only one picture has tags: tag some more with {how}, or import tags"
    counts = np.bincount(labels.y[labels.has_class & ~labels.is_test], minlength=len(labels.class_names))
    known = np.flatnonzero(counts)
    if len(known) == 1:
        name = labels.class_names[known[0]]
        return f"the only class is {name!r}: give some pictures another one, so that there is something to tell apart"
    return "" if counts.max() > 1 else "every class has one picture: give each class at least two"


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


def _outcome(what: str, model: TrainedModel, choice: Choice | None) -> Outcome:
    task = WANTED[what]
    main = model.main_measure(task)
    tried = [] if choice is None else choice.tried
    return Outcome(
        what,
        model.reference,
        model.method,
        model.recipe,
        model.metrics.get(main),
        model.baseline_metrics.get(main),
        model.held_out(task),
        model.held_out_suggestions if task is Task.ANNOTATE else None,
        model.training["pictures_with_" + ("class" if task is Task.CLASSIFY else "tags")],
        model.metrics,
        [
            Attempt(
                each.method.name,
                each.recipe,
                each.value,
                each.error,
                round(each.seconds, 1),
                dict(each.parameters),
            )
            for each in tried
        ],
        [] if choice is None else list(choice.untried),
        None if choice is None else choice.half_value,
        _weak(model),
    )


def _weak(model: TrainedModel) -> list[str]:
    """The classes or tags that are recognised worst, if badly: those with the most pictures first."""
    counts = model.training.get("label_counts", {})
    quality: dict[str, float] = model.training.get("label_quality", {})
    bad = [name for name, value in quality.items() if value < _WEAK and counts.get(name, 0) >= _WEAK_PICTURES]
    return sorted(bad, key=lambda name: (quality[name], name))[:3]
