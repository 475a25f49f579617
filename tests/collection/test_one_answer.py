"""One answer: the command line, Python and the API say the same of a picture, after anything people may do."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from starlette.testclient import TestClient
from typer.testing import CliRunner

from visterm.collection.judgements import Age
from visterm.collection.judging import ClassJudge, TagJudge
from visterm.collection.scores import class_probabilities
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.faces.cli import app
from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.find.rank.omission import Doubts, doubted
from visterm.models import Model
from visterm.workspace import Workspace

COLOURS = {"red": (200, 30, 30), "green": (30, 190, 40), "blue": (30, 40, 200), "grey": (120, 120, 120)}
N_PICTURES, N_LABELLED = 120, 100
RULES = Rules(frozenset(LOOPBACK), "the-token-of-this-workspace", open_reading=True)
TAGS = {"red": ["rose", "warm"], "green": ["pine", "tree"], "blue": ["sea", "cold"], "grey": ["stone"]}


def paint(file, colour, rng):
    """A noisy patch of one colour."""
    noise = rng.integers(-30, 30, (24, 32, 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(file)


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Pictures of four colours, most with a class and tags, and a model for each."""
    folder = tmp_path_factory.mktemp("colours")
    rng = np.random.default_rng(0)
    rows = ["file,class,tags"]
    for number in range(N_PICTURES):
        name = list(COLOURS)[number % 4]
        paint(folder / f"{number:02}.png", COLOURS[name], rng)
        if number < N_LABELLED:
            given = TAGS[name] if number % 7 else TAGS[name][:1]
            rows.append(f"{number:02}.png,{name},{';'.join(given)}")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    with Workspace.create(folder) as photos:
        photos.add()
        photos.train("knn-tags", recipe="colour")
        photos.train("knn", recipe="colour")
        photos.features("deep")  # by which a review compares
    return folder


