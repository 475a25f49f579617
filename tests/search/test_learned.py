"""A search is measured with a relevance that had not seen the pictures it judges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.learning import ScoredPictures
from visterm.measures import AveragePrecision
from visterm.ranking.queries import from_tags
from visterm.search.learned import learn_relevance, measure_search
from visterm.search.relevance import Relevance


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    tags = (rng.random((120, 4)) < 0.4).astype(np.float32)
    tags[~tags.any(axis=1), 0] = 1
    scores = 2 * tags + rng.standard_normal(tags.shape)
    return ScoredPictures(scores[:60], None, []), sparse.csr_array(tags[:60]), sparse.csr_array(tags[60:])


def test_relevance_is_fitted_to_held_out_scores_and_training_captions(scored):
    pictures, tags, train_tags = scored
    relevance = learn_relevance(pictures, tags, train_tags)
    counts = train_tags.toarray().sum(axis=0)
    by_hand = Relevance().fit(pictures.scores, tags, tag_counts=counts, n_tagged=60, asked=train_tags)
    np.testing.assert_array_equal(relevance.coefficients_, by_hand.coefficients_)
    assert relevance.nothing_below_ == by_hand.nothing_below_


def test_pictures_are_ranked_by_the_probability_of_all_words(scored):
    pictures, tags, train_tags = scored
    relevance = learn_relevance(pictures, tags, train_tags)
    log_p = relevance.log_probabilities(pictures.scores)
    asked = from_tags(tags, max_words=3)
    joint = np.stack([relevance.joint(log_p, words) for words in asked.columns()])
    found = measure_search(log_p, pictures, tags, relevance)
    assert found["AvgP"] == AveragePrecision()(asked.relevance, joint)
