"""The protocol of each task: the interface of a method that can do it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike, NDArray

from visterm.contracts.types import Features, Matrix, Scores


@runtime_checkable
class Classifier(Protocol):
    """Gives each picture one class."""

    classes_: NDArray[Any]

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of each picture."""


@runtime_checkable
class Annotator(Protocol):
    """Gives each picture any number of tags."""

    def score_tags(self, X: Features) -> Scores:
        """(n_pictures, n_tags), larger is better; probabilities if the model defines them."""


@runtime_checkable
class Ranker(Protocol):
    """Ranks pictures by their relevance to a query."""

    def score_queries(self, X: Features, Q: ArrayLike | Matrix) -> Scores:
        """(n_queries, n_pictures), larger is better; ``Q`` holds normalised idf weights (n_queries, n_tags)."""
