"""A model is a folder: ``model.safetensors`` + ``model.json`` + ``README.md``; it moves between machines and paths."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from visterm import __version__
from visterm.contracts.tasks import Task
from visterm.errors import InputError, VistermError
from visterm.models.card import model_card
from visterm.models.state import Tensors, pack, unpack
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes.base import Recipe

FORMAT = 1
_TENSORS, _INFO, _CARD = "model.safetensors", "model.json", "README.md"
_RECIPE_PREFIX = "recipe/"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """All that is known of a model besides its numbers."""

    name: str
    version: int
    method: str
    tasks: tuple[str, ...]
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    #: Uses of each tag in training, and the number of tagged pictures: what the idf of query words is made from.
    tag_counts: tuple[int, ...]
    n_tagged: int
    recipe: str
    recipe_hash: str
    training: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    floor_metrics: dict[str, float] = field(default_factory=dict)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    visterm: str = __version__

    def does(self, task: Task) -> bool:
        """Whether the model can do ``task``; every annotator can search."""
        return task in self.tasks or (task is Task.RANK and Task.ANNOTATE in self.tasks)


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted estimator, the recipe that feeds it, and what is known of it.

    ``relevance`` (a fitted :class:`visterm.search.relevance.Relevance`) says how sure it may be when it searches; None
    where that was not measured.
    """

    info: ModelInfo
    estimator: Any
    recipe: Recipe
    relevance: Any = None


def save_model(model: Model, folder: Path) -> None:
    """Write the model folder, whole or not at all; an existing folder is refused."""
    from safetensors.numpy import save

    if folder.exists():
        raise InputError(f"{folder} exists already: models are never overwritten, choose another version")
    tensors: Tensors = {}
    contents = {
        "format": FORMAT,
        **asdict(model.info),
        "estimator": pack(model.estimator, "", tensors),
        "relevance": pack(model.relevance, "relevance", tensors),
        "recipe_parameters": model.recipe.parameters(),
    }
    tensors |= {_RECIPE_PREFIX + name: array for name, array in model.recipe.state().items()}
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)  # left by a process that was killed
        unfinished.mkdir(parents=True)
        (unfinished / _TENSORS).write_bytes(save(tensors))
        (unfinished / _INFO).write_text(json.dumps(contents, indent=1, ensure_ascii=False), encoding="utf-8")
        (unfinished / _CARD).write_text(model_card(model.info), encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        raise VistermError(f"the model could not be written to {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def read_info(folder: Path) -> ModelInfo:
    """What is known of the model in ``folder``, without loading its numbers."""
    return _info(_read_contents(folder), folder)


def load_model(folder: Path) -> Model:
    """The model in ``folder``."""
    from safetensors.numpy import load_file

    contents = _read_contents(folder)
    info = _info(contents, folder)
    try:
        tensors = load_file(folder / _TENSORS)
        estimator = unpack(contents["estimator"], tensors)
        relevance = unpack(contents.get("relevance"), tensors)  # models of earlier versions have none
        if relevance is not None and not hasattr(relevance, "log_probabilities"):
            raise InputError("what says how sure it may be says no such thing")
        recipe = _restored(recipe_named(info.recipe), tensors)
    except InputError as error:
        raise InputError(f"{folder} is not a usable model: {error}") from error
    except Exception as error:  # a tampered file can trip anything that builds on it
        raise InputError(f"{folder} is not a usable model: {type(error).__name__}: {error}") from error
    if recipe.hash != info.recipe_hash:
        raise InputError(
            f"{folder} was trained on features of recipe {info.recipe!r} {info.recipe_hash}, "
            f"but this version computes {recipe.hash}: train the model again"
        )
    return Model(info, estimator, recipe, relevance)


def _restored(recipe: Recipe, tensors: Tensors) -> Recipe:
    state = {name.removeprefix(_RECIPE_PREFIX): a for name, a in tensors.items() if name.startswith(_RECIPE_PREFIX)}
    if state:
        recipe.restore(state)
    return recipe


def _read_contents(folder: Path) -> dict[str, Any]:
    try:
        contents = json.loads((folder / _INFO).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a model folder: it has no {_INFO}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder / _INFO} cannot be read: {error}") from error
    if not isinstance(contents, dict) or "format" not in contents:
        raise InputError(f"{folder / _INFO} does not describe a model")
    if contents["format"] != FORMAT:
        raise InputError(f"{folder} has model format {contents['format']!r}; this version of Visterm reads {FORMAT}")
    return contents


def _info(contents: dict[str, Any], folder: Path) -> ModelInfo:
    values: dict[str, Any] = {}
    for item in fields(ModelInfo):
        if not _KINDS[str(item.type)](contents.get(item.name)):
            raise InputError(f"{folder / _INFO} is incomplete: {item.name!r} is missing or not a {item.type}")
        value = contents[item.name]
        values[item.name] = tuple(value) if isinstance(value, list) else value
    return ModelInfo(**values)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


#: What model.json may hold for each type of a field of ModelInfo.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "str": _is_text,
    "int": _is_count,
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "tuple[int, ...]": lambda value: isinstance(value, list) and all(map(_is_count, value)),
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
}
