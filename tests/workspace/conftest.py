"""A small collection, its workspace, and the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from visterm.compute.parallel import Engine
from visterm.faces.cli import app
from visterm.postcards import make_postcards
from visterm.workspace import Workspace


@pytest.fixture(scope="session")
def postcards(tmp_path_factory) -> Path:
    """Fifty postcards with their labels; read only."""
    folder = tmp_path_factory.mktemp("collection") / "postcards"
    make_postcards(folder, 50, engine=Engine(n_jobs=1))
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory, postcards) -> Path:
    """A workspace over the postcards with a model of every task; read only."""
    folder = tmp_path_factory.mktemp("trained")
    with Workspace.create(folder) as workspace:
        workspace.add([postcards])
        workspace.train("knn")
        workspace.train("knn-tags")
    return folder


@pytest.fixture
def workspace(tmp_path, trained) -> Path:
    """A copy of the trained workspace that a test may change."""
    shutil.copytree(trained, tmp_path / "workspace")
    return tmp_path / "workspace"


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


@pytest.fixture(scope="session")
def looked_at(tmp_path_factory, trained) -> Callable[[], Path]:
    """Make a copy of the trained workspace, in which all features of the page are computed."""
    ready = tmp_path_factory.mktemp("ready") / "workspace"
    shutil.copytree(trained, ready)
    with Workspace(ready) as workspace:
        workspace.features(for_models=True)

    def copy() -> Path:
        return Path(shutil.copytree(ready, tmp_path_factory.mktemp("copy") / "workspace"))

    return copy


@pytest.fixture(scope="session")
def bare(tmp_path_factory, postcards) -> Path:
    """The postcards without any label, in which all features of the page are computed; read only."""
    folder = Path(shutil.copytree(postcards / "pictures", tmp_path_factory.mktemp("bare") / "photos"))
    with Workspace.create(folder) as workspace:
        workspace.add()
        workspace.features(for_models=True)
    return folder


@pytest.fixture
def photos(looked_at) -> Iterator[Workspace]:
    """A workspace that a test may change."""
    with Workspace(looked_at()) as opened:
        yield opened


@pytest.fixture(scope="module")
def kept(looked_at) -> Iterator[Workspace]:
    """A workspace that the tests of a module share and do not change."""
    with Workspace(looked_at()) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_word_vectors(tmp_path_factory, monkeypatch):
    """Word vectors that the person who runs the tests has installed are not looked at."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    """An empty folder, far from any workspace, in which commands run."""
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


@pytest.fixture
def visterm(elsewhere, monkeypatch) -> Callable[..., Done]:
    """Run the command line inside this process, in an empty folder."""

    def run(*arguments: object, code: int = 0, cwd: Path = elsewhere, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            patch.delenv("VISTERM_WORKSPACE", raising=False)
            patch.delenv("VISTERM_DATA", raising=False)
            # wide enough for every sentence to stay in one line; a test of lengths says COLUMNS="80"
            done = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "400"} | environment)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, f"exit code {done.exit_code}\n{done.stdout}\n{done.stderr}"
        return Done(done.stdout, done.stderr)

    return run


@pytest.fixture
def visterm_process(elsewhere) -> Callable[..., Done]:
    """Run the real command line, in an empty folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VISTERM", "COV_"))}

    def run(*arguments: object, code: int = 0, cwd: Path = elsewhere, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "visterm", *map(str, arguments)],
            cwd=cwd,
            env=kept | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return Done(done.stdout, done.stderr)

    return run


@pytest.fixture
def visterm_json(visterm):
    """Run a command with --json and read its document."""

    def run(*arguments: object, **options):
        return json.loads(visterm(*arguments, "--json", **options).stdout)

    return run
