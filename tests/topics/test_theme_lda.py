from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.errors import InputError
from visterm.topics import ThemeLDA, infer_topics
from visterm.topics.theme_lda import Themes, _EStep


def planted(seed=0, n_pictures=240):
    """Two classes that mix the same four topics in different proportions."""
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet(np.full(20, 0.2), 4)
    alphas = np.array([[2.0, 2.0, 0.1, 0.3], [0.1, 0.3, 2.0, 2.0]])
    y = np.arange(n_pictures) % 2
    X = np.array([rng.multinomial(80, rng.dirichlet(alphas[c]) @ pi) for c in y])
    return X.astype(float), y


@given(seed=st.integers(0, 10**6), n_topics=st.integers(1, 4), n_settling=st.integers(1, 10))
@settings(max_examples=25, deadline=None)
def test_the_bound_never_falls(seed, n_topics, n_settling):
    rng = np.random.default_rng(seed)
    X, y = rng.poisson(2.0, (14, 5)), rng.integers(3, size=14)
    model = ThemeLDA(n_topics, n_settling=n_settling, tol=0, max_iter=20, random_state=0).fit(X, y)
    assert (np.diff(model.objective_) >= -1e-7 * np.abs(model.objective_[-1])).all()
    np.testing.assert_allclose(model.topic_codewords_.sum(axis=1), 1)
    assert (model.alphas_ > 0).all()


def test_classes_that_mix_the_topics_differently_are_told_apart():
    X, y = planted()
    model = ThemeLDA(4, random_state=0).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > 0.9
    likeliest = model.predict_proba(X[160:]).argmax(axis=1)
    np.testing.assert_array_equal(likeliest, model.predict(X[160:]))


def test_scores_are_bounds_below_the_likelihood():
    """With one topic there is nothing to infer: the bound is the log-likelihood of the codewords, for every class."""
    X, y = planted(1, 40)
    y[:30] = 0
    model = ThemeLDA(1, random_state=0).fit(X, y)
    likelihood = X @ np.log(model.topic_codewords_[0])
    np.testing.assert_allclose(model.class_scores(X), likelihood[:, None] + np.log(model.class_frequency_), rtol=1e-9)


def test_the_frequency_of_a_class_decides_where_pictures_say_nothing():
    X, y = planted(2, 60)
    y = np.where(np.arange(60) < 45, 0, 1)
    model = ThemeLDA(2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 20)))[0], [0.75, 0.25])


def test_a_class_of_one_picture_has_a_finite_alpha():
    X, y = planted(3, 30)
    y[:] = 0
    y[7] = 1
    model = ThemeLDA(3, random_state=0).fit(X, y)
    assert model.alphas_.max() < 1e3
    assert np.isfinite(model.predict_proba(X)).all()


def test_pictures_of_unknown_class_are_left_out():
    X, y = planted(4, 60)
    known = ThemeLDA(3, random_state=0).fit(X[:40], y[:40])
    y[40:] = -1
    np.testing.assert_allclose(ThemeLDA(3, random_state=0).fit(X, y).class_scores(X), known.class_scores(X))


def test_the_objective_is_the_bounds_of_all_classes_and_the_priors():
    X, y = planted(5, 20)
    bags = [sparse.csr_array(X[y == c]) for c in range(2)]
    topics = np.random.default_rng(0).dirichlet(np.ones(20), 3)
    themes = Themes(topics, np.array([[1.0, 2.0, 0.5], [3.0, 0.2, 1.0]]))
    e_step, bound = _EStep(bags, 0.5), 0.0
    for _ in range(60):  # each call continues from the last one
        statistics, objective = e_step(themes)
    for own, alpha, found in zip(bags, themes.alphas, statistics, strict=True):
        inferred = infer_topics(own, topics, alpha, tolerance=1e-6).statistics
        np.testing.assert_allclose(found.codewords, inferred.codewords, atol=1e-2)
        bound += inferred.bound
    assert objective == pytest.approx(bound + 0.5 * np.log(topics).sum() - 0.1 * 7.7, rel=1e-6)


def test_pictures_without_any_class_are_refused():
    X, y = planted(6, 6)
    with pytest.raises(InputError, match="no picture has a class: at least one is needed to learn from"):
        ThemeLDA(2).fit(X, np.full(6, -1))
    model = ThemeLDA(2, n_settling=3, max_iter=4, tol=-1, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.objective_) == 7
    assert model.class_frequency_.tolist() == [0.5, 0.5]
    assert model.__sklearn_tags__().classifier_tags.poor_score


@pytest.mark.parametrize("name", ["alpha", "smoothing", "n_topics", "max_iter", "n_settling"])
def test_parameters_without_sense_are_refused(name):
    with pytest.raises(InputError, match=name):
        ThemeLDA(**{name: 0}).fit(*planted())
