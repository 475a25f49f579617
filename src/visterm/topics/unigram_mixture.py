"""The mixture of unigrams: one topic per picture, shared by its codewords and its tags."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.contracts import NOT_NEGATIVE, AnnotatorMixin, Features, Scores, check_tags, declared
from visterm.topics.inference.em import check_tag_bags, climb, distributions
from visterm.topics.inference.topic_model import TopicModel

_TINY = np.finfo(np.float64).tiny  # stands for probability 0, whose logarithm would be infinite
#: How strongly the first responsibilities follow the likeness of pictures, and the noise added to it.
_LEANING, _NOISE = 10.0, 0.1


@dataclass(frozen=True, slots=True)
class Unigrams:
    """The parameters of the mixture; rows are topics."""

    shares: NDArray[np.float64]  # theta, (n_topics,)
    codewords: NDArray[np.float64]  # pi, (n_topics, n_codewords)
    tags: NDArray[np.float64]  # beta, (n_topics, n_tags)

    @classmethod
    def maximise(
        cls, bags: sparse.csr_array, tags: sparse.csr_array, responsibilities: NDArray[Any], smoothing: float
    ) -> "Unigrams":
        """The M step: expected counts, with ``smoothing`` added to each, as distributions."""
        return cls(
            distributions(responsibilities.sum(axis=0) + smoothing),
            distributions((bags.T @ responsibilities).T + smoothing),
            distributions((tags.T @ responsibilities).T + smoothing),
        )

    def log_joint(self, bags: sparse.csr_array, tags: sparse.csr_array | None) -> NDArray[np.float64]:
        """``log p(topic, codewords, tags)``, (n_pictures, n_topics); an untagged picture has no terms for tags."""
        joint = bags @ _log(self.codewords).T + _log(self.shares)
        return joint if tags is None else joint + tags @ _log(self.tags).T

    def log_prior(self, smoothing: float) -> float:
        """The logarithm of the Dirichlet(1 + smoothing) densities, up to a constant."""
        return smoothing * float(sum(_log(part).sum() for part in (self.shares, self.codewords, self.tags)))


def fit_unigrams(
    bags: sparse.csr_array, tags: sparse.csr_array, responsibilities: NDArray[Any], *, smoothing: float, **how: Any
) -> tuple[Unigrams, NDArray[np.float64]]:
    """Expectation maximisation from the given responsibilities; the parameters and the objective of every step.

    ``how`` are the arguments of :func:`~visterm.topics.inference.em.climb`.
    """

    def e_step(unigrams: Unigrams) -> tuple[NDArray[np.float64], float]:
        joint = unigrams.log_joint(bags, tags)
        objective = float(logsumexp(joint, axis=1).sum()) + unigrams.log_prior(smoothing)
        return softmax(joint, axis=1), objective

    def m_step(_: Unigrams, responsibilities: NDArray[Any]) -> Unigrams:
        return Unigrams.maximise(bags, tags, responsibilities, smoothing)

    start = Unigrams.maximise(bags, tags, responsibilities, smoothing)
    return climb(start, e_step, m_step, **how)


@declared
class UnigramMixture(AnnotatorMixin, TopicModel):
    """Predicts tags from the single topic of a picture, learned from its codewords and, if it has any, its tags.

    Topic z ~ theta; every codeword ~ pi_z; every tag ~ beta_z. Every step of expectation maximisation raises the
    posterior of theta, pi and beta under Dirichlet(1 + ``smoothing``) priors. For a ``smoothing`` of 0 it is the
    likelihood itself::

        sum_i log sum_k exp(log theta_k + sum_v c_iv log pi_kv + sum_m log beta_{k, w_im})

    Untagged pictures contribute their codewords: pass the pictures to be tagged with empty rows of tags, and the topics
    adapt to them too. The best of ``n_restarts`` starts is kept. Shao et al. (ACM TIST 2014) regularise this model over
    a graph of neighbours.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> UnigramMixture(n_topics=2, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).argmax(axis=1)
    array([0, 1])
    """

    scores_are_chances = True

    n_topics: int = 20
    _: KW_ONLY
    smoothing: Annotated[float, NOT_NEGATIVE] = 0.1
    n_tokens: float | None = None
    n_restarts: int = 3
    max_iter: int = 100
    tol: float = 1e-5
    random_state: Any = None

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics of all pictures and the tags of the topics."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        tags = check_tag_bags(tags, bags.shape[0])
        self._count_tags(tags)
        random = check_random_state(self.random_state)
        with progress.task("Fitting a mixture of unigrams", total=self.n_restarts * self.max_iter) as bar:
            how: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "bar": bar}
            starts = (start_responsibilities(bags, tags, self.n_topics, random) for _ in range(self.n_restarts))
            runs = [fit_unigrams(bags, tags, start, smoothing=self.smoothing, **how) for start in starts]
        return self.keep(*max(runs, key=lambda run: run[1][-1]))

    def keep(self, unigrams: Unigrams, objective: NDArray[np.float64]) -> Self:
        """Take parameters as learned, with the objective of every step: the end of a fit, here or over a graph."""
        self.topic_shares_, self.topic_codewords_ = unigrams.shares, unigrams.codewords
        self.topic_tags_ = unigrams.tags
        self.n_features_in_ = unigrams.codewords.shape[1]
        self.objective_, self.n_iter_ = objective, len(objective)
        return self

    def log_joint(self, X: Features, tags: Any = None) -> NDArray[np.float64]:
        """``log p(topic, codewords, tags)``, (n_pictures, n_topics); without ``tags``, of topic and codewords."""
        bags = self._bags(X)
        if tags is not None:
            tags = check_tags(tags, bags.shape[0], n_tags=self.topic_tags_.shape[1])
        return self._unigrams().log_joint(bags, tags)

    def transform(self, X: Features, tags: Any = None) -> NDArray[np.float64]:
        """The responsibility of every topic for every picture, (n_pictures, n_topics)."""
        return softmax(self.log_joint(X, tags), axis=1)

    def score_tags(self, X: Features) -> Scores:
        """``p(tag | codewords)``: the probability that the next tag of the picture is this one."""
        return self.transform(X) @ self.topic_tags_

    def _unigrams(self) -> Unigrams:
        return Unigrams(self.topic_shares_, self.topic_codewords_, self.topic_tags_)


def _log(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    return np.log(np.maximum(probabilities, _TINY))


def start_responsibilities(
    bags: sparse.csr_array, tags: sparse.csr_array, n_topics: int, random: Any
) -> NDArray[np.float64]:
    """Responsibilities that favour the most similar of ``n_topics`` pictures, which k-means++ spreads out."""
    from sklearn.cluster import kmeans_plusplus

    roots = sparse.csr_array(sparse.hstack([_root_of_shares(bags), _root_of_shares(tags)]))
    n_seeds = min(n_topics, roots.shape[0])
    _, seeds = kmeans_plusplus(roots, n_seeds, random_state=random)
    # Noise separates equally near seeds, and topics if there are more of them than pictures.
    leaning = random.random_sample((roots.shape[0], n_topics)) * _NOISE
    leaning[:, :n_seeds] += (roots @ roots[seeds].T).toarray()
    return softmax(_LEANING * leaning, axis=1)


def _root_of_shares(counts: sparse.csr_array) -> sparse.csr_array:
    totals = np.asarray(counts.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(totals, _TINY)) @ counts).sqrt()
