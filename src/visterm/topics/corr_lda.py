"""Correspondence LDA: every tag belongs to a region of a picture."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from visterm.contracts import UNKNOWN_CLASS, Features, check_tags
from visterm.topics.bags import check_bags, check_tag_bags
from visterm.topics.joint_inference import Labelled
from visterm.topics.joint_model import JointTopicModel


class CorrLDA(JointTopicModel):
    """Predicts tags from the topics of a picture's codewords (Blei and Jordan, SIGIR 2003).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z; every tag draws one of
    the picture's codewords and then itself from beta of that codeword's topic. This is the special case of
    :class:`visterm.topics.slda.SupervisedLDA` without classes, with the same variational EM and the same parameters.
    Pictures without tags contribute their codewords. With ``refine`` it becomes the method ``corr-lda-refined``.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> CorrLDA(n_topics=2, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics and their tags."""
        self._validate_params()
        bags = check_bags(self, X, fitting=True, n_tokens=self.n_tokens)
        self._fit_labelled(_without_classes(bags, check_tag_bags(tags, bags.shape[0])), n_classes=0)
        return self

    def partial_fit(self, X: Features, tags: Any, *, n_total: int | None = None) -> Self:
        """Learn from one more batch of pictures, tagged or not, after ``fit`` or from the start.

        As in :meth:`visterm.topics.slda.SupervisedLDA.partial_fit`.
        """
        self._validate_params()
        begun = hasattr(self, "topic_codewords_")
        bags = check_bags(self, X, fitting=not begun, n_tokens=self.n_tokens)
        n_tags = self.topic_tags_.shape[1] if begun else None
        data = _without_classes(bags, check_tags(tags, bags.shape[0], n_tags=n_tags))
        self._learn_batch(data, 0, n_total)
        return self


def _without_classes(bags: sparse.csr_array, tags: sparse.csr_array) -> Labelled:
    n_pictures = bags.shape[0]
    return Labelled(bags, np.full(n_pictures, UNKNOWN_CLASS), np.ones(n_pictures), tags)
