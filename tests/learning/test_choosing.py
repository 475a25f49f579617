"""Choosing: the best of what was compared, on held-out training pictures, within the time, cheaper if as good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import Task
from visterm.learning import Dataset, Split, choose, measure, sample_rows
from visterm.learning.choosing import comparison_splits

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

    def measure_each(method, data, split, parameters):
        spread = 0.1 * np.sin(np.arange(len(split.test)))
        return values[method.name, data.name] + spread - spread.mean()

    return measure_each


def named(recipe):
    return replace(make(), name=recipe)


def test_the_best_method_goes_on_to_the_other_features():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9, ("knn", "globals"): 0.95}
    asked = []
    choice = choose(
        Task.CLASSIFY,
        [SDCA, KNN],
        ["deep", "globals"],
        lambda recipe: asked.append(recipe) or named(recipe),
        seconds=60,
        measure_each=each_of(values),
    )
    assert [(each.method.name, each.recipe) for each in choice.tried] == list(values)
    assert (choice.best.method.name, choice.best.recipe) == ("knn", "globals")
    assert choice.best.value == pytest.approx(0.95)
    assert choice.untried == ()
    assert asked[:2] == ["deep", "globals"]


def test_joined_features_are_tried_by_methods_that_take_them():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9, ("sdca", "deep+globals"): 0.85}
    choice = choose(
        Task.CLASSIFY, [SDCA, KNN], ["deep", "deep+globals"], named, seconds=60, measure_each=each_of(values)
    )
    assert choice.tried[-1].method is SDCA
    assert (choice.best.method.name, choice.best.recipe) == ("knn", "deep")


def test_costlier_features_must_be_better_by_enough():
    def measure_each(method, data, split, parameters):
        gain = {"deep": 0.0, "globals": 0.001}[data.name]
        noise = np.where(np.arange(len(split.test)) % 2, 0.3, -0.3) if data.name == "globals" else 0.0
        return 0.5 + gain + noise + np.zeros(len(split.test))

    choice = choose(Task.CLASSIFY, [SDCA], ["deep", "globals"], named, seconds=60, measure_each=measure_each)
    assert choice.tried[1].value > choice.tried[0].value
    assert choice.best.recipe == "deep"


def test_what_does_not_fit_into_the_time_is_left_out():
    values = {("sdca", "deep"): 0.8, ("knn", "deep"): 0.9}
    choice = choose(
        Task.CLASSIFY,
        [SDCA, KNN],
        ["deep", "globals"],
        named,
        seconds=5,
        cost_of=lambda recipe: 100.0 if recipe == "globals" else 0.0,
        measure_each=each_of(values),
    )
    assert choice.untried == ("knn on globals",)
    hurried = choose(Task.CLASSIFY, [SDCA, KNN], ["deep"], named, seconds=0, measure_each=each_of(values))
    assert [each.method.name for each in hurried.tried] == ["sdca"]  # always one


def test_values_are_those_of_measuring():
    data = make()
    choice = choose(Task.CLASSIFY, [KNN], ["deep"], lambda recipe: data, seconds=60)
    parts = comparison_splits(data, Task.CLASSIFY)
    by_hand = [measure(KNN, data, part).values[Task.CLASSIFY]["accuracy"] for part in parts]
    assert choice.best.value == pytest.approx(np.mean(by_hand))
    assert choice.n_splits == len(parts) == 5
    assert choice.half_value is not None
    assert choice.n_held_out == len(set(np.concatenate([part.test for part in parts])))


def test_pictures_learned_from_do_not_count():
    """A method that remembers every picture knows the class of all it learned from, and guesses the others."""
    rng = np.random.default_rng(0)
    data = replace(make(), X=rng.random((160, 5)), y=rng.integers(0, 2, 160))
    choice = choose(
        Task.CLASSIFY, [KNN], ["deep"], lambda recipe: data, seconds=60, parameters={"knn": {"n_neighbors": 1}}
    )
    assert choice.best.value < 0.7
    for part in comparison_splits(data, Task.CLASSIFY):
        assert not set(part.train.tolist()) & set(part.test.tolist())


def test_tags_are_chosen_by_probability():
    data = make()
    methods = [registry.get("knn-tags"), registry.get("ridge-tags")]
    choice = choose(Task.ANNOTATE, methods, ["deep"], lambda recipe: data, seconds=60)
    parts = comparison_splits(data, Task.ANNOTATE)
    by_hand = [measure(methods[0], data, part).values[Task.ANNOTATE]["tag accuracy"] for part in parts]
    assert choice.tried[0].value == pytest.approx(np.mean(by_hand))


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
    def measure_each(method, data, split, parameters):
        return np.full(len(split.test), 0.7 + 0.2 * (parameters.get("C") == 3.0) - 0.1 * (method is KNN))

    choice = choose(
        Task.CLASSIFY,
        [SDCA, KNN],
        ["deep"],
        named,
        seconds=60,
        measure_each=measure_each,
        variants={"sdca": [{"C": 1.0}, {"C": 3.0}], "knn": [{"n_neighbors": 2}]},
    )
    assert [dict(each.parameters) for each in choice.tried] == [{}, {}, {"C": 1.0}, {"C": 3.0}]
    assert choice.best.parameters == {"C": 3.0}
    assert choice.half_value == pytest.approx(0.9)
    none = choose(
        Task.CLASSIFY, [SDCA], ["deep"], named, seconds=0, measure_each=measure_each, variants={"sdca": [{"C": 3.0}]}
    )
    assert none.untried == ("sdca C=3.0 on deep",)


def test_a_method_is_compared_with_the_parameters_that_are_given():
    seen = []

    def measure_each(method, data, split, parameters):
        seen.append((method.name, dict(parameters)))
        return np.full(len(split.test), 0.5)

    choice = choose(
        Task.CLASSIFY,
        [SDCA, KNN],
        ["deep"],
        named,
        seconds=60,
        measure_each=measure_each,
        parameters={"knn": {"n_neighbors": 3}},
    )
    assert ("knn", {"n_neighbors": 3}) in seen
    assert ("knn", {}) not in seen
    assert ("sdca", {}) in seen
    assert [dict(each.parameters) for each in choice.tried] == [{}, {"n_neighbors": 3}]


def test_what_costs_next_to_nothing_is_tried_although_the_features_took_the_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("visterm.learning.choosing.time.perf_counter", lambda: now[0])

    def slow_features(recipe):
        now[0] += 100
        return named(recipe)

    choice = choose(
        Task.CLASSIFY,
        [SDCA],
        ["deep", "globals"],
        slow_features,
        seconds=60,
        cost_of=lambda recipe: 100.0 if recipe == "globals" else 0.0,
        measure_each=lambda method, data, split, parameters: np.full(len(split.test), 0.5 + len(parameters) / 10),
        variants={"sdca": [{"C": 3.0}]},
    )
    assert [dict(each.parameters) for each in choice.tried] == [{}, {"C": 3.0}]
    assert choice.untried == ("sdca on globals",)
