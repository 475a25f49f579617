"""Mixtures of Gaussians with diagonal covariances, learned from local descriptors by EM; Fisher vectors under them."""

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.errors import InputError
from visterm.vision.encode.codebook import Codebook
from visterm.vision.encode.descriptor_pca import as_descriptors, map_rows, require_fitted, sample_descriptors

_BLOCK_ROWS = 2048
_PRECISIONS = {"float32": np.float32, "float64": np.float64}
#: k-means iterations that place the components before EM.
_KMEANS_ITERATIONS = 10
#: The smallest variance of a component, as a share of the descriptors' variance (its mean over dimensions).
_VARIANCE_FLOOR = 1e-5
#: Largest error of a log-density that is accepted for speed.
_CANCELLATION = 1e-3
#: A component that explains no descriptor keeps this weight, so that its logarithm and root exist.
_LEAST_WEIGHT = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class MixtureStatistics:
    """The statistics of descriptors that an M step needs; ``+`` merges them.

    ``sums`` (n_components, 2 n_dims + 1) holds the descriptors, their squares, and ones, summed with the components'
    responsibilities as weights. ``centre`` is subtracted from descriptors; merged statistics share it.
    """

    n_descriptors: int
    log_likelihood: float
    sums: NDArray[np.float64]
    centre: NDArray[np.float64]

    def __add__(self, other: "MixtureStatistics") -> "MixtureStatistics":
        if self.sums.shape != other.sums.shape or not np.array_equal(self.centre, other.centre):
            raise InputError("statistics with different centres come from different mixtures and cannot be merged")
        return MixtureStatistics(
            self.n_descriptors + other.n_descriptors,
            self.log_likelihood + other.log_likelihood,
            self.sums + other.sums,
            self.centre,
        )


