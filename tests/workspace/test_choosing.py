"""Training with nothing named: every kind of collection gets a sensible path, and the best model is the one in use."""

from __future__ import annotations

import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from visterm.contracts import Task
from visterm.errors import InputError
from visterm.learn import Dataset, choosing
from visterm.learn.data import labels_only
from visterm.learn.engine import training
from visterm.learn.training import Training
from visterm.margin import KernelRidgeAnnotator
from visterm.margin.functions import by_landmarks
from visterm.workspace import Workspace

QUICK = ("colour", "colour+globals")


@pytest.fixture(autouse=True)
def quick_features(monkeypatch):
    """Features that take no network."""
    monkeypatch.setattr(choosing, "RECIPES", QUICK)


def outcome(done: Training, what: str):
    return next(each for each in done.outcomes if each.what == what)


def paint(folder, names, n_each, seed=0):
    """Pictures of one colour a class, with some noise."""
    rng = np.random.default_rng(seed)
    for place, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        colour = np.array([[200, 40, 40], [40, 200, 40], [40, 40, 200]])[place % 3]
        for i in range(n_each):
            pixels = np.clip(colour + rng.normal(0, 30, (24, 24, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory, postcards):
    """A collection with classes and tags, trained with nothing named."""
    folder = tmp_path_factory.mktemp("chosen")
    with pytest.MonkeyPatch.context() as patch, Workspace.create(folder) as photos:
        patch.setattr(choosing, "RECIPES", QUICK)
        photos.add([postcards])
        return folder, photos.train()


@pytest.fixture
def photos(trained, tmp_path):
    shutil.copytree(trained[0], tmp_path / "photos")
    with Workspace(tmp_path / "photos") as opened:
        yield opened


def test_only_pictures_with_labels_for_what_is_learned_are_counted(photos):
    labels = labels_only(photos, photos.collection())
    tagged, any_label = (
        int((has & ~labels.is_test).sum()) for has in (labels.has_tags, labels.has_tags | labels.has_class)
    )
    assert photos.train("tags").labelled == tagged < any_label
    assert photos.train("classes").labelled == int((labels.has_class & ~labels.is_test).sum())


def test_classes_tags_and_search_are_learned(trained):
    _, done = trained
    assert [each.what for each in done.outcomes] == ["classes", "tags", "search"]
    assert (done.pictures, done.labelled) == (50, 30)
    classes, tags = outcome(done, "classes"), outcome(done, "tags")
    assert classes.model == "classes@1"
    assert {(each.method, each.recipe) for each in classes.tried} >= {("prototypes", "colour")}
    assert classes.quality > classes.baseline
    assert classes.held_out == 10
    assert tags.model == "tags@1"
    assert tags.measures["tag accuracy"] == tags.quality > tags.baseline
    assert outcome(done, "search").model in ("tags@1", "search@1")
    assert all(each.half_quality is None or 0 <= each.half_quality <= 1 for each in done.outcomes)


def test_what_was_chosen_answers(photos):
    assert photos.tag(n_best=2).model == "tags@1"
    assert photos.classify().model == "classes@1"
    assert photos.search("sky").found


def test_a_choice_is_kept_until_the_collection_has_doubled(photos, monkeypatch):
    monkeypatch.setattr(choosing, "choose", lambda *_, **__: pytest.fail("chosen again"))
    again = photos.train("classes")
    assert outcome(again, "classes").model == "classes@2"
    assert outcome(again, "classes").tried == []
    labels = choosing.labels_only(photos, photos.collection())
    twice = replace(labels, y=np.zeros(len(labels), int), splits=())
    monkeypatch.setattr(choosing, "labels_only", lambda *_: replace(twice, y=np.arange(len(labels)) % 10))
    monkeypatch.setattr(choosing, "_GROWTH", 1.2)
    with pytest.raises(pytest.fail.Exception, match="chosen again"):
        photos.train("classes")


def test_many_pictures_are_learned_by_landmarks_and_the_answer_says_so(photos, visterm, monkeypatch):
    monkeypatch.setattr(by_landmarks, "EXACT_UP_TO", 12)
    monkeypatch.setattr(by_landmarks, "N_LANDMARKS", 8)
    monkeypatch.setattr(choosing, "_UP_TO", {"label-propagation": 49})
    monkeypatch.setattr(choosing, "_SPREAD_UP_TO", 12)
    said = " ".join(visterm("train", "tags", "--choose", "-w", photos.folder).stdout.split())
    assert "by ridge-tags with 8 landmarks on" in said
    assert "label-propagation was not compared: it is meant for at most 49 pictures" in said
    monkeypatch.setattr(training, "LEARN_ONCE", 12)
    before = photos.shelf.load(photos.shelf.place("tags", 2)).estimator
    truth = photos.catalogue.truth()
    row = next(row for row in range(len(truth)) if not truth.tags[[row]].nnz and truth.splits[row] != "test")
    photos.label([truth.sha256[row]], tags=truth.tag_names[:2], complete=True)
    monkeypatch.setattr(KernelRidgeAnnotator, "fit", lambda *_, **__: pytest.fail("learned from the beginning"))
    photos.train("tags")
    after = photos.shelf.load(photos.shelf.place("tags", 3)).estimator
    assert len(after.own_prints_) == len(before.own_prints_) + 1
    assert after.tag_counts_.sum() == before.tag_counts_.sum() + 2


def test_features_that_take_too_long_for_all_labelled_pictures_are_not_compared(photos, monkeypatch):
    monkeypatch.setattr(choosing, "RECIPES", ("colour", "globals"))
    monkeypatch.setattr(choosing.Chooser, "_cost", lambda self, recipe, rows: 1.0 * len(rows))
    done = photos.train("tags", choose_again=True)
    assert {one.recipe for one in outcome(done, "tags").tried} == {"colour", "globals"}
    monkeypatch.setattr(choosing.Chooser, "_cost", lambda self, recipe, rows: 100.0 * len(rows))
    done = photos.train("tags", choose_again=True)
    assert {one.recipe for one in outcome(done, "tags").tried} == {"colour"}
    assert any("globals was not compared: its features would take about" in text for text in done.missing)


def test_the_choice_can_be_made_again(photos):
    again = photos.train("tags", choose_again=True)
    assert [each.what for each in again.outcomes] == ["tags"]
    assert outcome(again, "tags").tried


def test_no_time_means_one_attempt(photos):
    done = photos.train("classes", minutes=0, choose_again=True)
    assert len(outcome(done, "classes").tried) == 1
    assert outcome(done, "classes").untried


def test_the_best_measured_model_is_in_use_not_the_newest(photos):
    assert photos.models().in_use == {"classify": "classes@1", "tag": "tags@1", "search": "tags@1"}
    worse = photos.train("majority-class")
    assert worse.quality(Task.CLASSIFY) < photos.shelf.best(Task.CLASSIFY).quality(Task.CLASSIFY)
    assert photos.models().in_use["classify"] == "classes@1"
    # A newer version of the same name counts instead of the older one, better or not.
    photos.train("majority-class", name="classes")
    assert photos.shelf.best(Task.CLASSIFY).reference in ("majority-class@1", "classes@2")


def test_a_model_of_fewer_labels_is_not_compared(photos, postcards):
    infos = photos.shelf.infos()
    (classes,) = [info for info in infos if info.name == "classes"]
    few = replace(
        classes, name="few", metrics={"accuracy": 1.0}, training=classes.training | {"pictures_with_class": 5}
    )
    photos.shelf.infos = lambda: [*infos, few]
    assert photos.shelf.best(Task.CLASSIFY).name == "classes"
    many = replace(few, training=classes.training)
    photos.shelf.infos = lambda: [*infos, many]
    assert photos.shelf.best(Task.CLASSIFY).name == "few"


def test_few_labels_a_class(tmp_path):
    with Workspace.create(paint(tmp_path / "p", ["a", "b", "c"], 5)) as photos:
        photos.add(format="folders")
        done = photos.train()
    assert outcome(done, "classes").quality == 1.0
    assert outcome(done, "tags").model is None
    assert "tags" in outcome(done, "tags").reason


def test_uneven_classes_are_also_tried_with_balanced_weights(tmp_path, trained):
    folder = paint(tmp_path / "p", ["a"], 25)
    paint(folder, ["b"], 4, seed=1)
    paint(folder, ["c"], 4, seed=2)
    with Workspace.create(folder) as photos:
        photos.add(format="folders")
        uneven = outcome(photos.train("classes"), "classes").tried
    even = outcome(trained[1], "classes").tried
    assert [each.parameters for each in uneven if "class_weight" in each.parameters] == [{"class_weight": "balanced"}]
    assert not any("class_weight" in each.parameters for each in even)


def test_two_pictures_a_class(tmp_path):
    with Workspace.create(paint(tmp_path / "p", ["a", "b"], 2)) as photos:
        photos.add(format="folders")
        assert outcome(photos.train(), "classes").model == "classes@1"
        assert photos.classify("a/0.png").answers[0].labels[0].name == "a"


def test_one_class_is_told_what_to_do(tmp_path):
    with Workspace.create(paint(tmp_path / "p", ["only"], 4)) as photos:
        photos.add(format="folders")
        with pytest.raises(InputError, match="the only class is 'only', and what is not"):
            photos.train()


def test_nothing_labelled_is_told_what_to_do(tmp_path):
    with Workspace.create(paint(tmp_path / "p", ["x"], 3)) as photos:
        photos.add()
        with pytest.raises(InputError, match=r"no picture has a class.*no picture has tags"):
            photos.train()


def test_only_captions(tmp_path):
    folder = paint(tmp_path / "p", ["red", "green"], 12)
    for name, words in (("red", "a boat on the sea"), ("green", "a tree in the garden")):
        for picture in (folder / name).glob("*.png"):
            picture.with_suffix(".txt").write_text(words)
    with Workspace.create(folder) as photos:
        photos.add()
        done = photos.train()
        assert outcome(done, "tags").quality == 1.0
        assert outcome(done, "classes").model is None
        found = photos.tag("red/0.png").answers[0].labels
        assert {label.name for label in found} >= {"boat"}
        assert not {label.name for label in found} & {"tree", "garden"}


def test_a_method_needs_no_choice_and_a_choice_no_parameters(photos):
    with pytest.raises(InputError, match="belong to a method"):
        photos.train("classes", parameters={"C": 1.0})
    assert photos.train("sdca", recipe="colour", parameters={"C": 1.0}).reference == "sdca@1"
    fixed = photos.train("classes", recipe="colour")
    assert {each.recipe for each in outcome(fixed, "classes").tried} == {"colour"}


def test_without_the_network_other_features_are_used(tmp_path, monkeypatch):
    def missing(name):
        if name == "colour+globals":
            raise InputError("the network is not installed")
        return original(name)

    import visterm.vision.recipes as recipes

    original = recipes.recipe
    monkeypatch.setattr(recipes, "recipe", missing)
    assert choosing._usable(QUICK) == (("colour",), ["the network is not installed"])
    monkeypatch.setattr(recipes, "recipe", lambda name: missing("colour+globals"))
    assert choosing._usable(QUICK) == (("tagging-fast",), ["the network is not installed"])


def test_people_read_what_was_chosen_and_how_good_it_is(photos, visterm):
    printed = visterm("train", "--choose", "-w", photos.folder).stdout
    assert "Trained on 30 labelled pictures of 50" in printed
    assert "% of classes right (between" in printed
    assert "measured on 10 pictures marked as test pictures); guessing: 10%" in " ".join(printed.split())
    assert "by prototypes+graph on" in printed
    assert "Next: 'visterm tag'" in printed
    listed = visterm("models", "-w", photos.folder).stdout
    assert "colour" in listed
    assert "of the likeliest tags right (between" in listed


def test_a_model_below_its_baseline_is_said_to_be_so(photos, visterm, monkeypatch):
    from visterm.models import ModelInfo

    monkeypatch.setattr(ModelInfo, "is_below_baseline", lambda self, task: True)
    assert "worse than the baseline" in visterm("train", "knn", "-r", "colour", "-w", photos.folder).stdout


@pytest.mark.parametrize("n_tagged", [2, 3, 4, 5])
def test_a_handful_of_tagged_pictures(tmp_path, n_tagged):
    with Workspace.create(paint(tmp_path / "p", ["red", "green"], 4)) as photos:
        photos.add()
        pictures = sorted((tmp_path / "p").rglob("*.png"))[:: 8 // n_tagged][:n_tagged]
        for picture in pictures:
            photos.label(picture, tags=[picture.parent.name, "plain"])
        done = photos.train()
        assert outcome(done, "tags").model == "tags@1"
        assert outcome(done, "search").model == "tags@1"
        assert photos.tag(n_best=1).answers


def test_the_vocabulary_says_how_well_each_name_is_recognised(photos, visterm):
    found = photos.vocabulary()
    assert set(found.class_.quality) <= {use.name for use in found.class_.terms}
    assert 0 <= found.tag.quality["sky"] <= 1
    assert "recognised" in visterm("vocabulary", "-w", photos.folder).stdout


def test_few_held_out_pictures_are_called_a_guess(photos, visterm):
    assert not photos.tag(n_best=1).calibrated  # ten held-out pictures
    assert "they are a guess" in visterm("tag", "--best", 1, "-w", photos.folder).stdout


def test_a_class_of_several_words_needs_no_quotes(tmp_path):
    with Workspace.create(paint(tmp_path / "p", ["tall building", "open country"], 6)) as photos:
        photos.add(format="folders")
        for picture in sorted((tmp_path / "p").rglob("[01].png")):
            photos.label(picture, tags=["plain"])
        new = tmp_path / "new"
        paint(new, ["x"], 1, seed=9)
        photos.add([new])
        photos.train()
        quoted = photos.search('"tall building"', unlikely=True).found
        for query in ("tall building", "tall buildings"):
            plain = photos.search(query, unlikely=True).found
            found = [{(hit.path, hit.told) for hit in hits if hit.likely} for hits in (plain, quoted)]
            assert found[0] == found[1] != set()
        assert any(not hit.told and hit.score > 0.1 for hit in quoted)


def test_a_tag_that_a_person_denied_is_not_suggested_again(photos):
    found = next(answer for answer in photos.tag(n_best=1).answers if answer.labels)
    photos.label(found.path, no_tags=found.labels[0].name)
    again = photos.tag(found.path, at_least=0.0).answers[0]
    assert found.labels[0].name not in [label.name for label in again.labels]
    assert again.labels
    photos.rename(found.labels[0].name, "something else")  # the model calls it by the old name
    again = photos.tag(found.path, at_least=0.0).answers[0]
    assert found.labels[0].name not in [label.name for label in again.labels]


def test_denied_tags_teach(photos):
    """A model that is trained after denials has learned from them; the denied pictures stay untagged."""
    photos.train("ridge-tags", recipe="deep")
    n_tagged = photos.status().n_with_tags
    asked = [answer.path for answer in photos.tag(model="ridge-tags", at_least=0.0).answers]

    def chances(name):
        answers = photos.tag(asked, model="ridge-tags", n_best=1000).answers
        return np.mean(
            [next((item.probability for item in answer.labels if item.name == name), 0) for answer in answers]
        )

    denied = [path for path in asked if photos.picture(path).class_label is None]  # nothing else is known of them
    asked = [path for path in asked if path not in denied]
    before = chances("sky"), chances("car")
    photos.label(denied, no_tags="sky")
    photos.train("ridge-tags", recipe="deep")
    assert photos.status().n_with_tags == n_tagged
    after = chances("sky"), chances("car")
    assert after[0] < 0.8 * before[0]
    assert after[1] == pytest.approx(before[1], abs=0.05)


def test_nothing_is_never_silence(photos, visterm, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "there is no picture" in visterm("tag", tmp_path / "empty", "-w", photos.folder, code=1).stdout
    printed = visterm("tag", "--precision", 0.99, "-w", photos.folder).stdout
    assert "nothing likely enough; --precision 0.6 or --best 3 shows more" in printed


def test_search_is_compared_with_the_tags_as_they_were_trained(monkeypatch):
    given = {}

    def refuse(task, candidates, *_, **__):
        given["candidates"] = candidates
        raise InputError("too few")

    monkeypatch.setattr(choosing, "choose", refuse)
    tags = sparse.csr_array(np.eye(4, dtype=np.float32))
    labels = Dataset("four", np.ones((4, 1)), np.full(4, -1), (), tags, tuple("abcd"))
    monkeypatch.setattr(choosing, "labels_only", lambda *_: labels)
    chooser = choosing.Chooser(SimpleNamespace(collection=lambda: None), "globals", choose_again=True)
    chosen = {"parameters": {"alpha": 0.3}}
    trained = SimpleNamespace(method="ridge-tags", recipe="globals", version=1, training={"choice": chosen})
    kept, choice = chooser.choose("search", 1.0, trained)
    assert choice is None
    assert kept["method"] == "ridge-tags"
    compared = {each.method.name: dict(each.parameters) for each in given["candidates"]}
    assert compared == {"ridge-tags": {"alpha": 0.3}, "caption-ridge": {}}
