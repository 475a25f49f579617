"""Finds copies: compares the pictures that nobody has compared yet with all, and keeps what was found."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from visterm.collection.features import RECIPE, described, ready_recipe
from visterm.copies import kept
from visterm.copies.comparing import Integers, Pairs, copies
from visterm.copies.kept import Found
from visterm.copies.taken import seconds_of
from visterm.storage import WriteLock, make_folder
from visterm.vision.recipes import recipe as recipe_named
from visterm.vision.recipes.small_grey import N_WAVES

if TYPE_CHECKING:
    from visterm.collection.opened import Opened

#: The features by which copies are found.
SMALL = "small-grey"
#: Pictures of a series are taken at most so many seconds after each other.
SERIES_SECONDS = 10.0
#: They look at least so alike: the cosine of network features, or of hashes where there are none. Chosen on half of the
#: originals of ``benchmarks/duplicates.py``, measured on the other half.
ALIKE, ALIKE_BY_HASH = 0.75, 0.6
#: A picture is compared with so many that were taken next.
_NEXT = 3


#: What was read last, and the file and the pictures that it is of.
_READ: WeakKeyDictionary[Opened, tuple[tuple[object, ...], Found]] = WeakKeyDictionary()


def found(opened: Opened) -> Found:
    """What was found of the pictures that are here now; nothing is compared."""
    frame, file = opened.collection().frame, _file(opened)
    if not file.exists():
        return Found.nothing()
    status = file.stat()
    stamp = (frame, status.st_mtime_ns, status.st_ino)
    if opened not in _READ or _READ[opened][0] != stamp:
        _READ[opened] = stamp, kept.read(file, recipe_named(SMALL).hash).of(frame.keys)
    return _READ[opened][1]


def find(opened: Opened) -> Found:
    """Compare the pictures that nobody has compared yet with all, and keep what was found."""
    recipe, frame = recipe_named(SMALL), opened.collection().frame
    described(opened, recipe, frame.keys, wait=True)
    frame = opened.collection().frame
    make_folder(_file(opened).parent)
    with WriteLock(_file(opened).parent).held():
        known = found(opened)
        keys = [frame.keys[place] for place in opened.library.present(recipe, frame.keys)]
        before = set(known.keys)
        new = [key for key in keys if key not in before]
        if not new:
            return known
        keys = [*known.keys, *new]
        hashes = opened.library.store(recipe, "wave-hash").rows(keys)
        pairs = copies(hashes, len(known.keys), partial(_small, opened, keys))
        taken = np.array(_taken(opened, new), np.float64)
        both = Pairs.joined([known.pairs, pairs])
        now = Found(tuple(keys), both, np.concatenate([known.taken, taken]))
        kept.write(_file(opened), now, recipe.hash)
    return found(opened)


def series(opened: Opened, known: Found) -> Pairs:
    """Pairs of pictures that were taken shortly after each other and look alike; ``agreement`` is how alike."""
    order = np.argsort(known.taken, kind="stable")
    order = order[~np.isnan(known.taken[order])]
    pairs = []
    for step in range(1, _NEXT + 1):
        one, other = order[:-step], order[step:]
        near = known.taken[other] - known.taken[one] <= SERIES_SECONDS
        low, high = np.minimum(one, other)[near], np.maximum(one, other)[near]
        pairs.append(Pairs(low, high, np.zeros(len(low), np.float32)))
    near_in_time = Pairs.joined(pairs)
    rows, place = np.unique(np.concatenate([near_in_time.first, near_in_time.second]), return_inverse=True)
    if not len(rows):
        return near_in_time
    alike, enough = _alike(opened, [known.keys[row] for row in rows], *np.split(place, 2))
    found_alike = Pairs(near_in_time.first, near_in_time.second, alike)
    return found_alike.select(alike > enough)


def _alike(
    opened: Opened, keys: list[str], one: Integers, other: Integers
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """How alike pairs are, by network features where both have them, else by hashes; and how alike is enough."""
    alike, enough = np.empty(len(one), np.float32), np.full(len(one), ALIKE_BY_HASH)
    small = recipe_named(SMALL)
    whole = opened.library.store(small, "wave-hash").rows(keys)[:, : N_WAVES**2]
    alike[:] = _cosines(whole, one, other)
    network = ready_recipe(opened, RECIPE)
    has = np.zeros(len(keys), np.bool_)
    has[opened.library.present(network, keys)] = True
    both = has[one] & has[other]
    if both.any():
        row_of = np.cumsum(has) - 1
        (output,) = network.outputs
        deep = opened.library.store(network, output).rows([key for key, there in zip(keys, has, strict=True) if there])
        alike[both] = _cosines(deep, row_of[one[both]], row_of[other[both]])
        enough[both] = ALIKE
    return alike, enough


def _cosines(features: NDArray[np.floating], one: Integers, other: Integers) -> NDArray[np.float32]:
    """The cosines of pairs of rows, in blocks."""
    found = np.empty(len(one), np.float32)
    for start in range(0, len(one), 4096):
        block = slice(start, start + 4096)
        a, b = features[one[block]].astype(np.float32), features[other[block]].astype(np.float32)
        sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        found[block] = np.einsum("ij,ij->i", a, b) / np.maximum(sizes, 1e-9)
    return found


def _small(opened: Opened, keys: list[str], rows: Integers) -> NDArray[np.float16]:
    """The small grey pictures of some rows of ``keys``."""
    stored = opened.library.store(recipe_named(SMALL), "small-grey").rows([keys[row] for row in rows.tolist()])
    pictures: NDArray[np.float16] = stored
    return pictures


def _taken(opened: Opened, keys: list[str]) -> list[float]:
    """When the pictures with these hashes were taken, as far as their files say."""
    collection = opened.collection()
    of = dict(zip(collection.frame.keys, collection.truth.ids[collection.frame.rows].tolist(), strict=True))
    ids = [of[key] for key in keys]
    times = dict(zip(sorted(ids), opened.catalogue.metadata_columns(sorted(ids))["taken"], strict=True))
    return [seconds_of(None if (taken := times[number]) is None else str(taken)) for number in ids]


def _file(opened: Opened) -> Path:
    return opened.state / "copies" / "found.safetensors"
