"""Fitted estimators as JSON and named tensors, and back; nothing in a file is ever executed.

What is stored of an estimator is its parameters and the fitted attributes whose names end in ``_``: numbers, strings,
lists, dicts, NumPy arrays, CSR matrices and other estimators. Classes are restored only from this package or from the
registry of methods.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm import registry
from visterm.errors import InputError

Tensors = dict[str, NDArray[Any]]

_KIND = "$"  # the key that marks an encoded value


def pack(value: Any, name: str, tensors: Tensors) -> Any:
    """``value`` as JSON; its arrays go to ``tensors`` under names starting with ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {_KIND: "float", "value": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return _pack_array(value, name, tensors)
    if sparse.issparse(value):
        csr = sparse.csr_array(value)
        for part in ("data", "indices", "indptr"):
            tensors[f"{name}/{part}"] = np.ascontiguousarray(getattr(csr, part))
        return {_KIND: "csr", "name": name, "shape": list(csr.shape)}
    if isinstance(value, (list, tuple)):
        items = [pack(item, f"{name}/{i}", tensors) for i, item in enumerate(value)]
        return {_KIND: type(value).__name__, "items": items}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise InputError(f"{name} cannot be stored: its keys must be strings")
        return {_KIND: "dict", "items": {key: pack(item, f"{name}/{key}", tensors) for key, item in value.items()}}
    if hasattr(value, "get_params") and hasattr(value, "fit"):
        return _pack_estimator(value, name, tensors)
    raise InputError(f"{name} cannot be stored: a {type(value).__name__} is not a number, array, list or estimator")


def unpack(value: Any, tensors: Tensors) -> Any:
    """The value that :func:`pack` wrote."""
    if not isinstance(value, dict):
        return value
    match value.get(_KIND):
        case "float":
            return float(value["value"])
        case "array":
            return _tensor(tensors, value["name"])
        case "strings":
            return np.array(value["items"], dtype=np.str_).reshape(value["shape"])
        case "csr":
            parts = [_tensor(tensors, f"{value['name']}/{part}") for part in ("data", "indices", "indptr")]
            matrix = sparse.csr_array(tuple(parts), shape=tuple(value["shape"]))
            matrix.check_format(full_check=True)
            return matrix
        case "list":
            return [unpack(item, tensors) for item in value["items"]]
        case "tuple":
            return tuple(unpack(item, tensors) for item in value["items"])
        case "dict":
            return {key: unpack(item, tensors) for key, item in value["items"].items()}
        case "estimator":
            return _unpack_estimator(value, tensors)
        case kind:
            raise InputError(f"the model holds a value of unknown kind {kind!r}")


def _pack_array(array: NDArray[Any], name: str, tensors: Tensors) -> Any:
    if array.dtype.kind == "U":
        return {_KIND: "strings", "items": array.ravel().tolist(), "shape": list(array.shape)}
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} cannot be stored: arrays of type {array.dtype} are not numbers")
    tensors[name] = np.ascontiguousarray(array).reshape(array.shape)
    return {_KIND: "array", "name": name}


def _pack_estimator(estimator: Any, name: str, tensors: Tensors) -> Any:
    cls = type(estimator)
    fitted = {key: item for key, item in vars(estimator).items() if key.endswith("_") and not key.startswith("_")}
    parameters = estimator.get_params(deep=False)
    return {
        _KIND: "estimator",
        "class": f"{cls.__module__}:{cls.__qualname__}",
        "parameters": {key: pack(item, f"{name}({key})", tensors) for key, item in parameters.items()},
        "fitted": {key: pack(item, f"{name}.{key}" if name else key, tensors) for key, item in fitted.items()},
    }


def _unpack_estimator(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _estimator_class(value["class"])
    estimator = cls(**{key: unpack(item, tensors) for key, item in value["parameters"].items()})
    for key, item in value["fitted"].items():
        if not key.isidentifier() or not key.endswith("_") or key.startswith("_"):
            raise InputError(f"the model holds an attribute called {key!r}, which no estimator has")
        setattr(estimator, key, unpack(item, tensors))
    return estimator


def _estimator_class(target: Any) -> type[Any]:
    if not isinstance(target, str):
        raise InputError("the model does not name its class")
    module, _, name = target.partition(":")
    if module.split(".")[0] != "visterm" and target not in {method.target for method in registry.methods()}:
        raise InputError(f"the model is of the unknown class {target!r}: register its method before loading it")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"the model is of class {target!r}, which this version of Visterm does not have") from error
    if not (isinstance(cls, type) and hasattr(cls, "get_params") and hasattr(cls, "fit")):
        raise InputError(f"the model names {target!r}, which is not a method")
    return cls


def _tensor(tensors: Tensors, name: Any) -> NDArray[Any]:
    if name not in tensors:
        raise InputError(f"the model's tensor {name!r} is missing")
    return tensors[name]