@dataclass(eq=False)
class DiagonalGMM:
    """p(x) = sum_k w_k N(x; mu_k, diag(sigma_k^2)); EM, started from k-means, maximises the likelihood.

    Responsibilities are computed with BLAS in float32; sums over descriptors are kept in float64. A component that no
    longer explains any descriptor stays where it is, with a weight near zero.

    Parameters
    ----------
    n_components
        How many Gaussians.
    n_iterations, tolerance
        Stop after ``n_iterations`` of EM, or when the mean log-likelihood gains less than ``tolerance``.
    max_sample
        Learn from at most this many descriptors, drawn at random.
    precision
        ``"float32"``, or ``"float64"`` for a likelihood that rises to the last digit, at half the speed.
    random_state
        Seed of the sample and of k-means.

    After ``fit``: ``weights_`` (n_components,), ``means_`` and ``variances_`` (n_components, n_dims), ``floor_``
    (n_dims,) the smallest variances allowed, ``log_likelihoods_`` the mean log-likelihood at every iteration.

    Shards give the same result as one pass::

        gmm.initialise(sample)
        for _ in range(n_iterations):
            gmm.update(sum_shards(lambda shard: gmm.statistics(descriptors_of(shard)), shards))

    >>> rng = np.random.default_rng(0)
    >>> descriptors = np.concatenate([rng.normal(0, 1, (500, 1)), rng.normal(9, 2, (500, 1))])
    >>> gmm = DiagonalGMM(2, random_state=0).fit(descriptors)
    >>> sorted(gmm.means_.round().ravel().tolist())
    [-0.0, 9.0]
    """

    n_components: int
    _: KW_ONLY
    n_iterations: int = 50
    tolerance: float = 1e-3
    max_sample: int = 500_000
    precision: str = "float32"
    random_state: int | None = None

    weights_: NDArray[np.float64] = field(init=False, repr=False)
    means_: NDArray[np.float64] = field(init=False, repr=False)
    variances_: NDArray[np.float64] = field(init=False, repr=False)
    floor_: NDArray[np.float64] = field(init=False, repr=False)
    log_likelihoods_: NDArray[np.float64] = field(init=False, repr=False)

    def fit(self, descriptors: Any) -> "DiagonalGMM":
        """Learn the mixture from ``descriptors`` (n_descriptors, n_dims)."""
        rows = sample_descriptors(descriptors, self.max_sample, np.random.default_rng(self.random_state))
        self.initialise(rows)
        log_likelihoods: list[float] = []
        with progress.task(f"Learning {self.n_components} Gaussians", total=self.n_iterations) as bar:
            for _ in range(self.n_iterations):
                statistics = self.statistics(rows)
                log_likelihoods.append(statistics.log_likelihood / len(rows))
                bar.advance()
                bar.report(log_likelihood=log_likelihoods[-1])
                if len(log_likelihoods) > 1 and log_likelihoods[-1] - log_likelihoods[-2] < self.tolerance:
                    break
                self.update(statistics)
        self.log_likelihoods_ = np.array(log_likelihoods)
        return self

    def initialise(self, descriptors: Any) -> None:
        """Place the components on k-means clusters of ``descriptors``."""
        rows = as_descriptors(descriptors)
        if self.n_components < 1:
            raise InputError("a mixture needs at least one component")
        if len(rows) < self.n_components:
            raise InputError(f"{self.n_components} components need at least as many descriptors, got {len(rows)}")
        clusters = Codebook(
            self.n_components,
            n_iterations=_KMEANS_ITERATIONS,
            max_sample=len(rows),
            random_state=self.random_state,
        ).fit(rows)
        self.means_ = clusters.words_.astype(np.float64)
        self.weights_ = np.full(self.n_components, 1.0 / self.n_components)
        statistics = _hard_statistics(rows, clusters.assign(rows), self.centre, self.n_components)
        first, second = np.split(statistics.sums[:, :-1].sum(axis=0) / len(rows), 2)
        variances = second - first**2
        self.floor_ = np.full(len(variances), _VARIANCE_FLOOR * _scale(variances, self.centre))
        self.variances_ = np.tile(np.maximum(variances, self.floor_), (self.n_components, 1))
        self.update(statistics)

    def statistics(self, descriptors: Any) -> MixtureStatistics:
        """The E step: the contribution of the descriptors to the next M step."""
        rows = as_descriptors(descriptors, self._fitted_means().shape[1], dtype=self._dtype)
        return reduce(add, map_rows(self._shard_statistics, rows, "E step"))

    def _shard_statistics(self, rows: NDArray[Any]) -> MixtureStatistics:
        sums = np.zeros((len(self.means_), 2 * self.means_.shape[1] + 1))
        log_likelihood = 0.0
        for terms, joint in self.log_joint_blocks(rows):
            largest = _exponentiate(joint)
            totals = joint.sum(axis=1, keepdims=True)
            log_likelihood += float(np.log(totals, dtype=np.float64).sum() + largest.sum(dtype=np.float64))
            terms /= totals  # cheaper than normalising the responsibilities; the product is the same
            sums += joint.T @ terms
        return MixtureStatistics(len(rows), log_likelihood, sums, self.centre)

    def update(self, statistics: MixtureStatistics) -> None:
        """The M step: the mixture that best fits ``statistics``."""
        if statistics.n_descriptors == 0:
            raise InputError("a mixture needs descriptors to learn from")
        n_dims = self._fitted_means().shape[1]
        mass = statistics.sums[:, -1]
        alive = mass > _LEAST_WEIGHT * statistics.n_descriptors
        moments = statistics.sums[alive, :-1] / mass[alive, None]
        first, second = moments[:, :n_dims], moments[:, n_dims:]
        means, variances = self.means_.copy(), self.variances_.copy()
        means[alive] = statistics.centre + first
        variances[alive] = np.maximum(second - first**2, self.floor_)
        weights = np.maximum(mass, _LEAST_WEIGHT * statistics.n_descriptors)
        self.weights_, self.means_, self.variances_ = weights / weights.sum(), means, variances

    def log_likelihood(self, descriptors: Any) -> float:
        """The mean log-density of the descriptors."""
        statistics = self.statistics(descriptors)
        if statistics.n_descriptors == 0:
            raise InputError("there are no descriptors to compute the likelihood of")
        return statistics.log_likelihood / statistics.n_descriptors

    def log_joint_blocks(self, descriptors: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Blocks of (descriptors, squares, one), centred on the mixture's mean, and log p(descriptor, component).

        Both arrays are buffers that the next block overwrites; (rows, 2 n_dims + 1) and (rows, n_components).
        """
        n_dims = self._fitted_means().shape[1]
        rows = as_descriptors(descriptors, n_dims, dtype=self._dtype)
        centre = self.centre.astype(self._dtype)
        form, peaks = self._linear_form()
        coefficients = form.astype(self._dtype)
        tight = self._tight_components()
        size = max(1, min(len(rows), _BLOCK_ROWS))
        all_terms = np.empty((size, 2 * n_dims + 1), self._dtype)
        all_joint = np.empty((size, len(coefficients)), self._dtype)
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            terms, joint = all_terms[: len(block)], all_joint[: len(block)]
            np.subtract(block, centre, out=terms[:, :n_dims])
            np.square(terms[:, :n_dims], out=terms[:, n_dims:-1])
            terms[:, -1] = 1.0
            np.matmul(terms, coefficients.T, out=joint)
            for k in tight:
                squares = (block - self.means_[k].astype(self._dtype)) ** 2
                joint[:, k] = peaks[k] - 0.5 * (squares @ (1.0 / self.variances_[k]).astype(self._dtype))
            yield terms, joint

    def _linear_form(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log(w_k N(x; mu_k, sigma_k^2)) as coefficients of (x, x^2, 1), x about the centre; and its value at mu_k."""
        means, precisions = self.means_ - self.centre, 1.0 / self.variances_
        peaks = np.log(self.weights_) - 0.5 * np.log(2.0 * np.pi * self.variances_).sum(axis=1)
        constants = peaks - 0.5 * (means**2 * precisions).sum(axis=1)
        return np.column_stack([means * precisions, -0.5 * precisions, constants]), peaks

    def _tight_components(self) -> NDArray[np.int64]:
        """Components that are too narrow for their distance from the centre: the linear form would cancel to noise.

        They are rare (a point that many descriptors share). Their log-densities are computed from differences instead.
        """
        magnitudes = ((self.means_ - self.centre) ** 2 / self.variances_).sum(axis=1)
        return np.flatnonzero(magnitudes * np.finfo(self._dtype).eps > _CANCELLATION)

    @property
    def centre(self) -> NDArray[np.float64]:
        """The mixture's mean, the centre of the statistics: there, sums of squares lose the least to rounding.

        It is rounded to float32, so that it is the same point in both precisions.
        """
        mean: NDArray[np.float64] = (self.weights_ @ self.means_).astype(np.float32).astype(np.float64)
        return mean

    def _fitted_means(self) -> NDArray[np.float64]:
        require_fitted(self, "means_")
        return self.means_

    @property
    def _dtype(self) -> Any:
        if self.precision not in _PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}: choose float32 or float64")
        return _PRECISIONS[self.precision]


