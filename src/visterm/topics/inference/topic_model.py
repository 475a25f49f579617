"""The bases of all topic models, and what models share whose topic proportions are drawn from a Dirichlet."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from visterm.contracts import FROM_1, NOT_NEGATIVE, POSITIVE, SHARE, Estimator, Features, Scores, StrOptions, declared
from visterm.topics.inference.em import (
    ALPHA_RATE,
    Array,
    Inferred,
    TopicStatistics,
    check_bags,
    fit_dirichlet,
    infer_topics,
    normalised,
)


class TopicModel(Estimator):
    """The base of all topic models: pictures are bags, scaled to ``n_tokens`` codewords.

    It says what parameters accept that several topic models have; each model declares those that it takes.
    """

    n_topics: Annotated[int, FROM_1]
    alpha: Annotated[float, POSITIVE]
    smoothing: Annotated[float, POSITIVE]
    n_tokens: Annotated[float | None, NOT_NEGATIVE]
    start: Annotated[str, StrOptions({"spread", "random"})]
    n_restarts: Annotated[int, FROM_1]
    max_iter: Annotated[int, FROM_1]
    max_sweeps: Annotated[int, FROM_1]
    held_out_share: Annotated[float, SHARE]
    class_weight: Annotated[str | None, StrOptions({"balanced"})]
    random_state: Annotated[Any, "random_state"]

    def _bags(self, X: Features, *, fitting: bool = False) -> sparse.csr_array:
        return check_bags(self, X, fitting=fitting, n_tokens=self.n_tokens)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@dataclass(frozen=True, slots=True, eq=False)
class JointTopics:
    """The parameters of the joint model; n_tags or n_classes may be 0."""

    codewords: Array  # pi, (n_topics, n_codewords)
    tags: Array  # beta, (n_topics, n_tags)
    coefficients: Array  # eta, (n_classes, n_topics)
    alpha: Array  # (n_topics,)

    @classmethod
    def of(cls, codewords: Array, tags: Array, alpha: float, *, n_classes: int = 0) -> "JointTopics":
        """Topics of equal ``alpha``, which say nothing about classes."""
        n_topics = len(codewords)
        return cls(codewords, tags, np.zeros((n_classes, n_topics)), np.full(n_topics, float(alpha)))


@declared
class DirichletTopicModel(TopicModel):
    """The base of models in which the topic proportions of a picture are drawn from Dirichlet(alpha).

    Fitted: ``topic_codewords_`` (n_topics, n_codewords), ``alpha_`` (n_topics,), ``objective_`` at every iteration of
    EM.
    """

    n_topics: int = 20
    _: KW_ONLY
    alpha: float = 0.1
    learn_alpha: bool = False
    smoothing: float = 0.01
    n_tokens: float | None = None
    max_iter: int = 100
    tol: float = 1e-5
    random_state: Any = None

    def _maximise(self, model: JointTopics, statistics: TopicStatistics) -> JointTopics:
        """The M step of pi, beta and alpha, which depend only on the pictures' statistics."""
        model = replace(
            model,
            codewords=normalised(statistics.codewords, self.smoothing),
            tags=normalised(statistics.tags, self.smoothing),
        )
        if not self.learn_alpha:
            return model
        return replace(model, alpha=fit_dirichlet(statistics.log_proportions, statistics.n_pictures, model.alpha))

    def _log_prior(self, model: JointTopics) -> float:
        prior = self.smoothing * float(np.log(model.codewords).sum() + np.log(model.tags).sum())
        return prior - ALPHA_RATE * float(model.alpha.sum()) if self.learn_alpha else prior

    def _keep(self, model: JointTopics) -> None:
        # Contiguous, like arrays read from a model folder, so that the order of additions is the same.
        self.topic_codewords_ = np.ascontiguousarray(model.codewords)
        self.topic_tags_ = np.ascontiguousarray(model.tags)
        self.alpha_ = model.alpha

    def infer(self, X: Features) -> Inferred:
        """The posterior of every picture's topics given the codewords, and the statistics, which can be merged."""
        return infer_topics(self._bags(X), self.topic_codewords_, self.alpha_)

    def transform(self, X: Features) -> Scores:
        """The mean topic proportions given the codewords, (n_pictures, n_topics)."""
        return self.infer(X).proportions
