"""Too little memory ends a command in one line, and leaves nothing half-written."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest
from PIL import Image

from visterm import errors
from visterm.errors import InputError, MissingExtraError, ModelError
from visterm.faces import cli
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
