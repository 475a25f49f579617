"""Latent Dirichlet allocation: pictures as mixtures of topics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions

from visterm.compute import progress
from visterm.contracts import Features, Scores
from visterm.contracts.estimator import Estimator
from visterm.topics.bags import check_bags
from visterm.topics.dirichlet import fit_dirichlet
from visterm.topics.em import climb, held_out_rows
from visterm.topics.inference import Inferred, infer_topics
from visterm.topics.online import OnlineStatistics, statistics_before
from visterm.topics.starts import STARTS, start_topics
from visterm.topics.statistics import Array, TopicStatistics, normalised

#: The rate of the exponential prior of a learned alpha. Without it, alpha would grow without bound for one picture.
ALPHA_RATE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """The parameters of LDA."""

    codewords: Array  # pi, (n_topics, n_codewords)
    alpha: Array  # (n_topics,)


class LDA(TransformerMixin, Estimator):
    """Learns topics: groups of codewords that occur together (Blei, Ng and Jordan, JMLR 2003).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z. Every step of
    variational EM raises the pictures' evidence bounds plus ``smoothing`` * sum log pi (and, if alpha is learned, its
    exponential prior).

    Parameters
    ----------
    n_topics
        K.
    alpha, learn_alpha
        The Dirichlet parameter of every topic, and whether Newton's method improves it.
    smoothing
        Counts added to every codeword of every topic.
    n_tokens
        Scale every picture to this many codewords; None takes the counts as they are.
    start
        ``spread`` or ``random``, see :func:`visterm.topics.starts.start_topics`.
    n_restarts
        Keep the best of this many starts, by the objective.
    max_iter, tol
        Stop after ``max_iter`` iterations, or when the objective rises by less than ``tol``, relatively.
    max_sweeps
        Sweeps over a picture at every iteration, which continue from the last iteration. More sweeps tie pictures to
        few topics too early.
    held_out_share
        Share of the pictures to hold out. EM stops when it no longer explains the held-out pictures better.
    random_state
        Seed.

    After ``fit``: ``topic_codewords_`` (n_topics, n_codewords), ``alpha_`` (n_topics,), ``objective_`` at every
    iteration.

    >>> lda = LDA(n_topics=2, random_state=0).fit([[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 6, 2], [0, 1, 3, 4]])
    >>> lda.transform([[9, 9, 0, 0], [0, 0, 9, 9]]).argmax(axis=1).tolist()
    [1, 0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_topics": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "learn_alpha": ["boolean"],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "n_tokens": [Interval(Real, 0, None, closed="left"), None],
        "start": [StrOptions(STARTS)],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Real],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "held_out_share": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    topic_codewords_: Array
    alpha_: Array
    objective_: Array

    def __init__(
        self,
        n_topics: int = 20,
        *,
        alpha: float = 0.1,
        learn_alpha: bool = False,
        smoothing: float = 0.01,
        n_tokens: float | None = None,
        start: str = "spread",
        n_restarts: int = 1,
        max_iter: int = 100,
        tol: float = 1e-5,
        max_sweeps: int = 1,
        held_out_share: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.learn_alpha = learn_alpha
        self.smoothing = smoothing
        self.n_tokens = n_tokens
        self.start = start
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.held_out_share = held_out_share
        self.random_state = random_state

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's transformers take a y
        """Learn the topics."""
        from sklearn.utils import check_random_state

        self._validate_params()
        bags = check_bags(self, X, fitting=True, n_tokens=self.n_tokens)
        random = check_random_state(self.random_state)
        learned, held = held_out_rows(bags.shape[0], self.held_out_share, random)
        with progress.task(f"Learning {self.n_topics} topics", total=self.n_restarts * self.max_iter) as bar:
            runs = [self._run(bags[learned], bags[held], random, bar) for _ in range(self.n_restarts)]
        model, self.objective_, statistics = max(runs, key=lambda run: run[1][-1])
        self.topic_codewords_, self.alpha_ = model.codewords, model.alpha
        self.online_ = OnlineStatistics.of(statistics).packed()
        self.n_iter_ = len(self.objective_)
        return self

    def _run(
        self, bags: sparse.csr_array, held: sparse.csr_array, random: Any, bar: progress.Bar
    ) -> tuple[Topics, Array, TopicStatistics]:
        """EM from one start: the model, the objective, and the last statistics."""
        gamma: Array | None = None
        statistics: TopicStatistics

        def e_step(model: Topics) -> tuple[TopicStatistics, float]:
            nonlocal gamma, statistics
            inferred = infer_topics(bags, model.codewords, model.alpha, start=gamma, max_sweeps=self.max_sweeps)
            gamma, statistics = inferred.gamma, inferred.statistics
            return statistics, statistics.bound + self._log_prior(model)

        def look(model: Topics) -> float:
            return infer_topics(held, model.codewords, model.alpha).statistics.bound

        model, objective = climb(
            self._start(bags, random),
            e_step,
            self._maximise,
            max_iter=self.max_iter,
            tol=self.tol,
            bar=bar,
            look=look if held.shape[0] else None,
        )
        return model, objective, statistics

    def _start(self, bags: sparse.csr_array, random: Any) -> Topics:
        seeds = start_topics(bags, self.n_topics, random, how=self.start)
        return Topics(normalised(seeds, self.smoothing), np.full(self.n_topics, float(self.alpha)))

    def _log_prior(self, model: Topics) -> float:
        prior = self.smoothing * float(np.log(model.codewords).sum())
        return prior - ALPHA_RATE * float(model.alpha.sum()) if self.learn_alpha else prior

    def _maximise(self, model: Topics, statistics: TopicStatistics) -> Topics:
        """The M step."""
        model = replace(model, codewords=normalised(statistics.codewords, self.smoothing))
        if self.learn_alpha:
            sums, n_pictures = statistics.log_proportions, statistics.n_pictures
            model = replace(model, alpha=fit_dirichlet(sums, n_pictures, model.alpha, rate=ALPHA_RATE))
        return model

    def partial_fit(self, X: Features, y: Any = None, *, n_total: int | None = None) -> Self:  # noqa: ARG002 - as fit
        """Learn from one more batch of pictures, after ``fit`` or from the start, by stochastic variational inference.

        The statistics of the batches are averaged. A batch has the weight (t + 2) ** -0.6 if t batches of its size were
        seen before (Hoffman, Blei, Wang and Paisley, JMLR 2013; pictures of ``fit`` count as batches). ``n_total`` is
        the size of the collection, if it is known; otherwise the pictures seen are the collection.
        """
        from sklearn.utils import check_random_state

        self._validate_params()
        begun = hasattr(self, "topic_codewords_")
        bags = check_bags(self, X, fitting=not begun, n_tokens=self.n_tokens)
        if begun:
            model = Topics(self.topic_codewords_, self.alpha_)
        else:
            model, self.objective_ = self._start(bags, check_random_state(self.random_state)), np.empty(0)
        statistics = infer_topics(bags, model.codewords, model.alpha).statistics
        online = statistics_before(self, statistics, n_total).including(statistics)
        model = self._maximise(model, online.total)
        self.online_ = online.packed()
        self.topic_codewords_, self.alpha_ = model.codewords, model.alpha
        self.objective_ = np.append(self.objective_, statistics.bound / max(1, bags.shape[0]))
        self.n_iter_ = len(self.objective_)
        return self

    def infer(self, X: Features) -> Inferred:
        """The posterior of every picture's topics, and the statistics, which can be merged."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        return infer_topics(bags, self.topic_codewords_, self.alpha_)

    def transform(self, X: Features) -> Scores:
        """The topic proportions of every picture, (n_pictures, n_topics)."""
        return self.infer(X).proportions

    def perplexity(self, X: Features) -> float:
        """exp(-bound per codeword): between how many codewords the model is undecided; less is better."""
        bags = check_bags(self, X, fitting=False, n_tokens=self.n_tokens)
        return float(np.exp(-self.infer(X).statistics.bound / max(bags.sum(), np.finfo(float).tiny)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
