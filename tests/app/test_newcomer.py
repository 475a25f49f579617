"""What a newcomer stumbles over: every answer says what is meant, in the same words, and fits 80 columns."""

from __future__ import annotations

import shutil

import pytest
from PIL import Image

from visterm.app import Workspace
from visterm.errors import InputError


@pytest.fixture
def folder(tmp_path):
    """A workspace with three pictures."""
    home = tmp_path / "home"
    home.mkdir()
    for number in range(3):
        Image.new("RGB", (40, 30), (80 * number, 20, 90)).save(home / f"{number}.png")
    with Workspace.create(home) as photos:
        photos.add()
    return home


# Adding


def test_what_visterm_draws_is_no_picture_of_the_collection(folder, visterm, visterm_json):
    told = visterm("show", "0.png", cwd=folder).stdout
    assert "0.sift.png" in told
    assert "'visterm add' leaves it out" in told
    visterm("show", "0.png", "-o", "seen.jpg", cwd=folder)
    visterm("search", "filename:png", "--sheet", "found.png", cwd=folder)
    added = visterm("add", cwd=folder).stdout
    assert "0 added, 3 unchanged" in added
    assert "3 files left out that Visterm drew itself" in added
    assert visterm_json("add", cwd=folder)["files"]["drawn"] == 3
    assert visterm_json("status", cwd=folder)["n_pictures"] == 3
    shutil.copy(folder / "0.png", folder / "copy.png")  # a picture like any other
    assert visterm_json("add", cwd=folder)["files"]["copies"] == 1


def test_an_empty_folder_is_told(tmp_path, folder, visterm):
    (tmp_path / "empty").mkdir()
    visterm("init", tmp_path / "empty")
    told = visterm("add", cwd=tmp_path / "empty").stdout
    assert told.startswith("there is no picture here: Visterm reads .bmp, .gif, .jpeg, .jpg")
    assert "no labels" not in told


def test_files_that_cannot_be_read_are_counted_once(folder, visterm):
    (folder / "broken.jpg").write_bytes(b"no picture")
    told = visterm("add", cwd=folder).stdout
    assert "1 added, 3 unchanged\n1 of these cannot be read as pictures: 'visterm status' says why\n" in told
    assert "unreadable broken.jpg: " in visterm("status", cwd=folder).stdout


def test_files_that_are_gone_are_told(folder, visterm):
    (folder / "2.png").unlink()
    assert "1 file gone since the last time; labels are kept" in visterm("add", cwd=folder).stdout


# Status and models


def test_status_names_the_models_in_use(workspace, visterm, visterm_json):
    visterm("train", "knn", "-w", workspace)
    status = visterm_json("status", "-w", workspace)
    assert status["in_use"] == {"classify": "knn@2", "tag": "knn-tags@1", "search": "knn-tags@1"}
    assert status["models"] == ["knn@1", "knn-tags@1", "knn@2"]
    shown = visterm("status", "-w", workspace).stdout
    assert "models in use: knn@2 to classify, knn-tags@1 to tag and search; 1 more: visterm models" in shown


# Asking


def test_suggestions_say_whether_they_are_kept(workspace, visterm, postcards):
    asked = visterm("tag", "--best", 2, "-w", workspace).stdout
    assert "nothing was kept: --write keeps these as suggestions" in asked
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
    assert wrong == f"visterm: {option} is between 0 and 1, not 60: did you mean 0.6?\n"
    with Workspace(workspace) as photos, pytest.raises(InputError, match=r"did you mean 0\.6"):
        photos.tag(precision=60)
    assert "did you mean 0.8?" in visterm("export", "x.csv", "--suggestions", 80, "-w", workspace, code=2).stderr


def test_similar_says_what_its_numbers_are(folder, visterm):
    shown = visterm("similar", "0.png", "-r", "colour", cwd=folder).stdout.splitlines()
    assert shown[0] == "pictures like 0.png, and how alike they are (100%: the same)"
    assert shown[1].split()[0].endswith("%")


def test_a_file_is_found_by_its_name(folder, visterm_json):
    for query in ("2.png", "2"):
        found = visterm_json("search", query, cwd=folder)
        assert [item["path"] for item in found["found"]] == ["2.png"]
        assert not found["unknown"]
