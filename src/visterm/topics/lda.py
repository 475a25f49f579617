"""Latent Dirichlet allocation: pictures as mixtures of topics."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import TransformerMixin

from visterm.compute import progress
from visterm.contracts import Features, Scores
from visterm.topics.inference import em
from visterm.topics.inference.em import Array, Inferred, TopicModel, TopicStatistics, accepted


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """The parameters of LDA."""

    codewords: Array  # pi, (n_topics, n_codewords)
    alpha: Array  # (n_topics,)


@dataclass(eq=False, repr=False)
class LDA(TransformerMixin, TopicModel):
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = accepted(
        "n_topics alpha learn_alpha smoothing n_tokens start n_restarts max_iter tol max_sweeps random_state"
    )

    n_topics: int = 20
    _: KW_ONLY
    alpha: float = 0.1
    learn_alpha: bool = False
    smoothing: float = 0.01
    n_tokens: float | None = None
    start: str = "spread"
    n_restarts: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    max_sweeps: int = 1
    random_state: Any = None

    def fit(self, X: Features, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's transformers take a y
        """Learn the topics."""
        from sklearn.utils import check_random_state

        self._validate_params()
        bags = self._bags(X, fitting=True)
        random = check_random_state(self.random_state)
        random.permutation(bags.shape[0])  # unused, so that seeds give the topics of earlier versions
        with progress.task(f"Learning {self.n_topics} topics", total=self.n_restarts * self.max_iter) as bar:
            runs = [self._run(bags, random, bar) for _ in range(self.n_restarts)]
        return self.keep(*max(runs, key=lambda run: run[1][-1]))

    def keep(self, model: Topics, objective: Array) -> Self:
        """Take topics as learned, with the objective of every iteration: the end of a fit, here or over a graph."""
        self.topic_codewords_, self.alpha_ = model.codewords, model.alpha
        self.n_features_in_ = model.codewords.shape[1]
        self.objective_, self.n_iter_ = objective, len(objective)
        return self

    def _run(self, bags: sparse.csr_array, random: Any, bar: progress.Bar) -> tuple[Topics, Array]:
        """EM from one start: the model and the objective."""
        gamma: Array | None = None

        def e_step(model: Topics) -> tuple[TopicStatistics, float]:
            nonlocal gamma
            inferred = em.infer_topics(bags, model.codewords, model.alpha, start=gamma, max_sweeps=self.max_sweeps)
            gamma = inferred.gamma
            return inferred.statistics, inferred.statistics.bound + self._log_prior(model)

        seeds = em.start_topics(bags, self.n_topics, random, how=self.start)
        start = Topics(em.normalised(seeds, self.smoothing), np.full(self.n_topics, float(self.alpha)))
        return em.climb(start, e_step, self._maximise, max_iter=self.max_iter, tol=self.tol, bar=bar)

    def _log_prior(self, model: Topics) -> float:
        prior = self.smoothing * float(np.log(model.codewords).sum())
        return prior - em.ALPHA_RATE * float(model.alpha.sum()) if self.learn_alpha else prior

    def _maximise(self, model: Topics, statistics: TopicStatistics) -> Topics:
        """The M step."""
        model = replace(model, codewords=em.normalised(statistics.codewords, self.smoothing))
        if not self.learn_alpha:
            return model
        return replace(model, alpha=em.fit_dirichlet(statistics.log_proportions, statistics.n_pictures, model.alpha))

    def infer(self, X: Features) -> Inferred:
        """The posterior of every picture's topics, and the statistics, which can be merged."""
        return em.infer_topics(self._bags(X), self.topic_codewords_, self.alpha_)

    def transform(self, X: Features) -> Scores:
        """The topic proportions of every picture, (n_pictures, n_topics)."""
        return self.infer(X).proportions

    def perplexity(self, X: Features) -> float:
        """exp(-bound per codeword): between how many codewords the model is undecided; less is better."""
        bags = self._bags(X)
        return float(np.exp(-self.infer(X).statistics.bound / max(bags.sum(), np.finfo(float).tiny)))
