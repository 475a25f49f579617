"""What a recipe learned from a collection, in a file of its own."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import one_blas_thread
from visterm.errors import InputError
from visterm.storage import write_bytes_atomically
from visterm.vision import TrainingPictures
from visterm.vision.recipes.base import Recipe

#: A recipe that learned from fewer pictures than it wanted learns again when there are this many times as many.
_GROWTH = 4
#: The entry of a recipe's file that says from how many pictures it learned.
_N_LEARNED = "n_pictures"
_CHECKSUM = "crc32"


def is_outgrown(recipe: Recipe, file: Path, pictures: Mapping[str, Path | None]) -> bool:
    """Whether ``recipe`` must learn: for the first time, or again from many more pictures than before."""
    if not file.exists():
        return True
    n_before = n_learned(file)
    if n_before is None or n_before >= recipe.n_training_pictures:
        return False
    return sum(path is not None for path in pictures.values()) >= _GROWTH * n_before


def learn(recipe: Recipe, file: Path, pictures: Mapping[str, Path | None]) -> int:
    """Learn, store what was learned, and return from how many pictures."""
    from safetensors.numpy import save

    # In the order of the hashes: a random order that is always the same.
    files = [path for _, path in sorted(pictures.items()) if path is not None][: recipe.n_training_pictures]
    if not files:
        raise InputError(f"the recipe {recipe.name!r} learns from pictures, but there are none: add some first")
    with one_blas_thread():  # the same numbers on any number of cores
        recipe.train(TrainingPictures(files, pixel_budget=recipe.pixel_budget))
    state = recipe.state()
    about = {_N_LEARNED: str(len(files)), _CHECKSUM: _checksum(state)}
    write_bytes_atomically(file, save(state, metadata=about))
    return len(files)


def n_learned(file: Path) -> int | None:
    """From how many pictures the recipe in ``file`` learned; None if an earlier version wrote it."""
    number = _about(file).get(_N_LEARNED, "")
    return int(number) if number.isdecimal() else None


def _about(file: Path) -> dict[str, str]:
    """What ``file`` says of itself."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as opened:
            return dict(opened.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise _damaged(file, error) from error


def _checksum(state: Mapping[str, NDArray[Any]]) -> str:
    """A checksum of the names and the numbers that a recipe learned."""
    crc = 0
    for name, array in sorted(state.items()):
        crc = zlib.crc32(np.ascontiguousarray(array).tobytes(), zlib.crc32(name.encode(), crc))
    return f"{crc:08x}"


def remember(recipe: Recipe, file: Path) -> None:
    """Restore what the recipe learned."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        state = load_file(file)
        if _about(file).get(_CHECKSUM) not in (None, _checksum(state)):  # an earlier version wrote none
            raise ValueError("it fails its checksum")
        recipe.restore(state)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> InputError:
    return InputError(f"{file} is damaged ({error}): delete it, and the recipe learns again")
