"""How each kind of model learns when a graph regularises the distributions of its pictures.

The regulariser changes only the update of the pictures' distributions. The start, the order of steps and the updates of
the parameters are the model's own, so that strength 0 is the model itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma
from sklearn.base import clone

from visterm.compute import progress
from visterm.contracts import Features, check_tags
from visterm.errors import InputError
from visterm.graph.lapvar import DirichletMeans, Discrete, LapVar, Point
from visterm.topics import (
    LDA,
    PLSA,
    Aspects,
    Inferred,
    SupervisedLDA,
    UnigramMixture,
    Unigrams,
    check_bags,
    check_tag_bags,
    climb,
    fold_in,
    infer_topics,
    normalised,
    start_responsibilities,
    starting_gamma,
)

Array = NDArray[np.float64]

#: The most rounds of a new picture's inference and its neighbours' pull. A smaller change of its proportions ends them.
_ROUNDS, _SETTLED = 50, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The results of a regularised fit besides the model: the pictures' topics, the tags of topics, Q at every step.

    ``compared`` are the distributions that the regulariser makes similar, where these are not the proportions.
    """

    proportions: Array  # (n_pictures, n_topics)
    topic_tags: Array  # (n_topics, n_tags)
    objective: Array
    compared: Array | None = None


class Case(Protocol):
    """A kind of model."""

    def curvature(self, model: Any, X: Features) -> float:
        """How strongly F bends around its maximum, times p, on average: strengths are relative to that.

        A strength that halves differences between neighbours in one case does so in the others if it is multiplied by
        their curvature.
        """

    def fit(self, model: Any, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:
        """Fit ``model`` in place with regularised distributions of its pictures."""

    def fold_in(self, model: Any, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Array:
        """The proportions of new pictures; ``links`` are to their neighbours, the rows of ``compared``."""


def case_of(model: Any) -> Case:
    """The kind of ``model``."""
    from visterm.graph.supervised import SupervisedCase

    cases: dict[type, Case] = {
        UnigramMixture: MixtureCase(),
        PLSA: AspectCase(),
        SupervisedLDA: SupervisedCase(),
        LDA: AllocationCase(),
    }
    for kind, case in cases.items():
        if isinstance(model, kind):
            return case
    names = ", ".join(kind.__name__ for kind in cases)
    raise InputError(f"a {type(model).__name__} cannot be regularised over a graph: choose one of {names}")


class _Best:
    """The best of the steps so far: with LapVar2 the last step need not be the best."""

    def __init__(self) -> None:
        self.value = -np.inf
        self.kept: tuple[Any, ...] = ()

    def see(self, value: float, *kept: Any) -> None:
        if value > self.value:
            self.value, self.kept = value, kept


class MixtureCase:
    """The paper's LapMixUnigram: one discrete variable per picture, with free-form q(z)."""

    def curvature(self, model: UnigramMixture, X: Features) -> float:  # noqa: ARG002 - the same for all
        """1: the second derivative of the entropy -p log p is -1 / p."""
        return 1.0

    def fit(self, model: UnigramMixture, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Expectation maximisation whose E step is a sweep of LapVar."""
        from sklearn.utils import check_random_state

        model._validate_params()
        bags = check_bags(model, X, fitting=True, n_tokens=model.n_tokens)
        tags = check_tag_bags(tags, bags.shape[0])
        random = check_random_state(model.random_state)
        with progress.task("Fitting a mixture over the graph", total=model.n_restarts * model.max_iter) as bar:
            runs = [self._run(model, bags, tags, random, lapvar, bar) for _ in range(model.n_restarts)]
        (unigrams, state), objective = max(runs, key=lambda run: run[1].max())
        model.topic_shares_, model.topic_codewords_, model.topic_tags_ = (
            unigrams.shares,
            unigrams.codewords,
            unigrams.tags,
        )
        model.objective_, model.n_iter_ = objective, len(objective)
        return Learned(state, unigrams.tags, objective)

    def _run(
        self, model: UnigramMixture, bags: Any, tags: Any, random: Any, lapvar: LapVar, bar: progress.Bar
    ) -> tuple[Any, Array]:
        smoothing, best = model.smoothing, _Best()
        state = start_responsibilities(bags, tags, model.n_topics, random)

        def e_step(unigrams: Unigrams) -> tuple[Array, float]:
            nonlocal state
            variables = Discrete(unigrams.log_joint(bags, tags))
            state = lapvar.improve(variables, state)
            value = lapvar.objective(variables, state) + unigrams.log_prior(smoothing)
            best.see(value, unigrams, state)
            return state, value

        def m_step(_: Unigrams, state: Array) -> Unigrams:
            return Unigrams.maximise(bags, tags, state, smoothing)

        start = Unigrams.maximise(bags, tags, state, smoothing)
        last, objective = climb(start, e_step, m_step, max_iter=model.max_iter, tol=model.tol, bar=bar)
        e_step(last)  # the topics of the pictures under the last parameters
        return best.kept, objective

    def fold_in(
        self, model: UnigramMixture, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """One exact update: the log joint probability of new pictures does not depend on them."""
        variables = Discrete(model.log_joint(X))
        return lapvar.fold_in(variables, links, compared, variables.free())


class AspectCase:
    """Probabilistic latent semantic analysis of codewords and tags: point estimates p(z | picture)."""

    def curvature(self, model: PLSA, X: Features) -> float:
        """The tokens of a picture: the second derivative of n p log p, of n p tokens, is about -n / p."""
        return _mean_size(model, X)

    def fit(self, model: PLSA, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Expectation maximisation in which neighbours pull p(z | picture)."""
        from sklearn.utils import check_random_state

        if model.asymmetric or model.held_out_share:
            raise InputError(
                "over a graph, PLSA learns codewords and tags together by plain EM: "
                "use PLSA(asymmetric=False, held_out_share=0)"
            )
        model._validate_params()
        bags = check_bags(model, X, fitting=True, n_tokens=model.n_tokens)
        tags = check_tag_bags(tags, bags.shape[0])
        both = sparse.csr_array(sparse.hstack([bags, tags]))
        random = check_random_state(model.random_state)
        random.permutation(np.count_nonzero(np.diff(tags.indptr)))  # PLSA draws held-out pictures, even if none
        aspects, objective, best = Aspects.random(both, model.n_topics, random, bags.shape[1]), list[float](), _Best()
        with progress.task("Fitting aspects over the graph", total=model.max_iter) as bar:
            for _ in range(model.max_iter):

                def settle(expected: Array, theta: Array = aspects.picture_topics) -> Array:
                    return lapvar.improve(Point(expected), theta)

                updated, value = aspects.step(both, settle=settle)
                value -= lapvar.penalty(aspects.picture_topics)
                objective.append(value)
                bar.advance()
                bar.report(objective=value)
                best.see(value, aspects)
                if len(objective) > 1 and value - objective[-2] <= model.tol * abs(value):
                    break
                aspects = updated
            else:
                best.see(np.inf, aspects)  # the value after the last step is not known
        (aspects,) = best.kept
        proportions = _settled_aspects(both, aspects.word_topics, aspects.picture_topics, lapvar.improve, lapvar)
        codewords, words = np.split(aspects.word_topics, [bags.shape[1]])
        model.topic_codewords_, model.topic_tags_ = codewords.T.copy(), words.T.copy()
        model.power_, model.schedule_ = 1.0, np.array([(1.0, model.max_iter)])
        model.objective_, model.n_iter_ = np.array(objective), len(objective)
        return Learned(proportions, model.topic_tags_, model.objective_)

    def fold_in(self, model: PLSA, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Array:
        """EM with the words of the topics fixed."""
        bags = check_bags(model, X, fitting=False, n_tokens=model.n_tokens)

        def pull(variables: Point, theta: Array) -> Array:
            return lapvar.fold_in(variables, links, compared, theta)

        start = np.ones((bags.shape[0], model.n_topics))  # of which only the proportions count
        return _settled_aspects(bags, np.ascontiguousarray(model.topic_codewords_.T), start, pull, lapvar)


def _settled_aspects(
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


class AllocationCase:
    """Latent Dirichlet allocation: q(theta) is a Dirichlet, and its mean becomes similar between neighbours."""

    def curvature(self, model: Any, X: Features) -> float:
        """Tokens and pseudo-counts of a picture: the Fisher information of the mean is about sum(gamma) / p."""
        return _mean_size(model, X) + model.n_topics * float(model.alpha)

    def fit(self, model: LDA, X: Features, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Variational EM, which counts the tags of topics after it has learned the topics."""
        from sklearn.utils import check_random_state

        if model.held_out_share or model.learn_alpha:
            raise InputError(
                "over a graph, LDA has a fixed alpha and holds out nothing: set learn_alpha=False, held_out_share=0"
            )
        model._validate_params()
        bags = check_bags(model, X, fitting=True, n_tokens=model.n_tokens)
        checked = check_tags(tags, bags.shape[0])
        random = check_random_state(model.random_state)
        random.permutation(bags.shape[0])  # LDA draws held-out pictures, even if none
        with progress.task("Learning topics over the graph", total=model.n_restarts * model.max_iter) as bar:
            runs = [self._run(model, bags, random, lapvar, bar) for _ in range(model.n_restarts)]
        (topics, gamma), objective = max(runs, key=lambda run: run[1].max())
        model.topic_codewords_, model.alpha_ = topics, np.full(model.n_topics, float(model.alpha))
        model.objective_, model.n_iter_ = objective, len(objective)
        proportions = Settled.of(bags, topics, model.alpha_, gamma, lapvar.improve, lapvar).means
        topic_tags = normalised(np.asarray((checked.T @ proportions).T, np.float64), model.smoothing)
        return Learned(proportions, topic_tags, objective)

    def _run(self, model: LDA, bags: Any, random: Any, lapvar: LapVar, bar: progress.Bar) -> tuple[Any, Array]:
        from visterm.topics.starts import start_topics

        alpha, best = np.full(model.n_topics, float(model.alpha)), _Best()
        gamma = starting_gamma(bags, alpha)

        def e_step(topics: Array) -> tuple[Inferred, float]:
            nonlocal gamma
            for _ in range(model.max_sweeps):
                gamma = _pulled(bags, topics, alpha, gamma, lapvar)
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

    def fold_in(self, model: Any, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Array:
        """Coordinate ascent with the topics fixed."""
        return folded_in(model, X, links, compared, lapvar).means


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Posteriors under fixed topics: ``gamma``, pulled by neighbours, and ``targets``, alpha plus expected counts."""

    gamma: Array
    targets: Array

    @classmethod
    def of(
        cls,
        bags: sparse.csr_array,
        topics: Array,
        alpha: Array,
        gamma: Array,
        pull: Callable[[DirichletMeans, Array], Array],
        lapvar: LapVar,
    ) -> Settled:
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


def folded_in(model: Any, X: Features, links: sparse.csr_array, compared: Array, lapvar: LapVar) -> Settled:
    """The posteriors of new pictures, whose neighbours keep their means ``compared``."""
    bags = check_bags(model, X, fitting=False, n_tokens=model.n_tokens)

    def pull(variables: DirichletMeans, gamma: Array) -> Array:
        return lapvar.fold_in(variables, links, compared, gamma)

    start = starting_gamma(bags, model.alpha_)
    return Settled.of(bags, model.topic_codewords_, model.alpha_, start, pull, lapvar)


def _mean_size(model: Any, X: Features) -> float:
    """The mean number of tokens of a picture."""
    bags = check_bags(clone(model), X, fitting=True, n_tokens=model.n_tokens)
    return max(1.0, float(bags.sum()) / bags.shape[0])


def _pulled(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array, lapvar: LapVar) -> Array:
    """A sweep over the codewords, then one over the graph."""
    targets = infer_topics(bags, topics, alpha, start=gamma, max_sweeps=1).gamma
    return lapvar.improve(DirichletMeans(targets), gamma)


def expected_logs(gamma: Array) -> Array:
    """E[log theta] under Dirichlet(gamma)."""
    return digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
