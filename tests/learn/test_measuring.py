"""One way to measure: test labels are seen by the measures alone, and figures are those worked out by hand."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import class_scores
from visterm.contracts.estimator import Estimator
from visterm.contracts.tasks import Task
from visterm.errors import InputError
from visterm.learn import Dataset, Split, as_ranker, fit_method, measure, measured_queries, validation_split
from visterm.learn.engine import fitting
from visterm.learn.engine.fitting import Fitted
from visterm.measures import Accuracy, AveragePrecision, PictureF, PrecisionAt, TopKAccuracy
from visterm.neighbours import TagFrequency
from visterm.registry import Method

TAGS = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])

SINGLE_WORDS = partial(measured_queries, max_words=1)


def make(splits=(), y=(0, 0, 1, -1, 0, 1, -1, 0), tags=TAGS):
    """Eight pictures whose first feature is their number."""
    X = np.column_stack([np.arange(8.0), np.ones(8)])
    return Dataset(
        "tiny",
        X,
        np.array(y),
        ("coast", "forest"),
        sparse.csr_array(tags, dtype=np.float32),
        ("sea", "sky", "car"),
        splits,
    )


HALVES = Split.of(range(4), range(4, 8))


class Spy:
    """Writes down what it learns from; knows everything when asked."""

    seen: dict

    def get_params(self):
        return {}

    def fit(self, X, y=None, tags=None):
        type(self).seen = {"X": X, "y": y, "tags": tags}
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.array(make().y)[X[:, 0].astype(int)]

    def decision_function(self, X):
        return np.eye(2)[self.predict(X)]

    def score_tags(self, X):
        return TAGS[X[:, 0].astype(int)] + 0.1

    def score_queries(self, X, Q):
        return Q @ self.score_tags(X).T


def spying(tasks):
    return Method("spy", "a class of this file", frozenset(tasks), "colour", "a test")


@pytest.fixture(autouse=True)
def spy_can_be_loaded(monkeypatch):
    load = Method.load
    monkeypatch.setattr(Method, "load", lambda self: Spy if self.name == "spy" else load(self))


def test_test_labels_never_reach_fit():
    outcome = measure(spying(Task), make(), HALVES, queries=SINGLE_WORDS).performance
    assert Spy.seen["X"][:, 0].tolist() == [0, 1, 2, 3]
    assert Spy.seen["y"].tolist() == [0, 0, 1, -1]
    np.testing.assert_array_equal(Spy.seen["tags"].toarray(), TAGS[:4])
    # Who knows everything is right about everything.
    assert outcome.flat()["accuracy"] == 1
    assert outcome.values[Task.RANK]["AvgP"] == 1
    assert set(outcome.values) == set(Task)
    assert outcome.fit_seconds >= 0
    assert outcome.answer_seconds >= 0


@pytest.mark.parametrize(
    ("tasks", "given"),
    [
        ({Task.CLASSIFY}, (True, False)),
        ({Task.ANNOTATE}, (True, False)),
        ({Task.CLASSIFY, Task.ANNOTATE}, (True, True)),
    ],
)
def test_methods_are_fitted_with_what_their_tasks_learn_from(tasks, given):
    fit_method(spying(tasks), make())
    assert (Spy.seen["y"] is not None, Spy.seen["tags"] is not None) == given
    if tasks == {Task.ANNOTATE}:
        assert sparse.issparse(Spy.seen["y"])  # the second argument of an annotator


def test_pictures_without_labels_are_not_measured():
    asked = []

    class Asked(Spy):
        def predict(self, X):
            asked.append(("predict", X[:, 0].tolist()))
            return super().predict(X)

        def score_tags(self, X):
            asked.append(("score_tags", X[:, 0].tolist()))
            return super().score_tags(X)

    method = spying({Task.CLASSIFY, Task.ANNOTATE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Method, "load", lambda self: Asked)
        measure(method, make(), HALVES)
    assert asked[0] == ("predict", [4, 5, 7])
    assert asked[1] == ("score_tags", [4, 5, 6])


@pytest.mark.parametrize("tasks", [{Task.CLASSIFY}, {Task.ANNOTATE}, {Task.RANK}, set(Task)])
def test_the_pictures_that_a_task_was_measured_on_are_counted(tasks):
    """Of the test pictures 4 to 7, two have a class and three have tags."""
    y = (0, 0, 1, -1, 0, 1, -1, -1)
    outcome = measure(spying(tasks), make(y=y), HALVES, queries=SINGLE_WORDS).performance
    expected = {Task.CLASSIFY: 2, Task.ANNOTATE: 3, Task.RANK: 3}
    assert outcome.n_held_out == {task: expected[task] for task in outcome.values}
    assert set(outcome.n_held_out) >= tasks
    assert (outcome.n_suggested > 0) <= (Task.ANNOTATE in tasks)


def test_the_floor_by_hand():
    # Two of the three training classes are 0; of the test pictures with a class two of three are.
    outcome = measure(registry.get("majority-class"), make(), HALVES, measures=[Accuracy(), TopKAccuracy(2)])
    right = measure(spying({Task.CLASSIFY}), make(), HALVES, measures=[TopKAccuracy(1)])
    assert right.performance.flat() == {"top-1 accuracy": 1.0}
    assert outcome.performance.flat() == {"accuracy": pytest.approx(2 / 3), "top-2 accuracy": 1.0}
    # Everyone gets sea: right for two of three pictures, which have 2, 1 and 1 tags: F is 2/3, 1 and 0.
    tagged = measure(registry.get("tag-frequency"), make(), HALVES, measures=[PictureF(1)]).performance
    assert tagged.flat() == {PictureF(1).name: pytest.approx((2 / 3 + 1 + 0) / 3)}


def test_search_by_hand():
    """Test pictures 4 (sea, sky), 5 (sea), 6 (sky); the annotator's scores put them in the order 6, 4, 5 for sky."""

    class Opinion(Estimator):
        scores_are_probabilities = True

        def fit(self, X, tags):
            self.fitted_ = True
            return self

        def score_tags(self, X):
            return np.array([[0.9, 0.5, 0.1], [0.2, 0.4, 0.1], [0.6, 0.8, 0.1]])[X[:, 0].astype(int) % 4 % 3]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Method, "load", lambda self: Opinion)
        asked = [AveragePrecision(), PrecisionAt(1)]
        outcome = measure(spying({Task.ANNOTATE}), make(), HALVES, measures=asked, queries=SINGLE_WORDS).performance
    # sea: order 4, 6, 5 with 4 and 5 relevant: (1 + 2/3) / 2. sky: order 6, 4, 5 with 6 and 4 relevant: 1.
    assert outcome.flat() == {"AvgP": pytest.approx((5 / 6 + 1) / 2), "P@1": 1.0}