@pytest.fixture
def folder(taught, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(taught, tmp_path / "colours")
    return tmp_path / "colours"


def by_command(folder, *arguments):
    done = CliRunner().invoke(app, [*arguments, "-w", str(folder), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def suggested(folder):
    """What is suggested for every picture: by the command, by Python and by the API; names with probabilities."""
    found = {}
    with Workspace(folder) as photos:
        view = photos.views.newest()
        numbers = view.ids.tolist()
        files = [str(folder / path) for path in view.paths]
        decided = {number: _decided(view, row) for row, number in enumerate(numbers)}
        python_tags = photos.tag(files)
        python_class = photos.classify(files, n_best=1)
        client = TestClient(application(photos, RULES), base_url="http://localhost")
        api = client.get("/api/v1/labels", params={"ids": ",".join(map(str, numbers))})
        assert api.status_code == 200, api.text
        of_api = {each["id"]: each for each in api.json()["pictures"]}
    command_tags = by_command(folder, "tag", *files)
    command_class = by_command(folder, "classify", *files, "--best", "1")
    for place, number in enumerate(numbers):
        shown = of_api[number]
        has, classed = decided[number]
        tags = [
            _plain(answers[place]["labels"]) for answers in (command_tags["answers"], python_tags.to_dict()["answers"])
        ]
        tags = [{name: p for name, p in each.items() if name not in has} for each in tags]
        found[number] = {
            "tags": (*tags, _plain(shown["suggested_tags"])),
            "class": None
            if classed
            else tuple(
                _plain(each)
                for each in (
                    command_class["answers"][place]["labels"],
                    python_class.to_dict()["answers"][place]["labels"],
                    [shown["suggested_class"]] if shown["suggested_class"] else [],
                )
            ),
        }
    return found


def _plain(labels):
    return {label["name"]: round(label["probability"], 4) for label in labels}


def _decided(view, row):
    """The tags that people gave a picture, and whether it has a class."""
    truth, at = view.collection.truth, int(view.rows[row])
    own = truth.tags.indices[truth.tags.indptr[at] : truth.tags.indptr[at + 1]]
    return {truth.tag_names[column] for column in own}, truth.classes[at] is not None


def searched(folder, *queries):
    """Each search has one answer for the command, Python and the API: what the judgements say of every picture."""
    with Workspace(folder) as photos:
        view = photos.views.newest()
        client = TestClient(application(photos, RULES), base_url="http://localhost")
        for query in queries:
            found = photos.search(query, limit=N_PICTURES, unlikely=True).to_dict()
            asked = {"q": query, "limit": N_PICTURES, "unlikely": True}
            assert client.get("/api/v1/search", params=asked).json() == found
            assert by_command(folder, "search", query, "--all", "--limit", str(N_PICTURES)) == found
            kind, _, name = query.partition(":")
            known = view.class_judgements if kind == "class" else view.tag_judgements
            tags = view.collection.truth.tags[view.rows]
            levels = Doubts.learned(np.diff(tags.indptr)).levels  # a tag that people left out is doubted
            for each in found["found"]:
                if not each["told"]:
                    row = view.row_of[each["id"]]
                    log_p = np.log(np.clip(known.probabilities(row)[known.names.index(name)], 1e-4, 1 - 1e-4))
                    if kind == "tag":
                        log_p = float(doubted(np.float32([log_p]), levels[[row]])[0])
                    assert each["score"] == pytest.approx(np.exp(log_p), abs=1e-3), (query, each["path"])


def reviewed(folder):
    """A review shows what the model in use says, and of other names what it has learned itself."""
    with Workspace(folder) as photos:
        photos.reviewer.wait()
        view = photos.views.newest()
        client = TestClient(application(photos, RULES), base_url="http://localhost")
        asked = [("teach", None), *(("tag", work.name) for work in photos.reviewer.state().tags[:2])]
        for queue, tag in asked:
            found = photos.reviewer.questions(queue, tag=tag, limit=8)
            parameters = {"queue": queue, "limit": 8} | ({"tag": tag} if tag else {})
            assert client.get("/api/v1/review/questions", params=parameters).json() == found.to_dict()
            for row in found.questions:
                for label in [*row.labels, *([row.asked] if row.asked else [])]:
                    known = view.class_judgements if label.kind == "class" else view.tag_judgements
                    assert (label.by == known.age.by) == (label.name in known.names)
                    if label.name in known.names:
                        p = known.probabilities(view.row_of[row.id])[known.names.index(label.name)]
                        assert label.probability == pytest.approx(p, abs=1e-4)
                    else:
                        assert label.by == "review"


def same_thresholds(folder):
    """What is suggested begins at one probability everywhere."""
    with Workspace(folder) as photos:
        frame = photos.collection().frame
        known = photos.judgements.tags(frame)
        judge = TagJudge(photos.shelf.model(Task.ANNOTATE), frame)
        assert judge.names == known.names
        assert np.allclose(judge.thresholds(0.8), known.thresholds)


def agree(folder):
    """Every face suggests the same tags and classes with the same probabilities."""
    same_thresholds(folder)
    reviewed(folder)
    with Workspace(folder) as photos:
        frame = photos.collection().frame
        names = photos.judgements.tags(frame).names[:1] + photos.judgements.classes(frame).names[:1]
    searched(folder, f"tag:{names[0]}", f"class:{names[1]}")
    answers = suggested(folder)
    for number, found in answers.items():
        command, python, api = found["tags"]
        assert command == python == api, number
        if found["class"] is not None:
            command, python, api = found["class"]
            assert command == python
            assert api in ({}, command), number  # nothing if people denied what is likeliest
    return answers


def test_every_face_says_the_same(folder):
    answers = agree(folder)
    assert any(found["tags"][0] for found in answers.values())
    assert sum(found["class"] is not None for found in answers.values()) == N_PICTURES - N_LABELLED


def test_every_face_says_the_same_after_retraining(folder):
    with Workspace(folder) as photos:
        frame = photos.collection().frame
        photos.label([folder / path for path in frame.paths[N_LABELLED:]], tags=["new"], new=True)
        photos.rename("rose", "flower")
        photos.train("knn-tags", recipe="colour")
        photos.train("knn", recipe="colour")
        assert "new" in photos.judgements.tags(photos.collection().frame).names
    agree(folder)


def test_what_is_believed_has_an_age_everywhere(folder):
    with Workspace(folder) as photos:
        truth = photos.collection().truth
        new = [path for path, given in zip(truth.paths, truth.classes, strict=True) if given is None][:3]
        files = [folder / path for path in new]

        def told():
            (number,) = {row.id for row in photos.search(f"filename:{new[0]}").found}
            photos.reviewer.wait()
            return {
                age
                for document in (
                    photos.details(number),
                    photos.labels_of([number]),
                    photos.search("class:red tree"),
                    photos.tag(files[0]),
                    photos.classify(files[0]),
                    photos.reviewer.questions("teach"),
                    photos.reviewer.questions("tag", tag="tree"),
                )
                for age in document.ages
            }

        made = {info.reference: info.created for info in photos.models().models}
        ages = {(age.by, age.kind): age for age in told()}
        assert len(told()) == len(ages) == 4
        for by, kind in (("knn@1", "class"), ("knn-tags@1", "tag")):
            assert ages[by, kind] == Age(by, kind, made[by], N_LABELLED, 0)
        photos.label(files[:2], class_name="red")
        photos.label(files[0], tags=["tree"])
        ages = {(age.by, age.kind): age for age in told()}
        assert len(told()) == len(ages) == 4
        assert ages["knn@1", "class"].since == 2
        assert ages["knn-tags@1", "tag"].since == 1
        assert (ages["review", "class"].labelled, ages["review", "class"].since) == (N_LABELLED + 2, 0)


def test_a_review_measures_as_the_report_does(folder):
    with Workspace(folder) as photos:
        figure = photos.reviewer.state().figure
        (quality,) = photos.report("knn@1").tasks
        assert (quality.figure, quality.words) == (figure, figure.words)
        assert figure in photos.quality().figures
        assert photos.status().quality == photos.quality().figures
        assert figure in photos.models().figures
    assert (figure.what, figure.model, figure.value) == ("classes", "knn@1", quality.value)
    assert figure.low < figure.value <= figure.high


def test_a_merged_tag_is_suggested_once(folder):
    before = suggested(folder)
    with Workspace(folder) as photos:
        photos.merge("pine", into="tree")
    after = agree(folder)
    both = [number for number, found in before.items() if {"pine", "tree"} <= set(found["tags"][0])]
    assert both
    for number in both:
        was, now = before[number]["tags"][0], after[number]["tags"][0]
        assert now["tree"] == max(was["pine"], was["tree"])
        assert "pine" not in now


def test_merged_classes_add_up_everywhere(folder):
    with Workspace(folder) as photos:
        model = photos.shelf.model(Task.CLASSIFY)
        frame = photos.collection().frame
        parts = photos.judgements.classes(frame).probabilities
        names = photos.judgements.classes(frame).names
        row = N_LABELLED + 2
        apart = parts(row)[[names.index("green"), names.index("blue")]].sum()
        photos.merge("green", into="blue", kind="class")
        frame = photos.collection().frame
        now = photos.judgements.classes(frame)
        assert ClassJudge(model, frame).names == now.names
        together = now.probabilities(row)[now.names.index("blue")]
        assert together == pytest.approx(apart)
        found = photos.search("class:blue", limit=N_PICTURES, unlikely=True).found
        score = next(each.score for each in found if each.path == frame.paths[frame.rows[row]])
        assert score == pytest.approx(min(together, 1 - 1e-4), abs=1e-4)
    agree(folder)


def test_a_denied_class_is_suggested_nowhere(folder):
    with Workspace(folder) as photos:
        view = photos.views.newest()
        row = N_LABELLED + 5
        number, file = int(view.ids[row]), str(folder / view.paths[row])
        (label,) = photos.classify(file, n_best=1).answers[0].labels
        photos.catalogue.write_labels([(number, "class", label.name, "rejected", None)], source="person")
        assert photos.views.newest().open_classes[row] == -1
        assert label.name not in [each.name for each in photos.classify(file).answers[0].labels]
        photos.classify(file, write=True)
        kept = photos.catalogue.picture(folder / view.paths[row])
        assert [each.name for each in kept.classes if each.state == "suggested"] == []
        found = photos.search(f"class:{label.name}", limit=N_PICTURES, unlikely=True).found
        assert view.paths[row] not in [each.path for each in found]
        photos.undo()
        assert photos.classify(file, n_best=1).answers[0].labels == [label]
    agree(folder)


def test_a_model_that_was_never_measured_has_the_same_thresholds_everywhere(folder, monkeypatch):
    monkeypatch.setattr(Model, "relevance", property(lambda self: None))
    with Workspace(folder) as photos:
        model = photos.shelf.model(Task.ANNOTATE)
        frame = photos.collection().frame
        thresholds = TagJudge(model, frame).thresholds(0.8)
        assert np.allclose(thresholds, 0.8)
        assert np.allclose(photos.judgements.tags(frame).thresholds, 0.8)


def test_a_classifier_without_probabilities_is_as_sure_as_it_was_right():
    estimator = SimpleNamespace(classes_=[0, 1, 2], predict=lambda X: [2, 0])
    info = SimpleNamespace(classes=("a", "b", "c"), metrics={"accuracy": 0.7})
    p = class_probabilities(SimpleNamespace(estimator=estimator, info=info), np.zeros((2, 1)))
    np.testing.assert_allclose(p, [[0.15, 0.15, 0.7], [0.7, 0.15, 0.15]])
    info.metrics["accuracy"] = 0.1  # worse than guessing: what it predicts still comes first
    p = class_probabilities(SimpleNamespace(estimator=estimator, info=info), np.zeros((2, 1)))
    assert p.argmax(axis=1).tolist() == [2, 0]


SOME = st.integers(N_LABELLED - 20, N_PICTURES - 1)
WORDS = st.sampled_from(["pine", "tree", "sea", "stone"])
OPERATIONS = st.one_of(
    st.tuples(st.just("label"), SOME, WORDS),
    st.tuples(st.just("deny"), SOME, WORDS),
    st.tuples(st.just("not of class"), SOME, st.sampled_from(list(COLOURS))),
    st.tuples(st.just("class"), SOME, st.sampled_from(list(COLOURS))),
    st.tuples(st.just("merge"), st.sampled_from(["pine", "sea"]), st.sampled_from(["tree", "stone"])),
    st.tuples(st.just("rename"), st.sampled_from(["rose", "warm"]), st.sampled_from(["flower", "hot"])),
    st.tuples(st.just("drop"), st.sampled_from(["cold", "stone"]), st.just("")),
    st.tuples(st.just("undo"), st.just(0), st.just("")),
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=5))
def test_faces_agree_after_anything(taught, tmp_path_factory, operations):
    folder = tmp_path_factory.mktemp("changed") / "colours"
    shutil.copytree(taught, folder)
    with Workspace(folder) as photos:
        view = photos.views.newest()
        for verb, what, name in operations:
            with suppress(InputError):
                if verb == "label":
                    photos.label(folder / view.paths[what], tags=[name])
                elif verb == "deny":
                    photos.label(folder / view.paths[what], no_tags=[name], new=True)
                elif verb == "class":
                    photos.label(folder / view.paths[what], class_name=name)
                elif verb == "not of class":
                    row = (int(view.ids[what]), "class", name, "rejected", None)
                    photos.catalogue.write_labels([row], source="person")
                elif verb == "merge":
                    photos.merge(what, into=name)
                elif verb == "rename":
                    photos.rename(what, name)
                elif verb == "drop":
                    photos.drop(what)
                else:
                    photos.undo()
    agree(folder)
