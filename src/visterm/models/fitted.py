"""What fitted attributes must be: their kind, shape and range; a model that says otherwise is refused.

Each class declares its own in ``_fitted_constraints``, beside the constraints of its parameters. Sizes are written as
names (``n_topics``); within one estimator a name stands for one number. Numbers are finite unless ``inf`` allows
others. Attributes that no class declares are not checked: what a model answers is.

A form is ``int`` or ``float`` (a number), or the sizes of an array or CSR matrix. ``name=int`` also gives the size
``name``. ``>0`` and ``>=0`` are ranges; ``<name`` are indices. ``mapping``, ``text`` and ``nothing`` (None) are other
kinds. Several forms are separated by ``|``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from visterm.errors import InputError

#: The topic models and graph methods give the same things the same names, so one table declares them.
_OF_TOPICS_AND_GRAPHS = {
    "n_tags_": "n_tags=int >=0",
    "n_iter_": "int >=0",
    "temperature_": "float >0",
    "strength_": "float >=0",
    "power_": "float >0",
    "width_": "float >=0",
    "alpha_": "float >=0 | n_topics >0",
    "alphas_": "n_classes n_topics >0",
    "topic_codewords_": "n_topics n_features >=0",
    "topic_tags_": "n_topics n_tags >=0",
    "topic_shares_": "n_topics >=0",
    "class_coefficients_": "n_class_rows n_topics",
    "class_intercepts_": "n_class_rows",
    "classes_": "n_classes",
    "class_frequency_": "n_classes >=0",
    "features_": "n_pictures n_features",
    "chosen_": "n_pictures n_pictures",
    "links_": "n_pictures n_pictures >=0",
    "component_of_": "n_pictures int >=0",
    "scores_": "n_pictures n_tags",
    "proportions_": "n_pictures n_topics >=0",
}


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator whose parameters or fitted attributes are not what its ``fit`` leaves."""
    validate = getattr(estimator, "_validate_params", None)
    if validate is not None:
        validate()
    forms = _forms_of(type(estimator))
    sizes: dict[str, int] = {}
    for name, value in vars(estimator).items():
        if name in forms:
            _check_form(f"{name} of {type(estimator).__name__}", forms[name], value, sizes)
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, np.ndarray) and not np.array_equal(np.unique(classes), classes):
        raise InputError("classes_ are not in ascending order")


def _forms_of(cls: type[Any]) -> dict[str, str]:
    """Fitted attributes to their forms; those of a class go before those of its bases."""
    forms = dict(_OF_TOPICS_AND_GRAPHS) if cls.__module__.startswith(("visterm.topics.", "visterm.graph.")) else {}
    for base in reversed(cls.__mro__):
        forms |= vars(base).get("_fitted_constraints", {})
    return forms


def _check_form(owner: str, forms: str, value: Any, sizes: dict[str, int]) -> None:
    for form in forms.split("|"):
        wrong = _wrong(form.split(), value, sizes)
        if wrong is None:
            return
    raise InputError(f"{owner} {wrong}")


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