def test_queries_have_as_many_words_as_asked_for():
    few = measure(
        spying({Task.ANNOTATE}),
        make(),
        HALVES,
        measures=[AveragePrecision()],
        queries=SINGLE_WORDS,
    )
    many = measure(
        spying({Task.ANNOTATE}),
        make(),
        HALVES,
        measures=[AveragePrecision()],
        queries=partial(measured_queries, max_words=None),
    )
    assert few.performance.flat() == {"AvgP": 1.0}
    # Sea is on every training picture and weighs nothing beside sky: one of the two pictures of sky is not of both.
    assert many.performance.flat()["AvgP"] < 1


def test_rankers_rank_themselves_and_annotators_through_their_tags():
    spy = Spy()
    assert as_ranker(spy, make()) is spy
    annotator = fit_method(registry.get("tag-frequency"), make())
    assert as_ranker(annotator, make()).annotator_ is annotator


def test_nothing_to_measure_is_an_error():
    unlabelled = make(y=(0, 0, 1, -1, -1, -1, -1, -1))
    with pytest.raises(InputError, match="majority-class cannot be measured on tiny"):
        measure(registry.get("majority-class"), unlabelled, HALVES)
    with pytest.raises(InputError, match="cannot be measured"):
        measure(registry.get("majority-class"), make(), HALVES, measures=[PictureF(5)])


def test_given_splits_are_used_and_unmarked_pictures_train():
    data = make(splits=("train", None, "Test", "validation", "testing", None, None, None))
    split = validation_split(data)
    assert split.test.tolist() == [2, 4]
    assert split.train.tolist() == [0, 1, 3, 5, 6, 7]


