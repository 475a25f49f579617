"""Brings rows of features into the form in which they are stored; rows of a wrong form raise an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.errors import InputError
from visterm.storage import RowSpec, stored_dtype

if TYPE_CHECKING:
    from scipy import sparse

#: Rows as callers pass them.
RowsLike: TypeAlias = "ArrayLike | sparse.csr_array[Any] | sparse.csr_matrix[Any]"


def prepare(rows: RowsLike, keys: Sequence[str], spec: RowSpec) -> Any:
    """The features of ``keys`` as an array, or for sparse features as a ``csr_array`` with sorted columns."""
    if spec.sparse:
        return _prepare_sparse(rows, keys, spec)
    if hasattr(rows, "tocsr"):
        raise InputError("these features are dense, but sparse rows were given")
    array = np.asarray(rows)
    _check_shape(array, keys, spec)
    array, fits = _convert(array, spec)
    if not fits.all():
        raise _misfit(keys[int(np.argmin(fits.all(axis=1)))], spec)
    return array


def stack(rows: Sequence[Any]) -> Any:
    """Prepared rows, one below the other."""
    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    from scipy import sparse

    return sparse.vstack(rows, format="csr")


def _prepare_sparse(rows: Any, keys: Sequence[str], spec: RowSpec) -> sparse.csr_array[Any]:
    from scipy import sparse

    bags: Any = rows if sparse.issparse(rows) else np.asarray(rows)
    _check_shape(bags, keys, spec)
    bags = sparse.csr_array(bags, copy=True)
    try:
        bags.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"the sparse rows are malformed: {error}") from error
    bags.sum_duplicates()  # also sorts the columns
    values, fits = _convert(bags.data, spec)
    if not fits.all():
        raise _misfit(keys[int(np.searchsorted(bags.indptr, np.argmin(fits), side="right")) - 1], spec)
    return sparse.csr_array((values, bags.indices, bags.indptr), shape=bags.shape)


def _check_shape(rows: Any, keys: Sequence[str], spec: RowSpec) -> None:
    if rows.dtype.kind not in "biuf":
        raise InputError(f"features are real numbers, not {rows.dtype}")
    if rows.shape != (len(keys), spec.n_dims):
        raise InputError(f"the features of {len(keys)} pictures must be {(len(keys), spec.n_dims)}, not {rows.shape}")


def _convert(values: NDArray[Any], spec: RowSpec) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values in the stored type, and which of them it can represent."""
    with np.errstate(over="ignore", invalid="ignore"):  # reported for each value instead
        converted = values.astype(stored_dtype(spec), order="C", copy=False)
        return converted, (converted == values) if spec.dtype == "int32" else np.isfinite(converted)


def _misfit(key: str, spec: RowSpec) -> InputError:
    kind = "whole" if spec.dtype == "int32" else "finite"
    return InputError(f"the features of {key} are not all {kind} numbers within the range of {spec.dtype}")
