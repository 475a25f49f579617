"""Too little memory ends a command in one line, and leaves nothing half-written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pytest
from PIL import Image

from visterm import errors
from visterm.collection import judgements
from visterm.compute import memory
from visterm.errors import InputError, MissingExtraError, ModelError
from visterm.faces import cli
from visterm.find import suggesting
from visterm.learn import data
from visterm.learn.engine import affordable
from visterm.workspace import Workspace


@pytest.fixture
def large(tmp_path):
    """A workspace, and a good picture of 79 million pixels in a folder of its own."""
    Workspace.create(tmp_path / "home").close()
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (8900, 8900), "red").save(tmp_path / "photos" / "large.png")
    Image.new("RGB", (64, 48), "red").save(tmp_path / "photos" / "small.png")
    return tmp_path


def with_little_memory(*arguments):
    """Run a command that may use 500 MB of addresses, which is enough for all but large pictures."""
    return subprocess.run(
        [sys.executable, "-m", "visterm", *map(str, arguments)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (500 * 10**6, 500 * 10**6)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
def test_a_picture_too_large_for_the_memory_is_not_called_damaged(large, visterm_json):
    done = with_little_memory("add", large / "photos", "--json", "-w", large / "home")
    assert done.returncode == 0, done.stderr
    (skipped,) = json.loads(done.stdout)["skipped"]
    assert skipped["where"].endswith("large.png")
    assert "not enough memory" in skipped["reason"]
    assert visterm_json("add", large / "photos", "-w", large / "home")["files"]["added"] == 1
    assert visterm_json("status", "-w", large / "home")["n_ok"] == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit addresses")
def test_too_little_memory_costs_one_line_and_nothing_half_written(large, visterm):
    visterm("add", large / "photos", "-w", large / "home")
    done = with_little_memory("features", "colour", "-w", large / "home")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("visterm: there is not enough memory")
    assert done.stderr.count("not enough memory") == 1
    assert "Traceback" not in done.stderr
    visterm("doctor", "-w", large / "home")
    assert "2 computed" in visterm("features", "colour", "-w", large / "home").stdout


def chained(outer: Exception, inner: BaseException) -> Exception:
    """``outer``, raised because of ``inner``."""
    outer.__cause__ = inner
    return outer


class PanicException(BaseException):
    """As a library in Rust ends."""


NOT_LOADED = ImportError("a.so: failed to map segment from shared object")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        NOT_LOADED,
        RuntimeError("std::bad_alloc"),
        chained(OSError("Could not find/load shared object file 'libllvmlite.so'"), NOT_LOADED),
        chained(MissingExtraError("onnxruntime", None, "a network"), NOT_LOADED),
        SystemError("error return without exception set"),
        PanicException("PyObject pointer is null"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_kind_of_missing_memory_is_the_same_line(visterm, workspace, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(Workspace, "status", fail)
    monkeypatch.setattr(errors, "_NEEDED_BYTES", 2**60)  # so much no computer has
    said = visterm("status", "-w", workspace, code=1).stderr
    assert said.startswith("visterm: there is not enough memory for this: ")
    assert len(said.splitlines()) == 1
    assert "not enough memory" in json.loads(visterm("status", "--json", "-w", workspace, code=1).stderr)["error"]


@pytest.mark.parametrize(
    "error",
    [
        SystemError("error return without exception set"),
        PanicException("a fault"),
        OSError(2, "No such file", "bad_alloc"),
        InputError("no picture is called bad_alloc"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_another_kind_is_not_taken_for_missing_memory(error):
    assert not errors.is_out_of_memory(error)


@pytest.mark.parametrize("kind", [OSError, InputError, ModelError])
def test_a_model_that_gets_no_memory_is_not_left_out(workspace, monkeypatch, kind):
    """Else a command would go on with a worse model, or say that there is none."""

    def fail(*_):
        raise kind("a library cannot be loaded") from NOT_LOADED

    with Workspace(workspace) as photos:
        monkeypatch.setattr("visterm.models.Model.estimator", property(fail))
        with pytest.raises(kind) as told:
            photos.tag()
        assert errors.is_out_of_memory(told.value)
        monkeypatch.undo()
        assert photos.tag().model == "knn-tags@1"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_memory_that_is_missing_while_a_command_is_imported_is_that_line_too(monkeypatch, capsys, options):
    def fail():
        raise ImportError("a.so: failed to map segment from shared object")

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr("sys.argv", ["visterm", "tag", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert len(said.splitlines()) == 1
    assert "there is not enough memory for this" in (json.loads(said)["error"] if options else said)


def contents(workspace):
    """Every file of a workspace but the database's own, and its size."""
    files = (file for file in (workspace / ".visterm").rglob("*") if file.is_file() and "sqlite" not in file.name)
    return {str(file): file.stat().st_size for file in files}


