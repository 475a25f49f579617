"""Ridge regressions that score a picture they learned from as if it had been left out."""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute.parallel import Engine, Shard, map_shards, rows_of_task, split
from visterm.compute.rows import slices
from visterm.contracts import (
    Features,
    Scores,
    check_features,
    check_tags,
    is_several,
    n_pictures,
    rows_with_tags,
    take,
)
from visterm.errors import InputError
from visterm.margin.functions import kernels
from visterm.margin.functions.by_landmarks import ByLandmarks, LandmarkFit
from visterm.margin.functions.landmarks import Lesson

#: Of these kernels, a picture has the kernel 1 with itself, and less with every other picture.
_ONE_WITH_ITSELF = ("exp-chi2", *kernels.PRODUCTS)
#: Two pictures are the same if their kernel is 1 but for rounding errors of their features.
_ROUNDING = 1e-5
#: Rows whose prints are made at a time.
_PRINTED_ROWS = 1024


class LeavesOut(ByLandmarks):
    """Expansions by ridge regression whose training pictures can be scored without themselves.

    A function learned from a picture nearly repeats what it was taught there: a picture that somebody tagged with one
    word only would be sure to have no other tag. With ``Q = (G + alpha I)^-1`` of the training pictures, picture i
    scores ``t_i - alpha theta_i``, and ``t_i - theta_i / Q_ii`` if it is left out. So its own part of the score is
    ``theta_i (1 / Q_ii - alpha)``. For a tag with known negatives this holds approximately.

    Fitted, if the kernel tells that a picture is the same: ``own_weights_`` (n_support,), the ``1 / Q_ii - alpha``.
    With landmarks, pictures are known by the bits of their features, in single precision: ``own_prints_`` (n_learned,)
    ascend; ``own_leverages_`` are the ``h_i = 1 - alpha Q_ii`` and ``own_targets_`` (n_learned, n_outputs) the targets
    of these pictures. Left out, they score ``(f_i - h_i t_i) / (1 - h_i)``.
    """

    own_prints_: NDArray[np.uint64]
    own_leverages_: NDArray[np.float64]
    own_targets_: sparse.csr_array
    _leaves_out = False
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "own_weights_": "n_support",
        "own_prints_": "n_learned int",
        "own_leverages_": "n_learned >=0",
        "own_targets_": "n_learned n_outputs",
    }

    @property
    def can_leave_out(self) -> bool:
        """Whether training pictures can be scored as if they had been left out."""
        return hasattr(self, "own_weights_") or hasattr(self, "own_prints_")

    def as_if_left_out(self) -> Self:
        """The same estimator for new pictures; training pictures score as if each had been left out.

        >>> from visterm.margin import KernelRidgeAnnotator
        >>> X, tags = [[1.0, 0.0], [0.9, 0.1], [0.1, 0.9]], [[1, 0], [0, 1], [0, 1]]
        >>> model = KernelRidgeAnnotator(tag_power=0).fit(X, tags)
        >>> model.score_tags(X)[0].round(1), model.as_if_left_out().score_tags(X)[0].round(1)
        (array([ 0.4, -0.3]), array([-0.3,  0.4]))
        """
        other = copy(self)
        other._leaves_out = True
        return other

    def _keep_own(self, rows: NDArray[Any], own_weights: NDArray[Any]) -> None:
        """Keep what leaves pictures out; ``own_weights`` are those of all training ``rows``, which ascend."""
        self._forget("own_weights_", "own_prints_", "own_leverages_", "own_targets_")
        if kernels.kernel_named(self.kernel_)[0] in _ONE_WITH_ITSELF:
            self.own_weights_ = own_weights[np.searchsorted(rows, self.support_)]

    def _keep_own_of(self, fit: LandmarkFit, *, more: bool = False) -> None:
        """Keep what leaves the pictures of a fit by landmarks out, with ``more`` besides those kept earlier."""
        prints = prints_of(fit.lesson.X, fit.lesson.rows)
        leverages, targets = fit.left_out.leverages, sparse.csr_array(fit.lesson.targets, dtype=np.float32)
        if more:
            prints = np.concatenate([self.own_prints_, prints])
            leverages = np.concatenate([fit.shrunk * self.own_leverages_, leverages])
            targets = sparse.csr_array(sparse.vstack([self.own_targets_, targets], format="csr"))
        self._forget("own_weights_")
        order = np.argsort(prints, kind="stable")
        self.own_prints_, self.own_leverages_, self.own_targets_ = prints[order], leverages[order], targets[order]

    def not_learned(self, X: Features, tags: sparse.csr_array) -> NDArray[np.intp] | None:
        """The tagged rows that ``partial_fit`` can add; None if it cannot, or the others are not what was learned."""
        if not hasattr(self, "rotation_") or not hasattr(self, "own_prints_"):
            return None
        rows = rows_with_tags(tags)
        prints = prints_of(X, rows)
        order = np.argsort(prints, kind="stable")
        prints, rows = prints[order], rows[order]
        # the first of several copies is the one that was learned first
        places = np.searchsorted(self.own_prints_, prints) + np.arange(len(rows)) - np.searchsorted(prints, prints)
        is_known = places < np.searchsorted(self.own_prints_, prints, side="right")
        learned = self.own_targets_[places[is_known]][:, : tags.shape[1]]
        if is_known.sum() < len(self.own_prints_) or (learned != tags[rows[is_known]]).nnz:
            return None
        return np.sort(rows[~is_known])

    def _more(self, X: Features, tags: Any, n_tags: int) -> Lesson:
        """The tagged pictures to add to a fit by landmarks."""
        if not hasattr(self, "rotation_"):
            raise InputError("pictures can be added to a model with landmarks only: fit it to all pictures again")
        checked = X if is_several(X) else check_features(self, X, fitting=False, halves=True)
        known = check_tags(tags, n_pictures(X), n_tags=n_tags)
        rows = rows_with_tags(known)
        return Lesson(checked, rows, known[rows])

    def _task_scores(self, X: Features, tasks: slice = slice(None)) -> Scores:
        scores = super()._task_scores(X, tasks)
        if self._leaves_out and hasattr(self, "own_prints_") and n_pictures(X):
            prints = prints_of(X, np.arange(n_pictures(X)))
            places = np.searchsorted(self.own_prints_, prints).clip(max=len(self.own_prints_) - 1)
            known = np.flatnonzero(self.own_prints_[places] == prints)
            h = self.own_leverages_[places[known], None]
            own = self.own_targets_[places[known]][:, tasks].toarray()
            scores[known] = (scores[known] - h * own) / (1 - h)
        return scores

    def _expanded(self, gram: Any, tasks: slice) -> Scores:
        scores = super()._expanded(gram, tasks)
        if self._leaves_out and hasattr(self, "own_weights_") and gram.shape[1]:
            nearest = gram.argmax(axis=1)
            known = np.flatnonzero(gram[np.arange(len(gram)), nearest] > 1 - _ROUNDING)
            places = nearest[known]
            scores[known] -= (self.dual_coef_[tasks][:, places] * self.own_weights_[places]).T.astype(scores.dtype)
        return scores


