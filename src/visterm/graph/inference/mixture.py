"""The mixture of unigrams over a graph: the paper's LapMixUnigram."""

from typing import Any

from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.graph.inference.lapvar import Array, Best, Discrete, LapVar, Learned
from visterm.topics import UnigramMixture, Unigrams, check_tag_bags, climb, of_size, start_responsibilities


class MixtureCase:
    """One discrete variable per picture, with free-form q(z)."""

    def curvature(self, model: UnigramMixture, X: sparse.csr_array) -> float:  # noqa: ARG002 - the same for all
        """1: the second derivative of the entropy -p log p is -1 / p."""
        return 1.0

    def fit(self, model: UnigramMixture, X: sparse.csr_array, tags: Any, y: Any, lapvar: LapVar) -> Learned:  # noqa: ARG002
        """Expectation maximisation whose E step is a sweep of LapVar."""
        model._validate_params()
        bags, tags = of_size(X, model.n_tokens), check_tag_bags(tags, X.shape[0])
        random = check_random_state(model.random_state)
        with progress.task("Fitting a mixture over the graph", total=model.n_restarts * model.max_iter) as bar:
            runs = [_run(model, bags, tags, random, lapvar, bar) for _ in range(model.n_restarts)]
        (unigrams, state), objective = max(runs, key=lambda run: run[1].max())
        return Learned(clone(model).keep(unigrams, objective), state, unigrams.tags, objective)

    def fold_in(
        self, model: UnigramMixture, X: sparse.csr_array, links: sparse.csr_array, compared: Array, lapvar: LapVar
    ) -> Array:
        """One exact update: the log joint probability of new pictures does not depend on them."""
        variables = Discrete(model.log_joint(X))
        return lapvar.fold_in(links, compared, variables, variables.free())


def _run(
    model: UnigramMixture, bags: Any, tags: Any, random: Any, lapvar: LapVar, bar: progress.Bar
) -> tuple[Any, Array]:
    """EM from one start: the best parameters with the pictures' q(z), and Q at every step."""
    smoothing, best = model.smoothing, Best()
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
