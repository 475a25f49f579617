"""What a person should know before trusting a model; every command and the page say it in the same words."""

from __future__ import annotations

from visterm.contracts import Task
from visterm.documents.figure import LEAST
from visterm.models import Model

#: Probabilities that were checked on fewer held-out pictures than this are called a guess.
_ENOUGH_HELD_OUT = 20
_GUESS = "too few labelled pictures to check the probabilities: they are a guess"


def doubts_about(model: Model, task: Task) -> list[str]:
    """Why to take the answers of ``model`` with care; empty if there is no reason."""
    found = []
    if model.info.is_below_baseline(task) and _is_measured(model, task):
        found.append(
            f"{model.info.reference} is worse than guessing on held-out pictures: label more, then train again"
        )
    if task is not Task.CLASSIFY and model.search_settings is None:
        found.append(f"probabilities of {model.info.name} were never measured: label more pictures, then train again")
    elif not is_calibrated(model, task):
        found.append(_GUESS)
    return found


def _is_measured(model: Model, task: Task) -> bool:
    """Whether enough pictures were held out for a figure; models of earlier versions do not say."""
    return "label_counts" not in model.info.training or model.info.held_out(task) >= LEAST


def is_calibrated(model: Model, task: Task) -> bool:
    """Whether enough pictures were held out to check the probabilities; models of earlier versions do not say."""
    if task is not Task.CLASSIFY and model.search_settings is None:
        return False
    return "label_counts" not in model.info.training or model.info.held_out(task) >= _ENOUGH_HELD_OUT
