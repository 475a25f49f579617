"""The Laplacian regulariser and its two optimisers, for any model with one distribution over topics per picture.

Shao, Zhou, He, Cai and Bao ("Graph regularised variational inference", ACM TIST 2014) maximise the variational free
energy F minus a price for differences between neighbours, over distributions and parameters::

    Q = F - strength / 2 * sum_k p_k' L p_k,    L = diag(S 1) - S,

p_ik is the probability of topic k in picture i, and S are the weights of a graph of similar pictures. *LapVar1*
maximises Q over one picture after the other. *LapVar2* maximises F alone, then mixes neighbours and keeps the best
mixture.

The regulariser changes only the update of the pictures' distributions. The start, the order of steps and the updates of
the parameters are the model's own, so that strength 0 is the model itself. A :class:`Case` says how a kind of model
learns in this way.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import entr, softmax, xlogy

from visterm.topics import distributions

Array = NDArray[np.float64]

METHODS = {"lapvar1", "lapvar2"}
#: LapVar2: the share of a distribution that neighbours replace, the most mixtures, the most in a row without a rise.
_MIXED, _MIXTURES, _PATIENCE = 0.1, 100, 3


@dataclass(frozen=True, eq=False)
class Variables:
    """One variational distribution per picture, as a state (n_pictures, n_topics), and its own part of F.

    ``given`` (n_pictures, n_topics) is all that this part of F knows of the pictures.
    """

    given: Array

    def value(self, state: Array) -> float:
        """The part of F that depends on the state."""
        raise NotImplementedError

    def free(self) -> Array:
        """The state that maximises F without neighbours."""
        return self._best(self.given)

    def shared(self, groups: NDArray[np.intp]) -> Array:
        """The state that maximises F if all pictures of a group (numbered from 0) must have the same."""
        return self._best(_group_means(self.given, groups))

    def means(self, state: Array) -> Array:
        """The probabilities of the topics, which the regulariser makes similar between neighbours: mostly the state."""
        return state

    def with_means(self, state: Array, means: Array) -> Array:  # noqa: ARG002 - only some need the state
        """``state`` with other probabilities of the topics."""
        return means

    def sweep(self, links: sparse.csr_array, strength: float, order: NDArray[Any], neighbours: Any, state: Any) -> None:
        """LapVar1: maximise over the rows of ``state`` in turn, in place, by Newton's method.

        ``neighbours`` holds the probabilities of the pictures of the columns of ``links``. None: the rows of ``state``
        are each other's neighbours.
        """
        from visterm.graph.inference._kernels import Links

        means = self.means(state)
        others = means if neighbours is None else neighbours
        given = np.ascontiguousarray(self.given)
        moved = (state,) if means is state else (state, means)  # Dirichlets and their means
        self._kernel()(Links.of(links), given, strength, order, others, *moved)

    def _best(self, given: Array) -> Array:
        raise NotImplementedError

    def _kernel(self) -> Any:
        raise NotImplementedError


class Discrete(Variables):
    """Free-form q(z_i) of one discrete variable per picture: F_i = p . (scores_i - log p).

    The scores, which are given, are the expected log joint probabilities of the topics.
    """

    def value(self, state: Array) -> float:
        """Expected scores plus entropy."""
        return float((state * self.given).sum() + entr(state).sum())

    def _best(self, given: Array) -> Array:
        return softmax(given, axis=1)

    def _kernel(self) -> Any:
        from visterm.graph.inference._kernels import sweep_discrete

        return sweep_discrete


class Point(Variables):
    """Point estimates p_i of topic shares: F_i = expected_i . log p; the expected counts of the topics are given."""

    def value(self, state: Array) -> float:
        """The expected log-likelihood of the topics."""
        return float(xlogy(self.given, state).sum())

    def _best(self, given: Array) -> Array:
        return distributions(given)

    def _kernel(self) -> Any:
        from visterm.graph.inference._kernels import sweep_point

        return sweep_point


class DirichletMeans(Variables):
    """q(theta_i) = Dirichlet(gamma_i); alpha plus the expected counts, the best gamma for F alone, are given."""

    def value(self, state: Array) -> float:
        """The terms of the bound that depend on gamma."""
        from visterm.graph.inference._kernels_dirichlet import own_values

        return own_values(np.ascontiguousarray(self.given), np.ascontiguousarray(state))

    def means(self, state: Array) -> Array:
        """Mean topic proportions."""
        return state / state.sum(axis=1, keepdims=True)

    def with_means(self, state: Array, means: Array) -> Array:
        """Other means with the same concentration."""
        return state.sum(axis=1, keepdims=True) * means

    def _best(self, given: Array) -> Array:
        return given.copy()

    def _kernel(self) -> Any:
        from visterm.graph.inference._kernels_dirichlet import sweep_dirichlet

        return sweep_dirichlet


@dataclass(slots=True, eq=False)
class LapVar:
    """Improves the distributions of pictures over a symmetric graph, by ``lapvar1`` or ``lapvar2``.

    With ``strength`` 0, pictures do not affect each other. ``numpy.inf`` gives all pictures of a connected component
    the same distribution.

    >>> pair = sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> apart = Discrete(np.log([[0.9, 0.1], [0.2, 0.8]]))
    >>> for strength in (0.0, 5.0, np.inf):
    ...     print(LapVar(pair, strength).improve(apart, np.full((2, 2), 0.5))[:, 0].round(2))
    [0.9 0.2]
    [0.59 0.4 ]
    [0.6 0.6]
    """

    links: sparse.csr_array  # S
    strength: float
    method: str = "lapvar1"
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    _groups: NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        self.links = sparse.csr_array(self.links, dtype=np.float64)

    def penalty(self, means: Array) -> float:
        """``strength / 2 * sum_k p_k' L p_k``; zero if ``strength`` is infinite, a constraint."""
        if not self.strength or np.isinf(self.strength):
            return 0.0
        from visterm.graph.inference._kernels import Links, roughness

        return self.strength / 2 * roughness(Links.of(self.links), np.ascontiguousarray(means))

    def objective(self, variables: Variables, state: Array) -> float:
        """The part of Q that depends on ``state``."""
        return variables.value(state) - self.penalty(variables.means(state))

    def improve(self, variables: Variables, state: Array) -> Array:
        """A better state, after one sweep over all pictures in random order or after mixing neighbours."""
        if not self.strength:
            return variables.free()
        if np.isinf(self.strength):
            if self._groups is None:
                _, self._groups = sparse.csgraph.connected_components(self.links)
            return variables.shared(self._groups)
        if self.method == "lapvar2":
            return self._mix(variables)
        state = np.array(state, np.float64, order="C")
        variables.sweep(self.links, self.strength, self.random.permutation(len(state)), None, state)
        return state

    def _mix(self, variables: Variables) -> Array:
        """LapVar2: start from the best state for F alone, mix neighbours again and again, keep the best for Q."""
        degrees = self.links.sum(axis=1)[:, None]
        state = best = variables.free()
        best_value, in_vain = self.objective(variables, state), 0
        for _ in range(_MIXTURES):
            means = variables.means(state)
            around = np.divide(self.links @ means, degrees, out=means.copy(), where=degrees > 0)
            state = variables.with_means(state, (1 - _MIXED) * means + _MIXED * around)
            value = self.objective(variables, state)
            in_vain += 1
            # mutants: > -> >=: of two states with the same value, either is the best
            if value > best_value:
                best, best_value, in_vain = state, value, 0
            if in_vain == _PATIENCE:
                break
        return best

    def fold_in(self, links: sparse.csr_array, neighbours: Array, variables: Variables, state: Array) -> Array:
        """The states of new pictures whose neighbours, the columns of ``links``, keep their distributions."""
        if not self.strength:
            return variables.free()
        state = np.array(state, np.float64, order="C")
        links = sparse.csr_array(links, dtype=np.float64)
        if np.isinf(self.strength):
            degrees = links.sum(axis=1)[:, None]
            means = variables.means(variables.free())
            return variables.with_means(
                state, np.divide(links @ neighbours, degrees, out=means.copy(), where=degrees > 0)
            )
        variables.sweep(links, self.strength, np.arange(len(state)), np.ascontiguousarray(neighbours), state)
        return state


