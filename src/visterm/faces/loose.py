"""A model folder on its own: it classifies and tags any picture, without a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from visterm.contracts import Task
from visterm.errors import InputError
from visterm.find.suggesting import Suggestions, Wanted, classify_by, tag_by
from visterm.models import Model, load_model
from visterm.models.shelf import require_task
from visterm.workspace import Workspace

_Files = str | Path | Sequence[str | Path]


class LooseModel:
    """Answers like a :class:`~visterm.workspace.Workspace` for named pictures, and keeps nothing."""

    def classify(self, pictures: _Files, *, model: str | None, n_best: int = 3, write: bool = False) -> Suggestions:
        """Say which class pictures belong to."""
        return classify_by(_loaded(model, Task.CLASSIFY), None, _paths(pictures), n_best=n_best, write=write)

    def tag(
        self,
        pictures: _Files,
        *,
        model: str | None,
        precision: float = 0.8,
        n_best: int | None = None,
        at_least: float | None = None,
        rare: bool = False,
        write: bool = False,
    ) -> Suggestions:
        """Suggest tags for pictures."""
        wanted = Wanted(precision, n_best, at_least, rare)
        return tag_by(_loaded(model, Task.ANNOTATE), None, _paths(pictures), wanted, write=write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing is open."""


def opened_or_loose(folder: Path | None, model: str | None, pictures: Sequence[Path] | None) -> Workspace | LooseModel:
    """The workspace of ``folder`` or of the current folder; a model folder and named pictures need none."""
    try:
        return Workspace.find(folder)
    except InputError:
        if folder is not None or model is None or not pictures:
            raise
        return LooseModel()


def _loaded(reference: str | None, task: Task) -> Model:
    if reference is None:
        raise InputError("name the model folder to use, or work inside a workspace")
    return require_task(load_model(Path(reference)), task)


def _paths(pictures: _Files) -> list[Path]:
    return [Path(pictures)] if isinstance(pictures, (str, Path)) else [Path(name) for name in pictures]
