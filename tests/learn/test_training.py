"""Training fits a method at most twice, and nobody learns from what it is measured on."""

from __future__ import annotations

import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import Task, inputs, word_scores
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.learn import (
    SUGGESTIONS_RIGHT,
    Dataset,
    Fitted,
    fit_method,
    measure,
    measure_fitted,
    tag_probabilities,
    train_method,
    validation_split,
)
from visterm.learn.engine import training
from visterm.learn.engine.measuring import training_part
from visterm.learn.engine.splits import Split
from visterm.learn.learned_search import learned_search
from visterm.margin.functions import kernels
from visterm.registry import Method

N, N_TAGS = 40, 3


class Counted(Estimator):
    """Scores tags by the first columns of X; writes down the pictures and tags of every fit."""

    scores_are_probabilities = False
    fits: list

    def fit(self, X, tags):
        if not tags.nnz:
            raise InputError("no picture has a tag")
        type(self).fits.append((X[:, -1].astype(int).tolist(), np.flatnonzero(np.diff(tags.indptr)).tolist()))
        self.n_features_in_ = X.shape[1]
        return self

    def score_tags(self, X):
        return np.asarray(X)[:, :N_TAGS]


class Transductive(Counted):
    learns_from_untagged = True


@pytest.fixture(params=[Counted, Transductive])
def method(request, monkeypatch):
    request.param.fits = []
    monkeypatch.setattr(
        Method, "load", lambda self, load=Method.load: request.param if self.name == "counted" else load(self)
    )
    return Method("counted", "a class of this file", frozenset({Task.ANNOTATE}), "colour", "a test")


def make(n_test=0, n_tagged=N):
    """Pictures whose last feature is their row; the last ``n_test`` are test pictures."""
    rng = np.random.default_rng(0)
    tags = (rng.random((N, N_TAGS)) < 0.5) | (np.arange(N)[:, None] % N_TAGS == np.arange(N_TAGS))
    tags[n_tagged:] = False
    X = np.column_stack([tags + 0.7 * rng.standard_normal((N, N_TAGS)), np.arange(N)])
    splits = (None,) * (N - n_test) + ("test",) * n_test
    classes = np.full(N, -1)
    return Dataset("d", X, classes, (), sparse.csr_array(tags, dtype=np.float32), ("a", "b", "c"), splits)


def test_with_test_pictures_the_final_fit_is_the_measured_one(method):
    data, cls = make(n_test=10), method.load()
    trained = train_method(method, data)
    relevance, found = learned_search(trained)
    (part, of_part), (final, of_final) = cls.fits  # two fits and no more
    if cls is Transductive:
        assert final == list(range(N))  # all pictures, but no test picture with its tags
        assert of_final == list(range(30))
        assert len(part) == 30
        assert len(of_part) == 22
    else:
        assert final == list(range(30))
        assert len(part) == 22
    assert not set(trained.held_out.split.test) & set(np.array(part)[of_part])
    # The test pictures are judged by probabilities learned from pictures held out of the others.
    held_out = trained.held_out
    scores = word_scores(trained.estimator, data.X[held_out.split.test])  # these estimators learn nothing
    np.testing.assert_array_equal(held_out.scored.scores, scores)
    learned = tag_probabilities(scores, held_out.tags, held_out.train_tags)
    split = validation_split(data)
    train = training_part(data, split, transductive=cls is Transductive)
    again = measure_fitted(Fitted(method, trained.estimator, train, 0.0), data, split.test, probabilities=learned)
    assert trained.metrics == again.performance.flat()
    assert set(trained.baseline) | {SUGGESTIONS_RIGHT} == set(trained.metrics)  # the baseline suggests nothing
    assert relevance is not None
    assert set(found) == {"AvgP", "P@1", "P@10", "BEP", "AvgP by own scores"}
    assert found["AvgP by own scores"] == trained.metrics["AvgP"]
    assert len(trained.own()) == 30


def test_without_test_pictures_a_part_is_measured_and_everything_learned(method):
    data, cls = make(), method.load()
    trained = train_method(method, data)
    relevance, found = learned_search(trained)
    (_, of_part), (final, of_final) = cls.fits
    assert len(of_part) == 30
    assert final == of_final == list(range(N))
    others = sorted(set(range(N)) - set(of_part_rows(cls)))
    np.testing.assert_array_equal(trained.held_out.scored.scores, data.X[others, :N_TAGS])
    np.testing.assert_array_equal(trained.held_out.tags.toarray(), data.tags[others].toarray())
    again = measure(method, data, validation_split(data), transductive=cls is Transductive)
    assert trained.metrics == again.performance.flat()
    assert relevance is not None
    assert 0 < found["AvgP"] <= 1


