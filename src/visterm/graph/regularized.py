"""A topic model that is smooth over a graph of similar pictures; it tags all pictures from a few tagged ones."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from visterm.calibration import TagConfidence
from visterm.compute import progress
from visterm.contracts import AnnotatorMixin, Features, Scores, check_tags, is_several, rows_with_tags
from visterm.contracts.estimator import HasMethods, Interval, StrOptions, declared
from visterm.errors import InputError
from visterm.graph.inference.allocation import AllocationCase
from visterm.graph.inference.aspects import AspectCase
from visterm.graph.inference.held_out import HiddenTags, hide_tags, tag_surprise
from visterm.graph.inference.lapvar import METHODS, Case, LapVar, Learned
from visterm.graph.inference.mixture import MixtureCase
from visterm.graph.inference.supervised import SupervisedCase
from visterm.graph.picture_graph import PictureGraph
from visterm.topics import LDA, PLSA, SupervisedLDA, TopicModel, UnigramMixture, check_bags, distributions

#: Strengths tried by ``strength="auto"``, times the curvature of the model's case.
STRENGTHS = (0.0, 0.3, 1.0, 3.0)
#: If the largest is the best, more are tried, each this many times the last, but not more of them than this.
_GROWTH, _MOST_MORE = 3.0, 6

_CASES: dict[type, Case] = {
    UnigramMixture: MixtureCase(),
    PLSA: AspectCase(),
    SupervisedLDA: SupervisedCase(),
    LDA: AllocationCase(),
}


def case_of(model: Any) -> Case:
    """How models of the kind of ``model`` learn over a graph."""
    for kind, case in _CASES.items():
        if isinstance(model, kind):
            return case
    names = ", ".join(kind.__name__ for kind in _CASES)
    raise InputError(f"a {type(model).__name__} cannot be regularised over a graph: choose one of {names}")


@declared
class GraphRegularized(AnnotatorMixin, TopicModel):
    """Graph-regularised variational inference (Shao et al., ACM TIST 2014) over a topic model, by composition.

    Maximises the model's own objective F minus ``strength`` / 2 * sum_k p_k' L p_k, where p_ik is the probability of
    topic k in picture i and L the Laplacian of a graph of similar pictures (:mod:`visterm.graph.inference.lapvar`).
    Pass all pictures to ``fit`` together, untagged ones with empty rows: the model learns from them too. With
    ``UnigramMixture`` it is the paper's LapMixUnigram. ``PLSA``, ``LDA`` and ``SupervisedLDA`` are its other two cases:
    point estimates and Dirichlet posteriors.

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

    #: What the graph makes similar, where that is not the proportions.
    compared_ = None

    model: Annotated[Any, HasMethods("get_params"), None] = None
    graph: PictureGraph | None = None
    _: KW_ONLY
    strength: Annotated[float | str, Interval(Real, 0, None, closed="both"), StrOptions({"auto"})] = "auto"
    method: Annotated[str, StrOptions(METHODS)] = "lapvar1"
    strengths: Annotated[Sequence[float], "array-like"] = STRENGTHS
    held_out_share: float = 0.2
    model_feature: str | None = None
    graph_feature: str | None = None
    random_state: Any = 0

    def fit(self, X: Features, tags: Any, y: Any = None, *, graph: PictureGraph | None = None) -> Self:
        """Learn from all pictures; ``y`` is for models of classes. ``graph`` is one already fitted to them."""
        self._validate_params()
        if self.strength == "auto" and not len(self.strengths):
            raise InputError("strength='auto' needs strengths to try")
        counted = check_bags(self, _feature(X, self, "model_feature"), fitting=True)
        compared = _feature(X, self, "graph_feature")
        tags = check_tags(tags, counted.shape[0])
        rows_with_tags(tags)
        if graph is not None and graph.features_.shape[0] != tags.shape[0]:
            raise InputError(f"the graph links {graph.features_.shape[0]} pictures, but there are {tags.shape[0]}")
        self.graph_ = graph or (PictureGraph() if self.graph is None else clone(self.graph)).fit(compared)
        self._count_tags(tags)
        self.confidence_ = TagConfidence().of_draws(self.mean_n_tags_)
        model = UnigramMixture() if self.model is None else self.model
        self.strength_ = case_of(model).curvature(model, counted) if self.strength == "auto" else float(self.strength)
        self.held_out_ = np.empty((0, 2))
        hidden = hide_tags(tags, self.held_out_share, self.random_state)
        if hidden is not None:
            self._look(model, counted, y, hidden)
        learned = self._learn(model, counted, tags, y, self.strength_)
        self.model_, self.proportions_, self.compared_ = learned.model, learned.proportions, learned.compared
        self.topic_tags_, self.objective_ = learned.topic_tags, learned.objective
        self.n_iter_ = len(self.objective_)
        return self

    def _look(self, model: Any, X: sparse.csr_array, y: Any, hidden: HiddenTags) -> None:
        """Choose the strength and calibrate probabilities on hidden tags."""
        is_open = self.strength == "auto"
        waiting = [self.strength_ * float(s) for s in self.strengths] if is_open else [self.strength_]
        most, best, looks = max(waiting), -np.inf, []
        with progress.task("Choosing the strength", total=len(waiting)) as bar:
            while waiting:
                strength = waiting.pop(0)
                learned = self._learn(model, X, hidden.shown, y, strength)
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

    def _learn(self, model: Any, X: sparse.csr_array, tags: sparse.csr_array, y: Any, strength: float) -> Learned:
        random = check_random_state(self.random_state)
        lapvar = LapVar(self.graph_.links_, strength, self.method, random)
        return case_of(model).fit(model, X, tags, y, lapvar)

    def transform(self, X: Features) -> NDArray[np.float64]:
        """The topics of pictures, (n_pictures, n_topics): as learned for training pictures; others are folded in.

        A new picture's topics maximise the same objective with fixed topics of its neighbours. The model does not
        change.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        links, same = self.graph_.neighbours_of(_feature(X, self, "graph_feature"))
        counted = check_bags(self, _feature(X, self, "model_feature"), fitting=False)
        lapvar = LapVar(self.graph_.links_, self.strength_, self.method)
        compared = self.proportions_ if self.compared_ is None else self.compared_
        if self.strength_:
            proportions = case_of(self.model_).fold_in(self.model_, counted, links, compared, lapvar)
        else:
            proportions = np.array(self.model_.transform(counted))
        known = same >= 0
        proportions[known] = self.proportions_[same[known]]
        return proportions

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag, calibrated on held-out pictures."""
        return self._probabilities(self.transform(X))

    def score_training(self) -> Scores:
        """:meth:`score_tags` of the training pictures, in their order."""
        return self._probabilities(self.proportions_)

    def _probabilities(self, proportions: NDArray[np.float64]) -> Scores:
        return self.confidence_.probabilities(distributions(proportions @ self.topic_tags_))


def _feature(X: Features, tagger: GraphRegularized, parameter: str) -> Any:
    """The feature that a parameter of ``tagger`` names, or the only one."""
    if not is_several(X):
        return X
    name = getattr(tagger, parameter)
    if name is None or name not in X:
        raise InputError(f"pictures have several features: set {parameter} to one of {', '.join(map(str, X))}")
    return X[name]
