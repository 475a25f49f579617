"""Recipes: named chains from a picture to stored features, imported at the first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from visterm.errors import InputError, UsageError
from visterm.pairs import PREFIX, installed_pairs

if TYPE_CHECKING:
    from visterm.vision.recipes.base import Recipe

_TARGETS: dict[str, str] = {
    "colour": "visterm.vision.recipes.global_features:ColourHistogram",
    "globals": "visterm.vision.recipes.global_features:GlobalsRecipe",
    "bow-240": "visterm.vision.recipes.presets:bow_240",
    "bow-1000": "visterm.vision.recipes.presets:bow_1000",
    "bow-deep": "visterm.vision.recipes.presets:bow_deep",
    "hue-100": "visterm.vision.recipes.presets:hue_100",
    "visterms-10k": "visterm.vision.recipes.presets:visterms_10k",
    "regions-500": "visterm.vision.recipes.presets:regions_500",
    "fisher": "visterm.vision.recipes.presets:fisher",
    "fisher-32k": "visterm.vision.recipes.presets:fisher_32k",
    "tagging": "visterm.vision.recipes.presets:tagging",
    "tagging-fast": "visterm.vision.recipes.presets:tagging_fast",
    "deep": "visterm.vision.recipes.deep:DeepFeatures",
    "deep-lite2": "visterm.vision.recipes.deep:DeepLite2Features",
    "layers": "visterm.vision.recipes.deep:LayersRecipe",
    "small-grey": "visterm.vision.recipes.small_grey:SmallGrey",
    "imagenet-classes": "visterm.vision.recipes.network:ImageNetClasses",
}
#: Libraries whose networks are also recipes: ``timm:NETWORK``.
_HUBS = ("timm", "open_clip")


def register_recipe(name: str, target: str) -> None:
    """Register as ``name`` the recipe that ``target`` (``package.module:class_or_function``) creates."""
    if _TARGETS.setdefault(name, target) != target:
        raise InputError(f"two recipes are called {name!r}")


def recipe_names() -> list[str]:
    """The names of all recipes; those of installed image-text pairs come last."""
    return [*sorted(_TARGETS), *(pair.full_name for pair in installed_pairs())]


def recipe(name: str) -> Recipe:
    """A new, untrained recipe called ``name``, or several joined by ``+``.

    Networks of timm and open_clip are recipes called ``timm:NETWORK``, ``open_clip:NETWORK`` (with the weights
    ``openai``) and ``open_clip:NETWORK:WEIGHTS``; creating one downloads its weights. The picture half of an installed
    image-text pair is called ``pair:`` and the name of the pair.

    >>> recipe("colour").outputs["colour"].n_dims
    256
    """
    if "+" in name:
        from visterm.vision.recipes.combined import CombinedRecipe

        return CombinedRecipe([recipe(part) for part in name.split("+")])
    if name.partition(":")[0] in _HUBS:
        from visterm.vision.recipes.network import hub_recipe

        return hub_recipe(name)
    if name.startswith(PREFIX):
        from visterm.vision.recipes.network import pair_recipe

        return pair_recipe(name)
    if name not in _TARGETS:
        networks = ", ".join(f"{hub}:NETWORK" for hub in _HUBS)
        raise UsageError(f"unknown recipe {name!r}: choose one of {', '.join(recipe_names())}, {networks}")
    module, _, make = _TARGETS[name].partition(":")
    return getattr(import_module(module), make)()
