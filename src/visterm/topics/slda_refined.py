"""Supervised LDA, refined: topics that predict labels from codewords alone, held-out pictures, learning in batches.

The refinement itself is :mod:`visterm.topics.inference.refine`, stochastic variational inference is
:mod:`visterm.topics.inference.online`.
"""

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax
from sklearn.utils import check_random_state

from visterm.calibration import fit_temperature
from visterm.compute.threads import one_blas_thread
from visterm.contracts import FROM_0, POSITIVE, Features, Scores, check_tags, declared
from visterm.errors import InputError
from visterm.topics.inference.em import Array, climb, infer_topics, normalised
from visterm.topics.inference.joint_model import EStep, JointTopicModel, Labelled, improve_coefficients, infer_labelled
from visterm.topics.inference.online import OnlineStatistics, statistics_before
from visterm.topics.inference.refine import HeldOut, RefinedTopics, class_scores, label_likelihood, refine
from visterm.topics.inference.topic_model import JointTopics
from visterm.topics.slda import SupervisedLDA, known_classes

#: The largest factor by which the held-out pictures, which are few, may change the certainty of classes.
_LARGEST_TEMPERATURE = np.exp(3.0)
#: Iterations of EM with labels before refinement. More would take most of the time, and refinement undoes their effect.
_ITERATIONS_BEFORE_REFINEMENT = 5
#: Scores of the held-out pictures without a rise before EM stops.
_PATIENCE = 3
#: A batch is seen only once: it gets this many times the sweeps of an iteration.
_MORE_SWEEPS = 10


@declared
class RefinedTopicModel(JointTopicModel):
    """The base of refined topic models, which adds refinement, held-out pictures and batches to a paper's model.

    Fitted, besides what the paper's model has: ``class_intercepts_`` (n_classes,), ``refinement_`` at every pass,
    ``temperature_`` of the class probabilities, and ``online_``, the statistics that the next batch continues.
    """

    _: KW_ONLY
    refine: Annotated[int, FROM_0] = 25
    held_out_share: float = 0.0

    ridge = refine_ridge = 0.0  # only models with classes have ridges

    def _learn(self, data: Labelled, n_classes: int, infer: EStep = infer_labelled) -> None:
        """EM, which held-out pictures may stop; then refinement; then the temperature of the classes."""
        random = check_random_state(self.random_state)
        learned, held = held_out_rows(len(data), self.held_out_share, random)
        seen, unseen = data[learned], data[held]
        score = partial(label_likelihood, unseen) if len(held) else None

        def loop(*steps: Any, **how: Any) -> tuple[JointTopics, Array]:
            if score is None:
                return climb(*steps, **how)
            held_out = HeldOut(score, _PATIENCE)
            model, objective = climb(*steps, **how, is_done=held_out.is_done)
            return held_out.better_of(model), objective

        model, self.objective_, statistics = self._em(seen, n_classes, random, infer, loop)
        self.online_ = OnlineStatistics.of(statistics).packed() | {"coefficients": model.coefficients}
        self.refinement_ = np.empty(0)
        if self.refine:
            # Times the number of topics, whose contributions add up: so the prior of the scores does not depend on it.
            ridge = self.refine_ridge * self.n_topics
            with one_blas_thread():
                model, self.refinement_ = refine(
                    seen, model, n_passes=self.refine, ridge=ridge, smoothing=self.smoothing, random=random, score=score
                )
        self._keep(model)
        scores = self._class_scores(self._proportions(unseen.bags))
        self.temperature_ = fit_temperature(scores, unseen.classes, largest=_LARGEST_TEMPERATURE)
        self.n_iter_ = len(self.objective_)
        self._count_tags(data.tags)

    @property
    def _n_iterations(self) -> int:
        return min(self.max_iter, _ITERATIONS_BEFORE_REFINEMENT) if self.refine else self.max_iter

    def _learn_batch(self, data: Labelled, n_classes: int, n_total: int | None) -> None:
        """A step of stochastic variational inference, and one of refinement if the model is to be refined.

        Topics without refinement follow the averaged statistics. Refinement is kept as a factor of every probability,
        which moves with them and is then improved on the batch.
        """
        random = check_random_state(self.random_state)
        if hasattr(self, "topic_codewords_"):
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
        if self.is_refined:
            refined = self._model()
            updated = replace(
                refined,
                codewords=normalised(updated.codewords * refined.codewords / before.codewords, 0.0),
                tags=normalised(updated.tags * refined.tags / before.tags, 0.0),
                alpha=updated.alpha,
            )
        if not ((data.classes >= 0).any() or data.tags.nnz):
            return updated
        ridge, smoothing = share * self.refine_ridge * self.n_topics, share * self.smoothing
        step = step if self.is_refined else 1.0
        with one_blas_thread():
            updated, objective = refine(
                data, updated, n_passes=self.refine, ridge=ridge, smoothing=smoothing, random=random, step=step
            )
        self.refinement_ = np.append(self.refinement_, objective)
        return updated

    def _unrefined(self) -> JointTopics:
        """The topics that the statistics give, and the class coefficients of EM."""
        model = JointTopics(self.topic_codewords_, self.topic_tags_, self.class_coefficients_, self.alpha_)
        if not self.is_refined:
            return model
        model = replace(model, coefficients=self.online_["coefficients"])
        return self._maximise(model, OnlineStatistics.unpacked(self.online_).total)

    def _count_more_tags(self, tags: sparse.csr_array) -> None:
        counts, mean = self.tag_counts_, self.mean_n_tags_
        self._count_tags(tags)
        if counts is not None and counts.sum():
            n_tagged = counts.sum() / mean + np.count_nonzero(np.diff(tags.indptr))
            self.tag_counts_ = counts + self.tag_counts_
            self.mean_n_tags_ = float(self.tag_counts_.sum() / n_tagged)

    def _keep(self, model: JointTopics) -> None:
        super()._keep(model)
        no_intercepts = np.zeros(len(model.coefficients))
        self.class_intercepts_ = model.intercepts if isinstance(model, RefinedTopics) else no_intercepts

    def _model(self) -> JointTopics:
        parts = self.topic_codewords_, self.topic_tags_, self.class_coefficients_, self.alpha_
        return RefinedTopics(*parts, self.class_intercepts_) if self.is_refined else JointTopics(*parts)

    @property
    def is_refined(self) -> bool:
        """Whether the roots of proportions predict classes, as after refinement."""
        return len(self.refinement_) > 0

    def _class_scores(self, phibar: Array) -> Array:
        return class_scores(phibar, self._model())