@pytest.mark.parametrize("n_test", [0, 10])
def test_the_estimator_without_some_pictures_is_gone_before_the_final_fit(method, monkeypatch, n_test):
    alive, n_alive, fit = weakref.WeakSet(), [], Counted.fit

    def watched(self, X, tags):
        n_alive.append(len(alive))
        alive.add(self)
        return fit(self, X, tags)

    monkeypatch.setattr(Counted, "fit", watched)
    train_method(method, make(n_test=n_test))
    assert n_alive == [0, 0]


def of_part_rows(cls):
    pictures, tagged = cls.fits[0]
    return np.array(pictures)[tagged]


@pytest.mark.parametrize("method", [Counted], indirect=True)
def test_too_few_labels_are_learned_from_but_not_measured(method):
    trained = train_method(method, make(n_tagged=1))
    assert len(Counted.fits) == 1
    assert trained.performance is None
    assert trained.metrics == trained.baseline == {}
    assert learned_search(trained) == (None, {})
    with pytest.raises(InputError, match="counted learns from pictures with tags, but there are none"):
        train_method(method, make(n_tagged=0))


@pytest.mark.parametrize("method", [Counted], indirect=True)
def test_test_pictures_without_tags_measure_nothing(method):
    trained = train_method(method, make(n_test=10, n_tagged=30))
    assert len(Counted.fits) == 2
    assert trained.performance is None
    relevance, found = learned_search(trained)
    assert relevance is not None
    assert found == {}


@pytest.mark.parametrize("n_test", [0, 6])
def test_denied_tags_are_learned_from_and_calibrated_by_others(n_test):
    """Of 12 pictures with nothing but a denied tag, 9 are learned from and 3 held out; the final fit has all."""
    data = make(n_test=n_test, n_tagged=N - n_test - 12)
    denied = sparse.lil_array(data.tags.shape, dtype=np.float32)
    rows = np.arange(N - n_test - 12, N)  # also those of the test pictures, if there are any
    denied[rows, 1] = 1
    data = replace(data, denied=sparse.csr_array(denied))
    plain = train_method(registry.get("ridge-tags"), replace(data, denied=None))
    taught = train_method(registry.get("ridge-tags"), data)
    split = taught.held_out.split
    assert sorted(set(split.test) - set(rows)) == plain.held_out.split.test.tolist(), "tagged ones are drawn as before"
    assert (len(set(split.test) & set(rows)), len(set(split.train) & set(rows[:12]))) == (3, 9)
    scores, no, _ = taught.held_out.denials
    assert (scores.shape, no.sum(axis=0).tolist()) == ((3, N_TAGS), [0, 3, 0])
    part = fit_method(registry.get("ridge-tags"), data.select(split.train))
    np.testing.assert_allclose(scores, word_scores(part, data.X[np.intersect1d(split.test, rows)]), atol=1e-9)
    assert plain.held_out.denials is None
    own = data.X[rows[:12]]
    before, after = (trained.estimator._task_scores(own)[:, 1] for trained in (plain, taught))
    assert np.abs(after).mean() < 0.7 * np.abs(before).mean()
    fewer = train_method(registry.get("ridge-tags"), data.select(np.arange(N - n_test)))
    np.testing.assert_allclose(fewer.estimator.score_tags(own), taught.estimator.score_tags(own), atol=1e-9)
    relevance, _ = learned_search(taught)
    without, _ = learned_search(plain)
    assert relevance.own_[1, 1] < without.own_[1, 1], "this tag is less likely"


def test_classifiers_have_no_search_to_learn():
    data = replace(make(n_test=10), y=np.arange(N) % 2, class_names=("x", "y"))
    trained = train_method(registry.baseline(Task.CLASSIFY), data)
    assert trained.held_out is None
    assert trained.metrics["accuracy"] == trained.baseline["accuracy"]


def test_each_baseline_is_measured_on_its_own_task(monkeypatch):
    """Each measure of tags calibrates twice, so a baseline that is measured on everything would double the work."""
    asked = []
    rng = np.random.default_rng(0)
    tags = sparse.csr_array((rng.random((N, N_TAGS)) < 0.5).astype(np.float32))
    names = tuple("abc")
    data = Dataset("tags", rng.random((N, 4)), np.full(N, -1), (), tags, names)

    def counted(method, *args, **options):
        asked.append((method.name, tuple(options.get("tasks", tuple(Task)))))
        return measure(method, *args, **options)

    monkeypatch.setattr("visterm.learn.engine.training.measure", counted)
    trained = train_method(registry.get("knn-tags"), data)
    assert set(trained.baseline) >= {"tag accuracy", "AvgP"}
    assert asked[1:] == [("tag-frequency", (Task.ANNOTATE,)), ("tag-frequency", (Task.RANK,))]


