"""Latent Dirichlet allocation: pictures as mixtures of topics."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.contracts import Features, declared
from visterm.topics.inference import em
from visterm.topics.inference.em import Array, TopicStatistics
from visterm.topics.inference.topic_model import DirichletTopicModel, JointTopics


@declared
class LDA(TransformerMixin, DirichletTopicModel):
    """Learns topics: groups of codewords that occur together (Blei, Ng and Jordan, JMLR 2003).

    theta ~ Dirichlet(alpha); every codeword draws its topic z from theta, then itself from pi_z. Every step of
    variational EM raises the pictures' evidence bounds plus ``smoothing`` * sum log pi (and, if alpha is learned, its
    exponential prior).

    The parameters mean the same as in :class:`~visterm.topics.slda.SupervisedLDA`. More than one of the ``max_sweeps``
    would tie pictures to few topics too early.

    After ``fit``: ``topic_codewords_`` (n_topics, n_codewords), ``alpha_`` (n_topics,), ``objective_`` at every
    iteration.

    >>> lda = LDA(n_topics=2, random_state=0).fit([[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 6, 2], [0, 1, 3, 4]])
    >>> lda.transform([[9, 9, 0, 0], [0, 0, 9, 9]]).argmax(axis=1).tolist()
    [1, 0]
    """

    _: KW_ONLY
    start: str = "spread"
    n_restarts: int = 1
    max_sweeps: int = 1

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's transformers take a y
        """Learn the topics."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        random = check_random_state(self.random_state)
        random.permutation(bags.shape[0])  # unused, so that seeds give the topics of earlier versions
        with progress.task(f"Learning {self.n_topics} topics", total=self.n_restarts * self.max_iter) as bar:
            runs = [self._run(bags, random, bar) for _ in range(self.n_restarts)]
        model, objective = max(runs, key=lambda run: run[1][-1])
        return self.keep(model.codewords, model.alpha, objective)

    def keep(self, codewords: Array, alpha: Array, objective: Array) -> Self:
        """Take topics as learned, with the objective of every iteration: the end of a fit, here or over a graph."""
        self.topic_codewords_, self.alpha_ = codewords, alpha
        self.n_features_in_ = codewords.shape[1]
        self.objective_, self.n_iter_ = objective, len(objective)
        return self

    def _run(self, bags: sparse.csr_array, random: Any, bar: progress.Bar) -> tuple[JointTopics, Array]:
        """EM from one start: the model and the objective."""
        gamma: Array | None = None

        def e_step(model: JointTopics) -> tuple[TopicStatistics, float]:
            nonlocal gamma
            inferred = em.infer_topics(bags, model.codewords, model.alpha, start=gamma, max_sweeps=self.max_sweeps)
            gamma = inferred.gamma
            return inferred.statistics, inferred.statistics.bound + self._log_prior(model)

        seeds = em.normalised(em.start_topics(bags, self.n_topics, random, how=self.start), self.smoothing)
        start = JointTopics.of(seeds, np.zeros((self.n_topics, 0)), self.alpha)
        return em.climb(start, e_step, self._maximise, max_iter=self.max_iter, tol=self.tol, bar=bar)

    def perplexity(self, X: Features) -> float:
        """exp(-bound per codeword): between how many codewords the model is undecided; less is better."""
        bags = self._bags(X)
        return float(np.exp(-self.infer(X).statistics.bound / max(bags.sum(), np.finfo(float).tiny)))
