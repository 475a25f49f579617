"""Latent Dirichlet allocation over a graph: the means of the Dirichlets q(theta) become similar between neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.contracts import check_tags
from visterm.errors import InputError
from visterm.graph.inference.lapvar import Array, Best, DirichletMeans, LapVar, Learned, mean_size
from visterm.topics import LDA, Inferred, climb, infer_topics, normalised, of_size, start_topics, starting_gamma

#: The most rounds of a picture's inference and its neighbours' pull. A smaller change of its proportions ends them.
_ROUNDS, _SETTLED = 50, 1e-4
#: An update of the Dirichlets by their neighbours.
Pull: TypeAlias = Callable[[DirichletMeans, Array], Array]


class AllocationCase:
    """Dirichlet posteriors of the topic proportions."""

    def curvature(self, model: Any, X: sparse.csr_array) -> float:
        """Tokens and pseudo-counts of a picture: the Fisher information of the mean is about sum(gamma) / p."""
        return mean_size(of_size(X, model.n_tokens)) + model.n_topics * float(model.alpha)

    def fit(self, model: Any, X: sparse.csr_array, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Variational EM, which counts the tags of topics after it has learned the topics."""
        if model.learn_alpha:
            raise InputError("over a graph, LDA has a fixed alpha: set learn_alpha=False")
        model._validate_params()
        bags, checked = of_size(X, model.n_tokens), check_tags(tags, X.shape[0])
        random = check_random_state(model.random_state)
        random.permutation(bags.shape[0])  # unused, as in LDA
        with progress.task("Learning topics over the graph", total=model.n_restarts * model.max_iter) as bar:
            runs = [_run(model, bags, random, lapvar, bar) for _ in range(model.n_restarts)]
        (topics, gamma), objective = max(runs, key=lambda run: run[1].max())
        fitted = clone(model).keep(topics, np.full(model.n_topics, float(model.alpha)), objective)
        proportions = Settled.of(bags, topics, fitted.alpha_, gamma, lapvar.improve, lapvar).means
        topic_tags = normalised(np.asarray((checked.T @ proportions).T, np.float64), model.smoothing)
        return Learned(fitted, proportions, topic_tags, objective)

    def fold_in(
        self, model: Any, X: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """Coordinate ascent with the topics fixed."""
        return folded_in(model, of_size(X, model.n_tokens), links, compared, lapvar).means


def _run(model: LDA, bags: sparse.csr_array, random: Any, lapvar: LapVar, bar: progress.Bar) -> tuple[Any, Array]:
    """EM from one start: the best topics with the pictures' gamma, and Q at every step."""
    alpha, best = np.full(model.n_topics, float(model.alpha)), Best()
    gamma = starting_gamma(bags, alpha)

    def e_step(topics: Array) -> tuple[Inferred, float]:
        nonlocal gamma
        for _ in range(model.max_sweeps):
            gamma = pulled(bags, topics, alpha, gamma, lapvar)
        inferred = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=0)
        value = inferred.statistics.bound + model.smoothing * float(np.log(topics).sum())
        value -= lapvar.penalty(inferred.proportions)
        best.see(value, topics, gamma)
        return inferred, value

    def m_step(_: Array, inferred: Inferred) -> Array:
        return normalised(inferred.statistics.codewords, model.smoothing)

    start = normalised(start_topics(bags, model.n_topics, random, how=model.start), model.smoothing)
    last, objective = climb(start, e_step, m_step, max_iter=model.max_iter, tol=model.tol, bar=bar)
    e_step(last)  # the posteriors of the pictures under the last topics
    return best.kept, objective


def pulled(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array, lapvar: LapVar) -> Array:
    """A sweep over the codewords, then one over the graph."""
    targets = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1).gamma
    return lapvar.improve(DirichletMeans(targets), gamma)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Posteriors under fixed topics: ``gamma``, pulled by neighbours, and ``targets``, alpha plus expected counts."""

    gamma: Array
    targets: Array

    @classmethod
    def of(
        cls, bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array, pull: Pull, lapvar: LapVar
    ) -> "Settled":
        """Alternate a sweep over the codewords and a ``pull`` of the neighbours until the means no longer change."""
        if not lapvar.strength:
            gamma = infer_topics(bags, topics, alpha).gamma
            return cls(gamma, gamma)
        means = gamma / gamma.sum(axis=1, keepdims=True)
        for _ in range(_ROUNDS):
            before, targets = means, infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1).gamma
            gamma = pull(DirichletMeans(targets), gamma)
            means = gamma / gamma.sum(axis=1, keepdims=True)
            if np.abs(means - before).max(initial=0) < _SETTLED:
                break
        return cls(gamma, infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1).gamma)

    @property
    def means(self) -> Array:
        """E[theta], the mean proportions."""
        return self.gamma / self.gamma.sum(axis=1, keepdims=True)


def folded_in(model: Any, bags: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Settled:
    """The posteriors of new pictures, whose neighbours keep their means ``compared``."""
    start, pull = starting_gamma(bags, model.alpha_), partial(lapvar.fold_in, links, compared)
    return Settled.of(bags, model.topic_codewords_, model.alpha_, start, pull, lapvar)
