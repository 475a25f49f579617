"""What people are told before they trust a model: the same on the command line, in lists and beside suggestions."""

from __future__ import annotations

import json

import pytest

from visterm.collection.doubts import doubts_about, is_calibrated
from visterm.contracts import Task
from visterm.find.lists.overview import overview
from visterm.models import Model, ModelInfo, SearchSettings
from visterm.workspace import Workspace

GUESS = "too few labelled pictures to check the probabilities: they are a guess"


def model(*, settings=True, **more):
    """A model that was measured on 30 held-out pictures, unless something else is said."""
    info = {
        "training": {"label_counts": {}, "held_out_class": 30, "held_out_tags": 30},
        "metrics": {"accuracy": 0.5, "tag accuracy": 0.5, "AvgP": 0.5},
        "baseline_metrics": {"accuracy": 0.4, "tag accuracy": 0.4, "AvgP": 0.4},
    } | more
    told = ModelInfo("m", 3, "knn", ("classify", "annotate"), (), (), (), 0, "colour", "0", **info)

    def read():
        raise AssertionError("nobody needs the tensors to know this")

    return Model(told, read, SearchSettings(1.0, 0.1)) if settings else Model.of(told, None, None, None)


@pytest.mark.parametrize("task", list(Task))
def test_a_measured_model_raises_no_doubt(task):
    assert doubts_about(model(), task) == []
    assert is_calibrated(model(), task)


@pytest.mark.parametrize(("task", "held_out"), [(Task.CLASSIFY, "held_out_class"), (Task.RANK, "held_out_tags")])
def test_few_held_out_pictures_make_a_guess(task, held_out):
    enough = {"label_counts": {}, "held_out_class": 20, "held_out_tags": 20}
    assert doubts_about(model(training=enough), task) == []
    assert doubts_about(model(training=enough | {held_out: 19}), task) == [GUESS]
    assert doubts_about(model(training={}), task) == []  # earlier versions did not count them


def test_worse_than_the_baseline_is_said_of_the_task_it_is_true_of():
    bad = model(baseline_metrics={"accuracy": 0.6, "tag accuracy": 0.5, "AvgP": 0.1})
    (said,) = doubts_about(bad, Task.CLASSIFY)
    assert said.startswith("m@3 is worse than guessing")
    assert doubts_about(bad, Task.ANNOTATE) == doubts_about(bad, Task.RANK) == []
    few = model(baseline_metrics={"accuracy": 0.6}, training={"label_counts": {}, "held_out_class": 9})
    assert doubts_about(few, Task.CLASSIFY) == [GUESS], "of fewer than ten pictures no figure is given"


def test_probabilities_that_were_never_measured_are_said_to_be_so():
    never = model(settings=False)
    assert doubts_about(never, Task.CLASSIFY) == []
    for task in (Task.ANNOTATE, Task.RANK):
        (said,) = doubts_about(never, task)
        assert said == "probabilities of m were never measured: label more pictures, then train again"
        assert not is_calibrated(never, task)


def test_the_page_says_what_the_command_says(photos, visterm):
    told = overview(photos)
    assert told.class_doubts == told.tag_doubts == [GUESS]  # ten held-out pictures
    assert photos.tag(n_best=1).doubts == photos.classify().doubts == [GUESS]
    assert GUESS in photos.gallery.page("boat").understood.notes
    for command in (("tag", "--best", 1), ("classify",), ("search", "boat")):
        assert GUESS in visterm(*command, "-w", photos.folder).stdout


def test_pictures_that_a_model_learned_from_are_counted(photos):
    told = photos.catalogue.pictures(state="ok")
    classified, tagged = [], []
    for picture in told:
        classified += [photos.folder / picture.paths[0]] * (picture.class_label is not None)
        tagged += [photos.folder / picture.paths[0]] * bool(picture.tags)
    assert "2 pictures here have a class already: a model is too sure" in photos.classify(classified[:2]).doubts[-1]
    assert "1 picture here has tags already: a model is too sure" in photos.tag(tagged[:1]).doubts[-1]
    assert photos.tag().doubts == photos.classify().doubts == [GUESS]  # only pictures without labels are asked about
    number = next(picture.id for picture in photos.catalogue.pictures(state="ok") if picture.class_label is not None)
    with photos.catalogue.transaction():
        photos.catalogue._connection.execute("UPDATE picture SET split = 'Test' WHERE id = ?", (number,))
    assert "1 picture here has a class already" in photos.classify(classified[:2]).doubts[-1]


def test_a_model_below_its_baseline_is_named_everywhere(photos, visterm):
    for name in ("knn", "knn-tags"):
        file = photos.state / "models" / name / "1" / "model.json"
        contents = json.loads(file.read_text(encoding="utf-8"))
        del contents["checksum"]
        contents["baseline_metrics"] = dict.fromkeys(contents["metrics"], 1.1)
        file.write_text(json.dumps(contents), encoding="utf-8")
    with Workspace(photos.folder) as again:
        told = overview(again)
        notes = again.gallery.page("boat").understood.notes
    assert told.class_doubts[0].startswith("knn@1 is worse than guessing")
    for said in (told.tag_doubts, notes):
        assert any(each.startswith("knn-tags@1 is worse than guessing") for each in said)
    assert "knn@1 is worse than guessing" in visterm("classify", "-w", photos.folder).stdout
    assert "knn-tags@1 is worse than guessing" in visterm("search", "boat", "-w", photos.folder).stdout


def test_a_page_without_a_model_says_that_only_people_were_asked(tmp_path, postcards):
    with Workspace.create(tmp_path / "plain") as photos:
        photos.add([postcards])
        told = overview(photos)
        (note,) = photos.gallery.page("boat").understood.notes
    assert (told.class_model, told.class_doubts, told.tag_doubts) == (None, [], [])
    assert "only what people wrote was searched" in note
