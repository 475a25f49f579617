"""Choosing: the best of what was compared, on held-out training pictures, within the time, cheaper if as good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import Task
from visterm.learn import Candidate, Dataset, Performance, Split, choose, measure, sample_rows
from visterm.learn.engine.choosing import comparison_splits

SDCA, KNN = registry.get("sdca"), registry.get("knn")


def make(n=160, noise=0.6, seed=0, n_test=0):
    """Two classes; ``noise`` says how hard they are to tell apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = np.abs(np.column_stack([y, 1 - y]) + noise * rng.standard_normal((n, 2)))
    tags = sparse.csr_array(np.column_stack([y == 0, y == 1]), dtype=np.float32)
    splits = ("train",) * (n - n_test) + ("test",) * n_test if n_test else ()
    return Dataset("two", X, y, ("a", "b"), tags, ("x", "y"), splits)


def each_of(values):
    """A measure that gives every method and recipe its own value, with some spread over pictures."""

    def each(candidate, data, split):
        spread = 0.1 * np.sin(np.arange(len(split.test)))
        return values[candidate.method.name, data.name] + spread - spread.mean()

    return told(each)


def told(each):
    """A way of measuring that is told the values of the held-out pictures."""

    def measuring(candidate, data, split, tasks):
        return Performance(candidate.method.name, {}, {task: each(candidate, data, split) for task in tasks}, 0.0, 0.0)

    return measuring


def on(recipe, *methods):
    return [Candidate(method, recipe) for method in methods]


def named(recipe):
    return replace(make(), name=recipe)


def test_the_best_method_goes_on_to_the_other_features():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9, ("knn", "globals"): 0.95}
    asked = []
    choice = choose(
        Task.CLASSIFY,
        on("deep", SDCA, KNN),
        ["deep", "globals"],
        lambda recipe: asked.append(recipe) or named(recipe),
        seconds=60,
        measuring=each_of(values),
    )
    assert [(each.candidate.method.name, each.candidate.recipe) for each in choice.tried] == list(values)
    assert (choice.best.candidate.method.name, choice.best.candidate.recipe) == ("knn", "globals")
    assert choice.best.value(Task.CLASSIFY) == pytest.approx(0.95)
    assert choice.untried == ()
    assert asked[:2] == ["deep", "globals"]


def test_joined_features_are_tried_by_methods_that_take_them():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9, ("sdca", "deep+globals"): 0.85}
    choice = choose(
        Task.CLASSIFY, on("deep", SDCA, KNN), ["deep", "deep+globals"], named, seconds=60, measuring=each_of(values)
    )
    assert choice.tried[-1].candidate.method is SDCA
    assert (choice.best.candidate.method.name, choice.best.candidate.recipe) == ("knn", "deep")


def test_costlier_features_must_be_better_by_enough():
    def each(candidate, data, split):
        gain = {"deep": 0.0, "globals": 0.001}[data.name]
        noise = np.where(np.arange(len(split.test)) % 2, 0.3, -0.3) if data.name == "globals" else 0.0
        return 0.5 + gain + noise + np.zeros(len(split.test))

    choice = choose(Task.CLASSIFY, on("deep", SDCA), ["deep", "globals"], named, seconds=60, measuring=told(each))
    assert choice.tried[1].value(Task.CLASSIFY) > choice.tried[0].value(Task.CLASSIFY)
    assert choice.best.candidate.recipe == "deep"


def test_what_does_not_fit_into_the_time_is_left_out():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9}
    choice = choose(
        Task.CLASSIFY,
        on("deep", SDCA, KNN),
        ["deep", "globals"],
        named,
        seconds=5,
        cost_of=lambda recipe: 100.0 if recipe == "globals" else 0.0,
        measuring=each_of(values),
    )
    assert choice.untried == ("knn on globals",)
    hurried = choose(Task.CLASSIFY, on("deep", SDCA, KNN), ["deep"], named, seconds=0, measuring=each_of(values))
    assert [each.candidate.method.name for each in hurried.tried] == ["sdca"]  # always one


def test_values_are_those_of_measuring():
    data = make()
    choice = choose(Task.CLASSIFY, on("deep", KNN), ["deep"], lambda recipe: data, seconds=60)
    parts = comparison_splits(data, Task.CLASSIFY)
    by_hand = [measure(KNN, data, part).values[Task.CLASSIFY]["accuracy"] for part in parts]
    assert choice.best.value(Task.CLASSIFY) == pytest.approx(np.mean(by_hand))
    assert len(choice.best.performances) == len(parts) == 5
    assert choice.half_value is not None


