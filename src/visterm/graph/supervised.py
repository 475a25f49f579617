"""Supervised LDA over a graph: class, tags and neighbours determine the topics together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn.base import clone

from visterm.contracts import Features
from visterm.errors import InputError
from visterm.graph.cases import AllocationCase, Array, Learned, Settled, expected_logs, folded_in
from visterm.graph.lapvar import DirichletMeans, LapVar
from visterm.topics import (
    JointTopics,
    Labelled,
    LabelledInference,
    SupervisedLDA,
    check_bags,
    infer_labelled,
    mean_assignments,
)


class _SupervisedOverGraph(SupervisedLDA):
    """Supervised LDA whose E step ends with a sweep of LapVar over the posterior Dirichlets."""

    lapvar: LapVar
    gamma: Array

    def _infer_labelled(self, data: Labelled, model: JointTopics, gamma: Array) -> LabelledInference:
        self.gamma, lapvar = gamma, self.lapvar
        if not lapvar.strength:
            return super()._infer_labelled(data, model, gamma)
        for _ in range(self.max_sweeps):
            before = gamma.copy()
            inferred = infer_labelled(data, model, gamma, max_sweeps=1)
            variables = DirichletMeans(gamma.copy())
            gamma[:] = lapvar.improve(variables, before)
        gained = variables.value(gamma) - variables.value(variables.targets)
        statistics = replace(
            inferred.statistics,
            bound=inferred.statistics.bound + gained - lapvar.penalty(variables.means(gamma)),
            log_proportions=expected_logs(gamma).sum(axis=0),
        )
        return replace(inferred, statistics=statistics)


class SupervisedCase(AllocationCase):
    """Supervised LDA, with classes, tags or both."""

    def fit(self, model: Any, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:
        """Variational EM with the model's labels, then the usual refinement, if any.

        Then the topics of all pictures are inferred as those of a new picture: from codewords and neighbours.
        """
        if model.held_out_share or model.n_restarts != 1:
            raise InputError(
                "over a graph, SupervisedLDA holds out nothing and starts once: set held_out_share=0, n_restarts=1"
            )
        over_graph = _SupervisedOverGraph(**clone(model).get_params())
        over_graph.lapvar = lapvar
        over_graph.fit(X, y, tags)
        for name, value in vars(over_graph).items():
            if name.endswith("_"):
                setattr(model, name, value)
        bags = check_bags(model, X, fitting=False, n_tokens=model.n_tokens)
        settled = Settled.of(bags, model.topic_codewords_, model.alpha_, over_graph.gamma, lapvar.improve, lapvar)
        phibar = mean_assignments(settled.targets, bags, model.alpha_)
        return Learned(phibar, model.topic_tags_, model.objective_, settled.means)

    def fold_in(self, model: Any, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Array:
        """As in LDA; tags and classes come from phibar, the mean topics of the codewords (the paper's equation 14)."""
        new = check_bags(model, X, fitting=False, n_tokens=model.n_tokens)
        return mean_assignments(folded_in(model, X, links, compared, lapvar).targets, new, model.alpha_)
