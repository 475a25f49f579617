"""Reads models of format 1 as models of today; the files do not change."""

from __future__ import annotations

from typing import Any

#: Classes that moved or changed their name since format 1: old name to new name.
_MOVED = {
    "visterm.graph.confidence:TagConfidence": "visterm.calibration:TagConfidence",
    "visterm.search.relevance:Relevance": "visterm.calibration:Relevance",
    "visterm.baselines.floor:MajorityClass": "visterm.neighbours:MajorityClass",
    "visterm.baselines.floor:TagFrequency": "visterm.neighbours:TagFrequency",
    "visterm.neighbours.two_pass:TwoPassKnn": "visterm.neighbours:LikelihoodTwoPassKnn",
}
#: What improves on a paper's method has a name of its own now: by method, the new name and the parameter that tells.
_RENAMED = {
    "pamir": ("pamir-warp", "loss"),
    "slda": ("slda-refined", "refine"),
    "corr-lda": ("corr-lda-refined", "refine"),
    "tagprop": ("tagprop-rare", "tag_power"),
    "two-pass-knn": ("two-pass-knn-likelihood", "learning"),
}
#: Topic models of papers; refined ones had the same class.
_OF_PAPERS = {"visterm.topics:LDA", "visterm.topics:CorrLDA", "visterm.topics:SupervisedLDA"}
#: Parameters, then attributes, that only refined topic models have now.
_REFINING = {"refine", "refine_ridge", "held_out_share"}
_REFINED = {"refinement_", "class_intercepts_", "temperature_", "online_"}


def from_format_1(contents: dict[str, Any]) -> dict[str, Any]:
    """Format 1 named modules, not packages, wrote "floor" for "baseline", and had neither numbers nor checksums."""
    upgraded = {("baseline_metrics" if key == "floor_metrics" else key): item for key, item in contents.items()}
    estimator, relevance = contents.get("estimator"), contents.get("relevance")
    upgraded |= {"sequence": 0, "estimator": _upgraded(estimator), "relevance": _upgraded(relevance)}
    parameters = estimator.get("parameters") if isinstance(estimator, dict) else None
    name, parameter = _RENAMED.get(str(contents.get("method")), ("", ""))
    told = parameters.get(parameter) if isinstance(parameters, dict) else None
    return upgraded | ({"method": name} if told in ("warp", "likelihood") or _is_positive(told) else {})


def _upgraded(value: Any) -> Any:
    """``value`` with every estimator in it upgraded, those inside others first."""
    if isinstance(value, list):
        return [_upgraded(item) for item in value]
    if not isinstance(value, dict):
        return value
    inside = {key: _upgraded(item) for key, item in value.items()}
    return _upgraded_estimator(inside) if inside.get("$") == "estimator" else inside


def _upgraded_estimator(stored: dict[str, Any]) -> dict[str, Any]:
    module, _, name = str(stored.get("class")).partition(":")
    if not module.startswith("visterm."):
        return stored
    target = _MOVED.get(f"{module}:{name}") or f"{'.'.join(module.split('.')[:2])}:{name}"
    upgraded, fitted, parameters = stored | {"class": target}, stored.get("fitted"), stored.get("parameters")
    if target.startswith("visterm.margin:") and isinstance(fitted, dict) and _is_positive(fitted.get("temperature_")):
        upgraded["fitted"] = fitted | {"temperature_": 1 / fitted["temperature_"]}  # it multiplied margins
    if name == "TwoPassKnn" and isinstance(parameters, dict):
        kept = {key: item for key, item in parameters.items() if key not in ("learning", "weights")}
        upgraded["parameters"] = kept
    if target == "visterm.graph:PictureGraph" and isinstance(parameters, dict):
        given = {key: item for key, item in parameters.items() if key != "max_distance" or item is not None}
        upgraded["parameters"] = given
    if target == "visterm.subspace:Moments" and isinstance(parameters, dict):
        upgraded["parameters"] = {key: item for key, item in parameters.items() if key != "device"}
    if target in _OF_PAPERS and isinstance(parameters, dict) and isinstance(fitted, dict):
        return upgraded | _of_paper_or_refined(target, parameters, fitted)
    return upgraded


def _of_paper_or_refined(target: str, parameters: dict[str, Any], fitted: dict[str, Any]) -> dict[str, Any]:
    """One class held the topic models of papers and refined ones."""
    if target != "visterm.topics:LDA" and any(_is_positive(parameters.get(k)) for k in ("refine", "held_out_share")):
        return {"class": target.replace(":", ":Refined")}
    given = {key: item for key, item in parameters.items() if key not in _REFINING}
    return {"parameters": given, "fitted": {key: fitted[key] for key in fitted if key not in _REFINED}}


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
