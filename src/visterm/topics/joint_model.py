"""The base of topic models with labels: variational EM, refinement, tags, reasons.

``_fit_labelled`` runs the algorithm of the paper (Wang, Blei and Fei-Fei, CVPR 2009), then refinement. Its E step is
:func:`visterm.topics.joint_inference.infer_labelled`, equations (3), (4) and (8); its M step is ``_maximise``, (10) and
(11), and :func:`visterm.topics.class_response.improve_coefficients`, (12). A new picture is inferred without labels.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval

from visterm.calibration import fit_temperature
from visterm.compute import progress
from visterm.compute.threads import one_blas_thread
from visterm.contracts import AnnotatorMixin, Features, Scores
from visterm.contracts.estimator import Estimator
from visterm.errors import InputError
from visterm.topics.bags import check_bags
from visterm.topics.class_response import improve_coefficients, roots
from visterm.topics.dirichlet import fit_dirichlet
from visterm.topics.em import climb, held_out_rows
from visterm.topics.explain import Reasons, tag_reasons
from visterm.topics.inference import Inferred, infer_topics
from visterm.topics.joint_inference import (
    JointTopics,
    Labelled,
    LabelledInference,
    infer_labelled,
    mean_assignments,
)
from visterm.topics.lda import ALPHA_RATE, LDA
from visterm.topics.online import OnlineStatistics, statistics_before
from visterm.topics.refine import label_likelihood, refine
from visterm.topics.starts import start_topics, warm_up
from visterm.topics.statistics import Array, TopicStatistics, normalised

#: The largest factor by which the held-out pictures, which are few, may change the certainty of classes.
_LARGEST_TEMPERATURE = np.exp(3.0)
#: Iterations of plain LDA before labels are used. They cost little, and supervision needs topics to start from.
_WARM_UP_ITERATIONS = 80
#: Iterations of EM with labels before refinement. More would take most of the time, and refinement undoes their effect.
_ITERATIONS_BEFORE_REFINEMENT = 5
#: A batch is seen only once: it gets this many times the sweeps of an iteration.
_MORE_SWEEPS = 10
#: The largest probability of a tag per draw.
_ALMOST_CERTAIN = 1 - 1e-12
#: The ridges of models without classes, which have no coefficients.
_RIDGE, _REFINE_RIDGE = 0.01, 0.6


class JointTopicModel(AnnotatorMixin, Estimator):
    """The base of topic models of codewords and labels; subclasses define which labels.

    Fitted: ``topic_codewords_`` (n_topics, n_codewords), ``topic_tags_`` (n_topics, n_tags), ``alpha_`` (n_topics,),
    ``class_coefficients_`` (n_classes, n_topics), ``class_intercepts_`` (n_classes,), ``mean_n_tags_``, ``objective_``
    at every iteration of EM, ``refinement_`` at every pass of refinement.
    """

    scores_are_probabilities = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LDA._parameter_constraints,
        "refine": [Interval(Integral, 0, None, closed="left")],
    }

    # Only models with classes use the ridge, the class weights and the class strength.
    ridge: float = _RIDGE
    refine_ridge: float = _REFINE_RIDGE

    topic_codewords_: Array
    topic_tags_: Array
    class_coefficients_: Array
    class_intercepts_: Array
    alpha_: Array
    objective_: Array
    refinement_: Array
    online_: dict[str, Any]
    temperature_: float

    def __init__(
        self,
        n_topics: int = 20,
        *,
        alpha: float = 1.0,
        learn_alpha: bool = False,
        smoothing: float = 0.01,
        refine: int = 0,
        n_tokens: float | None = None,
        start: str = "spread",
        n_restarts: int = 1,
        max_iter: int = 30,
        tol: float = 1e-5,
        max_sweeps: int = 2,
        held_out_share: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.learn_alpha = learn_alpha
        self.smoothing = smoothing
        self.refine = refine
        self.n_tokens = n_tokens
        self.start = start
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.held_out_share = held_out_share
        self.random_state = random_state

    def _fit_labelled(self, data: Labelled, n_classes: int) -> None:
        """Learn from pictures and the labels they have."""
        from sklearn.utils import check_random_state

        random = check_random_state(self.random_state)
        learned, held = held_out_rows(len(data), self.held_out_share, random)
        seen, unseen = data[learned], data[held]
        look = (lambda model: label_likelihood(unseen, model, rooted=False)) if len(held) else None
        with (
            one_blas_thread(),
            progress.task(f"Learning {self.n_topics} topics", total=self.n_restarts * self._n_iterations) as bar,
        ):
            runs = [self._run(seen, self._start(seen, n_classes, random), bar, look) for _ in range(self.n_restarts)]
        model, self.objective_, statistics = max(runs, key=lambda run: run[1][-1])
        self.online_ = OnlineStatistics.of(statistics).packed() | {"coefficients": model.coefficients}
        self.refinement_ = np.empty(0)
        if self.refine:
            look = (lambda model: label_likelihood(unseen, model, rooted=True)) if len(held) else None
            # Times the number of topics, whose contributions add up: so the prior of the scores does not depend on it.
            ridge, smoothing = self.refine_ridge * self.n_topics, self.smoothing
            with one_blas_thread():
                model, self.refinement_ = refine(
                    seen, model, n_passes=self.refine, ridge=ridge, smoothing=smoothing, random=random, look=look
                )
        self._keep(model)
        self.temperature_ = fit_temperature(
            self._class_scores(unseen.bags), unseen.classes, largest=_LARGEST_TEMPERATURE
        )
        self.n_iter_ = len(self.objective_)
        self._count_tags(data.tags)

    def _start(self, data: Labelled, n_classes: int, random: Any) -> tuple[JointTopics, Array]:
        alpha = np.full(self.n_topics, float(self.alpha))
        seeds = normalised(start_topics(data.bags, self.n_topics, random, how=self.start), self.smoothing)
        codewords, gamma = warm_up(data.bags, seeds, alpha, self.smoothing, _WARM_UP_ITERATIONS)
        phibar = mean_assignments(gamma, data.bags, alpha)
        tags = normalised((data.tags.T @ phibar).T, self.smoothing)
        return JointTopics(codewords, tags, np.zeros((n_classes, self.n_topics)), alpha, np.zeros(n_classes)), gamma

    def _run(
        self, data: Labelled, start: tuple[JointTopics, Array], bar: progress.Bar, look: Any
    ) -> tuple[JointTopics, Array, TopicStatistics]:
        """Variational EM from one start: the model, the objective, and the last statistics."""
        model, gamma = start
        inferred: LabelledInference

        def e_step(model: JointTopics) -> tuple[LabelledInference, float]:  # gamma, lambda and phi: (3), (4), (8)
            nonlocal inferred
            inferred = self._infer_labelled(data, model, gamma)
            return inferred, inferred.statistics.bound + self._log_prior(model)

        def m_step(model: JointTopics, inferred: LabelledInference) -> JointTopics:  # pi, beta and eta: (10) to (12)
            coefficients = model.coefficients
            if len(coefficients):
                coefficients = improve_coefficients(inferred, coefficients, self.ridge)
            return replace(self._maximise(model, inferred.statistics), coefficients=coefficients)

        model, objective = climb(model, e_step, m_step, max_iter=self._n_iterations, tol=self.tol, bar=bar, look=look)
        return model, objective, inferred.statistics

    def _infer_labelled(self, data: Labelled, model: JointTopics, gamma: Array) -> LabelledInference:
        """The E step, which improves ``gamma`` in place."""
        return infer_labelled(data, model, gamma, max_sweeps=self.max_sweeps)

    @property
    def _n_iterations(self) -> int:
        return min(self.max_iter, _ITERATIONS_BEFORE_REFINEMENT) if self.refine else self.max_iter

    def _maximise(self, model: JointTopics, statistics: TopicStatistics) -> JointTopics:
        """The M step for the parameters that depend only on the pictures' statistics."""
        model = replace(
            model,
            codewords=normalised(statistics.codewords, self.smoothing),
            tags=normalised(statistics.tags, self.smoothing),
        )
        if self.learn_alpha:
            sums, n_pictures = statistics.log_proportions, statistics.n_pictures
            model = replace(model, alpha=fit_dirichlet(sums, n_pictures, model.alpha, rate=ALPHA_RATE))
        return model

    def _log_prior(self, model: JointTopics) -> float:
        prior = self.smoothing * float(np.log(model.codewords).sum() + np.log(model.tags).sum())
        prior -= self.ridge / 2 * float((model.coefficients**2).sum())
        return prior - ALPHA_RATE * float(model.alpha.sum()) if self.learn_alpha else prior

    def _learn_batch(self, data: Labelled, n_classes: int, n_total: int | None) -> None:
        """A step of stochastic variational inference, and one of refinement if the model is to be refined.

        Topics without refinement follow the averaged statistics. Refinement is kept as a factor of every probability,
        which moves with them and is then improved on the batch.
        """
        from sklearn.utils import check_random_state

        random, begun = check_random_state(self.random_state), hasattr(self, "topic_codewords_")
        if begun:
            model = self._unrefined()
            gamma = infer_topics(data.bags, model.codewords, model.alpha).gamma
        else:
            model, gamma = self._start(data, n_classes, random)
            self.objective_, self.refinement_, self.temperature_ = np.empty(0), np.empty(0), 1.0
        inferred = infer_labelled(data, model, gamma, max_sweeps=_MORE_SWEEPS * self.max_sweeps)
        before = statistics_before(self, inferred.statistics, n_total)
        online, step = before.including(inferred.statistics), before.step(len(data))
        share = len(data) / max(1, online.n_pictures)  # of the collection; the batch takes this share of the priors
        coefficients = model.coefficients
        if len(coefficients) and (data.classes >= 0).any():
            with one_blas_thread():
                improved = improve_coefficients(inferred, coefficients, share * self.ridge)
            coefficients = coefficients + step * (improved - coefficients)
        updated = replace(self._maximise(model, online.total), coefficients=coefficients)
        self.online_ = online.packed() | {"coefficients": coefficients}
        if self.refine:
            updated = self._refine_batch(data, model, updated, step, share, random)
        self._keep(updated)
        self.objective_ = np.append(self.objective_, inferred.statistics.bound / max(1, len(data)))
        self.n_iter_ = len(self.objective_)
        self._count_more_tags(data.tags)

    def _refine_batch(
        self, data: Labelled, before: JointTopics, updated: JointTopics, step: float, share: float, random: Any
    ) -> JointTopics:
        """Carry refinement over from the topics ``before`` a batch to the ``updated`` ones, and continue it."""
        refined = self._model() if self.is_refined else None
        if refined is not None:
            updated = replace(
                updated,
                codewords=normalised(updated.codewords * refined.codewords / before.codewords, 0.0),
                tags=normalised(updated.tags * refined.tags / before.tags, 0.0),
                coefficients=refined.coefficients,
                intercepts=refined.intercepts,
            )
        if not ((data.classes >= 0).any() or data.tags.nnz):
            return updated
        with one_blas_thread():
            updated, objective = refine(
                data,
                updated,
                n_passes=self.refine,
                ridge=share * self.refine_ridge * self.n_topics,
                smoothing=share * self.smoothing,
                random=random,
                step=1.0 if refined is None else step,
            )
        self.refinement_ = np.append(self.refinement_, objective)
        return updated

    def _unrefined(self) -> JointTopics:
        """The topics that the statistics give, and the class coefficients of EM."""
        if not self.is_refined:
            return self._model()
        packed = getattr(self, "online_", None)
        if packed is None:  # a model of an earlier version
            return replace(self._model(), coefficients=np.zeros(self.class_coefficients_.shape))
        intercepts = np.zeros_like(self.class_intercepts_)
        model = replace(self._model(), coefficients=packed["coefficients"], intercepts=intercepts)
        return self._maximise(model, OnlineStatistics.unpacked(packed).total)

    def _count_more_tags(self, tags: sparse.csr_array) -> None:
        counts, mean = self.tag_counts_, self.mean_n_tags_
        self._count_tags(tags)
        if counts is not None and counts.sum():
            n_tagged = counts.sum() / mean + np.count_nonzero(np.diff(tags.indptr))
            self.tag_counts_ = counts + self.tag_counts_
            self.mean_n_tags_ = float(self.tag_counts_.sum() / n_tagged)

    def _keep(self, model: JointTopics) -> None:
        # Contiguous, like arrays read from a model folder, so that the order of additions is the same.
        self.topic_codewords_ = np.ascontiguousarray(model.codewords)
        self.topic_tags_ = np.ascontiguousarray(model.tags)
        self.class_coefficients_ = np.ascontiguousarray(model.coefficients)
        self.class_intercepts_ = np.ascontiguousarray(model.intercepts)
        self.alpha_ = model.alpha

    def _model(self) -> JointTopics:
        return JointTopics(
            self.topic_codewords_, self.topic_tags_, self.class_coefficients_, self.alpha_, self.class_intercepts_
        )

    @property
    def is_refined(self) -> bool:
        """Whether the roots of proportions predict classes, as after refinement."""
        return len(self.refinement_) > 0

    def infer(self, X: Features) -> Inferred:
        """The posterior of every picture's topics, from its codewords alone."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        return infer_topics(bags, self.topic_codewords_, self.alpha_)

    def transform(self, X: Features) -> Array:
        """The topic proportions of every picture, (n_pictures, n_topics): the mean share of its codewords."""
        return self._proportions(check_bags(self, X, fitting=False, n_tokens=self.n_tokens))

    def _proportions(self, bags: sparse.csr_array) -> Array:
        return mean_assignments(infer_topics(bags, self.topic_codewords_, self.alpha_).gamma, bags, self.alpha_)

    def _class_scores(self, bags: sparse.csr_array) -> Array:
        phibar = self._proportions(bags)
        return (roots(phibar) if self.is_refined else phibar) @ self.class_coefficients_.T + self.class_intercepts_

    def score_tags(self, X: Features) -> Scores:
        """The probability that a picture carries each tag.

        A tag drawn for the picture is w with probability p = phibar . beta_w, equation (14). The number of draws is the
        average number of tags of a training picture. At least one draw is w with probability 1 - (1 - p)^draws.
        """
        chances = self.transform(X) @ self._tags()
        return -np.expm1(self.mean_n_tags_ * np.log1p(-np.minimum(chances, _ALMOST_CERTAIN)))

    def explain_tag(self, X: Features, tag: int) -> Reasons:
        """How much each topic and each codeword of a picture contributed to the tag of column ``tag``."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        tags = self._tags()
        if not 0 <= tag < tags.shape[1]:
            raise InputError(f"there is no tag {tag}: the model has tags 0 to {tags.shape[1] - 1}")
        return tag_reasons(bags, self._model(), tag)

    def top_codewords(self, n: int = 10) -> NDArray[np.intp]:
        """The ``n`` most probable codewords of every topic, (n_topics, n), best first."""
        return np.argsort(-self.topic_codewords_, axis=1, kind="stable")[:, :n]

    def top_tags(self, n: int = 5) -> NDArray[np.intp]:
        """The columns of the ``n`` most probable tags of every topic, (n_topics, n), best first."""
        return np.argsort(-self._tags(), axis=1, kind="stable")[:, :n]

    def _tags(self) -> Array:
        if not self.topic_tags_.shape[1]:
            raise InputError("the model has learned no tags: fit it with tags")
        return self.topic_tags_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def no_tags(n_pictures: int) -> sparse.csr_array:
    """The tag matrix of pictures without tags."""
    return sparse.csr_array((n_pictures, 0), dtype=np.float32)
