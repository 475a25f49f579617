"""Is everything in order, and if not, what to do."""

from __future__ import annotations

import itertools
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.app.document import Document
from visterm.compute import progress
from visterm.errors import InputError, VistermError
from visterm.storage import WriteLock
from visterm.version import __version__

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace
    from visterm.features import FeatureStore
    from visterm.search import Index

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
    repaired: list[str] = field(default_factory=list)


def check(folder: Path | None = None, *, repair: bool = False) -> Checkup:
    """Check the installation and the workspace of ``folder``; without one named there need not be any."""
    from visterm.app.workspace import Workspace

    try:
        with Workspace.find(folder) as workspace:
            return doctor(workspace, repair=repair)
    except InputError as error:
        if folder is not None:
            raise
        return doctor(None, note=str(error))


def doctor(workspace: Workspace | None, *, note: str | None = None, repair: bool = False) -> Checkup:
    """Check the installation and, if there is one, the workspace; ``note`` says why there is none.

    With ``repair``, derived files that are damaged go: features and indexes are deleted, and are computed again when
    they are needed; models, and what recipes learned, are moved to ``.visterm/broken``. The catalogue is not touched.
    """
    problems: list[str] = []
    repaired: list[str] = []
    packages = {name: _version(name, problems) for name in _PACKAGES}
    stores = models = n_without_file = 0
    if workspace is not None:
        stores, models = _check_workspace(workspace, problems, repaired if repair else None)
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
        repaired=repaired,
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
        vectors.check()
        return f"{vectors.about.get('source')}, {vectors.n_words} words of {vectors.n_dims} numbers"
    except VistermError as error:
        problems.append(str(error))
        return None


def _check_workspace(workspace: Workspace, problems: list[str], repaired: list[str] | None) -> tuple[int, int]:
    """Check catalogue, feature stores, indexes, recipes and models; how many stores and models there are.

    A problem that was repaired goes to ``repaired`` instead; None: nothing is to be repaired.
    """
    from visterm.features import FeatureStore
    from visterm.models import load_model
    from visterm.search import Index

    state = workspace.state
    problems += [f"catalogue: {problem}" for problem in workspace.catalogue.check()]
    stores, folders = _folders(state / "features", "*"), _folders(state / "models", "*/[0-9]*")
    indexes = _folders(state / "index", "*")
    opened: list[tuple[Path, Callable[[Path], FeatureStore | Index]]] = [(path, FeatureStore.open) for path in stores]
    opened += [(path, Index.open) for path in indexes]
    with progress.task("Checking files", total=len(opened) + len(folders)) as bar:
        for folder, open_it in opened:
            _tell(_problems(_checking(open_it), folder), problems, repaired, folder, _renewed(open_it))
            bar.advance()
        for file, reason in workspace.library.check_learned():
            _tell([reason], problems, repaired, file, _moved_aside(state))
        for folder in folders:
            _tell(_problems(load_model, folder), problems, repaired, folder, _moved_aside(state))
            bar.advance()
    return len(stores), len(folders)


def _folders(parent: Path, pattern: str) -> list[Path]:
    return sorted(path for path in parent.glob(pattern) if path.is_dir())


def _tell(
    found: list[str], problems: list[str], repaired: list[str] | None, path: Path, repair: Callable[[Path], str]
) -> None:
    """Add what is wrong with ``path`` to the problems, or repair it and tell that."""
    lines = [line if path.name in line else f"{path.name}: {line}" for line in found]
    if not lines or repaired is None:
        problems += lines
        return
    try:
        done = repair(path)
        repaired += [f"{line}; {done}" for line in lines]
    except (VistermError, OSError) as error:
        problems += [*lines, f"{path} cannot be repaired: {error}"]


def _checking(open_it: Callable[[Path], FeatureStore | Index]) -> Callable[[Path], list[str]]:
    return lambda folder: open_it(folder).check()


def _renewed(open_it: Callable[[Path], FeatureStore | Index]) -> Callable[[Path], str]:
    """Removes what an unfinished write left; if more is wrong, the whole folder."""

    def repair(folder: Path) -> str:
        with suppress(VistermError):
            open_it(folder).tidy()
        if not _problems(_checking(open_it), folder):
            return "the remains were removed"
        with WriteLock(folder).held(wait=False):  # nobody is writing
            shutil.rmtree(folder)
        return "it was deleted, and is computed again when it is needed"

    return repair


def _moved_aside(state: Path) -> Callable[[Path], str]:
    """Moves a damaged file or folder out of the way, and keeps it."""

    def repair(path: Path) -> str:
        target = state / "broken" / path.relative_to(state)
        target = next(t for n in itertools.count() if not (t := target.with_name(f"{target.name}.{n}")).exists())
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
        return f"it was moved to {target}"

    return repair


def _problems(check: Callable[[Path], object], folder: Path) -> list[str]:
    """The problems that ``check`` lists or fails with."""
    try:
        found = check(folder)
    except VistermError as error:
        return [str(error)]
    return found if isinstance(found, list) else []
