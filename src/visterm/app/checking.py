"""Is everything in order, and if not, what to do."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.errors import InputError, VistermError
from visterm.version import __version__

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pillow",
    "joblib",
    "safetensors",
    "onnxruntime",
    "typer",
    "rich",
)
_EXTRAS = {"parquet": "pyarrow", "ray": "ray", "dask": "distributed", "gpu": "torch", "deep": "timm"}


@dataclass(frozen=True)
class Checkup(Document):
    """What was checked; ``problems`` is empty when all is well. Without a workspace only the installation is."""

    visterm: str
    python: str
    packages: dict[str, str | None]
    extras: dict[str, bool]
    word_vectors: str | None
    workspace: str | None = None
    features: int = 0
    models: int = 0
    note: str | None = None
    n_without_file: int = 0
    problems: list[str] = field(default_factory=list)


def check(folder: Path | None = None) -> Checkup:
    """Check the installation and the workspace of ``folder``; without one named there need not be any."""
    from visterm.app.workspace import Workspace

    try:
        with Workspace.find(folder) as workspace:
            return doctor(workspace)
    except InputError as error:
        if folder is not None:
            raise
        return doctor(None, note=str(error))


def doctor(workspace: Workspace | None, *, note: str | None = None) -> Checkup:
    """Check the installation and, if there is one, the workspace; ``note`` says why there is none."""
    problems: list[str] = []
    packages = {name: _version(name, problems) for name in _PACKAGES}
    stores = models = n_without_file = 0
    if workspace is not None:
        stores, models = _check_workspace(workspace, problems)
        n_without_file = 0 if problems else workspace.catalogue.counts().n_missing
    return Checkup(
        visterm=__version__,
        python=platform.python_version(),
        packages=packages,
        extras={extra: find_spec(package) is not None for extra, package in _EXTRAS.items()},
        word_vectors=_check_words(problems),
        workspace=None if workspace is None else str(workspace.folder),
        features=stores,
        models=models,
        note=note,
        n_without_file=n_without_file,
        problems=problems,
    )


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


def _check_workspace(workspace: Workspace, problems: list[str]) -> tuple[int, int]:
    """Check catalogue, feature stores and models; how many stores and models there are."""
    from visterm.features import FeatureStore
    from visterm.models import load_model
    from visterm.search import Index

    problems += [f"catalogue: {problem}" for problem in workspace.catalogue.check()]
    stores = sorted(path for path in (workspace.state / "features").glob("*") if path.is_dir())
    for folder in stores:
        found = _problems(lambda f: FeatureStore.open(f).check(), folder)
        problems += [f"{folder.name}: {problem}" for problem in found]
    for folder in sorted(path for path in (workspace.state / "index").glob("*") if path.is_dir()):
        found = _problems(lambda f: Index.open(f).check(), folder)
        problems += [f"{folder.name}: {problem}" for problem in found]
    folders = sorted((workspace.state / "models").glob("*/[0-9]*"))
    for folder in folders:
        problems += _problems(load_model, folder)
    return len(stores), len(folders)


def _problems(check: Callable[[Path], object], folder: Path) -> list[str]:
    """The problems that ``check`` lists or fails with."""
    try:
        found = check(folder)
    except VistermError as error:
        return [str(error)]
    return found if isinstance(found, list) else []
