"""The base of topic models of codewords and labels: variational EM and the probabilities of tags.

``_em`` is the algorithm of Wang, Blei and Fei-Fei (CVPR 2009). Its E step is
:func:`visterm.topics.inference.labelled.infer_labelled`, equations (3), (4) and (8); its M step is ``_maximise``, (10)
and (11), and for classes :func:`visterm.topics.inference.labelled.improve_coefficients`, (12). A new picture is
inferred without labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from visterm.compute import progress
from visterm.compute.threads import one_blas_thread
from visterm.contracts import AnnotatorMixin, Features, Scores
from visterm.errors import InputError
from visterm.topics.inference import em
from visterm.topics.inference.em import Array, Inferred, TopicModel, TopicStatistics, accepted
from visterm.topics.inference.labelled import JointTopics, Labelled, LabelledInference, infer_labelled, mean_assignments

#: An E step with labels, such as ``infer_labelled``.
EStep: TypeAlias = Callable[..., LabelledInference]

#: Iterations of plain LDA before labels are used. They cost little, and supervision needs topics to start from.
_WARM_UP_ITERATIONS, _LAST_SWEEPS = 80, 5
#: The largest probability of a tag per draw.
_ALMOST_CERTAIN = 1 - 1e-12


@dataclass(eq=False, repr=False)
class JointTopicModel(AnnotatorMixin, TopicModel):
    """The base of topic models of codewords and labels; subclasses define which labels.

    Fitted: ``topic_codewords_`` (n_topics, n_codewords), ``topic_tags_`` (n_topics, n_tags), ``alpha_`` (n_topics,),
    ``class_coefficients_`` (n_classes, n_topics), ``mean_n_tags_``, ``objective_`` at every iteration of EM.
    """

    scores_are_probabilities = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = accepted(
        "n_topics alpha learn_alpha smoothing n_tokens start n_restarts max_iter tol max_sweeps random_state"
    )

    n_topics: int = 20
    _: KW_ONLY
    alpha: float = 1.0
    learn_alpha: bool = False
    smoothing: float = 0.01
    n_tokens: float | None = None
    start: str = "spread"
    n_restarts: int = 1
    max_iter: int = 30
    tol: float = 1e-5
    max_sweeps: int = 2
    random_state: Any = None

    def _learn(self, data: Labelled, n_classes: int, infer: EStep = infer_labelled) -> None:
        """Learn from pictures and the labels they have."""
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        random.permutation(len(data))  # refined models draw held-out pictures first: both start from the same topics
        model, self.objective_, _ = self._em(data, n_classes, random, infer)
        self._keep(model)
        self.n_iter_ = len(self.objective_)
        self._count_tags(data.tags)

    def _em(
        self, data: Labelled, n_classes: int, random: Any, infer: EStep, loop: Callable[..., Any] = em.climb
    ) -> tuple[JointTopics, Array, TopicStatistics]:
        """The best of ``n_restarts`` runs of variational EM: the model, the objective, and the last statistics."""
        total = self.n_restarts * self._n_iterations
        with one_blas_thread(), progress.task(f"Learning {self.n_topics} topics", total=total) as bar:
            runs = [
                self._run(data, self._start(data, n_classes, random), bar, infer, loop) for _ in range(self.n_restarts)
            ]
        return max(runs, key=lambda run: run[1][-1])

    def _start(self, data: Labelled, n_classes: int, random: Any) -> tuple[JointTopics, Array]:
        alpha = np.full(self.n_topics, float(self.alpha))
        seeds = em.normalised(em.start_topics(data.bags, self.n_topics, random, how=self.start), self.smoothing)
        codewords, gamma = warm_up(data.bags, seeds, alpha, self.smoothing, _WARM_UP_ITERATIONS)
        phibar = mean_assignments(gamma, data.bags, alpha)
        tags = em.normalised((data.tags.T @ phibar).T, self.smoothing)
        return JointTopics(codewords, tags, np.zeros((n_classes, self.n_topics)), alpha), gamma

    def _run(
        self,
        data: Labelled,
        start: tuple[JointTopics, Array],
        bar: progress.Bar,
        infer: EStep,
        loop: Callable[..., Any],
    ) -> tuple[JointTopics, Array, TopicStatistics]:
        model, gamma = start
        inferred: LabelledInference

        def e_step(model: JointTopics) -> tuple[LabelledInference, float]:  # gamma, lambda and phi: (3), (4), (8)
            nonlocal inferred
            inferred = infer(data, model, gamma, max_sweeps=self.max_sweeps)
            return inferred, inferred.statistics.bound + self._log_prior(model)

        model, objective = loop(model, e_step, self._m_step, max_iter=self._n_iterations, tol=self.tol, bar=bar)
        return model, objective, inferred.statistics

    @property
    def _n_iterations(self) -> int:
        return self.max_iter

    def _m_step(self, model: JointTopics, inferred: LabelledInference) -> JointTopics:
        return self._maximise(model, inferred.statistics)

    def _maximise(self, model: JointTopics, statistics: TopicStatistics) -> JointTopics:
        """pi and beta, (10) and (11), and alpha: the parameters that depend only on the pictures' statistics."""
        model = replace(
            model,
            codewords=em.normalised(statistics.codewords, self.smoothing),
            tags=em.normalised(statistics.tags, self.smoothing),
        )
        if not self.learn_alpha:
            return model
        return replace(model, alpha=em.fit_dirichlet(statistics.log_proportions, statistics.n_pictures, model.alpha))

    def _log_prior(self, model: JointTopics) -> float:
        prior = self.smoothing * float(np.log(model.codewords).sum() + np.log(model.tags).sum())
        return prior - em.ALPHA_RATE * float(model.alpha.sum()) if self.learn_alpha else prior

    def _keep(self, model: JointTopics) -> None:
        # Contiguous, like arrays read from a model folder, so that the order of additions is the same.
        self.topic_codewords_ = np.ascontiguousarray(model.codewords)
        self.topic_tags_ = np.ascontiguousarray(model.tags)
        self.class_coefficients_ = np.ascontiguousarray(model.coefficients)
        self.alpha_ = model.alpha

    def infer(self, X: Features) -> Inferred:
        """The posterior of every picture's topics, from its codewords alone."""
        return em.infer_topics(self._bags(X), self.topic_codewords_, self.alpha_)

    def transform(self, X: Features) -> Array:
        """The topic proportions of every picture, (n_pictures, n_topics): the mean share of its codewords."""
        return self._proportions(self._bags(X))

    def _proportions(self, bags: sparse.csr_array) -> Array:
        return mean_assignments(em.infer_topics(bags, self.topic_codewords_, self.alpha_).gamma, bags, self.alpha_)

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag.

        A tag drawn for the picture is w with probability p = phibar . beta_w, equation (14). The number of draws is the
        average number of tags of a training picture. At least one draw is w with probability 1 - (1 - p)^draws.
        """
        chances = self.transform(X) @ self._tags()
        return -np.expm1(self.mean_n_tags_ * np.log1p(-np.minimum(chances, _ALMOST_CERTAIN)))

    def _tags(self) -> Array:
        if not self.topic_tags_.shape[1]:
            raise InputError("the model has learned no tags: fit it with tags")
        return self.topic_tags_


def warm_up(
    bags: sparse.csr_array, topics: Array, alpha: Array, smoothing: float, n_iterations: int
) -> tuple[Array, Array]:
    """Iterations of plain LDA, of one sweep each, before labels are used; returns topics and gamma."""
    gamma = None
    for _ in range(n_iterations):
        inferred = em.infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1)
        gamma, topics = inferred.gamma, em.normalised(inferred.statistics.codewords, smoothing)
    return topics, em.infer_topics(bags, topics, alpha, start=gamma, max_sweeps=_LAST_SWEEPS).gamma