def prints_of(X: Features, rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each of the rows of one or several features that tells whether two are the same.

    It is the sum of the bits of the values in single precision, each times a random odd number. Zeros add nothing, so
    that the form of a matrix, dense or sparse, does not matter.
    """
    several: dict[str, Any] = dict(X) if is_several(X) else {"": X if hasattr(X, "shape") else np.asarray(X)}
    rng = np.random.default_rng(0)
    factors = {
        name: rng.integers(2**63, size=several[name].shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        for name in sorted(several)
    }

    def of_shard(shard: Shard) -> NDArray[np.uint64]:
        blocks = [rows[shard.rows][some] for some in slices(len(shard), _PRINTED_ROWS)]
        found = [[_print_of(take(several[name], some), by) for name, by in factors.items()] for some in blocks]
        return np.concatenate([np.empty(0, np.uint64), *(np.sum(each, axis=0, dtype=np.uint64) for each in found)])

    if len(rows) <= _PRINTED_ROWS:
        return of_shard(Shard(0, len(rows)))
    engine = Engine.reaching(several)
    shards = split(len(rows), size=rows_of_task(len(rows), _PRINTED_ROWS, engine))
    return np.concatenate(list(map_shards(of_shard, shards, engine=engine, description="Remembering pictures")))


def _print_of(matrix: Any, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    if not sparse.issparse(matrix):
        bits = (np.asarray(matrix, np.float32) + np.float32(0)).view(np.uint32)  # -0 becomes 0
        return np.asarray((bits * factors).sum(axis=1, dtype=np.uint64))
    rows = sparse.csr_array(matrix)
    products = (rows.data.astype(np.float32) + np.float32(0)).view(np.uint32) * factors[rows.indices]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(products, dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