@pytest.mark.parametrize("arguments", [["train", "knn-tags"], ["evaluate", "knn"]])
def test_learning_that_does_not_fit_says_so_before_it_begins(visterm, workspace, monkeypatch, arguments):
    before = contents(workspace)
    monkeypatch.setenv("VISTERM_MEMORY", "1GB")  # what the option says goes with the test
    monkeypatch.setattr(memory, "left", lambda: 100)
    said = visterm(*arguments, "--memory", "2GB", "-w", workspace, code=1).stderr
    assert said.startswith("visterm: learning ")
    assert "would need about" in said
    assert "and 0 MB may be used: allow more with --memory" in said
    assert len(said.splitlines()) == 1
    assert contents(workspace) == before


def test_what_does_not_fit_is_left_out_and_told(visterm_json, visterm, workspace, monkeypatch):
    """The tags that most pictures have are learned; search still finds what people said of the others."""
    with Workspace(workspace) as photos:
        used = [use for use in photos.vocabulary().tag.terms if use.n_accepted]
        photos.label(photos.collection().frame.paths[0], tags=["heirloom"], new=True)
        bytes_of_tag = affordable.bytes_of_tag(len(photos.collection().truth))
    monkeypatch.setattr(memory, "left", lambda: 3 * bytes_of_tag)
    monkeypatch.setattr(data, "affordable_rows", lambda rows, _: rows)
    done = visterm("train", "knn-tags", "--json", "-w", workspace)
    assert set(json.loads(done.stdout)["tags"]) == {use.name for use in used[:3]}
    assert f"the 3 most frequent of {len(used) + 1} tags are learned" in done.stderr
    monkeypatch.undo()
    (found,) = visterm_json("search", "heirloom", "-w", workspace)["found"]
    assert found["told"]


@pytest.mark.parametrize("size", ["2 apples", "-1GB", "3MB", ""])
def test_a_size_that_is_none_is_refused(visterm, workspace, size):
    assert repr(size) in visterm("train", "--memory", size, "-w", workspace, code=2).stderr


def test_suggestions_do_not_depend_on_how_many_pictures_are_looked_at_together(workspace, monkeypatch):
    with Workspace(workspace) as photos:
        photos.undo()  # so that more pictures have no tags
        asked = {"tags": {}, "two tags": {"n_best": 2}, "rare": {"rare": True, "n_best": 3}}
        whole = {name: photos.tag(**options).to_dict() for name, options in asked.items()}
        monkeypatch.setattr(suggesting, "_BLOCK", 1)
        monkeypatch.setattr(judgements, "_BLOCK", 1)
        assert {name: photos.tag(**options).to_dict() for name, options in asked.items()} == whole
        assert any(answer["labels"] for answer in whole["two tags"]["answers"])
        assert photos.classify().answers


def test_a_size_is_what_is_left_of_it(monkeypatch):
    monkeypatch.setenv("VISTERM_MEMORY", "")
    by_default = memory.left()
    memory.allow("800 MB")
    assert memory.left() < min(800 * 10**6, 2 * by_default + 1)
    memory.allow(None)
    assert "VISTERM_MEMORY" not in os.environ
