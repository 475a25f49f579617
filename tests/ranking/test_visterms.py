"""Weighed bags of visterms, and the rankers that compare them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.ranking.concept_svm import ConceptSVM
from visterm.ranking.pamir import PAMIR
from visterm.ranking.spaces.visterms import weighed


def pamir(**parameters):
    return PAMIR(**{"kernel": "visterm", "n_steps": 50, "random_state": 0, "held_out_share": 0} | parameters)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_every_bag_has_length_one_unless_it_is_empty(kind):
    found = weighed(kind([[0.3, 0.0, 0.1], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]), np.array([1.0, 2.0, 4.0]))
    dense = found if isinstance(found, np.ndarray) else found.toarray()
    np.testing.assert_allclose(dense, [[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]])


def test_a_new_fit_forgets_the_idf_of_visterms(captioned):
    again = pamir().fit(captioned.X, captioned.tags).set_params(kernel="linear").fit(captioned.X, captioned.tags)
    fresh = pamir(kernel="linear").fit(captioned.X, captioned.tags)
    np.testing.assert_array_equal(again.word_scores(captioned.X_test), fresh.word_scores(captioned.X_test))


@pytest.mark.parametrize("X", [[[1], [2], [3]], [[1, 2], [2, 1]]])
def test_pictures_with_the_same_visterms_cannot_be_told_apart(X):
    with pytest.raises(InputError, match="every picture has the same visterms"):
        pamir().fit(X, np.eye(3)[: len(X)])


def test_a_single_picture_may_have_any_visterms():
    model = ConceptSVM(kernel="visterm", random_state=0).fit([[1.0, 2.0]], [[1, 0]])
    assert np.isfinite(model.word_scores([[1.0, 0.0]])).all()


@pytest.mark.parametrize("method", ["word_scores", "explain"])
def test_bags_must_have_as_many_visterms_as_those_learned_from(captioned, method):
    model = pamir().fit(captioned.X, captioned.tags)
    arguments = [captioned.X_test[:1, 1:], *([np.eye(5)[:1]] if method == "explain" else [])]
    with pytest.raises(InputError, match="X has 19 features, but PAMIR is expecting 20"):
        getattr(model, method)(*arguments)
    np.testing.assert_allclose(  # but lists will do
        model.word_scores(captioned.X_test[:1].tolist()), model.word_scores(captioned.X_test[:1]), rtol=1e-5
    )
