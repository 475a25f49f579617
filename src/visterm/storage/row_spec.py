"""The shape of one row."""

from __future__ import annotations

from dataclasses import dataclass

from visterm.errors import InputError

_DTYPES = {False: ("float32", "float16"), True: ("float32", "int32")}


@dataclass(frozen=True, slots=True)
class RowSpec:
    """The shape of rows: ``n_dims`` dense values, or sparse counts for bags of codewords.

    >>> RowSpec(1000, dtype="int32", sparse=True)
    RowSpec(n_dims=1000, dtype='int32', sparse=True)
    """

    n_dims: int
    dtype: str = "float32"
    sparse: bool = False

    def __post_init__(self) -> None:
        if type(self.sparse) is not bool:
            raise InputError(f"rows are sparse (True) or dense (False), not {self.sparse!r}")
        if type(self.n_dims) is not int or not 0 < self.n_dims < 2**31:
            raise InputError(f"rows have between 1 and 2**31 - 1 dimensions, not {self.n_dims!r}")
        if self.dtype not in _DTYPES[self.sparse]:
            kind = "sparse" if self.sparse else "dense"
            raise InputError(f"{kind} rows are {' or '.join(_DTYPES[self.sparse])}, not {self.dtype!r}")
