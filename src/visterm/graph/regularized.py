"""A topic model that is smooth over a graph of similar pictures; it tags all pictures from a few tagged ones."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from visterm.calibration import TagConfidence
from visterm.compute import progress
from visterm.contracts import AnnotatorMixin, Features, Scores, check_tags, is_several, n_pictures
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.graph.cases import Array, Learned, case_of
from visterm.graph.held_out import HiddenTags, hide_tags, tag_surprise
from visterm.graph.lapvar import METHODS, LapVar
from visterm.graph.picture_graph import PictureGraph
from visterm.topics import UnigramMixture, distributions

#: Strengths tried by ``strength="auto"``, times the curvature of the model's case.
STRENGTHS = (0.0, 0.3, 1.0, 3.0)
#: If the largest is the best, more are tried, each this many times the last, but not more of them than this.
_GROWTH, _MOST_MORE = 3.0, 6


class GraphRegularized(AnnotatorMixin, Estimator):
    """Graph-regularised variational inference (Shao et al., ACM TIST 2014) over a topic model, by composition.

    Maximises the model's own objective F minus ``strength`` / 2 * sum_k p_k' L p_k, where p_ik is the probability of
    topic k in picture i and L the Laplacian of a graph of similar pictures (:mod:`visterm.graph.lapvar`). Pass all
    pictures to ``fit`` together, untagged ones with empty rows: the model learns from them too. With ``UnigramMixture``
    it is the paper's LapMixUnigram. ``PLSA``, ``LDA`` and ``SupervisedLDA`` are its other two cases: point estimates
    and Dirichlet posteriors.

    Parameters
    ----------
    model
        The topic model (default: ``UnigramMixture()``).
    graph
        The :class:`~visterm.graph.picture_graph.PictureGraph` that links pictures (default: one with default
        parameters).
    strength
        The price of differences between neighbours. 0 is the model itself; ``numpy.inf`` gives every connected
        component of the graph one distribution. ``auto`` tries ``strengths`` on hidden tags.
    strengths
        Strengths to try, each times the curvature of the model's F, so that they mean the same for every model (1 for
        a mixture, the tokens of a picture for pLSA, those and the pseudo-counts for LDA). If the largest is the best,
        three times as much is tried next, as long as that is better.
    method
        ``lapvar1`` updates picture by picture, and Q never falls. ``lapvar2`` updates all at once, then mixes
        neighbours.
    held_out_share
        Share of the tagged pictures whose tags are hidden once, to choose the strength and to calibrate probabilities.
        Then the model learns from all tags. With 0, it does neither.
    model_feature, graph_feature
        If pictures have several features, the one that the model counts and the one that the graph compares.
    random_state
        Seed of the order of sweeps and the choice of hidden tags; the model has its own seed.

    After ``fit``: ``model_``, ``graph_``, ``proportions_`` (n_pictures, n_topics), ``strength_``, ``objective_`` (Q at
    every step), ``held_out_`` (each strength tried, with its factor, and its log-probability per hidden tag).

    >>> X = [[4, 0], [3, 1], [5, 1], [0, 5], [1, 4], [0, 3]]
    >>> tags = [[1, 0], [0, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    >>> model = UnigramMixture(n_topics=2, random_state=0)
    >>> tagger = GraphRegularized(model, PictureGraph(2), strength=1.0).fit(X, tags)
    >>> tagger.score_training().argmax(axis=1)
    array([0, 0, 0, 1, 1, 1])
    >>> tagger.score_tags([[7, 1], [1, 7]]).argmax(axis=1)
    array([0, 1])
    """

    scores_are_probabilities = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [HasMethods("get_params"), None],
        "graph": [PictureGraph, None],
        "strength": [Interval(Real, 0, None, closed="both"), StrOptions({"auto"})],
        "method": [StrOptions(METHODS)],
        "strengths": ["array-like"],
        "held_out_share": [Interval(Real, 0, 1, closed="left")],
        "model_feature": [str, None],
        "graph_feature": [str, None],
        "random_state": ["random_state"],
    }

    graph_: PictureGraph
    proportions_: Array
    #: What the graph makes similar, where that is not the proportions.
    compared_: Array | None = None
    topic_tags_: Array

    def __init__(
        self,
        model: Any = None,
        graph: PictureGraph | None = None,
        *,
        strength: float | str = "auto",
        method: str = "lapvar1",
        strengths: Sequence[float] = STRENGTHS,
        held_out_share: float = 0.2,
        model_feature: str | None = None,
        graph_feature: str | None = None,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.graph = graph
        self.strength = strength
        self.method = method
        self.strengths = strengths
        self.held_out_share = held_out_share
        self.model_feature = model_feature
        self.graph_feature = graph_feature
        self.random_state = random_state

    def fit(self, X: Features, tags: Any, y: Any = None, *, graph: PictureGraph | None = None) -> Self:
        """Learn from all pictures; ``y`` is for models of classes. ``graph`` is one already fitted to them."""
        self._validate_params()
        if self.strength == "auto" and not len(self.strengths):
            raise InputError("strength='auto' needs strengths to try")
        counted, compared = self._of_model(X), self._of_graph(X)
        tags = check_tags(tags, n_pictures(counted))
        if not tags.nnz:
            raise InputError("no picture has a tag: at least one is needed to learn from")
        if graph is not None and graph.features_.shape[0] != tags.shape[0]:
            raise InputError(f"the graph links {graph.features_.shape[0]} pictures, but there are {tags.shape[0]}")
        self.graph_ = graph or (PictureGraph() if self.graph is None else clone(self.graph)).fit(compared)
        self._count_tags(tags)
        self.confidence_ = TagConfidence().of_draws(self.mean_n_tags_)
        self.strength_ = self._curvature(counted) if self.strength == "auto" else float(self.strength)
        self.held_out_ = np.empty((0, 2))
        hidden = hide_tags(tags, self.held_out_share, self.random_state)
        if hidden is not None:
            self._look(counted, y, hidden)
        self.model_, learned = self._learn(counted, tags, y, self.strength_)
        self.proportions_, self.topic_tags_, self.objective_ = (
            learned.proportions,
            learned.topic_tags,
            learned.objective,
        )
        self.compared_ = learned.compared
        self.n_iter_ = len(self.objective_)
        self.n_features_in_ = self.model_.n_features_in_
        return self

    def _look(self, X: Any, y: Any, hidden: HiddenTags) -> None:
        """Choose the strength and calibrate probabilities on hidden tags."""
        is_open = self.strength == "auto"
        waiting = [self.strength_ * float(s) for s in self.strengths] if is_open else [self.strength_]
        most, best, looks = max(waiting), -np.inf, []
        with progress.task("Choosing the strength", total=len(waiting)) as bar:
            while waiting:
                strength = waiting.pop(0)
                _, learned = self._learn(X, hidden.shown, y, strength)
                chances = distributions(learned.proportions[hidden.rows] @ learned.topic_tags)
                score = tag_surprise(chances, hidden.tags)
                looks.append((strength, score))
                if score > best:
                    best, self.strength_ = score, strength
                    self.confidence_ = TagConfidence().fit(chances, hidden.tags)
                bar.advance()
                bar.report(strength=strength, held_out=score)
                may_grow = is_open and 0 < self.strength_ < np.inf and len(looks) < len(self.strengths) + _MOST_MORE
                if not waiting and may_grow and self.strength_ == max(s for s, _ in looks) >= most:
                    waiting = [self.strength_ * _GROWTH]
        self.held_out_ = np.array(looks)

    def _curvature(self, X: Any) -> float:
        model = UnigramMixture() if self.model is None else self.model
        return case_of(model).curvature(model, X)

    def _learn(self, X: Any, tags: sparse.csr_array, y: Any, strength: float) -> tuple[Any, Learned]:
        from sklearn.utils import check_random_state

        model = UnigramMixture() if self.model is None else clone(self.model)
        random = check_random_state(self.random_state)
        lapvar = LapVar(self.graph_.links_, strength, self.method, random)
        return model, case_of(model).fit(model, X, tags, y, lapvar)

    def transform(self, X: Features) -> NDArray[np.float64]:
        """The topics of pictures, (n_pictures, n_topics): as learned for training pictures; others are folded in.

        A new picture's topics maximise the same objective with fixed topics of its neighbours. The model does not
        change.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        links, same = self.graph_.neighbours_of(self._of_graph(X))
        counted = self._of_model(X)
        lapvar = LapVar(self.graph_.links_, self.strength_, self.method)
        compared = self.proportions_ if self.compared_ is None else self.compared_
        if self.strength_:
            proportions = case_of(self.model_).fold_in(self.model_, counted, links, compared, lapvar)
        else:
            proportions = np.array(self.model_.transform(counted))
        known = same >= 0
        proportions[known] = self.proportions_[same[known]]
        return proportions

    def tag_chances(self, X: Features) -> Scores:
        """p(tag | picture): the probability that the next tag of the picture is this one; rows sum to one."""
        return distributions(self.transform(X) @ self.topic_tags_)

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag, calibrated on held-out pictures."""
        chances = self.tag_chances(X)
        return self.confidence_.probabilities(chances)

    def score_training(self) -> Scores:
        """:meth:`score_tags` of the training pictures, in their order."""
        return self.confidence_.probabilities(distributions(self.proportions_ @ self.topic_tags_))

    def _of_model(self, X: Features) -> Any:
        return _feature(X, self.model_feature, "model_feature")

    def _of_graph(self, X: Features) -> Any:
        return _feature(X, self.graph_feature, "graph_feature")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _feature(X: Features, name: str | None, parameter: str) -> Any:
    if not is_several(X):
        return X
    if name is None or name not in X:
        raise InputError(f"pictures have several features: set {parameter} to one of {', '.join(map(str, X))}")
    return X[name]
