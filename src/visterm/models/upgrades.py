"""Upgrades models of earlier formats while they are read; the files do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Classes that moved or changed their name since format 1: old name to new name.
_MOVED = {
    "visterm.graph.confidence:TagConfidence": "visterm.calibration:TagConfidence",
    "visterm.neighbours.thresholds:TagThresholds": "visterm.calibration:TagThresholds",
    "visterm.neighbours.thresholds:ThresholdedAnnotator": "visterm.calibration:ThresholdedAnnotator",
}


def from_format_1(contents: dict[str, Any]) -> dict[str, Any]:
    """Format 1 named modules, not packages, wrote "floor" for "baseline", and multiplied margins by temperature."""
    upgraded = {("baseline_metrics" if key == "floor_metrics" else key): item for key, item in contents.items()}
    for part in ("estimator", "relevance"):
        if part in upgraded:
            upgraded[part] = _each_estimator(upgraded[part], _from_format_1)
    return upgraded


def from_format_2(contents: dict[str, Any]) -> dict[str, Any]:
    """Format 2 had one name for a paper's method and for what improves on it: ``pamir``, ``slda``, ``corr-lda``."""
    estimator = contents.get("estimator")
    parameters = estimator.get("parameters") if isinstance(estimator, dict) else None
    method = contents.get("method")
    if not isinstance(parameters, dict):
        return contents
    if method == "pamir" and parameters.get("loss") == "warp":
        return contents | {"method": "pamir-warp"}
    if method in ("slda", "corr-lda") and _is_positive(parameters.get("refine")):
        return contents | {"method": f"{method}-refined"}
    return contents


def _from_format_1(stored: dict[str, Any]) -> dict[str, Any]:
    module, _, name = str(stored.get("class")).partition(":")
    target = _MOVED.get(f"{module}:{name}") or f"{'.'.join(module.split('.')[:2])}:{name}"
    fitted = stored.get("fitted")
    if target.startswith("visterm.margin:") and isinstance(fitted, dict) and _is_positive(fitted.get("temperature_")):
        fitted = fitted | {"temperature_": 1 / fitted["temperature_"]}
    return stored | {"class": target if module.startswith("visterm.") else stored.get("class"), "fitted": fitted}


def _each_estimator(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """``value`` with every estimator in it changed, those inside others first."""
    if isinstance(value, list):
        return [_each_estimator(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    inside = {key: _each_estimator(item, change) for key, item in value.items()}
    return change(inside) if inside.get("$") == "estimator" else inside


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
