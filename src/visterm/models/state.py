"""Turns fitted estimators into JSON and named tensors, and back; nothing in a file is ever executed.

An estimator is stored as its parameters and its fitted attributes, whose names end in ``_``. Their values are numbers,
strings, lists, dicts, NumPy arrays, CSR matrices and other estimators. A class of Visterm is stored by its public name,
such as ``visterm.topics:SupervisedLDA``, so that it may move between files. Classes from elsewhere are restored only if
their method is registered.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm import registry
from visterm.errors import InputError, is_out_of_memory
from visterm.models.fitted import check_fitted

Tensors = dict[str, NDArray[Any]]

_KIND = "$"  # the key that marks an encoded value
_CSR_PARTS = ("/data", "/indices", "/indptr")


def pack(value: Any, name: str, tensors: Tensors) -> Any:
    """``value`` as JSON; its arrays are put into ``tensors`` under names that start with ``name``."""
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
        name = _free(name, tensors, _CSR_PARTS)
        for part in _CSR_PARTS:
            tensors[name + part] = np.ascontiguousarray(getattr(csr, part[1:]))
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
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict):
        raise InputError(f"the model has a bare {type(value).__name__}, which no version of Visterm writes")
    match value.get(_KIND):
        case "float":
            return float(value["value"])
        case "array":
            return _tensor(tensors, value["name"])
        case "strings":
            return np.array(value["items"], dtype=np.str_).reshape(value["shape"])
        case "csr":
            parts = [_tensor(tensors, f"{value['name']}{part}") for part in _CSR_PARTS]
            if any(part.dtype.kind not in "iu" for part in parts[1:]):
                raise InputError(f"the indices of the model's sparse matrix {value['name']!r} are not whole numbers")
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
            raise InputError(f"the model has a value of unknown kind {kind!r}")


def _pack_array(array: NDArray[Any], name: str, tensors: Tensors) -> Any:
    if array.dtype.kind == "U":
        return {_KIND: "strings", "items": array.ravel().tolist(), "shape": list(array.shape)}
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InputError(f"{name} cannot be stored: arrays of type {array.dtype} are not numbers of up to 64 bits")
    name = _free(name, tensors)
    tensors[name] = np.ascontiguousarray(array).reshape(array.shape)
    return {_KIND: "array", "name": name}


def _free(name: str, tensors: Tensors, parts: tuple[str, ...] = ("",)) -> str:
    """``name``, with ' appended until it is free: keys of dicts may spell the same name as another value."""
    while any(name + part in tensors for part in parts):
        name += "'"
    return name


def _pack_estimator(estimator: Any, name: str, tensors: Tensors) -> Any:
    target = _public_name(type(estimator))
    if _estimator_class(target) is not type(estimator):  # could not be loaded again
        raise InputError(f"{name} cannot be stored: the name {target} leads to another class")
    fitted = {key: item for key, item in vars(estimator).items() if key.endswith("_") and not key.startswith("_")}
    parameters = estimator.get_params(deep=False)
    return {
        _KIND: "estimator",
        "class": target,
        "parameters": {key: pack(item, f"{name}({key})", tensors) for key, item in parameters.items()},
        "fitted": {key: pack(item, f"{name}.{key}" if name else key, tensors) for key, item in fitted.items()},
    }


def _unpack_estimator(value: dict[str, Any], tensors: Tensors) -> Any:
    cls = _estimator_class(value["class"])
    estimator = cls(**{key: unpack(item, tensors) for key, item in value["parameters"].items()})
    for key, item in value["fitted"].items():
        if not key.isidentifier() or not key.endswith("_") or key.startswith("_"):
            raise InputError(f"the model has an attribute called {key!r}, which no estimator has")
        setattr(estimator, key, unpack(item, tensors))
    check_fitted(estimator)
    return estimator


def _public_name(cls: type[Any]) -> str:
    """``package:Class`` for Visterm's own classes, ``module:Class`` for other classes."""
    parts = cls.__module__.split(".")
    module = ".".join(parts[:2]) if parts[0] == "visterm" else cls.__module__
    return f"{module}:{cls.__qualname__}"


def _estimator_class(target: Any) -> type[Any]:
    if not isinstance(target, str):
        raise InputError("the model does not name its class")
    module, _, name = target.partition(":")
    if module.split(".")[0] != "visterm" and target not in {method.target for method in registry.methods()}:
        raise InputError(f"the model has the unknown class {target!r}: register its method first")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        if is_out_of_memory(error):
            raise
        raise InputError(f"the model has the class {target!r}, which this version of Visterm lacks") from error
    # Only classes that the package itself defines: its modules also contain names imported from elsewhere.
    own = isinstance(cls, type) and _public_name(cls) == target
    if not (own and hasattr(cls, "get_params") and hasattr(cls, "fit")):
        raise InputError(f"the model names {target!r}, which is not a method")
    return cls


def _tensor(tensors: Tensors, name: Any) -> NDArray[Any]:
    if name not in tensors:
        raise InputError(f"the model's tensor {name!r} is missing")
    return tensors[name]
