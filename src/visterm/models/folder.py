"""A model is a folder: ``model.safetensors`` + ``model.json`` + ``README.md``; it moves between machines and paths."""

from __future__ import annotations

import json
import stat
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from visterm.errors import InputError, MissingExtraError, ModelError, is_out_of_memory
from visterm.models.card import model_card
from visterm.models.info import ModelInfo
from visterm.models.upgrades import from_format_1
from visterm.storage import creating_folder

if TYPE_CHECKING:
    from visterm.models.state import Tensors
    from visterm.vision.recipes.base import Recipe

FORMAT = 5
_TENSORS, _INFO, _CARD = "model.safetensors", "model.json", "README.md"
#: A larger model.json is not read: the numbers of a model are elsewhere.
_MAX_INFO_BYTES = 64 * 2**20
#: In model.json: the size and the checksum of the other files, and the checksum of model.json itself.
_FILES, _CHECKSUM = "files", "checksum"
_RECIPE = "recipe/"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a model computes with: the fitted estimator, the recipe of its features, and its relevance."""

    estimator: Any
    recipe: Recipe
    relevance: Any


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The numbers of a relevance that a search needs, see :class:`visterm.calibration.Relevance`."""

    dependence: float
    nothing_below: float
    pair_weight: float = 0.0


class Model:
    """A fitted estimator, the recipe of its features, and information about it.

    ``relevance`` (a fitted :class:`visterm.calibration.Relevance`) turns its scores into probabilities for search;
    None if that was not measured. A model opened by :func:`open_model` reads its parts when first needed: a search
    with a complete index needs only ``info`` and ``search_settings``.
    """

    def __init__(
        self, info: ModelInfo, read: Callable[[], Parts], search_settings: SearchSettings | None = None
    ) -> None:
        self.info = info
        self._read, self._settings = read, search_settings
        self._guard = threading.RLock()

    @classmethod
    def of(cls, info: ModelInfo, estimator: Any, recipe: Recipe, relevance: Any = None) -> Self:
        """A model of parts that are already in memory."""
        return cls(info, lambda: Parts(estimator, recipe, relevance))

    def __reduce__(self) -> tuple[Any, ...]:
        """To workers elsewhere it goes with its parts, read."""
        return type(self).of, (self.info, self.estimator, self.recipe, self.relevance)

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.parts.estimator

    @property
    def recipe(self) -> Recipe:
        """The recipe of its features."""
        return self.parts.recipe

    @property
    def relevance(self) -> Any:
        """Turns scores into probabilities for search; None if it was not measured."""
        return self.parts.relevance

    @property
    def search_settings(self) -> SearchSettings | None:
        """The settings of ``relevance`` that a search needs; None if there is no relevance."""
        if self._settings is not None:
            return self._settings
        known = self.relevance
        if known is None:
            return None
        return SearchSettings(known.dependence_, known.nothing_below_, getattr(known, "pair_weight_", 0.0))

    @cached_property
    def parts(self) -> Parts:
        """What it computes with."""
        with self._guard:
            return self._read()


def open_model(folder: Path) -> Model:
    """The model in ``folder``; its tensors are read when first needed."""
    contents = _read_contents(folder)
    info = _info(contents, folder)
    _check_size(contents, folder)
    return Model(info, lambda: _parts(contents, info, folder), _stored_settings(contents))


@contextmanager
def using(model: Model) -> Iterator[None]:
    """Any failure inside the block is the model's: it becomes a :class:`ModelError` that names the model."""
    try:
        yield
    except (MissingExtraError, ModelError):
        raise
    except Exception as error:  # a tampered model can cause any error
        if is_out_of_memory(error):  # which says nothing about the model
            raise
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        reference = model.info.reference
        raise ModelError(f"the model {reference} cannot be used ({reason}): train it again", reference) from error


def checked_scores(scores: Any, n_pictures: int, n_columns: int) -> Any:
    """The scores themselves, if there is one for every picture and column, and none is NaN."""
    if scores.shape != (n_pictures, n_columns) or scores.dtype.kind != "f" or (scores != scores).any():
        raise InputError(f"it does not give {n_pictures} pictures {n_columns} scores each")
    return scores


def load_model(folder: Path) -> Model:
    """The model in ``folder``, read completely."""
    model = open_model(folder)
    _ = model.parts
    return model


def _stored_settings(contents: dict[str, Any]) -> SearchSettings | None:
    """The settings in model.json; None if there are none, or if they are not plain numbers."""
    relevance = contents.get("relevance")
    fitted = relevance.get("fitted") if isinstance(relevance, dict) else None
    if not isinstance(fitted, dict):
        return None
    values = [fitted.get("dependence_"), fitted.get("nothing_below_"), fitted.get("pair_weight_", 0.0)]
    return SearchSettings(*values) if all(map(_is_number, values)) else None


