"""From labelled pictures to a model that is measured before it is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from visterm import registry
from visterm.app.describing import describe, described, ready_recipe
from visterm.app.workspace import Workspace
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.evaluate.comparison import Comparison
from visterm.evaluate.comparison import compare as compare_methods
from visterm.learning import Dataset, encode_classes, train_method
from visterm.models import Model, ModelInfo, save_model
from visterm.search.learned import learned_search
from visterm.vision.recipes.base import Recipe


def labelled(workspace: Workspace, recipe: Recipe) -> Dataset:
    """The collection as arrays: all readable pictures, what people and imports said of them, their features."""
    describe(workspace, recipe)
    truth = workspace.catalogue.truth()
    if not len(truth):
        raise InputError("there are no pictures yet: add some with 'visterm add FOLDER'")
    X, rows = described(workspace, recipe, truth)
    y, class_names = encode_classes([truth.classes[row] for row in rows])
    splits = tuple(truth.splits[row] for row in rows)
    return Dataset(workspace.folder.name, X, y, class_names, truth.tags[rows], tuple(truth.tag_names), splits)


def train(
    workspace: Workspace,
    method_name: str,
    *,
    name: str | None = None,
    recipe_name: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> ModelInfo:
    """Train a method on everything labelled, measure it on pictures held out, and keep it as a new version.

    The model that is kept has learned from all labelled pictures except those that came marked as test pictures.
    """
    method = registry.get(method_name)
    name = name or method.name
    version = workspace.next_version(name)
    recipe = ready_recipe(workspace, recipe_name or method.recipe)
    data = labelled(workspace, recipe)
    trained = train_method(method, data, parameters)
    relevance, found = learned_search(trained)
    own, estimator = trained.own(), trained.estimator
    learns_class, learns_tags = Task.CLASSIFY in method.tasks, method.does(Task.RANK)
    info = ModelInfo(
        name=name,
        version=version,
        method=method.name,
        tasks=tuple(sorted(method.tasks)),
        classes=data.class_names if learns_class else (),
        tags=data.tag_names if learns_tags else (),
        tag_counts=tuple(own.tag_counts.tolist()) if learns_tags else (),
        n_tagged=int(own.has_tags.sum()) if learns_tags else 0,
        recipe=recipe.name,
        recipe_hash=recipe.hash,
        training={
            "pictures": len(own),
            "pictures_with_class": int(own.has_class.sum()),
            "pictures_with_tags": int(own.has_tags.sum()),
            "parameters": {key: str(value) for key, value in estimator.get_params(deep=False).items()},
            "seconds": round(trained.fit_seconds, 3),
            **({} if relevance is None else {"search_finds_nothing_below": round(relevance.nothing_below_, 2)}),
        },
        metrics=trained.metrics | found,
        floor_metrics=trained.baseline,
    )
    save_model(Model(info, estimator, recipe, relevance), workspace.model_folder(name, version))
    return info


def compare(
    workspace: Workspace,
    method_names: Sequence[str] = (),
    *,
    recipe_name: str | None = None,
    max_seconds: float = math.inf,
) -> Comparison:
    """Measure methods (by default all) and the baselines; after ``max_seconds`` no further method is begun."""
    return compare_methods(
        [registry.get(name) for name in method_names],
        lambda recipe: labelled(workspace, ready_recipe(workspace, recipe)),
        recipe=recipe_name,
        max_seconds=max_seconds,
    )
