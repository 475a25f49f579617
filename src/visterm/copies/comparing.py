"""Which pictures are copies of others: near by their hashes first, then verified pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.parallel import map_shards
from visterm.vision.recipes.small_grey import CROPS, N_WAVES

#: Hashes whose parts that no turn changes are at least this like (a cosine) are near.
NEAR = 0.92
#: Of these, those whose hashes are at least this like in the best of eight positions are verified.
LIKE = 0.85
#: Pictures whose pixels agree at least so well are the same picture. Chosen on half of the originals of
#: ``benchmarks/duplicates.py``, measured on the other half.
AGREES = 0.80

#: Of each picture, at most so many candidates are verified, the likest first.
MOST = 64
#: Hashes compared at a time, and pairs verified at a time.
_LEFT, _RIGHT, _PAIRS = 256, 1024, 2048

Integers = NDArray[np.int64]
_NAMES = ("first", "second", "agreement")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows, each once with ``first`` < ``second``, and how well their pixels agree."""

    first: Integers
    second: Integers
    agreement: NDArray[np.float32]

    @classmethod
    def none(cls) -> Pairs:
        """No pairs."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.first)

    def select(self, chosen: NDArray[np.bool_] | Integers) -> Pairs:
        """Some of the pairs."""
        return Pairs(self.first[chosen], self.second[chosen], self.agreement[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Pairs]) -> Pairs:
        """The pairs of all parts, which have none in common."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES))


def copies(hashes: NDArray[np.float16], n_known: int, small: Callable[[Integers], NDArray[np.float16]]) -> Pairs:
    """The pairs of rows that are the same picture and of which not both are among the first ``n_known``.

    ``hashes`` are those of :class:`~visterm.vision.recipes.small_grey.SmallGrey`; ``small`` gives the small grey
    pictures of rows. The cost grows with the new pictures times all.
    """
    blocks = list(_blocks(len(hashes), n_known))
    likest = map_shards(lambda block: _likest(hashes, *block), blocks, description="Comparing pictures")
    return _verified(_Candidates.joined(list(likest)), small)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs that are like by their hashes: ``second`` is turned by ``turn`` to be like ``first``."""

    first: Integers
    second: Integers
    turn: NDArray[np.int8]
    likeness: NDArray[np.float32]

    def select(self, chosen: NDArray[Any] | slice) -> _Candidates:
        return _Candidates(self.first[chosen], self.second[chosen], self.turn[chosen], self.likeness[chosen])

    @classmethod
    def joined(cls, parts: Sequence[_Candidates]) -> _Candidates:
        """All candidates; of a pair that is there several times, in either order, the likest."""
        if not parts:
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, np.empty(0, np.int8), np.empty(0, np.float32))
        names = ("first", "second", "turn", "likeness")
        all_ = cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
        low, high = np.minimum(all_.first, all_.second), np.maximum(all_.first, all_.second)
        order = np.lexsort((-all_.likeness, high, low))
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
        return all_.select(order[is_new])


def _blocks(n: int, n_known: int) -> Iterator[tuple[slice, int, bool]]:
    """Blocks of rows, each with the first column that they are compared with, and whether whole pictures are, too.

    A new picture is compared with all, cropped or whole. A known one is compared with the new ones when it is cropped.
    """
    for first, last, begin, with_whole in ((0, n_known, n_known, False), (n_known, n, 0, True)):
        if n_known < n:
            for start in range(first, last, _LEFT):
                yield slice(start, min(start + _LEFT, last)), begin, with_whole


def _likest(hashes: NDArray[np.float16], rows: slice, begin: int, with_whole: bool) -> _Candidates:
    """The likest candidates of a block of rows, at most :data:`MOST` of each."""
    from visterm.copies._kernels import likest_turns  # numba, which not every command needs

    crops = range(0 if with_whole else 1, len(CROPS))
    cut = [_crop(hashes[rows], crop) for crop in crops]
    unturned = np.concatenate([_unturned(each) for each in cut])
    n_rows = rows.stop - rows.start
    found = []
    for left in range(begin, len(hashes), _RIGHT):
        whole = _crop(hashes[left : left + _RIGHT], 0)
        places, others = np.divmod(np.flatnonzero(unturned @ _unturned(whole).T > NEAR), len(whole))
        crop, one = np.divmod(places, n_rows)
        turn, likeness = np.empty(len(one), np.int8), np.empty(len(one), np.float32)
        likest_turns(np.stack(cut)[crop, one], whole[others], turn, likeness)
        kept = (likeness > LIKE) & (one + rows.start != others + left)
        found.append(_Candidates(one + rows.start, others + left, turn, likeness).select(kept))
    candidates = _Candidates.joined(found)
    return candidates.select(_first_of_each(candidates.first, candidates.likeness))


def _first_of_each(rows: Integers, likeness: NDArray[np.float32]) -> Integers:
    """The places of the :data:`MOST` likest candidates of each row."""
    order = np.lexsort((-likeness, rows))
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return order[rank < MOST]


def _crop(hashes: NDArray[np.float16], crop: int) -> NDArray[np.float32]:
    size = N_WAVES**2
    return hashes[:, crop * size : (crop + 1) * size].astype(np.float32).reshape(-1, N_WAVES, N_WAVES)


def _unturned(hashes: NDArray[np.float32]) -> NDArray[np.float32]:
    """What turning and mirroring do not change of hashes, as long as they are."""
    size = np.abs(hashes)
    across = size.transpose(0, 2, 1)
    upper, diagonal = np.triu_indices(N_WAVES, 1), np.arange(N_WAVES)
    one, other = size[:, upper[0], upper[1]], across[:, upper[0], upper[1]]
    parts = [size[:, diagonal, diagonal], (one + other) / np.sqrt(2), np.abs(one - other) / np.sqrt(2)]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _verified(candidates: _Candidates, small: Callable[[Integers], NDArray[np.float16]]) -> Pairs:
    """Those of the candidates whose pixels agree."""
    from visterm.copies._kernels import agreements

    def verify(block: slice) -> NDArray[np.float32]:
        pair = candidates.select(block)
        rows, place = np.unique(np.concatenate([pair.first, pair.second]), return_inverse=True)
        pictures = small(rows).astype(np.float32)
        side = round(pictures.shape[1] ** 0.5)
        one, other = np.split(place, 2)
        agreement = np.empty(len(one), np.float32)
        pictures = pictures.reshape(-1, side, side)
        agreements(pictures[one], pictures[other], pair.turn, agreement)
        return agreement

    blocks = [slice(start, start + _PAIRS) for start in range(0, len(candidates.first), _PAIRS)]
    found = list(map_shards(verify, blocks, description="Verifying copies"))
    agreement = np.concatenate(found) if found else np.empty(0, np.float32)
    low, high = (which(candidates.first, candidates.second) for which in (np.minimum, np.maximum))
    return Pairs(low, high, agreement).select(agreement > AGREES)
