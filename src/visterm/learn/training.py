"""Training, in order: what is wanted, what is chosen, fitted and measured, and the model that is kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from visterm import registry
from visterm.catalogue.records import Skipped
from visterm.collection.features import ready_recipe
from visterm.compute import one_blas_thread
from visterm.contracts import Task
from visterm.contracts.tasks import LEARNED
from visterm.documents.document import Document
from visterm.documents.figure import Figure
from visterm.errors import InputError, UsageError
from visterm.graph.methods import OVER_GRAPH
from visterm.learn import Attempt, Choice, Dataset, Trained, learns_from_untagged, train_method
from visterm.learn.any_words import AnyWordsLearned, any_words_learned
from visterm.learn.choosing import MINUTES, Chooser, why_not
from visterm.learn.data import labelled, labelled_but_unreadable, labels_only, require_labels
from visterm.learn.earlier import earlier_estimator
from visterm.learn.explaining import facts_of, labelled_too_little, weak_names, why_chosen
from visterm.learn.learned_search import learned_search
from visterm.learn.quality import figure_of, right_answers
from visterm.models import Model, ModelInfo, save_model
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: Up to this many pictures, a model is the same bit for bit on any number of cores: BLAS, which adds in another order
#: with other numbers of threads, gets one. With more pictures that would take too long.
_SMALL = 3000
#: The share of the time for choosing that is left to each of the tasks that follow.
_LEFT_TO_OTHERS = 0.15


@dataclass(frozen=True)
class Replacement:
    """A task that is now done by another ``model`` than ``before`` (None: by no model)."""

    task: str
    model: str
    before: str | None


@dataclass(frozen=True)
class TrainedModel(ModelInfo, Document):
    """All that is known of a model that was just trained. ``left_out`` pictures could not be used, with the reason.

    ``earlier`` counts the undecided suggestions of its earlier versions. ``replaced`` has the tasks that are now done
    by another model than before. ``figures`` say how good it is, one for each task.
    """

    left_out: list[Skipped] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)
    replaced: list[Replacement] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        info: ModelInfo,
        left_out: Sequence[Skipped] = (),
        earlier: Mapping[str, int] | None = None,
        replaced: Sequence[Replacement] = (),
        figures: Sequence[Figure] = (),
    ) -> Self:
        """The same as a document."""
        known = {item.name: getattr(info, item.name) for item in fields(ModelInfo)}
        return cls(
            **known,
            left_out=list(left_out),
            earlier=dict(earlier or {}),
            replaced=list(replaced),
            figures=list(figures),
        )


@dataclass(frozen=True)
class ComparedMethod:
    """A method that was compared on some features, with its main measure and standard error.

    It is one task of an :class:`~visterm.learn.Attempt`, in figures; the attempt itself has the value of every picture.
    """

    method: str
    recipe: str
    value: float
    error: float
    seconds: float
    parameters: dict[str, Any]

    @classmethod
    def of(cls, attempt: Attempt, task: Task) -> Self:
        """What an attempt reached at ``task``."""
        method, recipe, parameters = attempt.candidate.method, attempt.candidate.recipe, attempt.candidate.parameters
        value, error = attempt.value(task), attempt.error(task)
        return cls(method.name, recipe, value, error, round(attempt.seconds, 1), dict(parameters))


@dataclass(frozen=True)
class Outcome:
    """The result for one of classes, tags and search.

    ``model`` is None if nothing could be learned; ``reason`` says why. ``figure`` says how good the model is.
    ``quality`` is the main measure on all ``held_out`` pictures, and ``baseline`` is what guessing reaches.
    ``suggestions`` is the number of tags that were suggested for these pictures. ``measures`` has all measures by name.
    ``tried`` is empty if an earlier choice was kept. For ``untried`` the time was too short. ``half_quality`` is the
    quality with half of the labelled pictures, in the comparison. ``weak`` lists the classes or tags that are
    recognised badly, first those where that costs most. ``landmarks`` is the number of pictures by whose kernel the
    others are known; 0 if the kernel is exact. ``why`` says why the method was chosen. ``few`` lists classes with few
    labelled pictures; ``none_of_these`` is the share of pictures that probably belong to no labelled class.
    """

    what: str
    model: str | None = None
    figure: Figure | None = None
    method: str = ""
    recipe: str = ""
    quality: float | None = None
    baseline: float | None = None
    held_out: int = 0
    suggestions: int | None = None
    learned_from: int = 0
    measures: dict[str, float] = field(default_factory=dict)
    tried: list[ComparedMethod] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    half_quality: float | None = None
    weak: list[str] = field(default_factory=list)
    reason: str = ""
    landmarks: int = 0
    why: str = ""
    few: list[str] = field(default_factory=list)
    none_of_these: float = 0.0


@dataclass(frozen=True)
class Training(Document):
    """What ``train`` did without a named method: one outcome each for classes, tags and search.

    The models learned from ``labelled`` pictures. ``left_out`` pictures have labels, too, but could not be used, with
    the reason. ``earlier`` counts the undecided suggestions of earlier versions of the models. ``any_words`` says what
    was learned to search by any words.
    """

    outcomes: list[Outcome]
    pictures: int
    labelled: int
    seconds: float
    missing: list[str]
    left_out: list[Skipped] = field(default_factory=list)
    earlier: dict[str, int] = field(default_factory=dict)
    any_words: AnyWordsLearned | None = None


def train(
    holdings: Holdings,
    method: str | None = None,
    *,
    name: str | None = None,
    recipe: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    minutes: float = MINUTES,
    choose_again: bool = False,
) -> TrainedModel | Training:
    """Train a method that a person names, or choose what suits the labels: for all that is wanted, or for one of it."""
    if method is not None and method not in LEARNED:
        _require_method(method)
        return train_one(holdings, method, name=name, recipe=recipe, parameters=parameters)
    if name is not None or parameters:
        raise InputError("a name and parameters belong to a method: name one, such as 'sdca'")
    wanted = tuple(LEARNED) if method is None else (method,)
    return train_all(holdings, wanted, recipe=recipe, minutes=minutes, choose_again=choose_again)


def _require_method(name: str) -> None:
    known = [*LEARNED, *(method.name for method in registry.methods())]
    if name.removesuffix(OVER_GRAPH) not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(
            f"unknown method {name!r}: {hint}say {', '.join(LEARNED)}, or a method that 'visterm methods' lists"
        )


def train_all(
    holdings: Holdings,
    wanted: Sequence[str] = tuple(LEARNED),
    *,
    recipe: str | None = None,
    minutes: float = MINUTES,
    choose_again: bool = False,
) -> Training:
    """Choose and train what ``wanted`` names and the labels allow; ``recipe`` fixes the features.

    Choosing takes about ``minutes`` at most. A choice that was made before is kept until there are twice as many
    labelled pictures, or until the person asks to ``choose_again``. If the model for tags searches best, search gets no
    model of its own.
    """
    started = time.perf_counter()
    chooser = Chooser(holdings, recipe, choose_again=choose_again)
    reasons = {what: why_not(LEARNED[what], chooser.labels) for what in LEARNED if what in wanted}
    able = [what for what, reason in reasons.items() if not reason]
    if not able:
        raise InputError("; ".join(dict.fromkeys(reasons.values())))
    outcomes: dict[str, Outcome] = {}
    models: list[TrainedModel] = []
    tags: TrainedModel | None = None
    left = 60 * minutes
    for place, what in enumerate(able):
        # The first one computes the features that the others use, too: it may take nearly all of the time.
        began = time.perf_counter()
        chosen, choice = chooser.choose(what, left - _LEFT_TO_OTHERS * 60 * minutes * (len(able) - 1 - place), tags)
        left -= time.perf_counter() - began
        if what == "search" and tags is not None and chosen["method"] == tags.method:
            model = tags
        else:
            model = train_one(
                holdings,
                chosen["method"],
                name=what,
                recipe=chosen["recipe"],
                parameters=chosen.get("parameters"),
                choice=chosen,
                choose_again=choose_again,
            )
            models.append(model)
        tags = model if what == "tags" else tags
        outcomes[what] = _outcome(what, model, choice)
    texts = any_words_learned(holdings)
    return Training(
        outcomes=[outcomes.get(what) or Outcome(what, reason=reason) for what, reason in reasons.items()],
        pictures=len(chooser.labels),
        labelled=_n_learned_from(holdings, chooser.labels, able, {model.recipe for model in models}),
        seconds=round(time.perf_counter() - started, 1),
        missing=chooser.missing,
        left_out=list({skipped.where: skipped for model in models for skipped in model.left_out}.values()),
        earlier={version: number for model in models for version, number in model.earlier.items()},
        any_words=texts,
    )


def train_one(
    holdings: Holdings,
    method: str,
    *,
    name: str | None = None,
    recipe: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    choice: Mapping[str, Any] | None = None,
    choose_again: bool = False,
) -> TrainedModel:
    """Train a method on everything labelled, measure it on held-out pictures, and keep it as a new version.

    The model that is kept has learned from all labelled pictures except those that came marked as test pictures.
    ``choice`` says how the method was chosen, and is kept with the model. With ``choose_again``, it does not learn on
    from its last version.
    """
    chosen = registry.get(method)
    as_of, started = datetime.now(UTC), time.perf_counter()
    collection = holdings.collection()
    labels = labels_only(holdings, collection)
    require_labels(labels, [chosen])
    name = name or chosen.name.replace("+", "-")
    holdings.shelf.place(name, 1)  # refuses an impossible name before the work
    ready = ready_recipe(holdings, recipe or chosen.recipe)
    # The pictures to learn from: the labelled ones, or all if the method also learns from the others.
    learned = labels.has_class | labels.has_tags | labels.only_denied
    rows = None if learns_from_untagged(chosen) else np.flatnonzero(learned)
    data, failed = labelled(holdings, collection, ready, rows)
    with one_blas_thread() if len(data) <= _SMALL else nullcontext():
        earlier = None if choose_again else earlier_estimator(holdings, name, chosen, ready, parameters, data)
        trained = train_method(chosen, data, parameters, earlier)
        relevance, found = learned_search(trained)
    facts = {"pictures": len(collection.truth), "as_of": as_of.isoformat(timespec="milliseconds")}
    facts |= _about(trained, found) | {"took": round(time.perf_counter() - started, 1)}
    facts |= {} if choice is None else {"choice": dict(choice)}
    facts |= {} if relevance is None else {"search_finds_nothing_below": round(relevance.nothing_below_, 2)}
    info = replace(_info(name, chosen, ready, trained), training=facts, metrics=trained.metrics | found)
    with holdings.shelf.adding(name) as version:
        before = holdings.shelf.in_use()
        info = replace(info, version=version, sequence=holdings.shelf.next_sequence())
        save_model(Model.of(info, trained.estimator, ready, relevance), holdings.shelf.place(name, version))
        now = holdings.shelf.in_use()
    left_out = [*labelled_but_unreadable(holdings), *failed]
    replaced = [Replacement(task, used, before.get(task)) for task, used in now.items() if used != before.get(task)]
    figures = [figure_of(holdings, info, task) for task in info.abilities]
    return TrainedModel.of(info, left_out, _earlier_suggestions(holdings, info), replaced, figures)


def _info(name: str, method: registry.Method, recipe: Recipe, trained: Trained) -> ModelInfo:
    """What is known of a model before it has a version."""
    own, learns_tags = trained.own(), method.does(Task.RANK)
    return ModelInfo(
        name=name,
        version=0,
        method=method.name,
        tasks=tuple(sorted(method.tasks)),
        classes=own.class_names if Task.CLASSIFY in method.tasks else (),
        tags=own.tag_names if learns_tags else (),
        tag_counts=tuple(own.tag_counts.tolist()) if learns_tags else (),
        n_tagged=int(own.has_tags.sum()) if learns_tags else 0,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
        baseline_metrics=trained.baseline,
    )


def _earlier_suggestions(holdings: Holdings, info: ModelInfo) -> dict[str, int]:
    """By version: the undecided suggestions of earlier versions of a model."""
    waiting = holdings.catalogue.counts().suggestions
    return {model: number for model, number in waiting.items() if model.rpartition("@")[0] == info.name}


def _about(trained: Trained, found: Mapping[str, float]) -> dict[str, Any]:
    """What the model learned from; and, if it was measured, on how many pictures, and the quality of each name.

    ``found`` are the measures of its search.
    """
    own, performance = trained.own(), trained.performance
    about: dict[str, Any] = {
        "pictures_with_class": int(own.has_class.sum()),
        "pictures_with_tags": int(own.has_tags.sum()),
        "parameters": {key: str(value) for key, value in trained.estimator.get_params(deep=False).items()},
        "seconds": round(trained.fit_seconds, 3),
    }
    about |= facts_of(trained)
    if performance is None:
        return about
    parts = {
        Task.CLASSIFY: (own.class_names, np.bincount(own.y[own.has_class], minlength=len(own.class_names))),
        Task.ANNOTATE: (own.tag_names, own.tag_counts),
    }
    about |= {"label_quality": {}, "label_counts": {}}
    for task, number in performance.n_held_out.items():  # tags are measured by suggestions, by search, or by both
        about["held_out_class" if task is Task.CLASSIFY else "held_out_tags"] = number
    if Task.ANNOTATE in performance.n_held_out:
        about["held_out_suggestions"] = performance.n_suggested
    first = found.get("P@1", trained.metrics.get("P@1", 0.0))
    about["right"] = {task.value: right_answers(trained.data, performance, task, first) for task in performance.values}
    for task, values in performance.of_labels.items():
        names, counts = parts[task]
        for name, count, value in zip(names, counts.tolist(), values.tolist(), strict=True):
            about["label_counts"][name] = count
            if math.isfinite(value):
                about["label_quality"][name] = round(value, 3)
    return about


def _n_learned_from(holdings: Holdings, labels: Dataset, able: Sequence[str], recipes: Iterable[str]) -> int:
    """How many pictures have a label for what was learned, and all features."""
    is_labelled = np.any([labels.labelled(LEARNED[what]) for what in able], axis=0)
    rows = np.flatnonzero(is_labelled & ~labels.is_test)
    truth = holdings.collection().truth
    for recipe in recipes:
        rows = rows[holdings.library.present(ready_recipe(holdings, recipe), [truth.sha256[row] for row in rows])]
    return len(rows)


def _outcome(what: str, model: TrainedModel, choice: Choice | None) -> Outcome:
    task = LEARNED[what]
    main = model.main_measure(task)
    return Outcome(
        what,
        model=model.reference,
        figure=next(each for each in model.figures if each.what == what),
        method=model.method,
        recipe=model.recipe,
        quality=model.metrics.get(main),
        baseline=model.baseline_metrics.get(main),
        held_out=model.held_out(task),
        suggestions=model.held_out_suggestions if task is Task.ANNOTATE else None,
        learned_from=model.learned_from(task),
        measures=model.metrics,
        tried=[] if choice is None else [ComparedMethod.of(each, task) for each in choice.tried],
        untried=[] if choice is None else list(choice.untried),
        half_quality=None if choice is None else choice.half_value,
        weak=weak_names(model),
        landmarks=model.training.get("landmarks", 0),
        why=why_chosen(task, model, choice),
        few=labelled_too_little(model) if task is Task.CLASSIFY else [],
        none_of_these=model.training.get("none_of_these", {}).get("share", 0.0) if task is Task.CLASSIFY else 0.0,
    )