def test_drawn_splits_test_labelled_pictures_only():
    data = make()
    split = validation_split(data, test_share=0.5, random_state=1)
    labelled = set(np.flatnonzero(data.has_class | data.has_tags))
    assert set(split.test) <= labelled
    assert 3 in split.train  # without any label
    assert sorted([*split.train, *split.test]) == list(range(8))
    again = validation_split(data, test_share=0.5, random_state=1)
    assert again.test.tolist() == split.test.tolist()
    others = {tuple(validation_split(data, test_share=0.5, random_state=seed).test) for seed in range(9)}
    assert len(others) > 1


def test_drawing_needs_two_labelled_pictures():
    with pytest.raises(InputError, match="at least two labelled"):
        validation_split(make(y=[0] + [-1] * 7, tags=np.zeros((8, 3))))


def test_tags_are_counted():
    assert make().tag_counts.tolist() == [5, 3, 1]


def test_transductive_learning_sees_the_test_pictures_but_not_their_labels(monkeypatch):
    seen = {}

    class Spy(TagFrequency):
        def fit(self, X, tags):
            seen["rows"], seen["tags"] = X.shape[0], tags.toarray()
            return super().fit(X, tags)

    method = registry.Method("spy", "x:y", frozenset({Task.ANNOTATE}), "colour", "")
    monkeypatch.setattr(registry.Method, "load", lambda self: Spy)
    tags = sparse.csr_array(np.eye(6, 3, dtype=np.float32) + np.eye(6, 3, -3, dtype=np.float32))
    data = Dataset("d", np.zeros((6, 2)), np.full(6, -1), (), tags, ("a", "b", "c"))
    measure(method, data, Split.of([0, 1, 2], [3, 4, 5]), transductive=True)
    assert seen["rows"] == 6
    np.testing.assert_array_equal(seen["tags"][3:], 0)
    np.testing.assert_array_equal(seen["tags"][:3], tags.toarray()[:3])


def test_what_was_measured_can_be_used_on():
    tried = measure(
        spying(Task),
        make(),
        HALVES,
        measures=[PictureF(1), TopKAccuracy(1)],
        queries=SINGLE_WORDS,
    )
    assert isinstance(tried.estimator, Spy)
    # One value a picture, whose mean is the measure.
    each = tried.performance.each
    assert {task: len(values) for task, values in each.items()} == {Task.CLASSIFY: 3, Task.ANNOTATE: 3}
    assert each[Task.ANNOTATE].mean() == pytest.approx(tried.values[Task.ANNOTATE]["picture F@1"])


def test_class_scores_are_probabilities_or_else_decision_values():
    class TwoSides:
        def decision_function(self, X):
            return X[:, 0]

    class Several:
        def decision_function(self, X):
            return X

    class Sure(Several):
        def predict_proba(self, X):
            return X / X.sum(axis=1, keepdims=True)

    X = np.array([[1.0, 3.0], [-2.0, 4.0]])
    np.testing.assert_array_equal(class_scores(TwoSides(), X), [[-1, 1], [2, -2]])
    np.testing.assert_array_equal(class_scores(Several(), X), X)
    np.testing.assert_array_equal(class_scores(Sure(), X), [[0.25, 0.75], [-1, 2]])


def test_of_many_pictures_workers_elsewhere_add_up_the_features(monkeypatch, request):
    rng = np.random.default_rng(0)
    X, tags = rng.random((40, 6)), sparse.csr_array((rng.random((40, 3)) < 0.5).astype(np.float32))
    data = Dataset("made up", X, np.full(40, -1), (), tags, ("sea", "sky", "car"))
    method, setting = registry.get("ridge-tags"), {"landmarks": 4}
    here = Fitted.to(data, method, setting).estimator
    begun = request.getfixturevalue("far_workers")
    Fitted.to(data, method, setting)
    assert begun == []
    monkeypatch.setattr(fitting, "_FEW", 39)
    found = Fitted.to(data, method, setting).estimator
    assert len(begun) == 2  # the sums, and what is known of pictures without themselves
    np.testing.assert_allclose(found.score_tags(X), here.score_tags(X), atol=1e-6)
