"""Reasons: how much each topic and each codeword of a picture contributed to a class or a tag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from visterm.errors import InputError
from visterm.topics.class_response import root_ratios
from visterm.topics.inference import infer_topics
from visterm.topics.joint_inference import JointTopics, responsibilities
from visterm.topics.statistics import Array


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """The contributions to a score. In either matrix, the sum of a picture's row is its score.

    ``topics`` (n_pictures, n_topics) holds the contribution of each topic. ``codewords`` (n_pictures, n_codewords),
    CSR, holds the contribution of each codeword with all its occurrences; :meth:`of_regions` divides it among the
    regions of a picture.
    """

    topics: Array
    codewords: sparse.csr_array

    @property
    def scores(self) -> Array:
        """The explained scores, one per picture."""
        return self.topics.sum(axis=1)

    def of_regions(self, picture: int, codewords: ArrayLike) -> Array:
        """The contribution of each region of a picture, given the codeword of each region.

        Regions of one codeword share its entry equally. The sum over all regions of the picture is the score.

        >>> reasons = Reasons(np.array([[1.5]]), sparse.csr_array([[1.0, 0.0, 0.5]]))
        >>> reasons.of_regions(0, [2, 0, 0])
        array([0.5, 0.5, 0.5])
        """
        numbers = np.asarray(codewords, dtype=np.int64).ravel()
        n_codewords = self.codewords.shape[1]
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < n_codewords:
            raise InputError(f"codewords of regions must lie between 0 and {n_codewords - 1}")
        entries = self.codewords[[picture]].toarray().ravel()
        return entries[numbers] / np.bincount(numbers, minlength=n_codewords)[numbers]


def class_reasons(bags: sparse.csr_array, model: JointTopics, class_number: int, *, rooted: bool) -> Reasons:
    """Reasons for a class: sum_k eta_k phibar_k, or, after refinement, intercept + sum_k eta_k roots(phibar)_k.

    Codeword v has the part (c_v / N) phi_vk of phibar_k, the same share of its root, and c_v / N of the intercept.
    """
    shares, phibar = _shares(bags, model)
    coefficients = model.coefficients[class_number]
    worth = root_ratios(phibar) if rooted else np.ones(phibar.shape)
    return _reasons(bags, shares, phibar, worth * coefficients + model.intercepts[class_number])


def tag_reasons(bags: sparse.csr_array, model: JointTopics, tag: int) -> Reasons:
    """Reasons for a tag: p(w | picture) = sum_k phibar_k beta_kw, the probability that a drawn tag is w."""
    shares, phibar = _shares(bags, model)
    return _reasons(bags, shares, phibar, np.broadcast_to(model.tags[:, tag], phibar.shape))


def _shares(bags: sparse.csr_array, model: JointTopics) -> tuple[Array, Array]:
    """(c_v / N) phi_v for every count, and their sum over each picture."""
    phi = responsibilities(infer_topics(bags, model.codewords, model.alpha).gamma, bags, model.codewords)
    phi *= (bags.data / np.repeat(bags.sum(axis=1), np.diff(bags.indptr)))[:, None]
    owners = sparse.csr_array((np.ones(bags.nnz), np.arange(bags.nnz), bags.indptr), shape=(bags.shape[0], bags.nnz))
    return phi, owners @ phi


def _reasons(bags: sparse.csr_array, shares: Array, phibar: Array, worth: Array) -> Reasons:
    by_count = np.einsum("ik,ik->i", shares, np.repeat(worth, np.diff(bags.indptr), axis=0))
    return Reasons(phibar * worth, sparse.csr_array((by_count, bags.indices, bags.indptr), shape=bags.shape))
