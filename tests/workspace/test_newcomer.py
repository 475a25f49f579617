"""What a newcomer stumbles over: every answer says what is meant, in the same words, and fits 80 columns."""

from __future__ import annotations

import csv
import json
import re
import shutil

import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.workspace import Workspace

# Adding


def test_what_visterm_draws_is_no_picture_of_the_collection(folder, visterm, visterm_json):
    told = visterm("show", "0.png", cwd=folder).stdout
    assert "0.sift.png" in told
    assert "'visterm add' leaves it out" in told
    visterm("show", "0.png", "-o", "seen.jpg", cwd=folder)
    visterm("search", "filename:png", "--sheet", "found.png", cwd=folder)
    added = visterm("add", cwd=folder).stdout
    assert "0 added, 3 unchanged" in added
    assert "left out 3 files that Visterm drew itself" in added
    assert visterm_json("add", cwd=folder)["files"]["drawn"] == 3
    assert visterm_json("status", cwd=folder)["n_pictures"] == 3
    shutil.copy(folder / "0.png", folder / "copy.png")  # a picture like any other
    assert visterm_json("add", cwd=folder)["files"]["copies"] == 1


def test_an_empty_folder_is_told(tmp_path, folder, visterm):
    (tmp_path / "empty").mkdir()
    visterm("init", tmp_path / "empty")
    told = visterm("add", cwd=tmp_path / "empty").stdout
    assert told.startswith("there is no picture here: Visterm reads .arw, .avif, ")
    assert ".jpeg, .jpg" in told
    assert "no labels" not in told


def test_files_that_cannot_be_read_are_counted_once(folder, visterm):
    (folder / "broken.jpg").write_bytes(b"no picture")
    told = visterm("add", cwd=folder).stdout
    assert "1 added, 3 unchanged\n1 of these cannot be read as pictures: 'visterm status' says why\n" in told
    assert "unreadable broken.jpg: " in visterm("status", cwd=folder).stdout


def test_only_sources_that_were_named_or_say_something_are_listed(folder, visterm):
    (folder / "coast").mkdir()
    Image.new("RGB", (40, 30), (9, 200, 90)).save(folder / "coast" / "a.png")
    told = visterm("add", "--format", "folders", cwd=folder).stdout
    assert "(xmp)" not in told
    assert "(folders): 1 picture, 1 class, 0 tags" in told


def test_files_that_are_gone_are_told(folder, visterm):
    (folder / "2.png").unlink()
    assert "1 file gone since the last time; their labels are kept" in visterm("add", cwd=folder).stdout


# Status and models


def test_status_names_the_models_in_use(workspace, visterm, visterm_json):
    visterm("train", "knn", "-w", workspace)
    status = visterm_json("status", "-w", workspace)
    assert status["in_use"] == {"classify": "knn@2", "tag": "knn-tags@1", "search": "knn-tags@1"}
    assert status["models"] == ["knn@1", "knn-tags@1", "knn@2"]
    shown = visterm("status", "-w", workspace).stdout
    assert "models in use: knn@2 to classify, knn-tags@1 to tag and search; 1 more: visterm models" in shown


def test_all_commands_measure_in_the_same_words(workspace, visterm):
    sentence = (
        r"classes  \d+% of classes right \(between \d+% and \d+%; measured on \d+ pictures [a-z ]+\); guessing: \d+%"
    )
    trained = visterm("train", "knn", "-w", workspace).stdout
    listed = visterm("models", "-w", workspace).stdout
    for shown in (trained, listed):
        assert re.search(sentence, shown), shown
        assert not re.search(r"\b0\.\d+(?! s)\b", shown)  # no fractions, but seconds
    assert "knn@2, in use to classify" in listed
    assert re.search(r"search   \d+% of the first pictures found right \(between", listed)
    compared = visterm("evaluate", "knn", "knn-tags", "-w", workspace).stdout
    assert re.search(r"^ ?knn +\d+\.\d% +\d+\.\d ", compared, re.MULTILINE)
    assert "majority-class and tag-frequency guess without" in compared
    assert "sugg.: " not in visterm("evaluate", "knn", "-w", workspace).stdout  # only what is shown is explained


