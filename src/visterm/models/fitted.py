"""What fitted attributes must be: their kind, shape and range, by name; a model that says otherwise is refused.

Methods give the same things the same names, so one table declares them for all methods. Sizes are written as names
(``n_topics``); within one estimator a name stands for one number. Numbers are finite unless ``inf`` allows others.
Attributes that the table lacks are not checked: what a model answers is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from visterm.errors import InputError

#: Attributes to their forms: ``int`` or ``float`` (a number), or the sizes of an array or CSR matrix. ``name=int`` also
#: gives the size ``name``. ``>0`` and ``>=0`` are ranges; ``<name`` are indices.
#: ``mapping``, ``text`` and ``nothing`` (None) are other kinds. Several forms are separated by ``|``.
_FORMS = {
    "n_features_in_": "n_features=int >0",
    "n_tags_": "n_tags=int >=0",
    "n_iter_": "int >=0",
    "n_steps_": "int >=0",
    "n_neighbors_": "int >0",
    "n_dims_": "int >0",
    "n_train_": "n_train=int >0",
    "n_pictures_": "int >0",
    "n_draws_": "float >=0",
    "mean_n_tags_": "float >=0",
    "temperature_": "float >0",
    "bandwidth_": "float >0 inf",
    "fall_": "float",
    "strength_": "float >=0",
    "power_": "float >0",
    "width_": "float >=0",
    "aggressiveness_": "float >0",
    "mean_distance_": "float >0",
    "deviation_": "float >0",
    "mean_": "float | n_x",
    "dependence_": "float",
    "nothing_below_": "float",
    "pair_weight_": "float",
    "slope_": "float | n_tags inf",
    "offset_": "float | n_tags",
    "alpha_": "float >=0 | n_topics >0",
    "alphas_": "n_classes n_topics >0",
    "topic_codewords_": "n_topics n_features >=0",
    "topic_tags_": "n_topics n_tags >=0",
    "topic_shares_": "n_topics >=0",
    "class_coefficients_": "n_class_rows n_topics",
    "class_intercepts_": "n_class_rows",
    "classes_": "n_classes",
    "class_frequency_": "n_classes >=0",
    "class_counts_": "n_classes >=0",
    "train_classes_": "n_train <n_classes",
    "train_features_": "n_train n_features | mapping",
    "train_tags_": "n_train n_tags >=0",
    "train_rows_": "n_train int >=0",
    "rows_": "nothing | n_train int >=0",
    "train_codes_": "n_train n_code",
    "tag_counts_": "nothing | n_tags int >=0",
    "tag_frequency_": "n_tags >=0",
    "tag_frequencies_": "n_tags >=0",
    "tag_means_": "n_tags",
    "tag_scales_": "n_tags",
    "tag_platt_": "n_tags 2",
    "word_means_": "n_tags",
    "word_deviations_": "n_tags >0",
    "word_odds_": "n_tags",
    "idf_": "n_tags",
    "C_": "float >0 | n_tags >0",
    "together_": "n_tags n_tags",
    "translation_": "n_features n_tags",
    "evidence_": "n_train n_features",
    "tag_shares_": "n_train n_tags",
    "set_words_": "n_sets n_tags",
    "coef_": "n_outputs n_features",
    "intercept_": "n_outputs",
    "dual_coef_": "n_outputs n_support",
    "support_": "n_support int >=0",
    "support_vectors_": "n_support n_features",
    "own_weights_": "n_support",
    "kernel_mean_": "n_train | n_landmarks",
    "landmarks_": "n_landmarks n_features",
    "features_": "n_pictures n_features",
    "chosen_": "n_pictures n_pictures",
    "links_": "n_pictures n_pictures >=0",
    "component_of_": "n_pictures int >=0",
    "scores_": "n_pictures n_tags",
    "proportions_": "n_pictures n_topics >=0",
    "x_mean_": "n_features",
    "x_squares_": "n_features",
    "x_components_": "n_features n_code",
    "tag_components_": "n_tags n_code",
    "training_components_": "n_features n_code",
    "training_tag_components_": "n_tags n_code",
    "y_mean_": "n_tags",
    "uncertainty_x_": "n_code",
    "uncertainty_xy_": "n_code",
    "correlations_": "n_code",
    "covariances_": "n_code",
    "words_": "n_groups n_words n_group_dims | n_words n_group_dims",
    "coefficients_": "n_coefficients",
    "rank_weights_": "n_ranks",
    "kernel_": "text",
    "metrics_": "mapping",
    "feature_widths_": "mapping",
    "feature_weights_": "mapping",
    "dimension_weights_": "mapping",
    "scales_": "mapping",
}


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator whose parameters or fitted attributes are not what its ``fit`` leaves."""
    validate = getattr(estimator, "_validate_params", None)
    if validate is not None:
        validate()
    sizes: dict[str, int] = {}
    for name, value in vars(estimator).items():
        if name in _FORMS:
            _check_form(type(estimator).__name__, name, value, sizes)
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, np.ndarray) and not np.array_equal(np.unique(classes), classes):
        raise InputError("classes_ are not in ascending order")


