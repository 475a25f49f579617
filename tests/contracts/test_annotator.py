"""The tags that an annotator gives, and the score of its ranking, from known scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.contracts import AnnotatorMixin, Estimator, scores_multiply


class Given(AnnotatorMixin, Estimator):
    """Scores are the features."""

    def fit(self, X, tags):
        self._count_tags(sparse.csr_array(tags))
        return self

    def score_tags(self, X):
        return np.asarray(X)


def test_pictures_get_as_many_tags_as_training_pictures_have_and_ties_go_to_the_rarer():
    train = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], *[[0, 0, 0]] * 4])  # two tags each, or not tagged
    model = Given().fit(train, train)
    np.testing.assert_array_equal(model.predict([[0.1, 0.9, 0.1], [3.0, 1.0, 2.0]]).toarray(), [[0, 1, 1], [1, 0, 1]])


def test_models_of_earlier_versions_give_five_tags():
    scores = np.arange(8.0)[None]
    np.testing.assert_array_equal(Given().predict(scores).indices, [3, 4, 5, 6, 7])
    assert Given().predict(scores[:, :3]).nnz == 3


def test_the_score_is_the_share_of_right_tags_above_each_right_tag():
    """Right tags at ranks 1 and 3: 1/1 and 2/3. The picture without tags does not count."""
    value = Given().score([[0.9, 0.5, 0.4], [0.1, 0.2, 0.3]], [[1, 0, 1], [0, 0, 0]])
    assert value == pytest.approx((1 + 2 / 3) / 2)


def test_only_scores_between_0_and_1_multiply():
    assert not scores_multiply(Given())
    for name in ("scores_are_probabilities", "scores_are_chances"):
        assert scores_multiply(type("Other", (Given,), {name: True})())
