"""Nearest neighbours in the space of topics."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import FROM_1, Features, Scores, declared
from visterm.neighbours import KnnClassifier
from visterm.topics.inference.topic_model import TopicModel
from visterm.topics.lda import LDA


@declared
class TopicNeighbours(ClassifierMixin, TopicModel):
    """Predicts the most frequent class among pictures with the most similar topics (Bosch et al., ECCV 2006).

    Similarity compares topic proportions. LDA learns the topics without classes: pictures of unknown class (-1) help to
    find them, but are not neighbours. Parameters are those of :class:`~visterm.topics.lda.LDA` and
    :class:`~visterm.neighbours.KnnClassifier`.

    >>> X, y = [[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 6, 2], [0, 1, 3, 4]], [3, 3, 8, 8]
    >>> TopicNeighbours(n_topics=2, n_neighbors=1, random_state=0).fit(X, y).predict([[9, 9, 0, 0], [0, 0, 9, 9]])
    array([3, 8])
    """

    n_topics: int = 20
    _: KW_ONLY
    n_neighbors: Annotated[int, FROM_1] = 10
    metric: str = "hellinger"
    alpha: float = 0.1
    smoothing: float = 0.01
    n_tokens: float | None = None
    max_iter: int = 50
    random_state: Any = None

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Find the topics of all pictures, and keep the proportions of those whose class is known."""
        self._validate_params()
        self.lda_ = LDA(
            self.n_topics,
            alpha=self.alpha,
            smoothing=self.smoothing,
            n_tokens=self.n_tokens,
            max_iter=self.max_iter,
            random_state=self.random_state,
        ).fit(X)
        self.neighbours_ = KnnClassifier(self.n_neighbors, metric=self.metric).fit(self.lda_.transform(X), y)
        self.classes_ = self.neighbours_.classes_
        self.n_features_in_ = self.lda_.n_features_in_
        self.objective_, self.n_iter_ = self.lda_.objective_, self.lda_.n_iter_
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The share of each class among the neighbours."""
        check_is_fitted(self)
        return self.neighbours_.predict_proba(self.lda_.transform(X))

    def predict(self, X: Features) -> NDArray[Any]:
        """The class of most neighbours; ties go to the rarer class."""
        check_is_fitted(self)
        return self.neighbours_.predict(self.lda_.transform(X))
