"""visterm doctor: is everything in order, and if not, what to do."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from visterm import __version__
from visterm.app.cli.output import JsonOption, WorkspaceOption, command, emit, open_workspace, say, table
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.workspace import Workspace

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pillow", "joblib", "safetensors", "typer", "rich")
_EXTRAS = {"parquet": "pyarrow", "ray": "ray", "dask": "distributed", "gpu": "torch", "deep": "onnxruntime"}


def doctor(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Check the installation and the workspace; exit code 1 when something is wrong."""
    with command(as_json=as_json):
        problems: list[str] = []
        installed = {name: _version(name, problems) for name in _PACKAGES}
        extras = {extra: find_spec(package) is not None for extra, package in _EXTRAS.items()}
        checked: dict[str, Any] = {}
        try:
            with open_workspace(workspace) as opened:
                checked = _check_workspace(opened, problems)
        except InputError as error:
            if workspace is not None:
                raise
            checked = {"workspace": None, "note": str(error)}
        value = {
            "visterm": __version__,
            "python": platform.python_version(),
            "packages": installed,
            "extras": extras,
            "word_vectors": _check_words(problems),
            **checked,
            "problems": problems,
        }

        def show(console: Console) -> None:
            say(console, f"visterm {__version__}, Python {value['python']}")
            table(console, ("package", "version"), installed.items())
            have = [extra for extra, present in extras.items() if present]
            say(console, f"extras installed: {', '.join(have) or 'none'}")
            say(console, f"word vectors: {value['word_vectors'] or 'none'}")
            if checked.get("workspace"):
                say(
                    console,
                    f"workspace {checked['workspace']}: {checked['features']} feature stores, "
                    f"{checked['models']} models",
                )
            for problem in problems:
                say(console, f"problem: {problem}", style="red")
            if not problems:
                say(console, "all is well", style="green")

        emit(value, as_json, show)
        if problems:
            raise typer.Exit(1)


def _version(package: str, problems: list[str]) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        problems.append(f"the package {package} is missing: pip install {package}")
        return None


def _check_words(problems: list[str]) -> str | None:
    """Which word vectors are installed."""
    from visterm.language.installed import installed

    vectors = installed()
    if vectors is None:
        return None
    try:
        return f"{vectors.about.get('source')}, {vectors.n_words} words of {vectors.n_dims} numbers"
    except VistermError as error:
        problems.append(str(error))
        return None


def _check_workspace(workspace: Workspace, problems: list[str]) -> dict[str, Any]:
    from visterm.features import FeatureStore
    from visterm.models import load_model

    problems += [f"catalogue: {problem}" for problem in workspace.catalogue.check()]
    stores = sorted(path for path in (workspace.state / "features").glob("*") if path.is_dir())
    for folder in stores:
        found = _problems(lambda f: FeatureStore.open(f).check(), folder)
        problems += [f"{folder.name}: {problem}" for problem in found]
    folders = sorted((workspace.state / "models").glob("*/[0-9]*"))
    for folder in folders:
        problems += _problems(load_model, folder)
    return {"workspace": str(workspace.folder), "features": len(stores), "models": len(folders)}


def _problems(check: Callable[[Path], object], folder: Path) -> list[str]:
    """The problems that ``check`` lists or fails with."""
    try:
        found = check(folder)
    except VistermError as error:
        return [str(error)]
    return found if isinstance(found, list) else []
