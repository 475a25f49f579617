"""Probabilistic latent semantic analysis of codewords and tags over a graph: point estimates p(z | picture)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.errors import InputError
from visterm.graph.inference.lapvar import Array, Best, LapVar, Learned, Point, mean_size
from visterm.topics import PLSA, Aspects, check_tag_bags, climb, fold_in, of_size

#: The most rounds of a picture's EM and its neighbours' pull. A smaller change of its topics ends them.
_ROUNDS, _SETTLED = 50, 1e-4


class AspectCase:
    """Point estimates p(z | picture)."""

    def curvature(self, model: PLSA, X: sparse.csr_array) -> float:
        """The tokens of a picture: the second derivative of n p log p, of n p tokens, is about -n / p."""
        return mean_size(of_size(X, model.n_tokens))

    def fit(self, model: PLSA, X: sparse.csr_array, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Expectation maximisation in which neighbours pull p(z | picture)."""
        if model.asymmetric or model.held_out_share:
            raise InputError(
                "over a graph, PLSA learns codewords and tags together by plain EM: "
                "use PLSA(asymmetric=False, held_out_share=0)"
            )
        model._validate_params()
        bags, tags = of_size(X, model.n_tokens), check_tag_bags(tags, X.shape[0])
        both = sparse.csr_array(sparse.hstack([bags, tags]))
        random = check_random_state(model.random_state)
        random.permutation(np.count_nonzero(np.diff(tags.indptr)))  # PLSA draws held-out pictures, even if none
        start = judged = Aspects.random(both, model.n_topics, random, bags.shape[1])
        best = Best()

        def e_step(aspects: Aspects) -> tuple[Aspects, float]:
            nonlocal judged
            judged = aspects

            def settle(expected: Array) -> Array:
                return lapvar.improve(Point(expected), aspects.picture_topics)

            updated, value = aspects.step(both, settle=settle)
            value -= lapvar.penalty(aspects.picture_topics)
            best.see(value, aspects)
            return updated, value

        with progress.task("Fitting aspects over the graph", total=model.max_iter) as bar:
            last, objective = climb(
                start, e_step, lambda _, updated: updated, max_iter=model.max_iter, tol=model.tol, bar=bar
            )
        aspects = best.kept[0] if last is judged else last  # of steps that max_iter ended, the last value is not known
        proportions = settled_aspects(both, aspects.word_topics, aspects.picture_topics, lapvar.improve, lapvar)
        parts = np.split(aspects.word_topics, [bags.shape[1]])
        fitted = clone(model).keep(*parts, [(1.0, model.max_iter)], objective)
        return Learned(fitted, proportions, fitted.topic_tags_, objective)

    def fold_in(
        self, model: PLSA, X: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """EM with the words of the topics fixed."""
        start = np.ones((X.shape[0], model.n_topics))  # of which only the proportions count
        words = np.ascontiguousarray(model.topic_codewords_.T)
        return settled_aspects(
            of_size(X, model.n_tokens), words, start, partial(lapvar.fold_in, links, compared), lapvar
        )


def settled_aspects(
    counts: sparse.csr_array, words: Array, theta: Array, pull: Callable[[Point, Array], Array], lapvar: LapVar
) -> Array:
    """p(z | picture) under fixed words of the topics, pulled by neighbours, until it no longer changes."""
    if not lapvar.strength:
        return fold_in(counts, words)
    for _ in range(_ROUNDS):

        def settle(expected: Array, theta: Array = theta) -> Array:
            return pull(Point(expected), theta)

        before, theta = theta, Aspects(theta, words).step(counts, settle=settle)[0].picture_topics
        if np.abs(theta - before).max(initial=0) < _SETTLED:
            break
    return theta
