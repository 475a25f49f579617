"""Joint equal contribution: the tags of the nearest picture, then tags of the next nearest ones."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import FROM_1, Features, Scores, check_feature_mapping, declared
from visterm.distances import BaseDistances
from visterm.neighbours.voting.tagged_pictures import TaggedPictures

#: The largest score of a tag that the nearest picture lacks: just below 1/2.
_BELOW_HALF = 0.5 * (1 - 1e-9)


@declared
class JEC(TaggedPictures):
    """Joint equal contribution with greedy label transfer (Makadia, Pavlovic and Kumar, ECCV 2008).

    The distance is the sum of the base distances of all features. The paper scales each to lie between 0 and 1; here
    each is divided by the largest among up to 400 training pictures, evenly spread. All tags of the nearest picture
    come first, ordered by their frequency in training. Then come the tags of the other ``n_neighbors - 1`` pictures,
    ordered by a product: how often a tag occurs among them, times how often it occurs in training together with the
    tags of the nearest picture. Scores keep this order: 1 to 1/2 for the nearest picture's tags, below 1/2 for the
    others. They are not probabilities. ``X`` and ``metric`` are those of :class:`~visterm.neighbours.TagProp`.

    >>> X = {"colour": np.array([[0.0], [1.0], [9.0]]), "texture": np.array([[0.0], [2.0], [7.0]])}
    >>> jec = JEC(n_neighbors=2, metric="l1").fit(X, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> jec.score_tags({"colour": np.array([[0.1]]), "texture": np.array([[0.1]])}).argsort()[0, ::-1].tolist()[:2]
    [0, 1]
    """

    n_neighbors: Annotated[int, FROM_1] = 5
    _: KW_ONLY
    metric: Annotated[Any, str, Mapping] = "auto"
    _fitted_constraints: ClassVar[dict[str, str]] = {"together_": "n_tags n_tags"}

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures and count which tags go together."""
        self._validate_params()
        features, _ = self._keep_tagged(X, tags)
        self.distances_ = BaseDistances(self.metric, scale="largest").fit(features, rows=self.train_rows_)
        self.together_ = np.asarray((self.train_tags_.T @ self.train_tags_).toarray(), np.float32)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The order of greedy transfer as scores between 0 and 1."""
        neighbours = self._neighbours(X)
        scores = np.zeros((len(neighbours), len(self.tag_counts_)))
        most = self.tag_counts_.max()
        for picture, rows in enumerate(neighbours):
            first = self.train_tags_[rows[:1]].indices
            near = np.asarray(self.train_tags_[rows[1:]].sum(axis=0), np.float64).ravel()
            known = self.together_[first].sum(axis=0, dtype=np.float64)
            local = near * known
            scores[picture] = _BELOW_HALF * local / max(1.0, local.max())
            scores[picture, first] = 0.5 + 0.5 * self.tag_counts_[first] / most
        return scores

    def _neighbours(self, X: Features) -> NDArray[np.intp]:
        features = check_feature_mapping(self, X, fitting=False)
        return self.distances_.nearest(features, self.n_neighbors, np.ones(len(features)))[0]
