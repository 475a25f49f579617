"""Sums over shards on a device: features of a shard are brought there once, and only statistics come back.

The numbers are those of NumPy up to the rounding of single precision: products of singles are sums of products of
halves (:mod:`visterm.compute.device`), and sums over shards are in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.device import Device, Tensor, choose_device, padded
from visterm.compute.parallel import Engine, Shard, map_shards, split
from visterm.compute.rows import slices
from visterm.contracts import Features, Matrix, is_several, n_pictures, take
from visterm.margin.functions.compared import Compared, ComparedOnDevice, signed_roots
from visterm.margin.solver.sums import LEAST_REST, LeftOut, Sums

if TYPE_CHECKING:
    from visterm.margin.functions.landmarks import FeatureMap, Lesson

Array = NDArray[Any]

#: Features of a shard are at most this many numbers: several copies must fit into a small GPU.
_NUMBERS, _MOST_ROWS = 2**26, 2**16
#: Numbers of a block of columns, for Gram matrices of at least this many pictures.
_GRAM_NUMBERS, _LEAST_COMPARED = 2**26, 2049
#: Fewer pictures are scored sooner here.
_LEAST_SCORED = 1024
#: Threads read and bring the next shards meanwhile.
_ENGINE, _AHEAD = Engine(), 1


def device_for(features: FeatureMap) -> Device | None:
    """The chosen device, if it can compute these features; small problems stay in double precision on NumPy's side."""
    if features.compared is None or features.dtype != np.float32:
        return None
    device = choose_device()
    return device if device.uses_torch else None


class Targets(NamedTuple):
    """Sparse targets of a shard there: those that occur, and the entries by target and row."""

    used: Tensor
    by_target: Tensor

    @classmethod
    def of(cls, targets: sparse.csr_array, device: Device) -> Targets:
        """Bring the targets (n_pictures, n_targets) of some pictures."""
        import torch

        used, places = np.unique(targets.indices, return_inverse=True)
        rows = np.repeat(np.arange(targets.shape[0]), np.diff(targets.indptr))
        order = np.lexsort((rows, places))
        entries = device.array(np.stack([places[order], rows[order]]))
        values = device.array(targets.data[order].astype(np.float32))
        shape = (len(used), targets.shape[0])
        by_target = torch.sparse_coo_tensor(entries, values, shape, is_coalesced=True, check_invariants=False)
        return cls(device.array(used.astype(np.int64)), by_target)


class MapOnDevice:
    """The features of a :class:`~visterm.margin.functions.landmarks.FeatureMap`, computed there.

    They are wider by columns of zeros, which a GPU multiplies faster; sums come back without them.
    """

    def __init__(self, features: FeatureMap, device: Device) -> None:
        if features.compared is None:
            raise ValueError("these features are not computed on a device")
        self.device, self._constant, self._width = device, features.constant, features.width
        self._compared = ComparedOnDevice(features.compared, device)
        self._matrix = None
        if features.matrix is not None:
            matrix = np.zeros((padded(features.width),) * 2, np.float32)
            matrix[: features.width, : features.width] = features.matrix
            self._matrix = device.constant(device.array(matrix))

    def __call__(self, given: Any) -> Tensor:
        """(n_pictures, padded width) from the features of some pictures, by name."""
        raw = self._compared(given)
        features = raw.new_zeros((len(raw), padded(self._width)))
        features[:, : self._width - 1], features[:, self._width - 1] = raw, self._constant
        return features if self._matrix is None else self.device.product(features, self._matrix)


class SumsOnDevice:
    """:class:`~visterm.margin.solver.sums.Sums` that stay there until all pictures are added."""

    def __init__(self, width: int, n_targets: int, device: Device) -> None:
        import torch

        self._device, self._width, self.n_pictures = device, width, 0
        self._gram = torch.zeros((padded(width),) * 2, dtype=torch.float64, device=device.name)
        self._cross = torch.zeros((n_targets, padded(width)), device=device.name)

    def add(self, features: Tensor, targets: Targets) -> None:
        """Add some pictures."""
        import torch

        self.n_pictures += len(features)
        self._gram += self._device.gram(features)
        self._cross.index_add_(0, targets.used, torch.sparse.mm(targets.by_target, features))

    def sums(self) -> Sums:
        """The sums."""
        own = slice(self._width)
        cross = np.ascontiguousarray(self._device.host(self._cross[:, own]))
        return Sums(self.n_pictures, self._device.host(self._gram[own, own]), np.arange(len(cross)), cross)


