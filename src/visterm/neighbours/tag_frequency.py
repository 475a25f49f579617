"""The baseline for annotators: the most frequent tags, without looking at the picture."""

from typing import Any, ClassVar, Self

import numpy as np

from visterm.contracts import AnnotatorMixin, Estimator, Features, Scores, check_features, check_tags, rows_with_tags
from visterm.neighbours.voting.tagged_pictures import any_feature


class TagFrequency(AnnotatorMixin, Estimator):
    """Gives every picture the most frequent tags: the empirical frequency, the first baseline of Shao et al.

    The frequency is the share of *tagged* training pictures that carry the tag; rows without tags are not counted.

    >>> TagFrequency().fit([[0.0], [0.0], [0.0]], [[1, 0], [1, 1], [0, 0]]).score_tags([[5.0]])
    array([[1. , 0.5]])
    """

    scores_are_probabilities = True
    _fitted_constraints: ClassVar[dict[str, str]] = {"tag_frequency_": "n_tags >=0"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Count the tags of the tagged pictures."""
        X = check_features(self, any_feature(X), fitting=True, halves=True)
        tags = check_tags(tags, X.shape[0])
        self._count_tags(tags)
        self.tag_frequency_ = self.tag_counts_ / len(rows_with_tags(tags))
        return self

    def score_tags(self, X: Features) -> Scores:
        """The tag frequencies, the same for every picture."""
        X = check_features(self, any_feature(X), fitting=False, halves=True)
        return np.tile(self.tag_frequency_, (X.shape[0], 1))
