"""Correspondence LDA, refined: topics that predict tags from codewords alone."""

from typing import Any, Self

from visterm.contracts import Features, check_tags
from visterm.topics.corr_lda import CorrLDA
from visterm.topics.inference.joint_model import Labelled
from visterm.topics.slda_refined import RefinedTopicModel


class RefinedCorrLDA(RefinedTopicModel, CorrLDA):
    """CorrLDA whose topics are then moved to predict tags from codewords alone.

    :class:`~visterm.topics.slda_refined.RefinedSupervisedLDA` without classes, with the same parameters.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> RefinedCorrLDA(n_topics=2, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    def partial_fit(self, X: Features, tags: Any, *, n_total: int | None = None) -> Self:
        """Learn from one more batch of pictures, tagged or not, after ``fit`` or from the start.

        As in :meth:`visterm.topics.slda_refined.RefinedSupervisedLDA.partial_fit`.
        """
        self._validate_params()
        begun = hasattr(self, "topic_codewords_")
        bags = self._bags(X, fitting=not begun)
        n_tags = self.topic_tags_.shape[1] if begun else None
        data = Labelled.without_classes(bags, check_tags(tags, bags.shape[0], n_tags=n_tags))
        self._learn_batch(data, 0, n_total)
        return self
