"""A model folder on its own: it classifies and tags any picture, without a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from visterm.errors import InputError
from visterm.find.suggesting import Suggestions, Wanted, classify, tag
from visterm.workspace import Workspace


class LooseModel:
    """Answers like a :class:`~visterm.workspace.Workspace` for named pictures, and keeps nothing."""

    def classify(self, pictures: Sequence[Path], *, model: str | None, n_best: int, write: bool) -> Suggestions:
        """Say which class pictures belong to."""
        return classify(None, pictures, model=model, n_best=n_best, write=write)

    def tag(self, pictures: Sequence[Path], *, model: str | None, write: bool, **wanted: Any) -> Suggestions:
        """Suggest tags for pictures; ``wanted`` has the fields of :class:`~visterm.find.suggesting.Wanted`."""
        return tag(None, pictures, Wanted(**wanted), model=model, write=write)


def opened_or_loose(
    folder: Path | None, model: str | None, pictures: Sequence[Path] | None
) -> AbstractContextManager[Workspace | LooseModel]:
    """The workspace of ``folder`` or of the current folder; a model folder and named pictures need none."""
    try:
        return Workspace.find(folder)
    except InputError:
        if folder is not None or model is None or not pictures:
            raise
        return nullcontext(LooseModel())
