"""A collection of which few pictures are tagged: all others tagged from them, and new ones without relearning."""

from __future__ import annotations

import numpy as np
import pytest

from visterm import registry
from visterm.compute.parallel import Engine
from visterm.contracts import Task
from visterm.learn import measure, validation_split
from visterm.learn.data import labelled
from visterm.postcards import make_postcards
from visterm.workspace import Workspace

SMALL = {"n_topics": 8, "n_neighbors": 5}


@pytest.fixture(scope="session")
def few_tagged(tmp_path_factory, postcards):
    """Fifty postcards, two fifths of them without tags, and a graph model of all labels but those for testing."""
    folder = tmp_path_factory.mktemp("few_tagged")
    with Workspace.create(folder) as workspace:
        workspace.add([postcards])
        info = workspace.train("graph-mixture", parameters=SMALL)
    return folder, info


def test_all_pictures_are_learned_from_and_the_untagged_ones_tagged(few_tagged):
    folder, info = few_tagged
    with Workspace(folder) as workspace:
        model = workspace.shelf.model(Task.ANNOTATE, "graph-mixture")
        answers = workspace.tag(model="graph-mixture", n_best=5)
        data, _ = labelled(workspace, workspace.collection(), model.recipe)
        assert info.training["pictures"] == len(data)
        assert len(answers.answers) == (~data.has_tags).sum() > 10
        learned = model.estimator.tagger_.score_training()
        assert learned.shape == data.tags.shape  # the test pictures, too, without their tags
        for answer, row in zip(answers.answers, np.flatnonzero(~data.has_tags), strict=True):
            assert len(answer.labels) == 5
            # What is said rests on what was learned of the picture, not on a guess anew.
            columns = [data.tag_names.index(label.name) for label in answer.labels]
            chances = np.log(np.maximum(learned[row : row + 1], 1e-5))
            likely = model.relevance.probabilities(chances)[0, columns]
            np.testing.assert_allclose(
                [label.probability for label in answer.labels], likely, rtol=5e-3
            )  # an index has 16 bits


def test_it_is_measured_as_it_is_used(few_tagged):
    folder, info = few_tagged
    with Workspace(folder) as workspace:
        data, _ = labelled(
            workspace, workspace.collection(), workspace.shelf.model(Task.ANNOTATE, "graph-mixture").recipe
        )
    method = registry.get("graph-mixture")
    split = validation_split(data)
    seen = measure(method, data, split, parameters=SMALL, transductive=True)
    unseen = measure(method, data, split, parameters=SMALL, transductive=False)
    assert seen.values[Task.RANK] != unseen.values[Task.RANK]
    assert info.metrics["AvgP by own scores"] == pytest.approx(seen.values[Task.RANK]["AvgP"])


def test_only_what_is_sure_is_suggested(few_tagged, visterm_json, visterm):
    folder, _ = few_tagged
    everything = visterm_json("tag", "-m", "graph-mixture", "--best", 40, "-w", folder)["answers"]
    sure = visterm_json("tag", "-m", "graph-mixture", "--sure", 0.4, "-w", folder)["answers"]
    assert len(sure) == len(everything)
    for few, all_labels in zip(sure, everything, strict=True):
        assert few["labels"] == [label for label in all_labels["labels"] if label["probability"] >= 0.4]
    assert any(answer["labels"] for answer in sure)
    assert "nothing likely enough" in visterm("tag", "-m", "graph-mixture", "--sure", 1, "-w", folder).stdout


def test_every_method_says_how_sure_it_is(workspace, visterm, visterm_json):
    visterm("train", "jec", "-w", workspace)
    answers = visterm_json("tag", "-m", "jec", "--sure", 0.5, "-w", workspace)
    labels = [label for answer in answers["answers"] for label in answer["labels"]]
    assert labels
    assert all(0.5 <= label["probability"] <= 1 for label in labels)
    assert not answers["calibrated"]  # ten held-out pictures are few


def test_new_pictures_are_folded_in_without_relearning(few_tagged, tmp_path, visterm_json):
    folder, _ = few_tagged
    make_postcards(tmp_path / "new", 4, engine=Engine(n_jobs=1), seed=77)
    pictures = sorted((tmp_path / "new").rglob("*.jpg"))
    answers = visterm_json("tag", *pictures, "-m", "graph-mixture", "--best", 5, "-w", folder)
    assert len(answers["answers"]) == len(pictures)
    assert all(len(answer["labels"]) == 5 for answer in answers["answers"])
