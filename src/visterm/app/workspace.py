"""A workspace: a folder of pictures and what Visterm knows of them, in ``.visterm`` beside them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from visterm.catalogue.catalogue import Catalogue
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    from visterm.contracts.tasks import Task
    from visterm.features import FeatureLibrary
    from visterm.models import Model, ModelInfo

STATE = ".visterm"
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Workspace:
    """The truth (a catalogue) and what is derived from it (features, models) of one collection.

    ``folder`` holds ``.visterm``; the pictures may lie in it or anywhere else. See :mod:`visterm.app.adding`,
    :mod:`~visterm.app.describing`, :mod:`~visterm.app.training` and :mod:`~visterm.app.answering` for what is done
    with it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.state = self.folder / STATE
        if not self.state.is_dir():
            raise InputError(f"{folder} is no Visterm workspace: make it one with 'visterm init {folder}'")
        self.catalogue = Catalogue(self.state / "catalogue.sqlite", root=self.folder)

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Make ``folder`` a workspace, or open it if it is one."""
        try:
            (folder / STATE).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VistermError(f"cannot make a workspace of {folder}: {error.strerror or error}") from error
        return cls(folder)

    @classmethod
    def find(cls, start: Path | None = None) -> Self:
        """The workspace of ``start``: the folder itself or the nearest one above it.

        Without ``start`` the folder named by ``VISTERM_WORKSPACE``, else the current one.
        """
        start = (start or Path(os.environ.get("VISTERM_WORKSPACE", "."))).resolve()
        for folder in (start, *start.parents):
            if (folder / STATE).is_dir():
                return cls(folder)
        raise InputError(f"there is no Visterm workspace at {start} or above it: make one with 'visterm init'")

    def close(self) -> None:
        """Close the catalogue."""
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def features(self) -> FeatureLibrary:
        """What recipes learned from this collection, and the features they computed."""
        from visterm.features import FeatureLibrary

        return FeatureLibrary(self.state)

    # Models

    def models(self) -> list[ModelInfo]:
        """All models, the newest last."""
        from visterm.models import read_info

        folders = (self.state / "models").glob("*/[0-9]*")
        return sorted((read_info(folder) for folder in folders), key=lambda info: (info.created, info.version))

    def model_folder(self, name: str, version: int) -> Path:
        """Where version ``version`` of model ``name`` is."""
        if not _MODEL_NAME.fullmatch(name):
            raise InputError(
                f"a model cannot be called {name!r}: use up to 64 letters, digits, '.', '_' and '-', a letter first"
            )
        return self.state / "models" / name / str(version)

    def next_version(self, name: str) -> int:
        """The version that the next model called ``name`` gets."""
        folder = self.model_folder(name, 1).parent
        versions = [int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()]
        return max(versions, default=0) + 1

    def model(self, task: Task, reference: str | None = None) -> Model:
        """The model to do ``task`` with: ``NAME``, ``NAME@VERSION`` or a model folder; by default the newest."""
        from visterm.models import load_model

        if reference is None:
            able = [info for info in self.models() if info.does(task)]
            if not able:
                raise InputError(f"there is no model that can {task}: train one with 'visterm train'")
            return load_model(self.model_folder(able[-1].name, able[-1].version))
        return require_task(load_model(self._find_model(reference)), task)

    def _find_model(self, reference: str) -> Path:
        if "/" in reference or os.sep in reference or reference in (".", ".."):
            return Path(reference)
        name, _, version = reference.partition("@")
        if not version:
            version = str(self.next_version(name) - 1)
        if version.isdigit() and self.model_folder(name, int(version)).is_dir():
            return self.model_folder(name, int(version))
        if Path(reference).is_dir():
            return Path(reference)
        known = ", ".join(f"{info.name}@{info.version}" for info in self.models()) or "none"
        raise InputError(f"there is no model {reference!r}; the models here are: {known}")


def require_task(model: Model, task: Task) -> Model:
    """The model itself, if it can do ``task``."""
    if not model.info.does(task):
        raise InputError(f"the model {model.info.name} cannot {task}: it was made to {' and '.join(model.info.tasks)}")
    return model
