"""Is everything in order, and if not, what to do."""

import itertools
import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from visterm import collection, features, index, models
from visterm.catalogue.healing import has_changed
from visterm.collection.holdings import Holdings
from visterm.compute import progress
from visterm.documents.document import Document
from visterm.errors import InputError, VistermError
from visterm.language.installed import installed
from visterm.storage import WriteLock
from visterm.upkeep import encoders
from visterm.version import __version__

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
_EXTRAS = {
    "parquet": "pyarrow",
    "ray": "ray",
    "dask": "distributed",
    "gpu": "torch",
    "deep": "timm",
    "pair": "tokenizers",
}


@dataclass(frozen=True)
class Checkup(Document):
    """What was checked (without a workspace, only the installation); ``problems`` is empty when all is well.

    ``n_without_file`` pictures have no file; ``n_changed`` files have changed since they were added. ``encoders`` are
    the installed image-text pairs.
    """

    visterm: str
    python: str
    packages: dict[str, str | None]
    extras: dict[str, bool]
    word_vectors: str | None
    encoders: list[str]
    workspace: str | None = None
    features: int = 0
    models: int = 0
    note: str | None = None
    n_without_file: int = 0
    n_changed: int = 0
    problems: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)


def check(folder: Path | None = None, *, repair: bool = False) -> Checkup:
    """Check the installation and the workspace of ``folder``; if no folder is named, there need not be a workspace."""
    try:
        place = Holdings.locate(folder)
    except InputError as error:
        if folder is not None:
            raise
        return doctor(None, note=str(error))
    with Holdings(place) as holdings:
        return doctor(holdings, repair=repair)


def doctor(holdings: Holdings | None, *, note: str | None = None, repair: bool = False) -> Checkup:
    """Check the installation and, if there is one, the workspace; ``note`` says why there is none.

    With ``repair``, derived files that are damaged go: features and indexes are deleted, and are computed again when
    they are needed; models, and what recipes learned, are moved to ``.visterm/broken``. The catalogue is not touched.
    """
    problems: list[str] = []
    repaired: list[str] = []
    packages = {name: _version(name, problems) for name in _PACKAGES}
    stores = models = n_without_file = n_changed = 0
    if holdings is not None:
        stores, models = _check_workspace(holdings, problems, repaired if repair else None)
        if not problems:
            n_without_file = holdings.catalogue.counts().n_missing
            n_changed = sum(has_changed(holdings.catalogue, path) for path in holdings.catalogue.known_files())
    return Checkup(
        visterm=__version__,
        python=platform.python_version(),
        packages=packages,
        extras={extra: find_spec(package) is not None for extra, package in _EXTRAS.items()},
        word_vectors=_check_words(problems),
        encoders=_check_encoders(problems),
        workspace=None if holdings is None else str(holdings.folder),
        features=stores,
        models=models,
        note=note,
        n_without_file=n_without_file,
        n_changed=n_changed,
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
    vectors = installed()
    if vectors is None:
        return None
    try:
        vectors.check()
        return f"{vectors.about.get('source')}, {vectors.n_words} words of {vectors.n_dims} numbers"
    except VistermError as error:
        problems.append(str(error))
        return None


def _check_encoders(problems: list[str]) -> list[str]:
    problems += encoders.check()
    return [pair.full_name for pair in encoders.show().pairs]


def _check_workspace(holdings: Holdings, problems: list[str], repaired: list[str] | None) -> tuple[int, int]:
    """Check catalogue, feature stores, indexes, recipes and models; returns the numbers of stores and models.

    A problem that was repaired goes to ``repaired`` instead; if that is None, nothing is repaired.
    """
    state = holdings.state
    problems += [f"catalogue: {problem}" for problem in holdings.catalogue.check()]
    stores, folders = _folders(state / "features", "*"), _folders(state / "models", "*/[0-9]*")
    # An index without a manifest is one whose first write a power cut ended: it is made when it is needed.
    begun = [folder for folder in _folders(state / "index", "*") if (folder / "manifest.json").exists()]
    indexes = [folder for folder in begun if not index.Index.is_outdated(folder)]
    with progress.task("Checking files", total=len(stores) + len(indexes) + len(folders)) as bar:
        for folder in stores + indexes:
            _tell(_problems(_checked, folder), problems, repaired, folder, _renewed)
            bar.advance()
        for file, reason in holdings.library.check_learned():
            _tell([reason], problems, repaired, file, _moved_aside(state))
        for folder in folders:
            _tell(_problems(models.load_model, folder), problems, repaired, folder, _moved_aside(state))
            bar.advance()
    if not problems:
        found = collection.derived.check_derived(holdings, repair=repaired is not None)
        if repaired is None:
            problems += [f"{line}: visterm doctor --repair removes them" for line in found]
        else:
            repaired += [f"{line}; they were removed, and are made again when they are needed" for line in found]
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


def _checked(folder: Path) -> list[str]:
    return features.FeatureStore.open(folder).check()


def _renewed(folder: Path) -> str:
    """Removes what an unfinished write left; if more is wrong, the whole folder."""
    with suppress(VistermError):
        features.FeatureStore.open(folder).tidy()
    if not _problems(_checked, folder):
        return "the remains were removed"
    with WriteLock(folder).held(wait=False):  # nobody is writing
        shutil.rmtree(folder)
    return "it was deleted, and will be computed again when it is needed"


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
