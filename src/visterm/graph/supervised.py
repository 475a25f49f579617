"""Supervised LDA over a graph: class, tags and neighbours determine the topics together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from visterm.compute import progress
from visterm.contracts import Features
from visterm.errors import InputError
from visterm.graph.cases import AllocationCase, Array, Learned, expected_logs
from visterm.graph.lapvar import DirichletMeans, LapVar
from visterm.topics import (
    JointTopics,
    Labelled,
    Posterior,
    SupervisedLDA,
    TopicStatistics,
    climb,
    improve_coefficients,
    infer_labelled,
)


class _SupervisedOverGraph(SupervisedLDA):
    """Supervised LDA whose E step ends with a sweep of LapVar over the posterior Dirichlets."""

    lapvar: LapVar
    gamma: Array

    def _run(
        self, data: Labelled, start: tuple[JointTopics, Array], bar: progress.Bar, look: Any
    ) -> tuple[JointTopics, Array]:
        model, gamma = start
        posterior, lapvar = Posterior.given(gamma, data.bags, model.codewords), self.lapvar

        def e_step(model: JointTopics) -> tuple[TopicStatistics, float]:
            if not lapvar.strength:
                statistics = infer_labelled(data, model, posterior, max_sweeps=self.max_sweeps)
                return statistics, statistics.bound + self._log_prior(model)
            for _ in range(self.max_sweeps):
                before = posterior.gamma.copy()
                statistics = infer_labelled(data, model, posterior, max_sweeps=1)
                variables = DirichletMeans(posterior.gamma.copy())
                posterior.gamma[:] = lapvar.improve(variables, before)
            gained = variables.value(posterior.gamma) - variables.value(variables.targets)
            statistics = replace(
                statistics,
                bound=statistics.bound + gained,
                log_proportions=expected_logs(posterior.gamma).sum(axis=0),
            )
            penalty = lapvar.penalty(variables.means(posterior.gamma))
            return statistics, statistics.bound + self._log_prior(model) - penalty

        def m_step(model: JointTopics, statistics: TopicStatistics) -> JointTopics:
            coefficients = model.coefficients
            if len(coefficients):
                coefficients = improve_coefficients(data, posterior, coefficients, model.alpha, self.ridge)
            return replace(self._maximise(model, statistics), coefficients=coefficients)

        fitted = climb(model, e_step, m_step, max_iter=self.max_iter, tol=self.tol, bar=bar, look=look)
        self.gamma = posterior.gamma
        return fitted


class SupervisedCase(AllocationCase):
    """Supervised LDA, with classes, tags or both."""

    def fit(self, model: Any, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:
        """Variational EM with the model's labels, then the usual refinement, if any."""
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
        proportions = over_graph.gamma / over_graph.gamma.sum(axis=1, keepdims=True)
        return Learned(proportions, model.topic_tags_, model.objective_)

    def fold_in(self, model: Any, X: Features, links: sparse.csr_array, proportions: Array, lapvar: LapVar) -> Array:
        """As in LDA: a new picture has only codewords."""
        return super().fold_in(model, X, links, np.ascontiguousarray(proportions), lapvar)
