"""Comparisons: the baselines come first, differences are tested on the same pictures, and time is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learn import Dataset, compare, measure, validation_split
from visterm.learn.engine.comparison import _beats

METHODS = [registry.get("knn"), registry.get("knn-tags")]


def make(name="colour", noise=0.05):
    """Pictures of two classes with a tag each, told apart by two codewords."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    tags = np.column_stack([y == 0, y == 1, rng.random(120) < 0.3])
    X = np.abs(np.column_stack([y, 1 - y]) + noise * rng.standard_normal((120, 2)))
    return Dataset(name, X, y, ("a", "b"), sparse.csr_array(tags, dtype=np.float32), ("x", "y", "z"))


def test_the_figures_are_those_of_measuring_each_method():
    asked = []
    found = compare(METHODS, lambda recipe: asked.append(recipe) or make())
    assert asked == ["colour", "deep"]  # each recipe once
    assert [each.method for each in found.performances[Task.CLASSIFY]] == ["majority-class", "knn"]
    assert [each.method for each in found.performances[Task.ANNOTATE]] == ["tag-frequency", "knn-tags"]
    data = make()
    alone = measure(METHODS[0], data, validation_split(data)).performance
    np.testing.assert_array_equal(found.performances[Task.CLASSIFY][1].each[Task.CLASSIFY], alone.each[Task.CLASSIFY])
    assert found.left_out == ()


def test_workers_elsewhere_find_the_same(request):
    """Topics cannot take negative numbers, so that they are left out here and there."""
    methods, data = [registry.get("ridge-tags"), registry.get("slda")], make()
    data = replace(data, X=data.X - 1)
    here, begun = compare(methods, lambda recipe: data), request.getfixturevalue("far_workers")
    found = compare(methods, lambda recipe: data)
    assert len(begun) == 4
    assert not any(data.X[:3].tobytes() in each for each in begun)
    assert list(found.attempts) == list(here.attempts)
    assert found.skipped == here.skipped
    assert "slda" in found.skipped
    for task, performances in here.performances.items():
        for one, other in zip(performances, found.performances[task], strict=True):
            assert one.values == other.values
    late = compare(methods[:1], lambda recipe: data, max_seconds=-1)
    assert late.left_out == ("ridge-tags",)


def test_what_is_better_than_chance_is_told_by_letters():
    found = compare(METHODS, lambda recipe: make())
    assert found.beats[Task.CLASSIFY] == {"majority-class": "", "knn": "a"}
    assert found.letter(Task.CLASSIFY, "knn") == "b"
    assert found.best(Task.CLASSIFY) == ["knn"]
    blind = compare(METHODS[:1], lambda recipe: make(noise=1e6))
    assert blind.beats[Task.CLASSIFY] == {"majority-class": "", "knn": ""}


def test_nobody_beats_one_whose_mean_over_all_splits_is_better():
    data = make()
    guess, knn = compare(METHODS, lambda recipe: data).performances[Task.CLASSIFY]
    values = {Task.CLASSIFY: {"accuracy": 1.0}}
    told = [(replace(guess, values=values), data), (replace(knn, values={Task.CLASSIFY: {"accuracy": 0.9}}), data)]
    assert _beats(Task.CLASSIFY, told) == {"majority-class": "", "knn": ""}
    assert _beats(Task.CLASSIFY, [(guess, data), (knn, data)]) == {"majority-class": "", "knn": "a"}


def test_methods_as_good_as_the_best_are_named_with_it():
    found = compare([*METHODS, registry.get("ridge-tags")], lambda recipe: make())
    best = found.best(Task.ANNOTATE)
    assert set(best) == {"knn-tags", "ridge-tags"}
    first = {each.method: each.values[Task.ANNOTATE]["tag accuracy"] for each in found.performances[Task.ANNOTATE]}
    assert first[best[0]] >= first[best[1]]


def test_methods_that_saw_other_pictures_are_not_paired():
    others = {"colour": make(), "deep": make().select(np.arange(119))}
    found = compare(METHODS[:1], others.__getitem__)
    assert found.beats[Task.CLASSIFY] == {"majority-class": ""}
    assert found.letter(Task.CLASSIFY, "knn") == ""
    assert found.best(Task.CLASSIFY) == ["knn"]


