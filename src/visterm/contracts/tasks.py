"""The tasks a method can do, and the protocol of each.

Pictures are rows everywhere. ``X`` is a dense float array, a CSR matrix of counts (bags of codewords), or, for methods
of several features, a mapping of name to array.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Matrix: TypeAlias = NDArray[Any] | sparse.csr_array
Features: TypeAlias = Matrix | Mapping[str, Matrix]
Scores: TypeAlias = NDArray[np.floating[Any]]

#: A picture whose class is not known, as in scikit-learn's semi-supervised methods.
UNKNOWN_CLASS = -1


class Task(StrEnum):
    """What a user asks a method to do."""

    CLASSIFY = "classify"
    ANNOTATE = "tag"
    RANK = "search"


@runtime_checkable
class Classifier(Protocol):
    """One class a picture."""

    classes_: NDArray[Any]

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of each picture."""


@runtime_checkable
class Annotator(Protocol):
    """Any number of tags a picture."""

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), larger is better; probabilities where the model defines them."""


@runtime_checkable
class Ranker(Protocol):
    """Pictures in the order of their relevance to a query."""

    def score_queries(self, X: Features, Q: ArrayLike | Matrix) -> Scores:
        """(n_queries, n_pictures), larger is better; ``Q`` holds normalised idf weights (n_queries, n_tags)."""
