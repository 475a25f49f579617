"""Correspondence LDA: every tag belongs to a region of a picture."""

from typing import Any, Self

from visterm.contracts import Features
from visterm.topics.inference.em import check_tag_bags
from visterm.topics.inference.joint_model import JointTopicModel, Labelled


class CorrLDA(JointTopicModel):
    """Predicts tags from the topics of a picture's codewords (Blei and Jordan, SIGIR 2003).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z; every tag draws one of
    the picture's codewords and then itself from beta of that codeword's topic. This is the special case of
    :class:`visterm.topics.slda.SupervisedLDA` without classes, with the same variational EM and the same parameters.
    Pictures without tags contribute their codewords.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> CorrLDA(n_topics=2, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics and their tags."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        self._learn(Labelled.without_classes(bags, check_tag_bags(tags, bags.shape[0])), n_classes=0)
        return self
