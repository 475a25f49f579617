"""Label propagation: tags spread from tagged pictures along the links between similar pictures."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import progress
from visterm.compute.rows import evenly, slices
from visterm.compute.threads import in_threads
from visterm.contracts import AnnotatorMixin, Features, Scores, check_tags, rows_with_tags
from visterm.contracts.estimator import FROM_1, SHARE, Estimator, Interval, StrOptions, declared
from visterm.graph.inference.held_out import hide_tags, tag_surprise
from visterm.graph.picture_graph import WEIGHTS, PictureGraph
from visterm.topics import distributions

Array = NDArray[np.float64]

#: The values that ``alpha="auto"`` tries.
REACHES = (0.5, 0.8, 0.95, 0.99)
#: The one that it takes without a trial, if too few pictures are tagged.
_USUAL_REACH = 0.95
#: This many labels spread at a time, so that they stay in the cache.
_BLOCK = 2**18
#: Up to this many scores are computed and kept in double precision, to the first of these relative residuals; more in
#: single precision, to the second.
_DOUBLE_UP_TO = 2**22
_RESIDUALS = 1e-8, 1e-5
#: The reach of tags is chosen by at most this many pictures whose tags are hidden.
_MOST_ASKED = 1000


def spread(links: sparse.csr_array, labels: Any, alpha: float) -> Array:
    """``(1 - alpha) inv(I - alpha N) labels`` with ``N = D^-1/2 S D^-1/2`` (Zhou et al., NIPS 2004).

    >>> chain = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> spread(chain, np.array([[1.0], [0.0], [0.0]]), 0.5).ravel().round(3)
    array([0.583, 0.236, 0.083])
    """
    labels = np.asarray(labels)
    labels = labels if labels.dtype == np.float32 else labels.astype(np.float64)
    normal, _ = _normalised(links)
    return _solve(labels.dtype.type(alpha) * normal.astype(labels.dtype, copy=False), (1 - alpha) * labels)


def harmonic(links: sparse.csr_array, labels: Any, is_known: NDArray[np.bool_]) -> Array:
    """Labels of unknown pictures: the weighted mean of their neighbours' (Zhu, Ghahramani and Lafferty, ICML 2003).

    A label is the probability that the first known picture on a random walk has it; zero if no walk reaches any.
    """
    normal, roots = _normalised(links)
    known, unknown = np.flatnonzero(is_known), np.flatnonzero(~is_known)
    state = np.array(labels, np.float64)
    given = normal[unknown][:, known] @ (state[known] / roots[known, None])
    state[unknown] = roots[unknown, None] * _solve(normal[unknown][:, unknown], given)
    return state


def normalised(links: sparse.csr_array) -> sparse.csr_array:
    """N = D^-1/2 S D^-1/2."""
    return _normalised(links)[0]


def _normalised(links: sparse.csr_array) -> tuple[sparse.csr_array, Array]:
    """N and the diagonal of D^-1/2."""
    degrees = np.asarray(links.sum(axis=1)).ravel()
    # mutants: 1.0 -> 2.0: the root of a picture without links multiplies zeros only
    roots = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    return sparse.csr_array(sparse.diags_array(roots) @ links @ sparse.diags_array(roots)), roots


def _solve(normal: sparse.csr_array, given: Array, *, max_iter: int = 1000) -> Array:
    """``inv(I - normal) given`` by conjugate gradients, each column separately, in the precision of ``given``."""
    tol = _RESIDUALS[given.dtype == np.float32]
    state, residual = np.zeros_like(given), given.copy()
    direction, square = residual.copy(), (residual**2).sum(axis=0)
    target = tol**2 * square
    for _ in range(max_iter):
        # mutants: > -> >=: a label without any residual takes no step, because its curvature is 0; it only costs rounds
        is_far = square > target
        if not is_far.any():
            break
        moved = direction - normal @ direction
        curve = (direction * moved).sum(axis=0)
        # mutants: > -> >=: the curvature of a label with a residual is not exactly 0
        step = np.divide(square, curve, out=np.zeros_like(square), where=(curve > 0) & is_far)
        state += step * direction
        residual -= step * moved
        updated = (residual**2).sum(axis=0)
        direction = residual + np.divide(updated, square, out=np.zeros_like(square), where=square > 0) * direction
        square = updated
    return state


@declared
class LabelPropagation(AnnotatorMixin, Estimator):
    """Spreads tags to similar pictures, and on to pictures similar to those; learns only how far to spread.

    ``K = inv(I - alpha N)`` counts walks along a graph of similar pictures that go on with probability ``alpha`` at
    every picture. The score of tag t for picture i is the mean of t over tagged pictures j, weighed by K_ij: Zhou et
    al. (NIPS 2004), as a probability. ``alpha=1`` is the harmonic solution of Zhu et al. (ICML 2003), in which walks
    end at the first tagged picture. ``auto`` tries several values on hidden tags. New pictures get the mean of their
    neighbours.

    >>> X, tags = [[0.0], [1.0], [2.0], [9.0], [10.0]], [[1, 0], [0, 0], [0, 0], [0, 1], [0, 0]]
    >>> LabelPropagation(1, metric="euclidean").fit(X, tags).score_tags([[2.5], [11.0]])
    array([[1., 0.], [0., 1.]])
    """

    scores_are_probabilities = True
    learns_from_untagged = True
    chosen_by_trial = ("alpha",)

    n_neighbors: Annotated[int, FROM_1] = 10
    _: KW_ONLY
    metric: str = "cosine"
    weights: Annotated[str, StrOptions(WEIGHTS)] = "binary"
    alpha: Annotated[float | str, Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})] = "auto"
    alphas: Annotated[Sequence[float], "array-like"] = REACHES
    held_out_share: Annotated[float, SHARE] = 0.2
    random_state: Annotated[Any, "random_state"] = 0

    def fit(self, X: Features, tags: Any, *, graph: PictureGraph | None = None) -> Self:
        """Spread the tags over all pictures; ``graph`` is one already fitted to them."""
        self._validate_params()
        self.graph_ = graph or PictureGraph(self.n_neighbors, metric=self.metric, weights=self.weights).fit(X)
        tags = check_tags(tags, self.graph_.features_.shape[0])
        rows_with_tags(tags)
        self._count_tags(tags)
        self.n_features_in_ = self.graph_.n_features_in_
        self.alpha_ = _USUAL_REACH if self.alpha == "auto" else float(self.alpha)
        self.held_out_ = np.empty((0, 2))
        hidden = hide_tags(tags, self.held_out_share, self.random_state) if self.alpha == "auto" else None
        if hidden is not None:
            looks, asked = [], evenly(len(hidden.rows), _MOST_ASKED)
            with progress.task("Choosing how far tags spread", total=len(self.alphas)) as bar:
                for alpha in self.alphas:
                    scores = distributions(self._propagate_to(hidden.rows[asked], hidden.shown, alpha))
                    looks.append((alpha, tag_surprise(scores, hidden.tags[asked])))
                    bar.advance()
            self.held_out_ = np.array(looks)
            self.alpha_ = float(self.held_out_[self.held_out_[:, 1].argmax(), 0])
        self.scores_ = self._propagate(tags, self.alpha_)
        return self

    def _propagate(self, tags: sparse.csr_array, alpha: float) -> Array:
        """(n_pictures, n_tags); pictures without a path to a tagged picture get the frequency of every tag."""
        is_tagged, links = np.diff(tags.indptr) > 0, self.graph_.links_
        scores = np.empty(tags.shape, _precision(tags.shape))

        def reached(labels: NDArray[Any]) -> Array:
            labels = labels.astype(scores.dtype)
            return harmonic(links, labels, is_tagged) if alpha == 1 else spread(links, labels, alpha)

        total, by_tag, frequencies = reached(is_tagged[:, None]), sparse.csc_array(tags), _frequencies(tags)

        def of_tags(columns: slice) -> None:
            scores[:, columns] = _shares(reached(by_tag[:, columns].toarray()), total, frequencies[columns])

        in_threads(of_tags, slices(tags.shape[1], max(1, _BLOCK // tags.shape[0])))
        return scores

    def _propagate_to(self, rows: NDArray[np.intp], tags: sparse.csr_array, alpha: float) -> Array:
        """:meth:`_propagate` at some pictures: walks are as likely backwards, so those from few pictures suffice."""
        n_pictures, n_tags = tags.shape
        # mutants: >= -> >: both ways give the same scores; the one with fewer columns is faster
        if alpha == 1 or len(rows) >= n_tags:
            return self._propagate(tags, alpha)[rows]
        scores, is_tagged = np.empty((len(rows), n_tags), _precision(tags.shape)), np.diff(tags.indptr) > 0
        frequencies = _frequencies(tags)

        def from_pictures(part: slice) -> None:
            starts = np.zeros((n_pictures, len(rows[part])), scores.dtype)
            # mutants: 1 -> 2 (2): the votes are divided by the sum of all walks, so their scale cancels
            starts[rows[part], np.arange(starts.shape[1])] = 1
            walks = np.maximum(spread(self.graph_.links_, starts, alpha), 0).T
            scores[part] = _shares(walks @ tags, (walks @ is_tagged)[:, None], frequencies)

        in_threads(from_pictures, slices(len(rows), max(1, _BLOCK // n_pictures)))
        return scores

    def score_tags(self, X: Features) -> Scores:
        """The share of tagged pictures that carry each tag, weighed by how easily a walk reaches them."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        links, same = self.graph_.neighbours_of(X)
        degrees = links.sum(axis=1)[:, None]
        everywhere = np.tile(self.scores_.mean(axis=0), (links.shape[0], 1))
        scores = np.divide(links @ self.scores_, degrees, out=everywhere, where=degrees > 0)
        scores[same >= 0] = self.scores_[same[same >= 0]]
        return scores

    def score_training(self) -> Scores:
        """:meth:`score_tags` of the training pictures, in their order."""
        return self.scores_


def _precision(shape: tuple[int, ...]) -> Any:
    return np.float64 if shape[0] * shape[1] <= _DOUBLE_UP_TO else np.float32


def _frequencies(tags: sparse.csr_array) -> Array:
    """The share of tagged pictures that carry each tag."""
    return np.asarray(tags.sum(axis=0)).ravel() / np.count_nonzero(np.diff(tags.indptr))


def _shares(votes: Array, total: Array, frequencies: Array) -> Array:
    """``votes / total`` between 0 and 1; where nobody votes, the frequencies."""
    shares = np.tile(frequencies, (len(votes), 1))
    np.divide(votes, total, out=shares, where=total > 0)
    return np.clip(shares, 0, 1, out=shares)
