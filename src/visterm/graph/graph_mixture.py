"""The mixture of unigrams over a graph of similar pictures: LapMixUnigram, ready to use."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import Annotated, Any, Self

from sklearn.utils.validation import check_is_fitted

from visterm.contracts import FROM_1, NOT_NEGATIVE, AnnotatorMixin, Features, Interval, Scores, StrOptions, declared
from visterm.graph.inference.lapvar import METHODS, Array
from visterm.graph.picture_graph import WEIGHTS, PictureGraph
from visterm.graph.regularized import GraphRegularized
from visterm.topics import TopicModel, UnigramMixture


@declared
class GraphMixture(AnnotatorMixin, TopicModel):
    """Tags a collection with few tagged pictures, by topics that similar pictures share (Shao et al. 2014).

    A :class:`~visterm.graph.GraphRegularized` over a :class:`~visterm.topics.UnigramMixture` and a
    :class:`~visterm.graph.PictureGraph`, with their parameters. Pass all pictures to ``fit``, untagged ones with empty
    rows of tags: the model learns from them too, and their scores are then part of the result. New pictures are folded
    in through their neighbours.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [0, 0], [0, 1], [0, 0]]
    >>> GraphMixture(n_topics=2, n_neighbors=1, random_state=0).fit(X, tags).score_tags(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    scores_are_probabilities = True
    learns_from_untagged = True

    n_topics: int = 50
    _: KW_ONLY
    n_neighbors: Annotated[int, FROM_1] = 10
    metric: str = "cosine"
    weights: Annotated[str, StrOptions(WEIGHTS)] = "binary"
    strength: Annotated[float | str, Interval(Real, 0, None, closed="both"), StrOptions({"auto"})] = "auto"
    method: Annotated[str, StrOptions(METHODS)] = "lapvar1"
    smoothing: Annotated[float, NOT_NEGATIVE] = 0.1
    n_tokens: float | None = None
    held_out_share: float = 0.2
    max_iter: int = 60
    tol: float = 1e-5
    random_state: Any = None

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics of all pictures and the tags of the topics."""
        self._validate_params()
        mixture = UnigramMixture(
            self.n_topics,
            smoothing=self.smoothing,
            n_tokens=self.n_tokens,
            n_restarts=1,  # over the graph, different starts lead to nearly the same topics
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
        graph = PictureGraph(self.n_neighbors, metric=self.metric, weights=self.weights)
        self.tagger_ = GraphRegularized(
            mixture,
            graph,
            strength=self.strength,
            method=self.method,
            held_out_share=self.held_out_share,
            random_state=self.random_state,
        ).fit(X, tags)
        self.tag_counts_, self.mean_n_tags_ = self.tagger_.tag_counts_, self.tagger_.mean_n_tags_
        self.objective_, self.n_iter_ = self.tagger_.objective_, self.tagger_.n_iter_
        self.n_features_in_ = self.tagger_.n_features_in_
        return self

    def transform(self, X: Features) -> Array:
        """The probability of every topic for every picture, (n_pictures, n_topics)."""
        check_is_fitted(self)
        return self.tagger_.transform(X)

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag, calibrated on held-out pictures."""
        check_is_fitted(self)
        return self.tagger_.score_tags(X)
