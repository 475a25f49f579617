"""Correspondence LDA: tags that describe regions of a picture."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from visterm.contracts import Features
from visterm.topics.bags import check_bags, check_tag_bags
from visterm.topics.joint import Labelled
from visterm.topics.joint_model import JointTopicModel


class CorrLDA(JointTopicModel):
    """Tags from the topics of a picture's codewords (Blei and Jordan, SIGIR 2003).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z; every tag draws one of
    the picture's codewords and then itself from beta of that codeword's topic. Variational EM as in
    :class:`visterm.topics.slda.SupervisedLDA`, whose special case without classes this is; parameters as there.
    Pictures without tags take part with their codewords.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> CorrLDA(n_topics=2, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics and their tags."""
        bags = check_bags(self, X, fitting=True, n_tokens=self.n_tokens)
        n_pictures = bags.shape[0]
        data = Labelled(bags, np.full(n_pictures, -1), np.ones(n_pictures), check_tag_bags(tags, n_pictures))
        self._fit_labelled(data, n_classes=0)
        return self