def save_model(model: Model, folder: Path) -> None:
    """Write the model folder, whole or not at all; an existing folder is refused."""
    from safetensors.numpy import save

    from visterm.models.state import pack

    if folder.exists():
        raise InputError(f"{folder} exists already: models are never overwritten; choose another version")
    tensors: Tensors = {}
    contents = {
        "format": FORMAT,
        **asdict(model.info),
        "estimator": pack(model.estimator, "", tensors),
        "relevance": pack(model.relevance, "relevance", tensors),
        "recipe_parameters": model.recipe.parameters(),
    }
    tensors |= {_RECIPE + name: array for name, array in model.recipe.state().items()}
    data = save(tensors)
    contents[_FILES] = {_TENSORS: {"bytes": len(data), "crc32": zlib.crc32(data)}}
    contents[_CHECKSUM] = _checksum(contents)
    with creating_folder(folder) as unfinished:
        (unfinished / _TENSORS).write_bytes(data)
        (unfinished / _INFO).write_text(json.dumps(contents, indent=1, ensure_ascii=False), encoding="utf-8")
        (unfinished / _CARD).write_text(model_card(model.info), encoding="utf-8")


def read_info(folder: Path) -> ModelInfo:
    """The information about the model in ``folder``, without loading its tensors."""
    return _info(_read_contents(folder), folder)


def _parts(contents: dict[str, Any], info: ModelInfo, folder: Path) -> Parts:
    from safetensors.numpy import load

    from visterm.models.state import unpack
    from visterm.vision.recipes import recipe as recipe_named

    try:
        data = (folder / _TENSORS).read_bytes()
        if _known(contents, "crc32") not in (None, zlib.crc32(data)):
            raise ModelError(f"{_TENSORS} fails its checksum")
        tensors = load(data)
        del data
        estimator = unpack(contents["estimator"], tensors)
        relevance = unpack(contents.get("relevance"), tensors)
        if relevance is not None and not (hasattr(relevance, "log_probabilities") or hasattr(relevance, "by_look")):
            raise InputError("its relevance cannot compute probabilities")
        recipe = recipe_named(info.recipe)
        if state := {name.removeprefix(_RECIPE): a for name, a in tensors.items() if name.startswith(_RECIPE)}:
            recipe.restore(state)
    except MissingExtraError:
        raise
    except InputError as error:
        raise ModelError(f"{folder} is not a usable model: {error}", info.reference) from error
    except Exception as error:  # a tampered file can cause any error
        if is_out_of_memory(error):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"{folder} is not a usable model: {reason}", info.reference) from error
    if recipe.hash != info.recipe_hash:
        raise ModelError(
            f"{folder} was trained on features of recipe {info.recipe!r} {info.recipe_hash}, "
            f"but this version computes {recipe.hash}: train the model again",
            info.reference,
        )
    return Parts(estimator, recipe, relevance)


def _checksum(contents: dict[str, Any]) -> int:
    """A checksum of the values in model.json, however they are laid out."""
    values = {key: item for key, item in contents.items() if key != _CHECKSUM}
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def _check_size(contents: dict[str, Any], folder: Path) -> None:
    """Refuse a model whose tensors are missing or have another size than they were written with."""
    try:
        status = (folder / _TENSORS).stat()
    except OSError as error:
        raise ModelError(f"{folder} is not a usable model: {_TENSORS}: {error.strerror or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{folder} is not a usable model: {_TENSORS} is not a plain file")
    known = _known(contents, "bytes")
    if known not in (None, status.st_size):
        raise ModelError(f"{folder} is not a usable model: {_TENSORS} has {status.st_size} bytes instead of {known}")


def _known(contents: dict[str, Any], what: str) -> Any:
    """What model.json says of the tensors' file; None in models of format 1."""
    files = contents.get(_FILES)
    about = files.get(_TENSORS) if isinstance(files, dict) else None
    return about.get(what) if isinstance(about, dict) else None


def _read_contents(folder: Path) -> dict[str, Any]:
    try:
        if (folder / _INFO).stat().st_size > _MAX_INFO_BYTES or not (folder / _INFO).is_file():
            raise ValueError("not a plain file of a model's size")
        contents = json.loads((folder / _INFO).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{folder} is not a model folder: it has no {_INFO}") from error
    except (OSError, ValueError, RecursionError) as error:
        if is_out_of_memory(error):
            raise
        raise ModelError(f"{folder / _INFO} cannot be read: {error}") from error
    if not isinstance(contents, dict) or "format" not in contents:
        raise ModelError(f"{folder / _INFO} is not the description of a model")
    if _CHECKSUM in contents and contents[_CHECKSUM] != _checksum(contents):
        raise ModelError(f"{folder / _INFO} is damaged: it fails its checksum")
    if type(contents["format"]) is not int or contents["format"] not in (1, FORMAT):
        raise ModelError(f"{folder} has model format {contents['format']!r}; this version of Visterm reads {FORMAT}")
    return from_format_1(contents) if contents["format"] == 1 else contents


def _info(contents: dict[str, Any], folder: Path) -> ModelInfo:
    values: dict[str, Any] = {}
    for item in fields(ModelInfo):
        if not _KINDS[str(item.type)](contents.get(item.name)):
            raise ModelError(f"{folder / _INFO} is incomplete: {item.name!r} is missing or not a {item.type}")
        value = contents[item.name]
        values[item.name] = tuple(value) if isinstance(value, list) else value
    return ModelInfo(**values)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


#: For each type of a field of ModelInfo, a test of the value in model.json.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "str": _is_text,
    "int": _is_count,
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "tuple[int, ...]": lambda value: isinstance(value, list) and all(map(_is_count, value)),
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, float]": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
}