def test_pictures_learned_from_do_not_count():
    """A method that remembers every picture knows the class of all it learned from, and guesses the others."""
    rng = np.random.default_rng(0)
    data = replace(make(), X=rng.random((160, 5)), y=rng.integers(0, 2, 160))
    nearest = Candidate(KNN, "deep", {"n_neighbors": 1})
    choice = choose(Task.CLASSIFY, [nearest], ["deep"], lambda recipe: data, seconds=60)
    assert choice.best.value(Task.CLASSIFY) < 0.7
    for part in comparison_splits(data, Task.CLASSIFY):
        assert not set(part.train.tolist()) & set(part.test.tolist())


def test_tags_are_chosen_by_probability():
    data = make()
    methods = [registry.get("knn-tags"), registry.get("ridge-tags")]
    choice = choose(Task.ANNOTATE, on("deep", *methods), ["deep"], lambda recipe: data, seconds=60)
    parts = comparison_splits(data, Task.ANNOTATE)
    by_hand = [measure(methods[0], data, part).values[Task.ANNOTATE]["tag accuracy"] for part in parts]
    assert choice.tried[0].value(Task.ANNOTATE) == pytest.approx(np.mean(by_hand))


def test_test_pictures_take_no_part_in_choosing():
    data = make(n_test=40)
    rows = sample_rows(data, Task.CLASSIFY)
    assert rows.tolist() == list(range(120))
    assert not set(rows) & set(np.flatnonzero(data.is_test))


def test_large_collections_are_sampled_class_by_class():
    n = 900
    y = np.r_[np.zeros(800, int), np.ones(97, int), [2, 2, 2]]
    tags = sparse.csr_array(np.ones((n, 1), np.float32))
    data = Dataset("many", np.zeros((n, 1)), y, ("a", "b", "c"), tags, ("x",))
    rows = sample_rows(data, Task.CLASSIFY, most=90)
    assert np.bincount(y[rows]).tolist() == [80, 10, 2]
    np.testing.assert_array_equal(rows, sample_rows(data, Task.CLASSIFY, most=90))
    assert len(sample_rows(data, Task.ANNOTATE, most=90)) == 90


def test_many_held_out_pictures_need_no_second_split():
    assert len(comparison_splits(make(n=1000), Task.CLASSIFY)) == 1
    assert len(comparison_splits(make(n=20), Task.CLASSIFY)) == 5
    assert isinstance(comparison_splits(make(n=20), Task.ANNOTATE)[0], Split)


def test_the_best_method_is_tried_with_other_parameters():
    def each(candidate, data, split):
        better, worse = candidate.parameters.get("C") == 3.0, candidate.method is KNN
        return np.full(len(split.test), 0.7 + 0.2 * better - 0.1 * worse)

    choice = choose(
        Task.CLASSIFY,
        on("deep", SDCA, KNN),
        ["deep"],
        named,
        seconds=60,
        measuring=told(each),
        variants={"sdca": [{"C": 1.0}, {"C": 3.0}], "knn": [{"n_neighbors": 2}]},
    )
    assert [dict(each.candidate.parameters) for each in choice.tried] == [{}, {}, {"C": 1.0}, {"C": 3.0}]
    assert choice.best.candidate.parameters == {"C": 3.0}
    assert choice.half_value == pytest.approx(0.9)
    none = choose(
        Task.CLASSIFY,
        on("deep", SDCA),
        ["deep"],
        named,
        seconds=0,
        measuring=told(each),
        variants={"sdca": [{"C": 3.0}]},
    )
    assert none.untried == ("sdca C=3.0 on deep",)


def test_a_method_is_compared_with_the_parameters_that_are_given():
    seen = []

    def each(candidate, data, split):
        seen.append((candidate.method.name, dict(candidate.parameters)))
        return np.full(len(split.test), 0.5)

    choice = choose(
        Task.CLASSIFY,
        [Candidate(SDCA, "deep"), Candidate(KNN, "deep", {"n_neighbors": 3})],
        ["deep"],
        named,
        seconds=60,
        measuring=told(each),
    )
    assert ("knn", {"n_neighbors": 3}) in seen
    assert ("knn", {}) not in seen
    assert ("sdca", {}) in seen
    assert [dict(each.candidate.parameters) for each in choice.tried] == [{}, {"n_neighbors": 3}]


def test_what_costs_next_to_nothing_is_tried_although_the_features_took_the_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("visterm.learn.engine.choosing.time.perf_counter", lambda: now[0])

    def slow_features(recipe):
        now[0] += 100
        return named(recipe)

    choice = choose(
        Task.CLASSIFY,
        on("deep", SDCA),
        ["deep", "globals"],
        slow_features,
        seconds=60,
        cost_of=lambda recipe: 100.0 if recipe == "globals" else 0.0,
        measuring=told(lambda candidate, _, split: np.full(len(split.test), 0.5 + len(candidate.parameters) / 10)),
        variants={"sdca": [{"C": 3.0}]},
    )
    assert [dict(each.candidate.parameters) for each in choice.tried] == [{}, {"C": 3.0}]
    assert choice.untried == ("sdca on globals",)
