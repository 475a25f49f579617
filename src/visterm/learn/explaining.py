"""What is told of a trained model beside its measures: why it was chosen, what spreading brought, what is few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from visterm.contracts import Task

if TYPE_CHECKING:
    from visterm.learn import Choice, Trained
    from visterm.models import ModelInfo

#: A class with fewer labelled pictures than this has few.
_FEW = 5
#: A class or tag counts as weak below this quality, if it has at least this many pictures.
_WEAK, _WEAK_PICTURES = 0.5, 3


def facts_of(trained: Trained) -> dict[str, Any]:
    """What is kept with a model: labels of its classes, landmarks, how far beliefs spread, the share of strangers."""
    estimator = trained.estimator
    facts: dict[str, Any] = {}
    if hasattr(estimator, "classes_"):
        own = trained.own()
        counts = np.bincount(own.y[own.has_class], minlength=len(own.class_names)).tolist()
        facts["class_counts"] = {name: count for name, count in zip(own.class_names, counts, strict=True) if count}
    if landmarks := getattr(getattr(estimator, "estimator_", estimator), "n_landmarks_", 0):
        facts["landmarks"] = landmarks
    if hasattr(estimator, "neighbourhood_"):
        facts["spread"] = {"reach": estimator.reach_}
        tried = {float(alpha): float(loss) for alpha, loss in estimator.losses_}
        if 0.0 in tried and estimator.reach_ in tried:
            facts["spread"] |= {"log_loss": round(tried[estimator.reach_], 4), "without": round(tried[0.0], 4)}
    strangers = getattr(estimator, "strangers_", None)
    if strangers is not None:
        share = strangers.share_ * float(np.mean(~estimator.is_known_))
        right, measured = strangers.left_out_
        facts["none_of_these"] = {"share": round(share, 4), "right": right, "measured": measured}
    return facts


def why_chosen(task: Task, model: ModelInfo, choice: Choice | None) -> str:
    """Why this method, in one line."""
    said = []
    if choice is not None and len(choice.tried) > 1:
        by = {Task.CLASSIFY: "log loss", Task.ANNOTATE: "likeliest tags", Task.RANK: "average precision"}[task]
        said.append(f"best of {len(choice.tried)} by held-out {by}")
    elif choice is None:
        said.append("chosen before" if model.training.get("choice", {}).get("labelled") else "too few to compare")
    spread = model.training.get("spread") if task is not Task.RANK else None
    if spread is not None and spread["reach"] > 0:
        known = (
            f", log loss {spread['log_loss']:.3f} instead of {spread['without']:.3f}" if "log_loss" in spread else ""
        )
        said.append(f"spread over similar pictures by {spread['reach']:g}{known}")
    elif spread is not None:
        said.append("spreading over similar pictures did not help")
    return "; ".join(said)


def labelled_too_little(model: ModelInfo) -> list[str]:
    """The classes with few labelled pictures, the fewest first."""
    counts: dict[str, int] = model.training.get("class_counts", {})
    return sorted((name for name, count in counts.items() if count < _FEW), key=lambda name: (counts[name], name))


def weak_names(model: ModelInfo) -> list[str]:
    """The classes or tags that are recognised badly: first those where that costs most, by pictures times shortfall."""
    counts = model.training.get("label_counts", {})
    quality: dict[str, float] = model.training.get("label_quality", {})
    bad = [name for name, value in quality.items() if value < _WEAK and counts.get(name, 0) >= _WEAK_PICTURES]
    return sorted(bad, key=lambda name: (-counts[name] * (1.0 - quality[name]), name))[:3]
