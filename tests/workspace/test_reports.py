"""Reports: what was measured of every model, as the library and the API tell it."""

from __future__ import annotations

import pytest

from visterm.contracts import Task
from visterm.errors import InputError
from visterm.workspace import Workspace


def test_every_model_has_a_report_the_newest_first(kept):
    found = kept.reports().reports
    infos = kept.shelf.infos()
    assert [each.model for each in found] == [info.reference for info in reversed(infos)] == ["knn-tags@1", "knn@1"]
    for summary, info in zip(found, reversed(infos), strict=True):
        assert (summary.method, summary.recipe, summary.made) == (info.method, info.recipe, info.created)
        assert summary.quality == {task.value: info.quality(task) for task in info.abilities}
    assert {each.model: each.in_use for each in found} == {"knn@1": ["classify"], "knn-tags@1": ["tag", "search"]}


def test_a_report_has_what_the_commands_say(kept, visterm):
    told = kept.report("knn@1")
    (info,) = [each for each in kept.shelf.infos() if each.reference == "knn@1"]
    (classes,) = told.tasks
    assert (classes.task, classes.measure, classes.value) == ("classify", "accuracy", info.quality(Task.CLASSIFY))
    assert classes.baseline == info.baseline_metrics["accuracy"]
    assert classes.held_out == info.training["held_out_class"] > 0
    assert classes.words in visterm("models", "-w", kept.folder).stdout
    assert {each.measure: (each.value, each.baseline) for each in told.figures} == {
        name: (value, info.baseline_metrics.get(name)) for name, value in info.metrics.items()
    }
    assert {each.name for each in told.names} == set(info.classes)
    assert {each.kind for each in told.names} == {"class"}
    known = [each.quality for each in told.names if each.quality is not None]
    assert known == sorted(known, reverse=True) != []
    counts = {term.name: term.n_accepted for term in kept.vocabulary().class_.terms}
    assert all(0 < each.pictures <= counts[each.name] for each in told.names)
    assert told.doubts == kept.classify().doubts
    assert told.card.startswith("# knn, version 1\n")


def test_without_models_there_is_no_report(tmp_path):
    with Workspace.create(tmp_path / "empty") as photos:
        assert photos.reports().reports == []
        with pytest.raises(InputError, match="there are reports of: none"):
            photos.report("tags@1")