def _check_form(owner: str, name: str, value: Any, sizes: dict[str, int]) -> None:
    forms = _FORMS[name].split("|")
    for form in forms:
        wrong = _wrong(form.split(), value, sizes)
        if wrong is None:
            return
    raise InputError(f"{name} of {owner} {wrong}")


def _wrong(form: list[str], value: Any, sizes: dict[str, int]) -> str | None:
    """What is wrong with ``value``; ``sizes`` learns the sizes that it has."""
    *_, last = form
    if last == "nothing":
        return None if value is None else "is something"
    if last == "mapping":
        return None if isinstance(value, dict) else "is not a mapping"
    if last == "text":
        return None if isinstance(value, str) else "is not a text"
    name, _, kind = form[0].partition("=")
    if (kind or name) in ("int", "float"):
        return _wrong_number(kind or name, value, form[1:]) or (_wrong_sizes([name], (value,), sizes) if kind else None)
    if not isinstance(value, np.ndarray) and not sparse.issparse(value):
        return "is not an array"
    shape = [part for part in form if part.isdigit() or part.startswith("n_")]
    if value.ndim != len(shape):
        return f"has {value.ndim} dimensions instead of {len(shape)}"
    numbers = value.data if sparse.issparse(value) else value
    if numbers.dtype.kind not in ("iub" if "int" in form else "iubf"):
        return f"holds {numbers.dtype}"
    wrong = _wrong_sizes(shape, value.shape, sizes)
    if numbers.dtype.kind == "f" and not ("inf" in form or np.isfinite(numbers).all()):
        return "holds numbers that are not finite"
    if wrong is None and numbers.size:
        least, most = numbers.min(), numbers.max()
        bound = next((sizes.get(part[1:]) for part in form if part.startswith("<")), None)
        if bound is not None and not 0 <= least <= most < bound:
            return f"is not between 0 and {bound - 1}"
        if (">0" in form and least <= 0) or (">=0" in form and least < 0):
            return f"goes down to {least}"
    return wrong


def _wrong_number(kind: str, value: Any, ranges: list[str]) -> str | None:
    allowed = (int,) if kind == "int" else (int, float)
    if not isinstance(value, allowed) or isinstance(value, bool) or not ("inf" in ranges or math.isfinite(value)):
        return f"is {value!r}, not a number"
    if (">0" in ranges and value <= 0) or (">=0" in ranges and value < 0):
        return f"is {value}"
    return None


def _wrong_sizes(names: list[str], found: tuple[int, ...], sizes: dict[str, int]) -> str | None:
    for name, size in zip(names, found, strict=True):
        known = int(name) if name.isdigit() else sizes.setdefault(name, size)
        if known != size:
            return f"has the size {size} where {name} is {known}"
    return None
