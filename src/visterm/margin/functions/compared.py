"""How pictures are compared with landmarks, for a device to compute: the kernels of one feature and of several.

Every kernel but the precomputed one is a similarity of each feature, and possibly an exponential of their sum:

    linear, cosine, hellinger, chi2     k = s
    exp-chi2, products                  k = exp(sum_f rate_f (s_f - 1))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from visterm.compute.device import Device, Tensor
from visterm.contracts import Features, Matrix, is_several
from visterm.margin.functions import _kernels_chi2_gpu

if TYPE_CHECKING:
    from visterm.margin.functions.product_kernel import ProductKernel

Array = NDArray[Any]

#: What a plain matrix of features is called.
THE_FEATURE = "x"
_BY_SHARES = ("chi2", "without-distance")
#: Keeps 0 / 0 out of sums over dimensions.
_TINY = 1e-30


class Similarity(NamedTuple):
    """The similarity of one feature with that of the landmarks; without landmarks, its explicit features.

    ``kind`` is ``linear``, ``cosine``, ``hellinger`` or ``chi2``, or ``without-distance``: one minus the chi2 distance,
    which is chi2 but for rows of zeros.
    """

    kind: str
    landmarks: Matrix | None
    rate: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The similarities, by the names of their features; and whether the kernel is the exponential of their sum."""

    similarities: Mapping[str, Similarity]
    is_exponential: bool

    @classmethod
    def by_kernel(cls, kernel: str, landmarks: Matrix | None) -> Compared:
        """By a kernel of one feature (:mod:`visterm.margin.functions.kernels`)."""
        from visterm.margin.functions.kernels import kernel_named

        name, rate = kernel_named(kernel)
        return cls({THE_FEATURE: Similarity(name.removeprefix("exp-"), landmarks, rate)}, name.startswith("exp-"))

    @classmethod
    def by_product(cls, kernel: ProductKernel) -> Compared | None:
        """By a kernel of several features; None if it has other distances than ``cosine`` and ``chi2``."""
        distances, rates = kernel.distances_, kernel.rates()
        if not set(distances.metrics_.values()) <= {"cosine", "chi2"}:
            return None
        similarities = {
            name: Similarity(
                "without-distance" if metric == "chi2" else metric,
                distances.train_features_[name],
                rates[name] / distances.scales_[name],
            )
            for name, metric in distances.metrics_.items()
        }
        return cls(similarities, True)

    def given(self, X: Features) -> dict[str, Array]:
        """The features that take part, dense, in half or single precision."""
        of_all = X if is_several(X) else {THE_FEATURE: cast(Matrix, X)}
        return {name: _dense(of_all[name]) for name in self.similarities}


class ComparedOnDevice:
    """Compares pictures with landmarks there."""

    def __init__(self, compared: Compared, device: Device) -> None:
        self._compared, self._device = compared, device
        self._landmarks = {name: self._ready(given) for name, given in compared.similarities.items()}

    def __call__(self, given: Mapping[str, Tensor]) -> Tensor:
        """(n_pictures, n_raw) in single precision: the kernel with the landmarks, or explicit features."""
        total = None
        for name, similarity in self._compared.similarities.items():
            found = self._similarity(similarity.kind, given[name], self._landmarks[name])
            if self._compared.is_exponential:
                found.sub_(1.0).mul_(similarity.rate)
            total = found if total is None else total.add_(found)
        return total.exp_() if self._compared.is_exponential and total is not None else total

    def _ready(self, similarity: Similarity) -> Any:
        if similarity.landmarks is None:
            return None
        ready = _prepared(self._device.array(_dense(similarity.landmarks).astype(np.float32)), similarity.kind)
        return ready if similarity.kind in _BY_SHARES else self._device.constant(ready.T.contiguous())

    def _similarity(self, kind: str, X: Tensor, landmarks: Any) -> Tensor:
        if landmarks is None:
            return _prepared(X, kind)
        if kind in _BY_SHARES:
            shares = _prepared(X, kind)
            found = _chi2(shares, landmarks)
            if kind == "without-distance":
                found += 1 - (shares.sum(1, keepdim=True) + landmarks.sum(1)) / 2
            return found
        if kind == "hellinger":
            return self._device.product(_prepared(X, kind), landmarks)
        found = self._device.product(X, landmarks)  # halves as they are given, which is exact
        return found if kind == "linear" else found.mul_(_factors(X, kind))


def _dense(X: Matrix) -> Array:
    dense: Array = X if isinstance(X, np.ndarray) else X.toarray()
    return dense if dense.dtype == np.float16 else dense.astype(np.float32, copy=False)


def _factors(X: Tensor, kind: str) -> Tensor:
    """What turns each row into unit length (cosine) or shares, as a column; 0 for a row of zeros."""
    sizes = X.float().norm(dim=1, keepdim=True) if kind == "cosine" else X.float().abs().sum(1, keepdim=True)
    return (1.0 / sizes).nan_to_num_(posinf=0.0)


def _prepared(X: Tensor, kind: str) -> Tensor:
    """Rows as the kernel compares them, in single precision."""
    if kind == "linear":
        return X.float()
    scaled = X.float() * _factors(X, kind)
    return signed_roots(scaled) if kind == "hellinger" else scaled


def signed_roots(values: Tensor) -> Tensor:
    """``sign(x) sqrt(|x|)``."""
    return values.abs().sqrt_().copysign_(values)


def _chi2(A: Tensor, B: Tensor) -> Tensor:
    """(n, m): ``sum_d sign(a_d b_d) 2 |a_d b_d| / (|a_d| + |b_d|)`` between the rows of A and of B."""
    if _kernels_chi2_gpu.can_compare(A):
        return _kernels_chi2_gpu.chi2(A, B)
    total = A.new_zeros(len(A), len(B))
    sizes_of_a, sizes_of_b = A.abs(), B.abs().add_(_TINY)
    for d in range(A.shape[1]):
        a, b = A[:, d, None], B[:, d]
        total.addcdiv_(a * b, sizes_of_a[:, d, None] + sizes_of_b[:, d], value=2.0)
    return total