class LeftOutOnDevice:
    """What :class:`~visterm.margin.solver.sums.LeftOut` sums up, with rotated features and ``weights`` there."""

    def __init__(self, weights: Array, device: Device) -> None:
        import torch

        self._device, self._width, width = device, weights.shape[1], padded(weights.shape[1])
        wide = np.zeros((len(weights), width), np.float32)
        wide[:, : self._width] = weights
        self._weights = device.array(wide)
        self._leverages: list[Tensor] = []
        self._scores: list[Tensor] = []
        self._first = torch.zeros(width, dtype=torch.float64, device=device.name)
        self._second = torch.zeros((width, width), dtype=torch.float64, device=device.name)

    def add(self, rotated: Tensor, targets: Targets) -> None:
        """Add some pictures."""
        import torch

        h = rotated.square().sum(1, dtype=torch.float64).clamp_max_(1 - LEAST_REST)
        weighed = rotated * (1 / (1 - h)).float()[:, None]
        self._first += weighed.sum(0, dtype=torch.float64)
        self._second += self._device.gram(weighed)
        self._leverages.append(h)
        places, rows = targets.by_target.indices()
        found = torch.empty(len(rows), dtype=torch.float64, device=h.device)
        for part in slices(len(rows), max(1, _NUMBERS // rotated.shape[1])):
            own = self._weights[targets.used[places[part]]]
            found[part] = own.mul_(rotated[rows[part]]).sum(1, dtype=torch.float64)
        self._scores.append(found[torch.argsort(rows, stable=True)])

    def left_out(self, targets: sparse.csr_array) -> LeftOut:
        """What is known of the pictures with these targets, all that were added."""
        import torch

        own = slice(self._width)
        found = torch.cat(self._leverages), torch.cat(self._scores), self._first[own], self._second[own, own]
        leverages, scores, first, second = map(self._device.host, found)
        return LeftOut.of_scores(leverages, scores, first, second, targets)


def sums(lesson: Lesson, features: FeatureMap, device: Device) -> Sums:
    """The sums of all pictures of a lesson."""
    mapped, total = MapOnDevice(features, device), SumsOnDevice(features.width, lesson.targets.shape[1], device)
    for given, targets in _brought(lesson, features, device, "Learning"):
        total.add(mapped(given), targets)
    return total.sums()


def left_out(lesson: Lesson, features: FeatureMap, weights: Array, device: Device) -> LeftOut:
    """What is known of all pictures of a lesson without themselves, by rotated features and their weights."""
    mapped, total = MapOnDevice(features, device), LeftOutOnDevice(weights, device)
    for given, targets in _brought(lesson, features, device, "Leaving out"):
        total.add(mapped(given), targets)
    return total.left_out(lesson.targets)


def scores(compared: Compared, X: Features, weights: Array, device: Device) -> Array:
    """(n_pictures, n_tasks) in single precision: functions with ``weights`` (n_tasks, n_raw), without intercepts."""
    compare, there = ComparedOnDevice(compared, device), device.array(weights.astype(np.float32))
    by_raw = device.constant(there.T.contiguous())
    found = np.empty((n_pictures(X), len(weights)), np.float32)

    def bring(shard: Shard) -> tuple[slice, dict[str, Tensor]]:
        given = compared.given(take(X, shard.rows))
        return shard.rows, {name: device.array(values) for name, values in given.items()}

    shards = split(len(found), size=shard_rows(max(*weights.shape, _n_dims(X))))
    for rows, given in map_shards(bring, shards, engine=_ENGINE, ahead=_AHEAD, description="Scoring"):
        found[rows] = device.host(device.product(compare(given), by_raw))
    return found


def device_for_scores(compared: Compared | None, X: Features, dtype: Any) -> Device | None:
    """The chosen device, if it can score these pictures; few are scored sooner here."""
    matrices = X.values() if is_several(X) else [X]
    dense = all(isinstance(matrix, np.ndarray) for matrix in matrices)
    if compared is None or dtype != np.float32 or not dense or n_pictures(X) < _LEAST_SCORED:
        return None
    device = choose_device()
    return device if device.uses_torch else None


def training_gram(X: Array, rows: Array | None, kernel: str, device: Device) -> Array:
    """The kernel ``linear``, ``cosine`` or ``hellinger`` between some rows of ``X`` (None: all), in single precision.

    Columns are brought there a block at a time. The cosine and Hellinger's kernel are the products, of the numbers and
    of their signed roots, divided by the roots of the products of pictures with themselves.
    """
    n_rows = len(X) if rows is None else len(rows)

    def bring(columns: Shard) -> Tensor:
        part = X[:, columns.rows] if rows is None else X[rows, columns.rows]
        block = device.array(part if part.dtype == np.float16 else part.astype(np.float32))
        return signed_roots(block.float()) if kernel == "hellinger" else block

    total: Tensor = None
    shards = split(X.shape[1], size=max(1, _GRAM_NUMBERS // n_rows))
    for block in map_shards(bring, shards, engine=_ENGINE, ahead=_AHEAD, description="Comparing pictures"):
        part = device.gram(block.T)
        total = part if total is None else total.add_(part)
    if kernel != "linear":
        lengths = total.diagonal().sqrt()
        scale = (1 / lengths).nan_to_num_(posinf=0.0)
        total.mul_(scale).mul_(scale[:, None])
    return device.host(total)


def device_for_gram(X: Any, n_rows: int, kernel: str, dtype: Any) -> Device | None:
    """The chosen device, if it can compare these pictures and has the memory; few are compared sooner here."""
    explicit = kernel in ("linear", "cosine", "hellinger")
    if not explicit or not isinstance(X, np.ndarray) or dtype != np.float32 or n_rows < _LEAST_COMPARED:
        return None
    device = choose_device()
    return device if device.uses_torch and 16 * n_rows**2 + 64 * _GRAM_NUMBERS < device.room() else None


def shard_rows(width: int) -> int:
    """The pictures of a shard of features of this width."""
    return max(1, min(_NUMBERS // width, _MOST_ROWS))


def _n_dims(X: Features) -> int:
    """The numbers of a picture."""
    return sum(matrix.shape[1] for matrix in (X.values() if is_several(X) else [cast(Matrix, X)]))


def _brought(lesson: Lesson, features: FeatureMap, device: Device, description: str) -> Any:
    """Shards of a lesson there, one after the other: features by name, and targets."""
    compared = features.compared
    assert compared is not None  # noqa: S101

    def bring(shard: Shard) -> tuple[dict[str, Tensor], Targets]:
        given = compared.given(take(lesson.X, lesson.rows[shard.rows]))
        there = {name: device.array(values) for name, values in given.items()}
        return there, Targets.of(lesson.targets[shard.rows], device)

    shards = split(len(lesson.rows), size=shard_rows(max(features.width, _n_dims(lesson.X))))
    return map_shards(bring, shards, engine=_ENGINE, ahead=_AHEAD, description=description)
