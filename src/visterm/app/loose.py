"""A model folder on its own: it classifies and tags any picture, without a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from visterm.app.shelf import require_task
from visterm.app.suggesting import Suggestions, classify, tag
from visterm.app.workspace import Pictures, Workspace
from visterm.contracts import Task
from visterm.errors import InputError
from visterm.models import Model, load_model


class LooseModel:
    """Answers like a :class:`~visterm.app.workspace.Workspace`, for pictures that are named; nothing is kept."""

    def classify(self, pictures: Pictures, *, model: str | None, n_best: int = 3, write: bool = False) -> Suggestions:
        """Say which class pictures belong to."""
        return classify(None, _loaded(model, Task.CLASSIFY), _paths(pictures), n_best=n_best, write=write)

    def tag(
        self,
        pictures: Pictures,
        *,
        model: str | None,
        precision: float = 0.8,
        n_best: int | None = None,
        at_least: float | None = None,
        rare: bool = False,
        write: bool = False,
    ) -> Suggestions:
        """Suggest tags for pictures."""
        chosen = _loaded(model, Task.ANNOTATE)
        return tag(
            None,
            chosen,
            _paths(pictures),
            precision=precision,
            n_best=n_best,
            at_least=at_least,
            rare=rare,
            write=write,
        )

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


def _paths(pictures: Pictures) -> list[Path]:
    return [Path(pictures)] if isinstance(pictures, (str, Path)) else [Path(name) for name in pictures]
