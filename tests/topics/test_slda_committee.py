"""Committees decide by the mean of their members."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from visterm.errors import InputError
from visterm.topics import RefinedSupervisedLDA, TopicCommittee


def collection(seed=0, n_pictures=60):
    """Three classes whose codewords overlap, and a tag for each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_pictures) % 3
    rates = np.full((n_pictures, 12), 1.0)
    for c in range(3):
        rates[y == c, 3 * c : 3 * c + 4] += 1.5
    return rng.poisson(rates).astype(float), y, np.eye(3, dtype=np.float32)[y]


def test_probabilities_are_the_mean_of_the_members():
    X, y, tags = collection()
    committee = TopicCommittee(4, n_members=3, refine=5, random_state=0).fit(X, y, tags)
    assert len({member.random_state for member in committee.members_}) == 3
    expected = sum(member.predict_proba(X) for member in committee.members_) / 3
    np.testing.assert_allclose(committee.predict_proba(X), expected)
    np.testing.assert_array_equal(committee.predict(X), expected.argmax(axis=1))
    np.testing.assert_allclose(committee.score_tags(X), sum(m.score_tags(X) for m in committee.members_) / 3)
    assert committee.transform(X).shape == (60, 12)


def test_a_committee_is_as_sure_of_new_pictures_as_its_members_on_average_or_surer():
    # log of a mean is at least the mean of logs
    X, y, _ = collection()
    new_X, new_y, _ = collection(seed=1)
    committee = TopicCommittee(4, n_members=4, refine=5, random_state=0).fit(X, y)
    rows = np.arange(len(new_y))
    alone = np.mean([np.log(member.predict_proba(new_X)[rows, new_y]).mean() for member in committee.members_])
    assert np.log(committee.predict_proba(new_X)[rows, new_y]).mean() >= alone


def test_a_committee_of_one_is_its_member():
    X, y, _ = collection()
    committee = TopicCommittee(4, n_members=1, refine=5, random_state=0).fit(X, y)
    member = RefinedSupervisedLDA(4, refine=5, random_state=committee.members_[0].random_state).fit(X, y)
    np.testing.assert_array_equal(committee.predict_proba(X), member.predict_proba(X))
    with pytest.raises(InputError, match="learned no tags"):
        committee.score_tags(X)


@pytest.mark.parametrize("question", ["predict_proba", "score_tags", "transform", "predict"])
def test_a_committee_is_fitted_before_it_is_asked(question):
    with pytest.raises(NotFittedError):
        getattr(TopicCommittee(), question)(collection()[0])


def test_an_empty_committee_is_refused():
    with pytest.raises(InputError, match="n_members"):
        TopicCommittee(n_members=0).fit(*collection()[:2])
