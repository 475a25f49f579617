"""Supervised LDA over a graph: class, tags and neighbours determine the topics together."""

from dataclasses import replace
from typing import Any

from scipy import sparse
from scipy.special import digamma
from sklearn.base import clone

from visterm.errors import InputError
from visterm.graph.inference.allocation import AllocationCase, Settled, folded_in
from visterm.graph.inference.lapvar import Array, DirichletMeans, LapVar, Learned
from visterm.topics import JointTopics, Labelled, LabelledInference, infer_labelled, mean_assignments, of_size


class PulledInference:
    """The E step of supervised LDA that ends with a sweep of LapVar over the posterior Dirichlets, ``gamma``."""

    gamma: Array

    def __init__(self, lapvar: LapVar) -> None:
        self._lapvar = lapvar

    def __call__(self, data: Labelled, model: JointTopics, gamma: Array, *, max_sweeps: int) -> LabelledInference:
        """Improve ``gamma`` in place; the bound includes the price of differences between neighbours."""
        self.gamma, lapvar = gamma, self._lapvar
        if not lapvar.strength:
            return infer_labelled(data, model, gamma, max_sweeps=max_sweeps)
        for _ in range(max_sweeps):
            before = gamma.copy()
            inferred = infer_labelled(data, model, gamma, max_sweeps=1)
            variables = DirichletMeans(gamma.copy())
            gamma[:] = lapvar.improve(variables, before)
        gained = variables.value(gamma) - variables.value(variables.given)
        expected_logs = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
        statistics = replace(
            inferred.statistics,
            bound=inferred.statistics.bound + gained - lapvar.penalty(variables.means(gamma)),
            log_proportions=expected_logs.sum(axis=0),
        )
        return replace(inferred, statistics=statistics)


class SupervisedCase(AllocationCase):
    """Supervised LDA, with classes, tags or both."""

    def fit(self, model: Any, X: sparse.csr_array, tags: Any, y: Any, lapvar: LapVar) -> Learned:
        """Variational EM with the model's labels, then the usual refinement, if any.

        Then the topics of all pictures are inferred as those of a new picture: from codewords and neighbours.
        """
        if getattr(model, "held_out_share", 0) or model.n_restarts != 1:
            raise InputError(
                "over a graph, SupervisedLDA holds out nothing and starts once: set held_out_share=0, n_restarts=1"
            )
        infer = PulledInference(lapvar)
        fitted = clone(model).fit(X, y, tags, infer=infer)
        bags, topics, alpha = of_size(X, model.n_tokens), fitted.topic_codewords_, fitted.alpha_
        settled = Settled.of(bags, topics, alpha, infer.gamma, lapvar.improve, lapvar)
        phibar = mean_assignments(settled.targets, bags, alpha)
        return Learned(fitted, phibar, fitted.topic_tags_, fitted.objective_, settled.means)

    def fold_in(
        self, model: Any, X: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """As in LDA; tags and classes come from phibar, the mean topics of the codewords (the paper's equation 14)."""
        bags = of_size(X, model.n_tokens)
        return mean_assignments(folded_in(model, bags, links, compared, lapvar).targets, bags, model.alpha_)
