"""What one row of a feature looks like."""

from __future__ import annotations

from dataclasses import dataclass

from visterm.errors import InputError

DENSE_TYPES = ("float32", "float16")
BAG_TYPES = ("float32", "int32")


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """The width and type of a feature: dense rows, or sparse bags (counts or weights of codewords)."""

    n_dims: int
    dtype: str = "float32"
    sparse: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.n_dims, int) or isinstance(self.n_dims, bool) or self.n_dims < 1:
            raise InputError(f"a feature needs at least one dimension, not {self.n_dims!r}")
        allowed = BAG_TYPES if self.sparse else DENSE_TYPES
        if self.dtype not in allowed:
            kind = "bags" if self.sparse else "dense features"
            raise InputError(f"{kind} are stored as {' or '.join(allowed)}, not {self.dtype!r}")
