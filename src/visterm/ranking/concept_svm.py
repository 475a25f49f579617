"""One margin classifier per word; queries of several words average their scores."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.calibration import deviations
from visterm.contracts import Features, Scores, check_queries, check_tags, n_pictures, rows_with_tags
from visterm.contracts.estimator import FROM_2, POSITIVE, declared
from visterm.margin.functions.expansion import Seed, folds, generator, precision
from visterm.margin.functions.one_vs_all import cross_scores, frequent_and_rare
from visterm.margin.solver.ascent import solve
from visterm.margin.solver.inner_products import InnerProducts
from visterm.margin.solver.losses import HINGE
from visterm.margin.solver.ridge import Ridge, least_squares_machines
from visterm.margin.solver.tasks import Problem
from visterm.measures import AveragePrecision
from visterm.ranking.queries import idf, wanted_words
from visterm.ranking.spaces.visterms import VistermExpansion, positive_candidates
from visterm.ranking.spaces.word_space import WordSpaceRanker

Array = NDArray[Any]

#: Support vector machines are learned for at most this many words times pictures squared.
MAX_WORK = 1e10


@declared
class ConceptSVM(WordSpaceRanker, VistermExpansion):
    """Ranks by one support vector machine per word; a query's score is the mean of its words' standard scores.

    For each word minimises ``||w||^2 / 2 + C sum_i hinge(y_i <w, x_i>)`` over the tagged pictures, by dual coordinate
    ascent to the relative duality gap ``tol``. The scores of each machine are scaled to mean 0 and deviation 1 over
    pictures it has not seen, so that they are comparable (Chang & Chen's fusion, the best alternative of Grangier &
    Bengio 2008).

    With very many words, only the most frequent ones get such a machine: as many as take ``MAX_WORK`` steps, which are
    words times pictures squared. The other words, which have few pictures each, get a least-squares machine (Suykens &
    Vandewalle 1999): it minimises ``||w||^2 / 2 + C / 2 sum_i (y_i - <w, x_i>)^2``. One factorisation solves all of
    them and gives the scores of pictures they have not seen. ``duality_gap_`` is 0 for these words.

    - ``C``: a number, or several; for every word, the one with the best average precision on held-out folds is chosen.
    - ``kernel``: as for :class:`~visterm.ranking.PAMIR`.
    - ``n_folds``: the number of folds of pictures whose held-out scores normalise the machines and choose C.

    >>> X, tags = [[3, 0, 1], [2, 1, 0], [0, 3, 1], [0, 2, 2]], [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> model = ConceptSVM(kernel="hellinger", n_folds=2, random_state=0).fit(X, tags)
    >>> model.score_queries([[5, 0, 0], [0, 5, 0]], [[1.0, 0.0], [0.0, 1.0]]).argmax(axis=1)
    array([0, 1])
    """

    C: Annotated[float | Sequence[float], POSITIVE, "array-like"] = 1.0
    _: KW_ONLY
    kernel: str = "auto"
    n_folds: Annotated[int, FROM_2] = 3
    tol: Annotated[float, POSITIVE] = 1e-2
    intercept_scaling: float = 1.0
    random_state: Seed = None
    _fitted_constraints: ClassVar[dict[str, str]] = {"C_": "n_tags >0", "tag_means_": "n_tags", "tag_scales_": "n_tags"}

    def fit(self, X: Features, tags: Any, queries: Any = None) -> Self:  # noqa: ARG002 - the rankers' contract
        """Separate the pictures of every word from the other tagged ones; ``queries`` are not used."""
        self._validate_params()
        candidates = positive_candidates("C", self.C)
        checked = self._check_fit_features(X)
        tags = check_tags(tags, n_pictures(X))
        rows = rows_with_tags(tags)
        captions = tags[rows]
        self.n_tags_ = int(tags.shape[1])
        counts = np.bincount(captions.indices, minlength=self.n_tags_)
        self.idf_ = idf(counts, len(rows))
        self.C_, self.duality_gap_ = np.full(self.n_tags_, candidates[0]), np.zeros(self.n_tags_)
        self.tag_means_, self.tag_scales_ = np.zeros(self.n_tags_), np.ones(self.n_tags_)
        theta = np.zeros((self.n_tags_, len(rows)), precision(rows))
        of_machines, of_squares = frequent_and_rare(counts, max(1, int(MAX_WORK / len(rows) ** 2)))
        labels = 2 * captions.T.astype(np.int8).toarray() - 1
        products = self._inner_products(checked, rows, labels)
        self._separate(products, labels[of_machines], of_machines, candidates, theta)
        held = [products]
        del labels, products  # large
        if len(of_squares):
            self._solve_squares(held, captions, of_squares, candidates, theta)
        held.clear()
        self._keep(checked, rows, theta)
        return self

    def _separate(
        self, products: InnerProducts, labels: Array, words: Array, candidates: list[float], theta: Array
    ) -> None:
        """Learn the support vector machines of some words; fills in their rows of ``theta``."""
        rng = generator(self.random_state)
        present, labels = labels == 1, labels.astype(np.float64)
        parts = folds(_rarest_tag(present), self.n_folds, rng)
        held_out = [self._held_out(products, labels, C, parts, rng) for C in candidates]
        # A word that no picture has is NaN for every C, and gets the first C.
        precisions = [np.nan_to_num(AveragePrecision().per_query(present, scores)) for scores in held_out]
        best = np.argmax(precisions, axis=0)
        self.C_[words] = np.array(candidates)[best]
        every = np.broadcast_to(self.C_[words, None], labels.shape)
        solution = solve(Problem(products, labels, every, HINGE), tol=self.tol, rng=rng)
        theta[words], self.duality_gap_[words] = solution.theta, solution.gaps
        chosen = np.stack(held_out)[best, np.arange(len(best))].T
        self.tag_means_[words], self.tag_scales_[words] = deviations(chosen)

    def _solve_squares(
        self, held: list[InnerProducts], captions: sparse.csr_array, words: Array, candidates: list[float], theta: Array
    ) -> None:
        """Learn the least-squares machines of some words; fills in their rows of ``theta``.

        The inner products are taken out of the list for the last C, so that they are freed before the inverse is
        computed, which is twice as large.
        """
        best = np.full(self.n_tags_, -np.inf)
        of_words = sparse.csc_array(captions)[:, words]
        for place, C in enumerate(candidates, start=1):
            ridge = Ridge(1 / C).fit(held.pop() if place == len(candidates) else held[0])
            for columns, of_block, scores in least_squares_machines(ridge, of_words):
                has = of_words[:, columns].toarray() > 0
                # mutants: > -> >=, 0.0 -> 1.0: a single C is always the best, whatever its precision
                found = np.nan_to_num(AveragePrecision().per_query(has.T, scores.T)) if len(candidates) > 1 else 0.0
                better = np.broadcast_to(found, columns.stop - columns.start) > best[words[columns]]
                block = words[columns][better]
                best[block] = np.broadcast_to(found, len(better))[better]
                theta[block], self.C_[block] = of_block.T[better], C
                self.tag_means_[block], self.tag_scales_[block] = deviations(scores[:, better])
            del ridge  # large

    def _held_out(
        self, products: InnerProducts, labels: Array, C: float, parts: list[Array], rng: np.random.Generator
    ) -> Array:
        """(n_tags, n_pictures) scores of every picture by machines that have not seen it."""

        def learn(part: InnerProducts, kept: Array) -> Array:
            weights = np.full((len(labels), len(kept)), C)
            return solve(Problem(part, labels[:, kept], weights, HINGE), tol=self.tol, rng=rng).theta

        return cross_scores(products, parts, len(labels), learn)

    def word_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tags): every machine's score, in deviations from its mean."""
        return (self._task_scores(X) - self.tag_means_) / self.tag_scales_

    def query_weights(self, Q: Any) -> sparse.csr_array:
        """(n_queries, n_tags): the words of a query are weighed by how much they are wanted, not by their idf."""
        wanted = wanted_words(check_queries(Q, self.n_tags_), self.idf_)
        n_words = np.maximum(np.diff(wanted.indptr), 1)
        return sparse.csr_array(sparse.diags_array(1.0 / n_words) @ wanted)


def _rarest_tag(present: Array) -> Array:
    """The rarest tag of every picture. Folds that divide these tags evenly have pictures of every tag.

    >>> _rarest_tag(np.array([[True, True, True], [False, True, False]])).tolist()
    [0, 1, 0]
    """
    counts = present.sum(axis=1)
    return np.argmin(np.where(present, counts[:, None], np.iinfo(np.int64).max), axis=0)
