"""Search as a user has it: queries on the command line, people first, the index behind it, models of all ages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.contracts import Task
from visterm.errors import InputError
from visterm.features import FeatureStore
from visterm.index.index import Index
from visterm.models import load_model
from visterm.workspace import Workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture
def found(visterm_json, workspace):
    """Search, and give the document."""
    return lambda *arguments: visterm_json("search", *arguments, "-w", workspace)


def names(document):
    return [item["path"].rpartition("/")[2] for item in document["found"]]


def test_people_come_first_and_scores_are_probabilities(found, postcards):
    told = {
        row["file_name"].rpartition("/")[2]
        for row in map(json.loads, (postcards / "metadata.jsonl").read_text().splitlines())
        if "boat" in row.get("tags", ())
    }
    document = found("boat", "--all", "--limit", 50)
    assert document["model"] == "knn-tags@1"
    assert {name for name, item in zip(names(document), document["found"], strict=True) if item["told"]} == told
    assert [item["told"] for item in document["found"]] == sorted((i["told"] for i in document["found"]), reverse=True)
    assert all(0 < item["score"] <= 1 for item in document["found"])
    believed = [item["score"] for item in document["found"] if not item["told"]]
    assert believed == sorted(believed, reverse=True)
    assert max(believed) < 1
    likely = [item for item in document["found"] if item["likely"]]
    assert len(likely) == document["n_likely"]
    assert found("boat", "--limit", 50)["found"] == likely


def test_words_may_be_excluded_without_a_second_thought(found):
    with_sky = names(found("tree", "--all", "-n", 50))
    without = names(found("tree", "-sky", "--all", "-n", 50))
    assert with_sky[:3] != without[:3]
    assert names(found("tree -sky", "--all", "-n", 50)) == without
    assert names(found("-sky", "tree", "--all", "-n50")) == without
    assert names(found("tree", "NOT", "sky", "--all", "-n", 50)) == without
    assert names(found("tree", "-tag:sky", "--all", "-n", 3))


def test_fields(found, postcards):
    assert names(found("filename:0003")) == ["0003.jpg"]
    assert len(found("class:coast", "-n", 50)["found"]) >= 4
    assert found("class:coast")["found"][0]["reasons"][0]["by"] == "class"
    assert set(names(found("class:coast"))) <= set(names(found("coast", "--all", "-n", 50)))
    assert found("caption:boat")["found"]
    like = found(f"like:{postcards / 'pictures' / '0003.jpg'}", "--all", "-n", 5)
    assert len(like["found"]) == 5
    assert "0003.jpg" not in names(like)
    assert like["found"][0]["reasons"][0]["by"] == "look"


def test_every_answer_says_how_its_words_were_understood(found, visterm, workspace):
    document = found("boats", "xylophone", "the")
    (boats, xylophone, the) = document["understood"]
    assert (boats["word"], boats["how"], boats["names"], boats["has_model"]) == ("boats", "form", ["boat"], True)
    assert (xylophone["how"], the["how"]) == ("look", "ignored")
    assert (document["no_model"], document["teachable"]) == ([], ["xylophone"])
    assert document["read_as"] == f"boats as boat ({boats['n_pictures']} pictures), xylophone (by look)"
    assert (
        f"understood: {document['read_as']}" in visterm("search", "boats", "xylophone", "the", "-w", workspace).stdout
    )


def test_what_was_taken_otherwise_is_said(found, visterm, workspace):
    document = found("baot", "xylophone", "the")
    assert document["taken_as"] == {"baot": "boat"}
    assert document["unknown"] == ["xylophone"]
    printed = visterm("search", "baot", "class:nowhere", "-w", workspace).stdout
    assert "searched for 'boat' instead" in printed
    assert "no picture has the class 'nowhere'; the known ones are coast, desert" in printed
    assert "nothing found" in printed


def test_one_tag_of_a_person_says_little_about_the_others(visterm, found, workspace):
    untagged = found("is:untagged", "sky", "--all", "-n", 50)["found"]
    assert untagged == found("untagged", "sky", "--all", "-n", 50)["found"]
    picture, before = untagged[0]["path"], untagged[0]["score"]
    visterm("label", workspace / picture, "--tag", "holiday", "-w", workspace)
    (after,) = [item["score"] for item in found("sky", "--all", "-n", 50)["found"] if item["path"] == picture]
    assert after > 0.5 * before
    assert picture not in [item["path"] for item in found("is:untagged", "sky", "--all", "-n", 50)["found"]]


def test_what_lacks_a_word_is_marked(visterm, found, workspace):
    document = found("boat", "unicorn", "-n", 50)
    assert document["partial"] is True
    assert document["unknown"] == ["unicorn"]
    assert {tuple(item["missing"]) for item in document["found"]} == {("unicorn",)}
    assert found("boat")["partial"] is False
    printed = visterm("search", "boat unicorn", "-w", workspace).stdout
    assert "people say, without 'unicorn'\n" in printed  # once, not on every row
    assert printed.count("without") <= 2
    none = found("boat", "cactus", "-n", 50)
    assert (none["partial"], none["n_likely"], none["cut_off"]) == (True, 0, None)
    assert {tuple(item["missing"]) for item in none["found"]} == {("boat",), ("cactus",)}
    printed = visterm("search", "boat cactus", "-w", workspace).stdout
    assert re.search(r"(?m)^nothing found for all words: the best guess has a chance of .*; these match some", printed)
    assert ", without 'boat'\n" in printed
    assert ", without 'cactus'\n" in printed
    assert "without" not in visterm("search", "boat cactus", "--all", "-w", workspace).stdout


def test_what_was_ignored_or_hidden_is_said(visterm, found, workspace):
    document = found("photos of boats")
    assert document["ignored"] == ["photos"]
    assert document["found"] == found("boat")["found"]
    printed = visterm("search", "photos of boats or ships", "-w", workspace).stdout
    assert "ignored words that say nothing about pictures: photos" in printed
    assert "write OR in capitals" in printed
    n_more = found("boat")["n_less_likely"]
    assert n_more == len(found("boat", "--all")["found"]) - len(found("boat")["found"]) > 1
    assert "less likely pictures: --all" in visterm("search", "boat", "-w", workspace).stdout
    assert "less likely pictures" not in visterm("search", "boat", "--all", "-w", workspace).stdout


def test_pictures_tagged_by_people_are_ordered_by_belief(workspace):
    with Workspace(workspace) as opened:
        told = [item.path for item in opened.search("boat", limit=50).found if item.told]
        model = opened.shelf.model(Task.RANK)
        keys = {opened.picture(Path(path)).sha256: path for path in told}
        (X,) = opened.library.features(model.recipe, list(keys)).values()
        p = model.relevance.log_probabilities(model.estimator.score_tags(X))[:, model.info.tags.index("boat")]
        believed = dict(zip(keys.values(), p.tolist(), strict=True))
        order = [believed[path] for path in told]
        assert order == pytest.approx(sorted(order, reverse=True), abs=2e-3)
        assert len(set(order)) > 1


def test_people_read_why(visterm, workspace):
    printed = visterm("search", "boat", "-snow", "--why", "--all", "-n", 30, "-w", workspace).stdout
    assert "boat (tag" in printed
    assert "not snow (model" in printed
    assert "less likely" in printed
    assert "%" in printed
    assert re.search(r"looks like \S+ \(\d+% alike\), which people tagged boat", printed)
    assert "not 000 (file name)" in visterm("search", "boat", "-filename:000", "--why", "--all", "-w", workspace).stdout


def test_of_models_made_within_a_second_the_later_one_answers(workspace):
    with Workspace(workspace) as opened:
        for name in ("tag-frequency", "knn-tags", "tag-frequency"):
            opened.train(name)
            assert opened.shelf.infos()[-1].name == name


def test_rankers_tell_which_codewords_count(visterm, workspace):
    with Workspace(workspace) as opened:
        opened.train("pamir-warp", parameters={"n_steps": 2000, "kernel": "hellinger"})
    assert "codewords " in visterm("search", "boat", "--why", "--all", "-n", 50, "-w", workspace).stdout


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "empty"),
        ("(boat", "parenthesis at character 1"),
        ('"boat', "quote that begins"),
        ("flavour:red", "no field 'flavour'"),
        ("???", "no word to search for"),
        ("\x01\x02", "empty"),
        ("boat " * 1000, "1000 words"),
        ("x" * 20_000, "20000 characters"),
        ("like:nowhere.jpg", "no such file"),
        ("boat^9999", "weight"),
    ],
)
def test_bad_queries_get_one_clear_line(visterm, workspace, query, said):
    done = visterm("search", query, "-w", workspace, code=1 if said == "no such file" else 2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE label; --", 'boat" OR 1=1', "boat*", "%_%", "NEAR(a b)", "col:", "🦜", "NULL"]
)
def test_metacharacters_are_only_characters(visterm, visterm_json, workspace, query):
    before = visterm_json("status", "-w", workspace)
    try:
        visterm("search", query, "-w", workspace)
    except AssertionError:
        visterm("search", query, "-w", workspace, code=2)
    assert visterm_json("status", "-w", workspace) == before


def test_the_commands_of_the_page_on_search_work(visterm, workspace, postcards, elsewhere):
    text = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    (elsewhere / "glove.6B.100d.txt").write_text("boat 1 0\nyacht 0.9 0.4\ntree 0 1\n")
    commands = re.findall(r"^\$ visterm (search|similar|words)(.*)$", text, flags=re.MULTILINE)
    assert len(commands) > 15
    for verb, arguments in commands:
        words = [word.replace("photos/", f"{postcards}/pictures/") for word in shlex.split(arguments, comments=True)]
        done = visterm(verb, *words, *(() if verb == "words" else ("-w", workspace)))
        assert done.stdout
        assert not done.stderr


def test_a_contact_sheet_of_nothing_is_written_all_the_same(visterm, workspace, tmp_path):
    visterm("search", "xylophone", "--sheet", tmp_path / "sheet.png", "-w", workspace)
    assert (tmp_path / "sheet.png").exists()


def test_only_what_is_new_is_scored(workspace, postcards, monkeypatch):
    with Workspace(workspace) as opened:
        model = opened.shelf.model(Task.RANK)
        first = opened.search("boat", limit=50, unlikely=True)
        n_scored = []
        original = type(model.estimator).score_tags
        monkeypatch.setattr(
            type(model.estimator), "score_tags", lambda self, X: n_scored.append(X.shape[0]) or original(self, X)
        )
        again = opened.search("boat", limit=50, unlikely=True)
        assert again == first
        assert n_scored == []
        opened.catalogue.remove([postcards / "pictures" / "0001.jpg"])
        fewer = opened.search("boat", limit=50, unlikely=True)
        assert n_scored == []
        assert len(fewer.found) == len(first.found) - 1
        opened.add([postcards], again=True)
        assert len(opened.search("boat", limit=50, unlikely=True).found) == len(first.found)
        assert n_scored == [1]
        shutil.rmtree(opened.state / "index")
        assert len(opened.search("boat", limit=50, unlikely=True).found) == len(first.found)


def test_edits_of_the_vocabulary_hold_at_once(visterm, found, workspace):
    boats = names(found("boat", "--all", "-n", 50))
    visterm("vocabulary", "rename", "boat", "vessel", "-w", workspace)
    assert names(found("vessel", "--all", "-n", 50)) == boats
    visterm("vocabulary", "drop", "vessel", "-w", workspace)
    (vessel,) = found("vessel", "--all")["understood"]
    assert "vessel" not in vessel["names"]  # which is forgotten: another word means about the same


def test_what_a_person_says_counts_at_once(visterm, found, workspace, postcards):
    picture = postcards / "pictures" / "0005.jpg"
    visterm("label", picture, "--tag", "heirloom", "--no-tag", "sky", "-w", workspace)
    assert names(found("heirloom")) == ["0005.jpg"]
    assert "0005.jpg" not in names(found("sky", "--all", "-n", 50))


def test_without_a_model_people_are_searched(visterm, visterm_json, workspace):
    shutil.rmtree(workspace / ".visterm" / "models")
    document = visterm_json("search", "boat", "-w", workspace)
    assert document["model"] is None
    assert all(item["told"] for item in document["found"])
    assert "only what people wrote" in visterm("search", "boat", "-w", workspace).stdout


def test_models_of_before_there_were_probabilities_still_search(visterm, workspace):
    file = workspace / ".visterm" / "models" / "knn-tags" / "1" / "model.json"
    contents = json.loads(file.read_text(encoding="utf-8"))
    assert contents.pop("relevance")
    del contents["checksum"]  # which came later
    file.write_text(json.dumps(contents), encoding="utf-8")
    assert load_model(file.parent).relevance is None
    printed = visterm("search", "boat", "-w", workspace).stdout
    assert "never measured" in printed
    assert "pictures/" in printed


def test_what_says_how_sure_a_model_may_be_must_be_that(visterm, workspace):
    file = workspace / ".visterm" / "models" / "knn-tags" / "1" / "model.json"
    contents = json.loads(file.read_text(encoding="utf-8"))
    del contents["checksum"]
    file.write_text(json.dumps(contents | {"relevance": contents["estimator"]}), encoding="utf-8")
    assert "not a usable model" in visterm("search", "boat", "-w", workspace, "-m", "knn-tags", code=1).stderr


def test_a_search_works_while_another_writes_the_index(workspace, monkeypatch):
    with Workspace(workspace) as opened:
        expected = opened.search("boat", limit=50, unlikely=True)
        (folder,) = (opened.state / "index").iterdir()
        index = Index.open(folder)
        index.remove(index.keys()[:20])
        with FeatureStore.open(folder).writer():  # as another process that has only begun
            while_locked = opened.search("boat", limit=50, unlikely=True)
        assert [item.path for item in while_locked.found] == [item.path for item in expected.found]
        assert len(index) == 30


def test_how_sure_a_model_may_be_is_learned_and_moves_with_it(workspace):
    with Workspace(workspace) as opened:
        relevance = opened.shelf.model(Task.RANK, "knn-tags").relevance
        assert 0 < relevance.nothing_below_ < 1
        assert 0 <= relevance.dependence_ <= 1
        assert opened.shelf.model(Task.CLASSIFY, "knn").relevance is None


def test_classifiers_without_probabilities_are_believed_as_often_as_they_were_right(workspace, monkeypatch):
    with Workspace(workspace) as opened:
        accuracy = opened.shelf.model(Task.CLASSIFY).info.metrics["accuracy"]
        knn = type(opened.shelf.model(Task.CLASSIFY).estimator)
        voted = knn.predict_proba
        monkeypatch.setattr(knn, "predict", lambda self, X: self.classes_[voted(self, X).argmax(axis=1)])
        monkeypatch.delattr(knn, "predict_proba")
        found = opened.search("class:coast", limit=50, unlikely=True).found
        believed = {round(item.score, 2) for item in found if not item.told}
        assert believed <= {round(accuracy, 2), round((1 - accuracy) / 9, 2)}


def test_pictures_from_elsewhere_are_compared_too(visterm, found, workspace, postcards, tmp_path):
    outside = tmp_path / "out(1).png"
    with Image.open(postcards / "pictures" / "0003.jpg") as picture:
        picture.resize((128, 96)).save(outside)
    by_name = names(found(f"like:{outside}", "--all", "-n", 4))
    assert "0003.jpg" in by_name
    assert len(by_name) == 4
    outside.write_bytes(b"no picture")
    assert "out(1).png" in visterm("search", f"like:{outside}", "-w", workspace, code=1).stderr
    assert (
        "several"
        in visterm("similar", postcards / "pictures" / "0003.jpg", "-r", "globals", "-w", workspace, code=1).stderr
    )


def test_joint_models_answer_for_classes_too(workspace):
    with Workspace(workspace) as opened:
        opened.train("knn", name="classes")
        found = opened.search("class:coast", limit=50, unlikely=True).found
        believed = [item for item in found if not item.told]
        assert believed
        assert believed[0].reasons[0].by == "model"
        assert believed[0].score > 1e-3


def test_look_alikes_by_codes_and_by_features(visterm_json, workspace, postcards):
    with Workspace(workspace) as opened:
        opened.train("ccd2")
    picture = postcards / "pictures" / "0003.jpg"
    by_codes = visterm_json("similar", picture, "--model", "ccd2", "-n", 5, "-w", workspace)
    by_colour = visterm_json("similar", picture, "-n", 5, "-w", workspace)
    for document in (by_codes, by_colour):
        scores = [item["score"] for item in document["found"]]
        assert len(scores) == 5
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert not any(item["path"].endswith("0003.jpg") for item in document["found"])
    with Workspace(workspace) as opened:
        model = opened.shelf.model(Task.RANK, "ccd2")
        features = opened.library.features(model.recipe, opened.catalogue.truth().sha256)
        (X,) = features.values()
        codes = model.estimator.transform(X)
        paths = opened.catalogue.truth().paths
        row = next(i for i, path in enumerate(paths) if path.endswith("0003.jpg"))
        apart = np.linalg.norm(codes - codes[row], axis=1)
        nearest = [paths[i] for i in np.argsort(apart) if i != row][:5]
        assert [item["path"] for item in by_codes["found"]] == nearest
        with pytest.raises(InputError, match="no codes"):
            opened.similar(picture, model="knn-tags")


def test_a_damaged_index_is_told(visterm, workspace):
    visterm("search", "boat", "-w", workspace)
    (manifest,) = (workspace / ".visterm" / "index").glob("*/manifest.json")
    manifest.write_text("{")
    assert "delete the folder" in visterm("search", "boat", "-w", workspace, code=1).stderr


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("is:untagged sky", "nothing fits well; these fit a little"),
        ("is:untagged sky tree", "nothing fits both words well; these fit a little"),
        ("is:untagged sky tree -car", "nothing fits all words well; these fit a little"),
    ],
)
def test_weak_findings_are_said_to_be_so(kept, monkeypatch, visterm, query, said):
    found = kept.search(query)
    assert found.weak is (found.best < 1 / 3)
    for least, weak in ((found.best, False), (found.best + 0.01, True)):
        monkeypatch.setattr("visterm.find.searching._WEAK", least)
        assert kept.search(query).weak is weak
        assert (said in visterm("search", query, "-w", kept.folder).stdout) is weak
    monkeypatch.setattr("visterm.find.searching._WEAK", 1.01)
    assert not kept.search("sky").weak, "people say so"
    assert not kept.search("sky xylophone").weak, "words were left out, and that is said"


def test_a_denied_picture_is_never_found(photos):
    """Not by a model, not with the less likely ones, and not by its caption or name."""
    before = photos.search("is:untagged sky", unlikely=True, limit=50).found
    denied = before[0].path
    photos.label(denied, no_tags="sky")
    for query in ("sky", "is:untagged sky", "sky tree", "tag:sky"):
        assert denied not in [found.path for found in photos.search(query, unlikely=True, limit=50).found]
    assert denied in [found.path for found in photos.search("is:untagged -sky", unlikely=True, limit=50).found]


def test_a_tag_of_ones_own_does_not_hide_a_picture(workspace):
    """A model that learned from a picture must not take one tag for all that fits."""
    with Workspace(workspace) as photos:
        photos.train("ridge-tags")
        before = {item.path: item.score for item in photos.search("sky", model="ridge-tags@1", limit=100).found}
        untagged = {one.paths[0] for one in photos.catalogue.pictures(state="ok") if not one.tags}
        path = max(untagged & before.keys(), key=lambda one: before[one])
        photos.label([path], tags=["favourite"], new=True)
        photos.train("ridge-tags")
        (found,) = [
            item
            for item in photos.search("sky", model="ridge-tags@2", unlikely=True, limit=100).found
            if item.path == path
        ]
        assert before[path] > 0.5
        assert found.score > 0.5 * before[path]
        (said,) = photos.tag([path], model="ridge-tags@2", n_best=3).answers
        assert "sky" in [label.name for label in said.labels]
        assert not any("too sure" in doubt for doubt in photos.tag([path], model="ridge-tags@2").doubts)
        assert any("too sure" in doubt for doubt in photos.tag([path], model="knn-tags").doubts)