def _group_means(rows: Array, groups: NDArray[np.intp]) -> Array:
    """Every row replaced by the mean of its group."""
    sizes = np.bincount(groups)
    members = sparse.csr_array(
        (np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=(len(sizes), len(groups))
    )
    return ((members @ rows) / sizes[:, None])[groups]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The result of a regularised fit: the fitted model, the pictures' topics, the tags of topics, Q at every step.

    ``compared`` are the distributions that the regulariser makes similar, where these are not the proportions.
    """

    model: Any
    proportions: Array  # (n_pictures, n_topics)
    topic_tags: Array  # (n_topics, n_tags)
    objective: Array
    compared: Array | None = None


class Case(Protocol):
    """A kind of model; ``X`` are the counts of codewords, a checked CSR matrix."""

    def curvature(self, model: Any, X: sparse.csr_array) -> float:
        """How strongly F bends around its maximum, times p, on average: strengths are relative to that.

        A strength that halves differences between neighbours in one case does so in the others if it is multiplied by
        their curvature.
        """

    def fit(self, model: Any, X: sparse.csr_array, tags: sparse.csr_array, y: Any, lapvar: LapVar) -> Learned:
        """Learn a model with the parameters of ``model`` and regularised distributions of its pictures."""

    def fold_in(
        self, model: Any, X: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """The proportions of new pictures; ``links`` are to their neighbours, the rows of ``compared``."""


class Best:
    """The best of the steps so far: with LapVar2 the last step need not be the best."""

    def __init__(self) -> None:
        self.value = -np.inf
        self.kept: tuple[Any, ...] = ()

    def see(self, value: float, *kept: Any) -> None:
        """Keep what belongs to ``value`` if that is the largest."""
        # mutants: > -> >=: two steps with exactly the same objective are the same
        if value > self.value:
            self.value, self.kept = value, kept


def mean_size(bags: sparse.csr_array) -> float:
    """The mean number of tokens of a picture, at least 1."""
    return max(1.0, float(bags.sum()) / bags.shape[0])
