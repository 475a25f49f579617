"""What fitted attributes must be: a model that says otherwise is refused before it is asked anything."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.models.fitted import check_fitted
from visterm.neighbours import KnnAnnotator
from visterm.topics import LDA


def lda(**changed):
    fitted = LDA(n_topics=2).fit(np.arange(1, 13).reshape(4, 3).astype(float))
    for name, value in changed.items():
        setattr(fitted, name, value)
    return fitted


def test_what_fit_leaves_is_accepted():
    check_fitted(lda())
    check_fitted(KnnAnnotator(2).fit(np.eye(4), np.eye(4)))


def test_a_class_adds_to_what_its_bases_declare():
    class Shifted(KnnAnnotator):
        _fitted_constraints: ClassVar = {"shift_": "n_tags", "n_neighbors_": "int >=0"}

    fitted = Shifted(2).fit(np.eye(4), np.eye(4))
    fitted.n_neighbors_ = 0  # KnnAnnotator itself would refuse this
    fitted.shift_ = np.zeros(4)
    check_fitted(fitted)
    fitted.shift_ = np.zeros(3)
    with pytest.raises(InputError, match="shift_ of Shifted has the size 3 where n_tags is 4"):
        check_fitted(fitted)
    fitted.train_rows_, fitted.shift_ = np.arange(3), np.zeros(4)
    with pytest.raises(InputError, match=r"of Shifted has the size .* where n_train is"):
        check_fitted(fitted)
    fitted.train_rows_, fitted.tag_counts_ = np.arange(4), np.full(4, -1)
    with pytest.raises(InputError, match="tag_counts_ of Shifted goes down to -1"):
        check_fitted(fitted)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"alpha_": None}, "alpha_ of LDA is not an array"),
        ({"alpha_": np.zeros(2)}, "alpha_ of LDA goes down to 0"),
        ({"alpha_": np.ones(3)}, "alpha_ of LDA has the size 3 where n_topics is 2"),
        ({"alpha_": np.array([1.0, np.nan])}, "alpha_ of LDA holds numbers that are not finite"),
        ({"topic_codewords_": np.ones((2, 4))}, "topic_codewords_ of LDA has the size 4 where n_features is 3"),
        ({"topic_codewords_": np.ones(6)}, "topic_codewords_ of LDA has 1 dimensions instead of 2"),
        ({"n_features_in_": 2.5}, "n_features_in_ of LDA is 2.5, not a number"),
        ({"n_features_in_": True}, "not a number"),
        ({"n_topics": -1}, "n_topics"),
    ],
)
def test_what_fit_never_leaves_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        check_fitted(lda(**changed))