def test_no_model_yet_is_told(folder, visterm):
    assert "there is no model yet: 'visterm train'" in visterm("models", cwd=folder).stdout


def test_an_empty_vocabulary_is_told(folder, visterm):
    assert (
        "no picture has a class yet: 'visterm label PICTURE --class NAME'" in visterm("vocabulary", cwd=folder).stdout
    )


def test_what_train_does_not_know_is_told(folder, visterm):
    for wrong, hint in (("nosuch", ": say classes, tags, search"), ("class", "did you mean 'classes'?")):
        told = visterm("train", wrong, cwd=folder, code=2).stderr
        assert f"unknown method {wrong!r}: " in told
        assert hint in told
        assert "or a method that 'visterm methods' lists" in told
        assert len(told) < 200


# Little to learn from


def labelled_as(home, rows):
    """A workspace with a picture for each row: its class, tags and split."""
    home.mkdir()
    lines = []
    for number, (class_name, tags, split) in enumerate(rows):
        colour = (230 * (number % 2), 40 + number, 90)
        Image.new("RGB", (40, 30), colour).save(home / f"{number}.png")
        row = {"file_name": f"{number}.png", "class": class_name, "tags": tags, "split": split}
        lines.append(json.dumps({key: value for key, value in row.items() if value}))
    (home / "metadata.jsonl").write_text("\n".join(lines))
    return home


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("a", ["x"], "test")] * 4, "all 4 pictures with a class are test pictures .* all 4 pictures with tags are"),
        ([("a", None, None)] * 4, "the only class is 'a', and what is not.*no picture has tags"),
        ([("a", ["x"], None)] + [(None, None, None)] * 3, "the only class is 'a'.*only one picture has tags"),
        ([(None, None, None)] * 2, "no picture has a class: give some with 'visterm label PICTURE --class NAME'"),
    ],
)
def test_too_little_to_learn_from_is_told(tmp_path, visterm, rows, reason):
    home = labelled_as(tmp_path / "home", rows)
    visterm("init", home)
    visterm("add", cwd=home)
    told = visterm("train", cwd=home, code=1).stderr
    assert re.search(reason, told), told


def test_labels_of_test_pictures_only_are_told_by_every_command(tmp_path, visterm):
    home = labelled_as(tmp_path / "home", [("ab"[number % 2], None, "test") for number in range(4)])
    visterm("init", home)
    visterm("add", cwd=home)
    for arguments in (("train", "knn"), ("evaluate", "knn"), ("train", "classes")):
        told = visterm(*arguments, "-r", "colour", cwd=home, code=1).stderr
        assert "all 4 pictures with a class are test pictures (split 'test'), which are never used for learning" in told


def test_one_class_is_told_by_a_method_too(tmp_path, visterm):
    home = labelled_as(tmp_path / "home", [("a", None, None)] * 4)
    visterm("init", home)
    visterm("add", cwd=home)
    told = visterm("train", "knn", "-r", "colour", cwd=home).stdout
    assert "The only class is 'a', so there is nothing to tell apart." in told
    assert "classes  too few pictures were measured to say how good it is" in told


def test_five_pictures_say_on_how_many_they_were_measured(tmp_path, visterm):
    home = labelled_as(tmp_path / "home", [("ab"[number % 2], ["xy"[number % 2]], None) for number in range(5)])
    visterm("init", home)
    visterm("add", cwd=home)
    told = visterm("train", "--minutes", 0, cwd=home, COLUMNS="80").stdout
    assert re.search(r"classes +too few pictures were measured to say how good it is", told), told
    compared = visterm("evaluate", "knn", "-r", "colour", cwd=home).stdout
    assert re.search(r"classify: 2 held-out pictures, 5 splits, too few to say\s+what is better", compared)
    assert "Trained on 5 labelled pictures of 5" in told
    assert max(map(len, told.splitlines())) <= 80


