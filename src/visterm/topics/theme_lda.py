"""Themes of classes: all classes share the topics, but every class has its own Dirichlet over them."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import digamma, gammaln, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.compute.rows import slices
from visterm.contracts import FROM_1, Features, Scores, check_classes, declared, rows_with_class
from visterm.topics.inference import em
from visterm.topics.inference.em import Array, TopicStatistics
from visterm.topics.inference.topic_model import TopicModel

#: The bounds of this many pictures are computed at a time, so that memory stays bounded.
_BLOCK_ROWS = 1024
#: Sweeps over a picture at every iteration, which continue from the last iteration.
_SWEEPS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Themes:
    """The parameters of the model."""

    codewords: Array  # pi, (n_topics, n_codewords)
    alphas: Array  # alpha_c, (n_classes, n_topics)


@declared
class ThemeLDA(ClassifierMixin, TopicModel):
    """Predicts the class whose mixture of topics explains the picture best (Fei-Fei and Perona, CVPR 2005).

    Class c ~ its frequency; theta ~ Dirichlet(alpha_c); every codeword draws its topic z from theta, then itself from
    pi_z. Every step of variational EM raises the sum of the pictures' evidence bounds plus ``smoothing`` * sum log pi
    and the exponential prior of alpha. A picture belongs to the class with the largest bound + log frequency. Pictures
    of unknown class (-1) are left out.

    All alpha_c start at ``alpha`` and stay there for ``n_settling`` iterations; then Newton's method finds them. If
    alpha were learned while topics are still random, it would fall and tie every picture to a single topic for good.

    >>> X, y = [[40, 0, 9], [30, 9, 9], [0, 50, 9], [9, 40, 0]], [3, 3, 8, 8]
    >>> ThemeLDA(n_topics=2, random_state=0).fit(X, y).predict([[50, 5, 5], [5, 50, 5]])
    array([3, 8])
    """

    n_topics: int = 20
    _: KW_ONLY
    alpha: float = 1.0
    smoothing: float = 0.01
    n_tokens: float | None = None
    start: str = "spread"
    n_settling: Annotated[int, FROM_1] = 80
    max_iter: int = 30
    tol: float = 1e-6
    random_state: Any = None

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Learn the topics, and how each class mixes them."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        y = check_classes(y, bags.shape[0])
        known = rows_with_class(y)
        self.classes_, members, counts = np.unique(y[known], return_inverse=True, return_counts=True)
        of_class = [bags[known[members == c]] for c in range(len(self.classes_))]
        seeds = em.start_topics(bags[known], self.n_topics, check_random_state(self.random_state), how=self.start)
        themes = Themes(
            em.normalised(seeds, self.smoothing), np.full((len(of_class), self.n_topics), float(self.alpha))
        )
        e_step = _EStep(of_class, self.smoothing)
        with progress.task("Fitting themes", total=self.n_settling + self.max_iter) as bar:
            themes, settling = em.climb(
                themes, e_step, self._fit_topics, max_iter=self.n_settling, tol=self.tol, bar=bar
            )
            themes, learning = em.climb(themes, e_step, self._fit_both, max_iter=self.max_iter, tol=self.tol, bar=bar)
        self.topic_codewords_, self.alphas_ = np.ascontiguousarray(themes.codewords), themes.alphas
        self.class_frequency_ = counts / counts.sum()
        self.objective_ = np.concatenate([settling, learning])
        self.n_iter_ = len(self.objective_)
        return self

    def _fit_topics(self, themes: Themes, of_class: list[TopicStatistics]) -> Themes:
        return replace(themes, codewords=em.normalised(reduce(add, of_class).codewords, self.smoothing))

    def _fit_both(self, themes: Themes, of_class: list[TopicStatistics]) -> Themes:
        alphas = [
            em.fit_dirichlet(one.log_proportions, one.n_pictures, alpha)
            for alpha, one in zip(themes.alphas, of_class, strict=True)
        ]
        return replace(self._fit_topics(themes, of_class), alphas=np.stack(alphas))

    def class_scores(self, X: Features) -> Scores:
        """The evidence bound of every picture under every class plus the log frequency of the class."""
        bags = self._bags(X)
        scores = np.empty((bags.shape[0], len(self.classes_)))
        for c, alpha in enumerate(self.alphas_):
            gamma = em.infer_topics(bags, self.topic_codewords_, alpha).gamma
            scores[:, c] = picture_bounds(bags, self.topic_codewords_, alpha, gamma)
        return scores + np.log(self.class_frequency_)

    def predict_proba(self, X: Features) -> Scores:
        """p(class | codewords), with the bounds in place of the log-likelihoods."""
        return softmax(self.class_scores(X), axis=1)

    def predict(self, X: Features) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.class_scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's blobs differ in the sum of their two features, the length of the bag, which is irrelevant here.
        tags.classifier_tags.poor_score = True
        return tags


class _EStep:
    """Infers the pictures of every class under its own Dirichlet. Each call continues from the last one."""

    def __init__(self, of_class: list[sparse.csr_array], smoothing: float) -> None:
        self._of_class, self._smoothing = of_class, smoothing
        self._gammas: list[Array | None] = [None] * len(of_class)

    def __call__(self, themes: Themes) -> tuple[list[TopicStatistics], float]:
        """Statistics of every class, and the objective."""
        inferred = [
            em.infer_topics(bags, themes.codewords, alpha, start=gamma, max_sweeps=_SWEEPS)
            for bags, alpha, gamma in zip(self._of_class, themes.alphas, self._gammas, strict=True)
        ]
        self._gammas = [one.gamma for one in inferred]
        prior = self._smoothing * np.log(themes.codewords).sum() - em.ALPHA_RATE * themes.alphas.sum()
        return [one.statistics for one in inferred], sum(one.statistics.bound for one in inferred) + float(prior)


def picture_bounds(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array) -> Array:
    """The evidence bound of every picture at its posterior ``gamma`` and the best topics of its tokens."""
    bounds = np.empty(bags.shape[0])
    for rows in slices(len(bounds), _BLOCK_ROWS):
        bounds[rows] = _bounds(bags[rows], topics, alpha, gamma[rows])
    return bounds


def _bounds(bags: sparse.csr_array, topics: Array, alpha: Array, gamma: Array) -> Any:
    log_theta = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    owners = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
    # Only the products for codewords in the picture are needed, but one BLAS call is faster than selecting them first.
    likelihood = (np.exp(log_theta) @ topics)[owners, bags.indices]
    tokens = bags.data * np.log(np.maximum(likelihood, np.finfo(np.float64).tiny))
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - gamma) * log_theta).sum(axis=1)
    posterior = gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    return np.bincount(owners, weights=tokens, minlength=bags.shape[0]) + prior + posterior
