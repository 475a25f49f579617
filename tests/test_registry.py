"""The registry: names to methods, the floor first, nothing imported before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from visterm import registry
from visterm.contracts.method import ANNOTATE, CLASSIFY
from visterm.contracts.tasks import Task
from visterm.errors import InputError
from visterm.neighbours import KnnClassifier
from visterm.registry import Method


@pytest.fixture(autouse=True)
def same_methods_afterwards(monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", registry._METHODS.copy())


def joint(**changes):
    values = {
        "name": "joint",
        "target": "visterm.neighbours.knn:KnnClassifier",
        "tasks": frozenset({Task.CLASSIFY, Task.ANNOTATE}),
        "recipe": "colour",
        "summary": "a test",
    }
    return Method(**values | changes)


def test_methods_are_found_by_name():
    for method in registry.methods():
        assert registry.get(method.name) is method
    with pytest.raises(InputError, match=r"unknown method 'k-nn': did you mean 'knn'\?"):
        registry.get("k-nn")
    with pytest.raises(InputError, match=r"unknown method 'zzz': choose one of .*knn"):
        registry.get("zzz")


def test_a_registered_method_appears_in_its_tasks():
    method = registry.register(joint())
    assert registry.get("joint") is method
    for task in Task:
        assert method in registry.methods(task)
    with pytest.raises(InputError, match="two methods are called 'joint'"):
        registry.register(joint())


def test_every_annotator_searches_and_no_classifier_does():
    assert joint(tasks=ANNOTATE).does(Task.RANK)
    assert not joint(tasks=CLASSIFY).does(Task.RANK)
    ranker = joint(tasks=frozenset({Task.RANK}))
    assert ranker.does(Task.RANK)
    assert not ranker.does(Task.ANNOTATE)


@pytest.mark.parametrize("task", [None, *Task])
def test_the_floor_comes_first_then_the_alphabet(task):
    listed = [(not method.is_baseline, method.name) for method in registry.methods(task)]
    assert listed == sorted(listed)
    assert listed[0][0] is False


def test_the_floor_of_searching_is_that_of_tagging():
    assert registry.baseline(Task.RANK) is registry.baseline(Task.ANNOTATE)
    assert registry.baseline(Task.CLASSIFY).name == "majority-class"


def test_defaults_of_the_method_and_parameters_of_the_caller():
    assert joint().create().get_params() == KnnClassifier().get_params()
    method = joint(preset={"metric": "cosine"})
    assert method.create().metric == "cosine"
    assert method.create(metric="euclidean", n_neighbors=3).get_params() == {"metric": "euclidean", "n_neighbors": 3}
    with pytest.raises(InputError, match="no parameter 'k': its parameters are metric, n_neighbors"):
        method.create(k=3)
    with pytest.raises(InputError, match="its parameters are none"):
        registry.get("majority-class").create(k=3)


def test_listing_methods_imports_none_of_them():
    program = (
        "import sys; from visterm import registry; registry.methods(); "
        "print([name for name in ('numba', 'sklearn', 'torch', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
def test_a_preset_holds_only_what_the_class_has_otherwise(method):
    own = method.load()().get_params(deep=False)
    assert all(own[name] != value for name, value in method.preset.items())
    assert method.create().get_params(deep=False) == own | method.preset


@pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
def test_a_method_is_in_the_file_of_its_name(method):
    module = method.target.partition(":")[0].rpartition(".")[2]
    # One class, with another parameter: pLSA of tags first, PAMIR with the rank-weighted loss, TagProp by deviations
    # or with shrinkage.
    own = {
        "plsa-words": "plsa",
        "pamir-warp": "pamir",
        "tagprop-rare": "tagprop",
        "tagprop-shrunk": "tagprop",
    }
    assert module == own.get(method.name, method.name.replace("-", "_"))
