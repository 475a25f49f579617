"""The types that methods take and return.

Pictures are rows everywhere. ``X`` is a dense float array, a CSR matrix of counts (bags of codewords), or a mapping of
name to array for methods that take several features.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Matrix: TypeAlias = NDArray[Any] | sparse.csr_array
Features: TypeAlias = Matrix | Mapping[str, Matrix]
Scores: TypeAlias = NDArray[np.floating[Any]]


class Compressed(NamedTuple):
    """A CSR (CSC) matrix for compiled loops: row (column) i has the entries ``indptr[i]`` to ``indptr[i + 1]``."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