@declared
class RefinedSupervisedLDA(RefinedTopicModel, SupervisedLDA):
    """Supervised LDA whose topics are then moved to predict labels from codewords alone.

    After five iterations of the EM of :class:`~visterm.topics.slda.SupervisedLDA`, refinement
    (:mod:`visterm.topics.inference.refine`) changes topics and coefficients to raise the likelihood of the labels,
    given topics inferred without labels, as for a new picture. It classifies by the square roots of topic proportions.
    :meth:`partial_fit` learns from batches.

    Parameters
    ----------
    refine
        Passes of refinement over the pictures. 0 is SupervisedLDA, with ``max_iter`` iterations of EM.
    refine_ridge
        Ridge per topic of the class coefficients in refinement, where features have deviation 1.
    held_out_share
        Share of the pictures to hold out. Their labels decide when EM and refinement stop, and set the temperature of
        the class probabilities.
    others
        As those of :class:`~visterm.topics.slda.SupervisedLDA`; ``ridge`` and ``class_strength`` are for EM.

    >>> X, y = [[4, 0, 1], [3, 1, 1], [0, 5, 1], [1, 4, 0]], [3, 3, 8, 8]
    >>> RefinedSupervisedLDA(n_topics=2, random_state=0).fit(X, y).predict([[5, 0, 0], [0, 5, 0]])
    array([3, 8])
    """

    _: KW_ONLY
    refine_ridge: Annotated[float, POSITIVE] = 0.6

    def partial_fit(
        self,
        X: Features,
        y: ArrayLike | None = None,
        tags: Any = None,
        *,
        classes: ArrayLike | None = None,
        n_total: int | None = None,
    ) -> Self:
        """Learn from one more batch of pictures, after ``fit`` or from the start, by stochastic variational inference.

        ``classes`` lists all classes at the first call. Without it, the classes of the first batch are all classes.
        ``n_total`` is the size of the collection, if it is known; otherwise the pictures seen are the collection.
        Unless ``refine`` is 0, every batch also continues the refinement.
        """
        self._validate_params()
        begun = hasattr(self, "topic_codewords_")
        bags = self._bags(X, fitting=not begun)
        known, y = known_classes(y, bags.shape[0])
        if not begun:
            self.classes_ = np.unique(y[known] if classes is None else np.asarray(classes))
        strange = ~np.isin(y[known], self.classes_)
        if strange.any():
            raise InputError(
                f"class {y[known][strange][0]!r} was not among the classes of fit or of the first call of partial_fit"
            )
        n_tags = self.topic_tags_.shape[1] if begun else None
        if tags is None:
            tags = sparse.csr_array((bags.shape[0], n_tags or 0), dtype=np.float32)
        data = self._labelled(bags, known, y, check_tags(tags, bags.shape[0], n_tags=n_tags))
        self._learn_batch(data, len(self.classes_), n_total)
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The probability of every class, at the temperature that held-out pictures chose."""
        return softmax(self.decision_function(X) / self.temperature_, axis=1)


def held_out_rows(n_pictures: int, share: float, random: Any) -> tuple[Any, Any]:
    """Rows to learn from, and a ``share`` of the rows to hold out, drawn at random; both are sorted."""
    order = random.permutation(n_pictures)
    n_held = min(round(share * n_pictures), n_pictures - 1)
    return np.sort(order[n_held:]), np.sort(order[:n_held])
