from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from visterm.errors import InputError
from visterm.neighbours import KnnClassifier
from visterm.topics import LDA, TopicNeighbours


def planted(seed=0, n_pictures=150):
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.full(30, 0.1), 3)
    y = np.arange(n_pictures) % 3
    theta = 0.7 * np.eye(3)[y] + 0.3 * rng.dirichlet(np.ones(3), n_pictures)
    return np.array([rng.multinomial(50, row @ pi) for row in theta]).astype(float), y


def test_it_is_neighbours_of_topic_proportions():
    X, y = planted()
    model = TopicNeighbours(3, n_neighbors=5, random_state=0).fit(X[:100], y[:100])
    lda = LDA(3, max_iter=model.max_iter, random_state=0).fit(X[:100])
    knn = KnnClassifier(5, metric="hellinger").fit(lda.transform(X[:100]), y[:100])
    np.testing.assert_array_equal(model.predict_proba(X[100:]), knn.predict_proba(lda.transform(X[100:])))
    assert model.score(X[100:], y[100:]) > 0.85


def test_pictures_of_unknown_class_help_to_find_topics_only():
    X, y = planted(1)
    y[10:100] = -1
    model = TopicNeighbours(3, n_neighbors=3, random_state=0).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.8
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    lda = LDA(3, max_iter=model.max_iter, random_state=0).fit(X[:100])
    np.testing.assert_array_equal(model.lda_.topic_codewords_, lda.topic_codewords_)


@pytest.mark.parametrize("question", ["predict_proba", "predict"])
def test_neighbours_are_known_before_they_are_asked(question):
    with pytest.raises(NotFittedError):
        getattr(TopicNeighbours(), question)(planted()[0])


def test_a_parameter_without_sense_is_said_to_be_its_own():
    with pytest.raises(InputError, match="'n_tokens' parameter of TopicNeighbours"):
        TopicNeighbours(n_tokens=-1).fit(*planted())


@pytest.mark.parametrize("parameters", [{"n_topics": 0}, {"n_neighbors": 0}, {"metric": "taxi"}, {"alpha": -1}])
def test_parameters_without_sense_are_refused(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        TopicNeighbours(**parameters).fit(*planted())
