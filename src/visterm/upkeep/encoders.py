"""Image-text pairs: with one, search finds pictures by any words before anybody has labelled one."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.optional import imported
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.language.pair_texts import PairTexts
from visterm.language.text_encoder import DEFAULT
from visterm.pairs import (
    Pair,
    Trial,
    add_pair,
    damaged_pairs,
    installed_pairs,
    name_for,
    opened_parts,
    pair_in_use,
    remove_pair,
)
from visterm.vision.network.pair_pictures import PairPictures

#: One run of a model on a few rows may take this long, in seconds; one that takes longer is of no use for a collection.
_PATIENCE = 60.0
#: Texts of different lengths. Padded and not padded, they must get the same vectors for padding to be left out.
_TEXTS = ("a dog", "two small boats on a quiet lake", "snow on the roofs of an old town at night, seen from a hill")
_SAME = 1e-3


@dataclass(frozen=True)
class InstalledPair:
    """An installed pair: the names of its recipe and its encoder, what it is, and what it takes.

    ``in_use``: search by any words uses it. ``padded``: texts are padded to ``text_length`` tokens.
    """

    name: str
    full_name: str
    in_use: bool
    n_dims: int
    text_length: int
    padded: bool
    seconds_per_picture: float
    megabytes: float
    source: str
    installed: str
    folder: str


@dataclass(frozen=True)
class Encoders(Document):
    """The text encoder that search by any words uses, all pairs, the newest first, and those that are damaged."""

    in_use: str
    pairs: list[InstalledPair]
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RemovedEncoder(Document):
    """Whether there was a pair of this name, and which encoder is used now."""

    removed: bool
    in_use: str


def show() -> Encoders:
    """Which pairs are installed."""
    pairs = installed_pairs()
    return Encoders(_in_use(), [_described(pair, pair == pairs[0]) for pair in pairs], damaged_pairs())


def install(source: Path, name: str | None = None) -> Encoders:
    """Copy the image-text pair in a folder or zip, and try it; it is used from then on."""
    imported("tokenizers", "an image-text pair", extra="pair")  # before gigabytes are copied
    with opened_parts(source) as parts, progress.task("Copying the pair and trying it"):
        add_pair(parts, name_for(source) if name is None else name, try_out)
    return show()


def remove(name: str) -> RemovedEncoder:
    """Delete a pair."""
    return RemovedEncoder(remove_pair(name), _in_use())


def check() -> list[str]:
    """What is wrong with the installed pairs: files that are damaged or missing, packages that are not installed."""
    problems = [
        f"the image-text pair {name!r} is damaged: remove it with 'visterm encoder remove {name}' and install it again"
        for name in damaged_pairs()
    ]
    for pair in installed_pairs():
        try:
            imported("tokenizers", f"the image-text pair {pair.name!r}", extra="pair")
            for file in pair.sha256:
                pair.read(file)
        except (InputError, ImportError) as error:
            problems.append(str(error))
    return problems


def try_out(pair: Pair) -> Trial:
    """Run both halves: whether their vectors can be compared, and whether texts must be padded."""
    pictures = PairPictures(pair)
    pictures.check()
    size = pictures.preprocessing.size
    noise = np.random.default_rng(0).normal(size=(4, 3, size, size)).astype(np.float32)
    first = pictures.embed(noise, seconds=_PATIENCE)
    started = time.perf_counter()
    pictures.embed(noise, seconds=_PATIENCE)
    seconds = round((time.perf_counter() - started) / len(noise), 4)
    _check_tells_apart(pair, "pictures", first)
    measured = replace(pair.trial, n_dims=first.shape[1], seconds_per_picture=seconds)
    return _with_texts(replace(pair, trial=measured))


def _with_texts(pair: Pair) -> Trial:
    """Whether the text half fits the other, how long its texts may be, and whether they must be padded."""
    as_trained = PairTexts(pair, padded=True)
    as_trained.tower.check()
    vectors = as_trained.encode(_TEXTS, seconds=_PATIENCE)
    _check_tells_apart(pair, "texts", vectors)
    try:
        short = PairTexts(pair, padded=False)
        padded = short.is_padded or bool(np.abs(short.encode(_TEXTS, seconds=_PATIENCE) - vectors).max() > _SAME)
    except InputError:  # a model that was exported for texts of one length
        padded = True
    return replace(pair.trial, text_length=as_trained.text_length, padded=padded)


def _check_tells_apart(pair: Pair, what: str, vectors: NDArray[np.float32]) -> None:
    if np.abs(vectors - vectors[0]).max() < _SAME:
        raise InputError(f"the pair {pair.name!r} gives different {what} the same vector: export it again")


def _in_use() -> str:
    pair = pair_in_use()
    return DEFAULT if pair is None else pair.full_name


def _described(pair: Pair, in_use: bool) -> InstalledPair:
    return InstalledPair(
        name=pair.name,
        full_name=pair.full_name,
        in_use=in_use,
        **asdict(pair.trial),
        megabytes=round(pair.n_bytes / 2**20, 1),
        source=pair.source,
        installed=pair.installed,
        folder=str(pair.folder),
    )