def _exponentiate(joint: NDArray[Any]) -> NDArray[Any]:
    """Replace logarithms by their exponentials, scaled so that each row's largest is one; return the largest logs.

    Exponentials that would underflow stop well above the subnormal numbers, which are many times slower to process.
    """
    largest: NDArray[Any] = joint.max(axis=1, keepdims=True)
    joint -= largest
    np.maximum(joint, 0.7 * np.log(np.finfo(joint.dtype).tiny), out=joint)
    np.exp(joint, out=joint)
    return largest


def _scale(variances: NDArray[np.float64], centre: NDArray[np.float64]) -> float:
    """The mean variance, or one if all descriptors are equal at the resolution of float32."""
    mean = float(variances.mean())
    return mean if mean > np.finfo(np.float32).eps ** 2 * float((centre**2).mean()) else 1.0


def _hard_statistics(
    rows: NDArray[np.float32], ids: NDArray[np.int32], centre: NDArray[np.float64], n_components: int
) -> MixtureStatistics:
    """Statistics of descriptors that each belong to one component."""
    from visterm.vision.encode._kernels import sum_by_word

    counts = np.zeros(n_components, np.int64)
    sums = np.zeros((n_components, 2 * rows.shape[1]))
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS] - centre
        sum_by_word(np.hstack([block, block**2]), ids[start : start + _BLOCK_ROWS], sums, counts)
    return MixtureStatistics(len(rows), 0.0, np.column_stack([sums, counts]), centre)


