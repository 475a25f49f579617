"""Fisher vectors: how the descriptors of a picture would change the common mixture of all pictures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.vision.encode.descriptor_pca import require_fitted
from visterm.vision.encode.gmm import DiagonalGMM


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