def test_wide_halves_are_copied_once_to_hold_pictures_out(monkeypatch):
    """Training takes a copy of the training part and no more: neither the method nor its baseline widens it."""
    monkeypatch.setattr(kernels, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(inputs, "_BLOCK", 2**16)
    rng, y = np.random.default_rng(0), np.arange(160) % 2
    X = (rng.standard_normal((160, 40_000)) + y[:, None] * rng.standard_normal(40_000)).astype(np.float16)
    data = Dataset("wide", X, y, ("sea", "wood"), sparse.csr_array((160, 0), dtype=np.float32), ())
    sdca = registry.get("sdca")
    train_method(sdca, replace(data, X=np.ascontiguousarray(X[:, :50])))  # imports and compiled code take memory, too
    tracemalloc.start()
    trained = train_method(sdca, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * X.nbytes
    assert trained.metrics["accuracy"] > trained.baseline["accuracy"]
    assert trained.estimator.n_features_in_ == 40_000


@pytest.mark.parametrize("n_test", [0, 30])
def test_the_final_fit_takes_what_the_held_out_fit_chose(n_test):
    """Probabilities are learned from the scores of one fit: those of another fit must mean the same."""
    rng = np.random.default_rng(3)
    tags = (rng.random((120, 4)) < 0.4).astype(float)
    tags[:, 0] = 1
    X = np.maximum(0, tags @ rng.normal(size=(4, 6)) + rng.normal(size=(120, 6))) + 0.01
    splits = ("test",) * n_test + ("train",) * (120 - n_test)
    data = Dataset("pictures", X, np.full(120, -1), (), sparse.csr_array(tags), tuple("abcd"), splits)
    split = validation_split(data)
    inner = split
    if n_test:
        drawn = validation_split(data.select(split.train))
        inner = Split.of(split.train[drawn.train], split.train[drawn.test])

    method = registry.get("label-propagation")

    def chosen(part):
        return method.create().fit(part.X, part.tags).alpha_

    held_out = chosen(training_part(data, inner, transductive=True))
    assert held_out != chosen(training_part(data, split, transductive=True) if n_test else data)
    assert train_method(method, data).estimator.alpha_ == held_out


def test_many_pictures_are_learned_once_if_each_can_be_left_out(monkeypatch):
    rng = np.random.default_rng(0)
    themes = rng.integers(4, size=300)
    X = 3 * np.eye(4)[themes] + rng.random((300, 4))
    tags = sparse.csr_array(np.eye(4)[themes] + np.eye(4)[rng.integers(4, size=300)] > 0, dtype=float)
    data = Dataset("made up", X, np.full(300, -1), (), tags, ("sea", "car", "tree", "sky"))
    method, fits = registry.get("ridge-tags"), []
    fit = method.load().fit
    monkeypatch.setattr(method.load(), "fit", lambda *given, **more: fits.append(1) or fit(*given, **more))
    parameters = {"landmarks": 40, "tag_power": 0.0}
    twice = train_method(method, data, parameters)
    monkeypatch.setattr(training, "LEARN_ONCE", 299)
    once = train_method(method, data, parameters)
    assert len(fits) == 2 + 1
    for name in ("AvgP", "tag accuracy"):
        assert once.metrics[name] == pytest.approx(twice.metrics[name], abs=0.05)
    # a model that has seen the pictures would look better than it is
    assert np.abs(once.held_out.scored.scores - twice.held_out.scored.scores).mean() < 0.05
    seen = word_scores(once.estimator, once.held_out.data.X[once.held_out.split.test])
    assert np.abs(seen - once.held_out.scored.scores).max() > 0.01
    first = once.data.select(np.arange(290))
    monkeypatch.setattr(training, "LEARN_ONCE", 289)
    earlier = train_method(method, first, parameters).estimator
    known, n_fits = word_scores(earlier, X).copy(), len(fits)
    more = train_method(method, data, parameters, earlier)
    assert len(fits) == n_fits
    assert len(more.estimator.own_prints_) == 300
    np.testing.assert_array_equal(word_scores(earlier, X), known)  # others may use it
    assert np.abs(more.estimator._task_scores(X) - once.estimator._task_scores(X)).mean() < 0.03  # other landmarks
    assert more.metrics["tag accuracy"] == pytest.approx(once.metrics["tag accuracy"], abs=0.03)
    train_method(method, data, parameters, train_method(method, first.select(np.arange(200)), parameters).estimator)
    assert len(fits) == n_fits + 2 + 1  # too many are new
    monkeypatch.setattr(method.load(), "can_leave_out", False)
    train_method(method, data, parameters)
    assert len(fits) == n_fits + 3 + 3
