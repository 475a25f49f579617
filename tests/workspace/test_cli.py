"""The command line as a user has it: real processes, real files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from PIL import Image

from visterm.workspace import Workspace


def test_help_is_quick_and_imports_nothing_heavy():
    """What makes it quick is asserted here; how quick it is, is measured in benchmarks/start.py."""
    code = "import sys; from visterm.faces.cli import app; import json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "torch", "matplotlib", "fastapi", "joblib", "PIL"}


def test_every_verb_explains_itself(visterm_process):
    verbs = "demo init add status label vocabulary remove export methods features train models evaluate experiment"
    verbs += " classify tag search similar doctor"
    listed = visterm_process("--help").stdout
    for verb in verbs.split():
        assert verb in listed
    assert "visterm" in visterm_process("--version").stdout


def test_from_pictures_to_answers(visterm_process, visterm_json, tmp_path, postcards):
    """Every verb is once a process of its own."""

    def process_json(*arguments):
        return json.loads(visterm_process(*arguments, "--json").stdout)

    home = tmp_path / "home"
    assert process_json("init", home) == {"workspace": str(home), "created": True, "language": "en", "outer": None}
    added = process_json("add", postcards, "-w", home)
    assert added["files"]["added"] == 50
    assert added["labels"][0]["pictures"] == 50
    assert added["labels"][0]["classes"] == 10
    assert not added["skipped"]
    status = process_json("status", "-w", home)
    assert status["n_pictures"] == 50
    assert status["n_with_class"] == 40
    assert status["n_with_tags"] == 30

    assert process_json("features", "colour", "-w", home)["recipes"][0]["n_computed"] == 50
    (again,) = visterm_json("features", "colour", "-w", home)["recipes"]
    assert (again["n_computed"], again["n_known"]) == (0, 50)

    info = process_json("train", "knn", "--set", "n_neighbors=4", "-w", home)
    assert (info["name"], info["version"]) == ("knn", 1)
    assert set(info["metrics"]) == set(info["baseline_metrics"]) == {"accuracy", "mean class accuracy"}
    visterm_json("train", "knn-tags", "--name", "words", "-w", home)
    assert [model["name"] for model in process_json("models", "-w", home)["models"]] == ["knn", "words"]

    classified = process_json("classify", "-w", home)
    assert len(classified["answers"]) == 10
    assert all(len(answer["labels"]) == 3 for answer in classified["answers"])
    tagged = process_json("tag", "--write", "--best", 5, "-w", home)
    assert len(tagged["answers"]) == 20
    assert tagged["written"] == 20 * 5
    assert visterm_json("status", "-w", home)["label_sources"]["model words@1"] == 100
    likely = visterm_json("tag", "--precision", 0.3, "-w", home)["answers"]  # as many as are likely enough
    assert all(label["probability"] >= 0.15 for answer in likely for label in answer["labels"])

    found = process_json("search", "sky", "tree", "xylophone", "-n", 7, "--sheet", tmp_path / "sheet.png", "-w", home)
    assert len(found["found"]) == 7
    assert list(found["unknown"]) == ["xylophone"]
    scores = [item["score"] for item in found["found"]]
    assert scores == sorted(scores, reverse=True)
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.format == "PNG"

    like = process_json("similar", postcards / "pictures" / "0003.jpg", "-n", 5, "-w", home)
    assert len(like["found"]) == 5
    assert not any(item["path"].endswith("0003.jpg") for item in like["found"])

    compared = process_json("evaluate", "knn", "knn-tags", "-w", home)
    assert {row["method"] for row in compared["classify"]} == {"majority-class", "knn"}
    assert compared["classify"][0]["method"] == "majority-class"
    assert {row["method"] for row in compared["search"]} == {"tag-frequency", "knn-tags"}
    assert process_json("doctor", "-w", home)["problems"] == []


def test_people_read_the_same_answers(visterm, workspace):
    assert "with a class" in visterm("status", "-w", workspace).stdout
    assert "knn@1" in visterm("models", "-w", workspace).stdout
    assert "sky" in visterm("vocabulary", "-w", workspace).stdout
    assert "%" in visterm("classify", "-w", workspace).stdout
    assert re.search(r"sky \d+%", visterm("tag", "--best", 5, "-w", workspace).stdout)
    assert "pictures/" in visterm("search", "sky", "-w", workspace).stdout
    assert "AvgP" in visterm("evaluate", "knn-tags", "-w", workspace).stdout
    assert "majority-class" in visterm("methods").stdout
    assert "all is well" in visterm("doctor", "-w", workspace).stdout


def test_progress_is_json_lines_beside_the_document(visterm_process, tmp_path, postcards):
    visterm_process("init", tmp_path / "home")
    done = visterm_process("add", postcards, "-w", tmp_path / "home", "--json")
    json.loads(done.stdout)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"start", "end"} <= {event["event"] for event in events}


def test_colours_are_left_out_when_piped_or_unwanted(visterm, workspace):
    assert "\x1b[" not in visterm("status", "-w", workspace).stdout
    assert "\x1b[" not in visterm("status", "-w", workspace, NO_COLOR="1", FORCE_COLOR="").stdout


def test_the_workspace_is_found_from_inside_and_by_environment(visterm, visterm_json, workspace):
    inside = workspace / "deep" / "er"
    inside.mkdir(parents=True)
    assert visterm_json("status", cwd=inside)["workspace"] == str(workspace)
    assert visterm_json("status", VISTERM_WORKSPACE=str(workspace))["workspace"] == str(workspace)
    assert "visterm init" in visterm("status", code=1).stderr


def test_models_move_and_work_without_a_workspace(visterm_json, visterm, workspace, postcards, tmp_path):
    moved = tmp_path / "moved model"
    shutil.move(workspace / ".visterm" / "models" / "knn" / "1", moved)
    picture = postcards / "pictures" / "0001.jpg"
    said = visterm_json("classify", picture, "--model", moved)
    assert len(said["answers"]) == 1
    assert "cannot tag" in visterm("tag", picture, "--model", moved, code=1).stderr
    assert (moved / "README.md").read_text(encoding="utf-8").startswith("# knn, version 1")


def test_folders_are_classes_only_when_said(visterm, visterm_json, tmp_path, postcards):
    photos = tmp_path / "photos"
    for i, name in enumerate(["coast", "coast", "street"]):
        (photos / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(postcards / "pictures" / f"000{i}.jpg", photos / name)
    visterm("init", photos)
    assert "--format folders" in visterm("add", photos, "-w", photos).stdout
    visterm("add", photos, "--format", "folders", "-w", photos)
    assert visterm_json("status", "-w", photos)["classes"] == {"coast": 2, "street": 1}


def test_captions_become_tags_where_there_are_no_others(visterm, visterm_json, tmp_path, postcards):
    photos = tmp_path / "photos"
    photos.mkdir()
    for i, caption in enumerate(["Two boats and a tall building", "A boat", "tall building at night"]):
        shutil.copy(postcards / "pictures" / f"000{i}.jpg", photos / f"{i}.jpg")
        (photos / f"{i}.txt").write_text(caption, encoding="utf-8")
    visterm("init", photos)
    visterm("add", photos, "--phrase", "tall building", "--caption-tags", "--min-count", 2, "-w", photos)
    assert visterm_json("status", "-w", photos)["frequent_tags"] == {"boat": 2, "tall building": 2}


def test_rehearsals_change_nothing(visterm, visterm_json, workspace, postcards, tmp_path):
    before = visterm_json("status", "-w", workspace)
    extra = tmp_path / "extra.png"
    Image.new("RGB", (9, 9), "red").save(extra)
    assert visterm_json("add", extra, "--dry-run", "-w", workspace)["files"]["added"] == 1
    assert visterm_json("remove", postcards, "--dry-run", "-w", workspace)["removed"] == 50
    assert visterm_json("tag", "--write", "--dry-run", "-w", workspace)["written"] == 0
    assert visterm_json("export", tmp_path / "labels.csv", "--dry-run", "-w", workspace)["n_pictures"] == 50
    assert not (tmp_path / "labels.csv").exists()
    assert visterm_json("status", "-w", workspace) == before


def test_removing_forgets_pictures_but_no_files(visterm_json, workspace, postcards):
    picture = postcards / "pictures" / "0000.jpg"
    assert visterm_json("remove", picture, "-w", workspace)["removed"] == 1
    assert picture.exists()
    assert visterm_json("status", "-w", workspace)["n_pictures"] == 49


def test_what_was_removed_is_added_only_again(visterm, visterm_json, workspace, postcards):
    picture = postcards / "pictures" / "0000.jpg"
    visterm("label", picture, "--tag", "treasure", "-w", workspace)
    assert "with 1 label that you gave" in visterm("remove", picture, "-w", workspace).stdout
    assert "1 file removed earlier; add it with --again" in visterm("add", postcards, "-w", workspace).stdout
    assert visterm_json("status", "-w", workspace)["n_pictures"] == 49
    done = visterm_json("add", postcards, "--again", "--dry-run", "-w", workspace)
    assert (done["files"]["added"], done["files"]["removed"]) == (1, 0)
    assert visterm_json("add", postcards, "-w", workspace)["files"]["removed"] == 1
    visterm("add", postcards, "--again", "-w", workspace)
    assert visterm_json("status", "-w", workspace)["n_pictures"] == 50


def test_a_person_outranks_imports_and_models(visterm, visterm_json, workspace, postcards, tmp_path):
    picture = postcards / "pictures" / "0002.jpg"
    visterm("label", picture, "--class", "mine", "--tag", "treasure", "--no-tag", "sky", "-w", workspace)
    visterm("classify", picture, "--write", "-w", workspace)
    visterm("tag", picture, "--write", "-w", workspace)
    visterm("add", postcards, "-w", workspace)
    visterm("export", tmp_path / "labels.jsonl", "--format", "jsonl", "-w", workspace)
    rows = map(json.loads, (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    row = next(row for row in rows if row["file_name"].endswith("0002.jpg"))
    assert row["class"] == "mine"
    assert "treasure" in row["tags"]
    assert "sky" not in row["tags"]


def test_vocabulary_edits_last(visterm, visterm_json, workspace, postcards):
    visterm("vocabulary", "rename", "sky", "heaven", "-w", workspace)
    visterm("vocabulary", "merge", "tree", "pine", "--into", "tree", "-w", workspace)
    visterm("vocabulary", "drop", "cloud", "-w", workspace)
    visterm("add", postcards, "-w", workspace)
    names = {term["name"] for term in visterm_json("vocabulary", "-w", workspace)["tag"]["terms"]}
    assert {"heaven", "tree"} <= names
    assert not names & {"sky", "pine", "cloud"}
    visterm("vocabulary", "restore", "cloud", "-w", workspace)
    assert "cloud" in {term["name"] for term in visterm_json("vocabulary", "-w", workspace)["tag"]["terms"]}
    assert "shrubbery" in visterm("vocabulary", "rename", "shrubbery", "x", "-w", workspace, code=1).stderr


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "coco"])
def test_exports_are_read_back(format, visterm, visterm_json, workspace, postcards, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(postcards / "pictures", other / "pictures")
    visterm("init", other)
    visterm("add", postcards / "metadata.jsonl", other, "-w", other, code=0)
    file = other / f"labels.{'json' if format == 'coco' else format}"
    # The exporting workspace must know the pictures by the paths the importing one uses.
    home = tmp_path / "home"
    shutil.copytree(postcards, home)
    visterm("init", home)
    visterm("add", home, "-w", home)
    visterm("export", file, "--format", format, "-w", home)
    visterm("add", other, "--labels", file, "-w", other)
    expected, found = (visterm_json("status", "-w", folder) for folder in (home, other))
    assert found["frequent_tags"] == expected["frequent_tags"]
    assert found["classes"] == expected["classes"]


def test_sidecars_leave_pictures_alone(visterm, visterm_json, postcards, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(postcards, home)
    picture = home / "pictures" / "0000.jpg"
    before = (picture.stat().st_mtime_ns, picture.read_bytes())
    visterm("init", home)
    visterm("add", home, "-w", home)
    visterm("export", "--format", "xmp", "--yes", "-w", home)
    assert (picture.stat().st_mtime_ns, picture.read_bytes()) == before
    assert len(list((home / "pictures").glob("*.jpg.xmp"))) > 25
    again = visterm_json("export", "--format", "xmp", "--yes", "-w", home)
    assert again["files"] == []


def test_wrong_use_is_told_from_failure(visterm, workspace, tmp_path):
    visterm("nonsense", code=2)
    visterm("similar", code=2)
    for code, arguments, hint in [
        (2, ("train", "magic"), "unknown method"),
        (2, ("evaluate", "magic"), "unknown method"),
        (2, ("train", "knn", "--set", "n_neighbors"), "NAME=VALUE"),
        (2, ("train", "knn", "--set", "n_neighbours=3"), "no parameter"),
        (2, ("train", "knn", "--recipe", "magic"), "unknown recipe"),
        (2, ("add", "--format", "magic"), "unknown label format"),
        (2, ("export", tmp_path / "x", "--format", "docx"), "unknown export format"),
        (2, ("search", ""), "the query is empty"),
        (2, ("search", "(sky OR"), "the query ends after OR"),
        (2, ("label", "nowhere.jpg", "--clear", "everything"), "cannot be cleared"),
        (1, ("train", "knn", "--set", "n_neighbors=0"), "n_neighbors"),
        (1, ("train", "knn", "--name", "../escape"), "cannot be called"),
        (1, ("add", tmp_path / "nowhere"), "there is nothing at"),
        (1, ("classify", tmp_path / "nowhere.jpg"), "no such file"),
        (1, ("classify", "--model", "nobody"), "no model"),
        (1, ("similar", tmp_path / "nowhere.jpg"), "No such file"),
        (1, ("label", "nowhere.jpg", "--tag", "x"), "does not exist"),
        (1, ("remove", "nowhere.jpg"), "no such"),
    ]:
        done = visterm(*arguments, "-w", workspace, code=code)
        assert hint in done.stderr, (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1
    failed = visterm("train", "magic", "-w", workspace, "--json", code=2)
    assert "unknown method" in json.loads(failed.stderr.splitlines()[-1])["error"]


def test_experiments_from_the_command_line(visterm, visterm_json, tmp_path):
    folder = tmp_path / "experiments" / "knn"
    folder.mkdir(parents=True)
    (folder / "me-2024_knn_labelme8.toml").write_text(
        'title = "t"\nmethod = "knn"\ndata = "labelme8"\n[protocol]\nsplit = "given"\n'
        '[[figures]]\nmeasure = "accuracy"\n',
        encoding="utf-8",
    )
    here = ("--folder", tmp_path / "experiments")
    assert visterm_json("experiment", "list", *here)["experiments"][0]["name"] == "me-2024_knn_labelme8"
    assert "VISTERM_DATA" in visterm("experiment", "run", "all", *here, code=1).stderr
    assert "no experiment" in visterm("experiment", "run", "other", *here, code=1).stderr
    absent = visterm("experiment", "run", "all", *here, "--data", tmp_path, code=1).stderr
    assert "not in" in absent


def test_show_draws_what_the_machine_sees(visterm, visterm_json, workspace, postcards, elsewhere, tmp_path):
    picture = postcards / "pictures" / "0004.jpg"
    visterm("show", picture, "--feature", "lbp")
    with Image.open(elsewhere / "0004.lbp.png") as drawn:
        assert drawn.format == "PNG"
    visterm("show", picture, "-f", "bow-240", "-o", tmp_path / "words.jpg", "-w", workspace)
    with Image.open(tmp_path / "words.jpg") as drawn:
        assert drawn.format == "JPEG"
    assert "no codewords" in visterm("show", picture, "-f", "colour", "-w", workspace, code=1).stderr
    assert "cannot be shown" in visterm("show", picture, "-f", "aura", code=2).stderr
    assert "cannot be shown" in visterm("show", tmp_path / "nowhere.jpg", code=1).stderr


def test_recipes_are_listed_with_their_cost(visterm, visterm_json, workspace):
    listed = {item["name"]: item for item in visterm_json("features", "-w", workspace)["recipes"]}
    assert listed["fisher"]["megabytes"] == 25.0
    assert "visterms-10k" in visterm("features", "-w", workspace).stdout


def test_a_comparison_out_of_time_keeps_the_baseline_and_names_what_it_left_out(trained):
    with Workspace(trained) as workspace:
        comparison = workspace.evaluate("knn", "knn-tags", max_seconds=0)
    assert comparison.not_measured == ["knn", "knn-tags"]
    assert {result.method for results in comparison.tasks().values() for result in results} == {
        "majority-class",
        "tag-frequency",
    }


def test_several_pictures_are_labelled_at_once(visterm, visterm_json, workspace, postcards):
    pictures = [postcards / "pictures" / f"000{i}.jpg" for i in (1, 2, 3)]
    assert visterm_json("label", *pictures, "--tag", "heirloom", "-w", workspace)["labels"] == 3
    assert len(visterm_json("search", "heirloom", "-w", workspace)["found"]) == 3
    refused = visterm("label", pictures[0], "nowhere.jpg", "--tag", "keepsake", "-w", workspace, code=1)
    assert "nowhere.jpg does not exist" in refused.stderr
    assert not visterm_json("search", "tag:keepsake", "-w", workspace)["found"]  # all or none


def test_the_demo_leaves_other_folders_alone(visterm, workspace, tmp_path):
    before = sorted(path.name for path in workspace.iterdir())
    assert "is not empty" in visterm("demo", workspace, "--pictures", 50, code=1).stderr
    assert sorted(path.name for path in workspace.iterdir()) == before


def test_the_ending_of_a_file_names_the_format(visterm, visterm_json, workspace, tmp_path):
    for ending, begins in ((".csv", "\ufefffile_name,"), (".tsv", "file_name\t"), (".jsonl", "{"), (".json", "{")):
        file = tmp_path / f"labels{ending}"
        visterm("export", file, "-w", workspace)
        assert file.read_text(encoding="utf-8").lstrip("\ufeff").startswith(begins.lstrip("\ufeff")), ending
    assert "names no format" in visterm("export", tmp_path / "labels.xlsx", "-w", workspace, code=2).stderr
    assert visterm_json("export", tmp_path / "labels.txt", "-f", "tsv", "-w", workspace)["format"] == "tsv"


def test_what_a_newcomer_meets(visterm, visterm_json, workspace, postcards, tmp_path):
    assert "-w workspace" in visterm("status", cwd=workspace.parent, code=1).stderr
    assert "did you mean 'knn-tags'?" in visterm("train", "knn-tag", "-w", workspace, code=2).stderr
    labelled = visterm_json("train", "knn-tags", "-w", workspace)["training"]["pictures_with_tags"]
    assert f"{labelled} pictures with tags" in visterm("train", "knn-tags", "-w", workspace).stdout
    assert "nothing was changed" in visterm("tag", "--write", "--dry-run", "-w", workspace).stdout
    assert visterm_json("search", "boat", "-sky", "-w", workspace)["query"] == "boat -sky"
    shutil.rmtree(workspace / ".visterm" / "models")
    assert "train one with 'visterm train'" in visterm("classify", "-w", workspace, code=1).stderr
    (name,) = {visterm_json("search", "filename:0003", "-w", workspace)["found"][0]["path"]}
    visterm("show", name, "-o", tmp_path / "seen.png", "-w", workspace)
    assert (tmp_path / "seen.png").exists()
    abilities = {item["name"]: item["tasks"] for item in visterm_json("methods")["methods"]}
    assert abilities["knn-tags"] == ["tag", "search"]
    assert "no workspace was checked" in visterm("doctor").stdout


def test_a_comparison_fits_80_columns(visterm, workspace):
    printed = visterm("evaluate", "knn", "knn-tags", "label-propagation", "-w", workspace, COLUMNS="80").stdout
    assert "label-propagation " in printed
    assert max(map(len, printed.splitlines())) <= 110
    assert "best: " in printed
    assert "corrected for the number of methods" in " ".join(printed.split())


def test_a_comparison_shows_only_tasks_that_the_named_methods_do(visterm, workspace):
    printed = visterm("evaluate", "concept-svm", "-w", workspace).stdout
    assert printed.startswith("search: ")
    assert "tag: " not in printed
    assert "no method" not in printed