def test_no_method_is_begun_when_time_is_up():
    found = compare(METHODS, lambda recipe: make(), max_seconds=-1)
    assert found.left_out == ("knn", "knn-tags")
    assert [each.method for each in found.performances[Task.CLASSIFY]] == ["majority-class"]
    assert found.best(Task.CLASSIFY) == []


def test_one_recipe_serves_all_when_it_is_named():
    asked = []
    compare(METHODS, lambda recipe: asked.append(recipe) or make(), recipes=["colour"])
    assert asked == ["colour"]


def test_methods_are_compared_on_several_recipes():
    features = {"colour": make(noise=1e6), "deep": make()}
    found = compare(METHODS[:1], features.__getitem__, recipes=["colour", "deep"])
    assert [each.method for each in found.performances[Task.CLASSIFY]] == ["majority-class", "knn colour", "knn deep"]
    assert found.best(Task.CLASSIFY) == ["knn deep"]
    assert found.attempts["knn deep"].candidate.recipe == "deep"


def test_what_cannot_take_the_features_is_skipped_before_anything_is_computed():
    asked = []
    found = compare(
        [*METHODS, registry.get("ridge-tags")], lambda recipe: asked.append(recipe) or make(), recipes=["fisher-32k"]
    )
    assert "negative" in found.skipped["knn"]
    assert "negative" in found.skipped["knn-tags"]
    assert [each.method for each in found.performances[Task.ANNOTATE]] == ["tag-frequency", "ridge-tags"]
    joined = compare([*METHODS, registry.get("sdca")], lambda recipe: make(), recipes=["deep+colour"])
    assert "takes one feature" in joined.skipped["knn"]
    with pytest.raises(InputError, match="negative"):
        compare([registry.get("cmrm")], lambda recipe: pytest.fail("computed"), recipes=["fisher-32k"])


def test_a_method_that_fails_loses_no_other_result(monkeypatch):
    def fail(self, X, y):
        raise InputError("the features are odd")

    monkeypatch.setattr(METHODS[0].load(), "fit", fail)
    found = compare(METHODS, lambda recipe: make())
    assert found.skipped == {"knn": "the features are odd"}
    assert [each.method for each in found.performances[Task.ANNOTATE]] == ["tag-frequency", "knn-tags"]
    assert Task.CLASSIFY not in found.performances
    with pytest.raises(InputError, match="nothing can be measured: the features are odd"):
        compare(METHODS[:1], lambda recipe: make())


def test_tasks_that_no_asked_for_method_does_are_not_compared():
    found = compare([registry.get("concept-svm")], lambda recipe: make())
    assert set(found.performances) == set(found.beats) == set(found.n_held_out) == {Task.RANK}
    assert [each.method for each in found.performances[Task.RANK]] == ["tag-frequency", "concept-svm"]
    alone = compare([registry.get("tag-frequency")], lambda recipe: make())
    assert set(alone.performances) == {Task.ANNOTATE, Task.RANK}


def test_few_held_out_pictures_are_drawn_again():
    found = compare(METHODS[:1], lambda recipe: make(noise=0.8))
    assert found.n_splits == 5  # 30 held out in each
    data = make(noise=0.8)
    drawn = [validation_split(data, random_state=seed) for seed in range(5)]
    each = [measure(METHODS[0], data, split).performance for split in drawn]
    accuracy = [performance.values[Task.CLASSIFY]["accuracy"] for performance in each]
    assert found.performances[Task.CLASSIFY][1].values[Task.CLASSIFY]["accuracy"] == pytest.approx(np.mean(accuracy))
    assert found.n_held_out[Task.CLASSIFY] == len(set(np.concatenate([split.test for split in drawn])))
    p = np.mean(accuracy)
    assert found.attempts["knn"].error(Task.CLASSIFY) == pytest.approx((p * (1 - p) / 30) ** 0.5)
    tested = replace(data, splits=("train",) * 90 + ("test",) * 30)
    assert compare(METHODS[:1], lambda recipe: tested).n_splits == 1


def test_nothing_labelled_is_an_error():
    bare = replace(make(), y=np.full(120, -1), tags=sparse.csr_array((120, 3), dtype=np.float32))
    with pytest.raises(InputError, match="nothing can be measured"):
        compare(METHODS, lambda recipe: bare)
