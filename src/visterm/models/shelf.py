"""The models of a workspace: all that were trained, the one in use for each task, and those already loaded."""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from visterm.compute import progress
from visterm.contracts.tasks import Task
from visterm.errors import InputError, ModelError, is_out_of_memory
from visterm.storage import WriteLock, make_folder

if TYPE_CHECKING:
    from visterm.models import Model, ModelInfo

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: Models kept in memory; the one that was not used for the longest time leaves first.
_MAX_LOADED = 8

#: A model that learned from a smaller share of the labelled pictures is not compared with the others.
_ENOUGH = 0.8

#: What tells two states of a folder apart: the names in it and when each last changed.
Signature = tuple[tuple[str, int], ...]


class ModelShelf:
    """The models in ``folder``, as ``NAME/VERSION``; a model that appears is seen at the next call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._guard = threading.RLock()
        self._signature: Signature | None = None
        self._infos: list[ModelInfo] = []
        #: The folders of models that cannot be used, and why.
        self._broken: dict[Path, str] = {}
        self._loaded: OrderedDict[tuple[Path, int], Model] = OrderedDict()

    def infos(self) -> list[ModelInfo]:
        """The facts about all models that can be read, the newest last; a note names the others, once.

        The order is that of training. Models of format 1 have no number; they come first, by their time.
        """
        with self._guard:
            signature = self._look()
            if signature != self._signature:
                self._broken.clear()
                found = [info for folder in self.folder.glob("*/[0-9]*") if (info := self._read(folder)) is not None]
                self._infos = sorted(
                    found, key=lambda info: (info.sequence, "" if info.sequence else info.created, info.version)
                )
                self._signature = signature
            return list(self._infos)

    def next_sequence(self) -> int:
        """The number of the model that is trained next: larger than that of all others."""
        return max((info.sequence for info in self.infos()), default=0) + 1

    def place(self, name: str, version: int) -> Path:
        """Where version ``version`` of model ``name`` is."""
        if not _NAME.fullmatch(name):
            raise InputError(
                f"a model cannot be called {name!r}: use up to 64 letters, digits, '.', '_' and '-', a letter first"
            )
        return self.folder / name / str(version)

    @contextmanager
    def adding(self, name: str) -> Iterator[int]:
        """The version of the next model called ``name``; nobody else adds a model inside the block."""
        make_folder(self.folder)
        with WriteLock(self.folder).held():
            yield self.next_version(name)

    def next_version(self, name: str) -> int:
        """The version that the next model called ``name`` gets."""
        folder = self.place(name, 1).parent
        versions = [int(path.name) for path in folder.glob("[0-9]*") if path.name.isdigit()]
        return max(versions, default=0) + 1

    def best(self, task: Task) -> ModelInfo | None:
        """The model to do ``task`` with when none is named: the best measured one that was not found to be broken.

        Only the newest version of each name counts, and only models that learned from at least 80 % as many labelled
        pictures as the one with the most: figures from fewer labels cannot be compared. A model that was not
        measured comes after those that were; of equally good ones, the newest comes first.
        """
        newest: dict[str, ModelInfo] = {}
        place: dict[str, int] = {}
        for number, info in enumerate(self.infos()):
            usable = info.does(task) and self.place(info.name, info.version) not in self._broken
            if usable and (info.name not in newest or info.version > newest[info.name].version):
                newest[info.name], place[info.name] = info, number
        if not newest:
            return None
        most = max(info.learned_from(task) for info in newest.values())
        able = [info for info in newest.values() if info.learned_from(task) >= _ENOUGH * most]
        return max(able, key=lambda i: (-1.0 if (value := i.quality(task)) is None else value, place[i.name]))

    def in_use(self) -> dict[str, str]:
        """By task: the reference of the model that is used when none is named."""
        best = {task.value: self.best(task) for task in Task}
        return {task: info.reference for task, info in best.items() if info is not None}

    def model(self, task: Task, reference: str | None = None) -> Model:
        """The model to do ``task`` with: ``NAME``, ``NAME@VERSION`` or a model folder; by default the best."""
        if reference is None:
            info = self.best(task)
            if info is None:
                broken = f" ({len(self._broken)} cannot be used: see 'visterm doctor')" if self._broken else ""
                raise InputError(f"there is no model that can {task}{broken}: train one with 'visterm train'")
            folder = self.place(info.name, info.version)
            try:
                return self.load(folder)
            except ModelError as error:
                self._set_aside(folder, error)
                return self.model(task)
        return require_task(self.load(self._find(reference)), task)

    def use(self, task: Task, reference: str | None, work: Callable[[Model], T]) -> T:
        """What ``work`` does with the model of :meth:`model`; if that model is broken, with the next best.

        A model that a person named is not replaced by another one.
        """
        while True:
            model = self.model(task, reference)
            try:
                return work(model)
            except ModelError as error:
                # The work may also use another model, such as one for classes.
                name, _, version = (error.model or model.info.reference).partition("@")
                folder = self.place(name, int(version))
                if folder in self._broken or (reference is not None and error.model == model.info.reference):
                    raise
                self._set_aside(folder, error)

    def load(self, folder: Path) -> Model:
        """The model in ``folder``; a model that was loaded before is not read again."""
        from visterm.models import open_model

        try:
            changed = (folder / "model.json").stat().st_mtime_ns
        except OSError:
            return open_model(folder)  # says what is wrong
        with self._guard:
            model = self._loaded.get((folder, changed)) or open_model(folder)
            self._loaded[folder, changed] = model
            self._loaded.move_to_end((folder, changed))
            while len(self._loaded) > _MAX_LOADED:
                self._loaded.popitem(last=False)
            return model

    def _read(self, folder: Path) -> ModelInfo | None:
        from visterm.models import read_info

        try:
            info = read_info(folder)
            if (info.name, str(info.version)) != (folder.parent.name, folder.name):
                raise ModelError(f"the files in {folder} say that they are {info.reference}")
            return info
        except ModelError as error:
            self._set_aside(folder, error)
            return None

    def _set_aside(self, folder: Path, error: ModelError) -> None:
        """Do not use a model again; say so once. Too little memory says nothing about the model."""
        if is_out_of_memory(error):
            raise error
        with self._guard:
            if folder not in self._broken:
                self._broken[folder] = str(error)
                progress.note(f"a model is left out: {error}; see 'visterm doctor'")

    def _look(self) -> Signature:
        try:
            with os.scandir(self.folder) as names:
                return tuple(sorted((entry.name, entry.stat().st_mtime_ns) for entry in names if entry.is_dir()))
        except FileNotFoundError:
            return ()

    def _find(self, reference: str) -> Path:
        if "/" in reference or os.sep in reference or reference in (".", ".."):
            return Path(reference)
        name, _, version = reference.partition("@")
        if not version:
            version = str(self.next_version(name) - 1)
        if version.isdigit() and self.place(name, int(version)).is_dir():
            return self.place(name, int(version))
        if Path(reference).is_dir():
            return Path(reference)
        known = ", ".join(info.reference for info in self.infos()) or "none"
        raise InputError(f"there is no model {reference!r}; the models here are: {known}")


def require_task(model: Model, task: Task) -> Model:
    """The model itself, if it can do ``task``."""
    if not model.info.does(task):
        raise InputError(f"the model {model.info.name} cannot {task}: it was made to {' and '.join(model.info.tasks)}")
    return model