def test_pictures_left_out_are_named_and_not_counted(tmp_path, visterm, visterm_json):
    home = labelled_as(tmp_path / "home", [("ab"[number % 2], None, None) for number in range(8)])
    (home / "9.png").write_bytes(b"no picture")
    with (home / "metadata.jsonl").open("a") as rows:
        rows.write('\n{"file_name": "9.png", "class": "a"}')
    visterm("init", home)
    visterm("add", cwd=home)
    (home / "7.png").unlink()
    told = visterm("train", "classes", "--recipe", "colour", cwd=home).stdout
    assert "Trained on 7 labelled pictures of 8" in told
    assert "Left out: 2 pictures (9.png: " in told
    assert "; 7.png: " in told
    document = visterm_json("train", "knn", "--recipe", "colour", cwd=home)
    assert document["training"]["pictures_with_class"] == 7
    assert [item["where"].rpartition("/")[2] for item in document["left_out"]] == ["9.png", "7.png"]
    assert "Left out: 2 pictures" in visterm("train", "knn", "--recipe", "colour", cwd=home).stdout
    assert "Left out: 2 pictures" in visterm("evaluate", "knn", "--recipe", "colour", cwd=home).stdout


# Taking labels away


def test_a_table_can_be_read_by_people(folder, visterm, visterm_json):
    visterm("label", "0.png", "--tag", "sea", "--tag", "boat", cwd=folder)
    visterm("label", "1.png", "--tag", "Bath, Somerset", "--tag", "sea", "--new", cwd=folder)
    visterm("label", "2.png", "--tag", "sea", cwd=folder)
    assert visterm("export", "labels.csv", cwd=folder).stdout == "3 pictures written to labels.csv\n"
    with (folder / "labels.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["tags"] for row in rows] == ["boat; sea", '["Bath, Somerset", "sea"]', "sea"]
    assert [row["tag_sources"] for row in rows] == ["person; person", "person; person", "person"]
    assert [row["tag_scores"] for row in rows] == ["", "", ""]


def test_a_rehearsed_export_shows_what_would_be_written(folder, visterm):
    visterm("label", "1.png", "--tag", "sea", "--class", "coast", cwd=folder)
    told = visterm("export", "--format", "xmp", "--dry-run", cwd=folder).stdout
    assert re.search(r"such as .*1.png.xmp \(new\): tags sea; class coast", told)
    assert not list(folder.glob("*.xmp"))


# Asking


def test_suggestions_say_whether_they_are_kept(workspace, visterm, postcards):
    asked = visterm("tag", "--best", 2, "-w", workspace).stdout
    assert "nothing was kept; --write keeps these as suggestions" in asked
    kept = visterm("tag", "--best", 2, "--write", "-w", workspace).stdout
    assert "nothing was kept" not in kept
    assert "'visterm label PICTURE --accept'" in kept


def test_hopeless_classes_are_no_clutter(workspace, visterm, visterm_json):
    assert "under 1%" not in visterm("classify", "--best", 10, "-w", workspace).stdout
    (answer, *_) = visterm_json("classify", "--best", 10, "-w", workspace)["answers"]
    assert len(answer["labels"]) == 10  # machines get all


@pytest.mark.parametrize("option", ["--precision", "--sure"])
def test_a_share_in_per_cent_is_told(option, workspace, visterm):
    wrong = visterm("tag", option, 60, "-w", workspace, code=2).stderr
    assert wrong == f"visterm: {option} is a share between 0 and 1, not 60: did you mean 0.6?\n"
    with Workspace(workspace) as photos, pytest.raises(InputError, match=r"did you mean 0\.6"):
        photos.tag(precision=60)
    assert "did you mean 0.8?" in visterm("export", "x.csv", "--suggestions", 80, "-w", workspace, code=2).stderr


def test_similar_says_what_its_numbers_are(folder, visterm):
    shown = visterm("similar", "0.png", "-r", "colour", cwd=folder).stdout.splitlines()
    assert shown[0] == "pictures like 0.png, with their likeness (100%: the same)"
    assert shown[1].split()[0].endswith("%")


def test_a_file_is_found_by_its_name(folder, visterm_json):
    for query in ("2.png", "2"):
        found = visterm_json("search", query, cwd=folder)
        assert [item["path"] for item in found["found"]] == ["2.png"]
        assert not found["unknown"]