class FisherEncoder:
    """The improved Fisher vector: gradients of the log-likelihood, signed square root, unit length.

    For descriptors x_1..x_n with responsibilities r_ik, and u_ik = (x_i - mu_k) / sigma_k, the entries are::

        sum_i r_ik u_ik / (n sqrt(w_k))                 for the means, and
        sum_i r_ik (u_ik^2 - 1) / (n sqrt(2 w_k))       for the deviations,

    first all means, component by component, then all deviations (Perronnin, Sanchez and Mensink, "Improving the Fisher
    kernel for large-scale image classification", ECCV 2010).

    Parameters
    ----------
    gmm
        A fitted mixture.
    truncate
        Leave out components whose probability for a descriptor is less than this fraction of the largest one. This is
        faster and hardly changes the vector; 0 uses all components.

    >>> gmm = DiagonalGMM(2, random_state=0).fit([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
    >>> FisherEncoder(gmm).encode([[0.5, 0.5], [8.0, 9.0]]).shape
    (8,)
    """

    def __init__(self, gmm: DiagonalGMM, *, truncate: float = 1e-4) -> None:
        self.gmm = gmm
        self.truncate = truncate

    @property
    def n_dims(self) -> int:
        """Length of the encoding: 2 n_components times the descriptors' dimensions."""
        require_fitted(self.gmm, "means_")
        return 2 * self.gmm.means_.size

    def encode(self, descriptors: Any) -> NDArray[np.float32]:
        """The encoding of one picture's descriptors; zeros if there are none."""
        return self.encode_sums(self.sums(descriptors))

    def sums(self, descriptors: Any) -> NDArray[np.float64]:
        """Descriptors, squares and ones summed by responsibility, (n_components, 2 descriptor dimensions + 1)."""
        if not 0.0 <= self.truncate < 1.0:
            raise InputError(f"truncate must be a share from 0 to 1, not {self.truncate}")
        if self.truncate == 0.0:
            return self.gmm.statistics(descriptors).sums
        from visterm.vision.encode._kernels import sum_likely

        require_fitted(self.gmm, "means_")
        n_components, n_dims = self.gmm.means_.shape
        sums = np.zeros((n_components, 2 * n_dims + 1))
        for terms, joint in self.gmm.log_joint_blocks(descriptors):
            block_sums = np.zeros(sums.shape, terms.dtype)
            sum_likely(terms, joint, terms.dtype.type(math.log(self.truncate)), block_sums)
            sums += block_sums
        return sums

    def encode_sums(self, sums: NDArray[np.float64]) -> NDArray[np.float32]:
        """The encoding from sums over descriptors; those of two sets of descriptors add up."""
        entries = self.gradients(sums)
        entries = np.copysign(np.sqrt(np.abs(entries)), entries)
        length = math.sqrt(entries @ entries)
        return (entries / length if length > 0.0 else entries).astype(np.float32)

    def gradients(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gradients of the mean log-likelihood, before the root and the scaling."""
        n_dims = self.gmm.means_.shape[1]
        first, second, mass = sums[:, :n_dims], sums[:, n_dims:-1], sums[:, -1:]
        means = self.gmm.means_ - self.gmm.centre
        deviations = np.sqrt(self.gmm.variances_)
        roots = np.sqrt(self.gmm.weights_)[:, None]
        # Sums of u and of u^2 - 1, from sums of x and x^2.
        of_means = (first - mass * means) / deviations
        of_deviations = (second - 2.0 * means * first + mass * means**2) / self.gmm.variances_ - mass
        gradients = np.concatenate([of_means / roots, of_deviations / (math.sqrt(2.0) * roots)])
        gradients /= max(mass.sum(), 1.0)  # the responsibilities of n descriptors sum to n
        return gradients.ravel()
