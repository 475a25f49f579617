"""The tags of the most similar training pictures."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.contracts import AnnotatorMixin, Features, Scores, check_features, check_tags, rows_with_tags, take
from visterm.contracts.estimator import FROM_1, NOT_NEGATIVE, Estimator, StrOptions, declared
from visterm.distances import METRICS, metric_named, nearest
from visterm.neighbours.voting.neighbour_count import choose_neighbours
from visterm.neighbours.voting.votes import count_votes


@declared
class KnnAnnotator(AnnotatorMixin, Estimator):
    """Tags a picture by the most frequent tags among the ``n_neighbors`` nearest tagged training pictures.

    A score is the share of neighbours that carry the tag. In a list of tags, ties go to the rarer tag (Nakayama et al.
    2010). Rows without tags are not neighbours. ``n_neighbors="auto"`` takes the number that tags training pictures
    best when their own tags are hidden.

    With ``shrinkage`` s the score is ``(votes + s * share) / (n_neighbors + s)``, where ``share`` is the share of the
    collection that carries the tag, counted with half a picture more. Then a tag that no neighbour carries keeps a
    small positive probability, even if it is rare or was never seen. Sums of logarithms need that.

    >>> KnnAnnotator(n_neighbors=2).fit([[0.0], [1.0], [9.0]], [[1, 0], [1, 1], [0, 1]]).score_tags([[0.2]])
    array([[1. , 0.5]])
    """

    scores_are_probabilities = True
    n_neighbors: Annotated[Any, FROM_1, StrOptions({"auto"})] = 16
    _: KW_ONLY
    metric: Annotated[str, StrOptions(set(METRICS))] = "euclidean"
    shrinkage: Annotated[float, NOT_NEGATIVE] = 0.0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "n_neighbors_": "int >0",
        "train_rows_": "n_train int >=0",
        "train_features_": "n_train n_features",
        "train_tags_": "n_train n_tags >=0",
    }

    def fit(self, X: Features, tags: Any) -> Self:
        """Keep the tagged pictures."""
        self._validate_params()
        X = check_features(self, X, fitting=True, non_negative=metric_named(self.metric).needs_counts, halves=True)
        tags = check_tags(tags, X.shape[0])
        self.train_rows_ = rows_with_tags(tags)
        self.train_features_ = take(X, self.train_rows_)
        self.train_tags_ = tags[self.train_rows_]
        self._count_tags(tags)
        if self.n_neighbors == "auto":
            self.n_neighbors_ = choose_neighbours(self.train_features_, self.train_tags_, self.metric)
        else:
            self.n_neighbors_ = int(self.n_neighbors)
        return self

    def score_tags(self, X: Features) -> Scores:
        """The share of neighbours that carry each tag."""
        neighbours = self._neighbours(X)
        return self._shrunk(count_votes(neighbours, self.train_tags_), neighbours.shape[1])

    def _neighbours(self, X: Features) -> NDArray[np.intp]:
        X = check_features(self, X, fitting=False, halves=True)
        return nearest(X, self.train_features_, self.n_neighbors_, metric=self.metric)[0]

    def _shrunk(self, votes: NDArray[Any], k: int) -> Scores:
        if not self.shrinkage:
            return votes / k
        shares = (self.tag_counts_ + 0.5) / (len(self.train_rows_) + 1)
        return (votes + self.shrinkage * shares) / (k + self.shrinkage)
