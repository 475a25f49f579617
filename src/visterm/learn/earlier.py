"""The last version of a model, which may learn only what is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from visterm import registry
from visterm.errors import VistermError
from visterm.learn import Dataset
from visterm.vision.recipes.base import Recipe

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings


def earlier_estimator(
    holdings: Holdings,
    name: str,
    method: registry.Method,
    recipe: Recipe,
    parameters: Mapping[str, Any] | None,
    data: Dataset,
) -> Any:
    """The estimator of the last version of a model, if it was trained alike and knows the same tags; else None."""
    own = [info for info in holdings.shelf.infos() if info.name == name]
    if not own or not hasattr(method.load(), "not_learned"):
        return None
    info = own[-1]
    if (info.method, info.recipe_hash, info.tags) != (method.name, recipe.hash, data.tag_names):
        return None
    try:
        estimator = holdings.shelf.load(holdings.shelf.place(name, info.version)).estimator
    except VistermError:  # it is damaged: all is learned again
        return None
    wanted = method.create(**(parameters or {})).get_params(deep=False)
    return estimator if estimator.get_params(deep=False) == wanted else None
