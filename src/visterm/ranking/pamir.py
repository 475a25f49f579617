"""PAMIR: a model that is trained to rank pictures for a query."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.contracts import Features, Matrix, Scores, check_features, check_tags, n_pictures, rows_with_tags, take
from visterm.contracts.estimator import FROM_0, FROM_1, POSITIVE, SHARE, StrOptions, declared
from visterm.errors import InputError
from visterm.margin.functions import kernels
from visterm.margin.functions.expansion import Seed, generator, precision
from visterm.ranking.queries import Queries, affordable_words, from_tags, idf, query_vectors
from visterm.ranking.spaces.triplets import (
    LOSSES,
    SAMPLINGS,
    Asked,
    Course,
    Examined,
    FeatureSpace,
    GramSpace,
    Triplets,
    TripletSettings,
    learn_from_triplets,
)
from visterm.ranking.spaces.visterms import VistermExpansion, positive_candidates
from visterm.ranking.spaces.word_space import WordSpaceRanker

Array = NDArray[Any]

#: The length of queries made from captions is limited so that captions have at most this many subsets.
MAX_TRAINING_SUBSETS = 1_000_000
#: With more pictures, no kernel matrix is computed if it can be avoided.
MAX_GRAM_ROWS = 8192
#: Every checkpoint asks at most this many queries of the held-out pictures.
MAX_VALIDATION_QUERIES = 3000
#: Seeds of the steps are drawn below this.
_SEEDS = 2**63


@declared
class PAMIR(WordSpaceRanker, VistermExpansion):
    """The passive-aggressive model for image retrieval of Grangier & Bengio (TPAMI 2008).

    ``F(q, p) = q . (w_1 . p, ..., w_T . p)``: every word t has weights w_t, which place a picture in the space of
    words. A query q, a relevant picture p+ and another p- are drawn at random. If p+ does not lead by a margin of 1,
    the weights of the query's words change: just enough to remove the loss, but at most by the aggressiveness c:

        w <- w + tau v,   v = gamma(q, p+) - gamma(q, p-),   tau = min(c, max(0, 1 - w . v) / ||v||^2)

    where gamma(q, p) holds q_t p for every word t. With a kernel, w_t is an expansion over the training pictures.

    - ``aggressiveness``: c. If several are given, the one with the best average precision on held-out pictures is
      chosen.
    - ``n_steps``: the largest number of triplets drawn. Learning stops when the held-out average precision no longer
      rises.
    - ``kernel``: ``visterm`` (the paper's: counts times idf, of length one), ``log-visterm`` (the logarithms of counts,
      as text retrieval damps them), ``linear``, ``hellinger``, ``chi2``, ``exp-chi2[:GAMMA]``, ``product[:SCALE]`` and
      ``weighted-product[:SCALE]`` of several features, or ``precomputed``; ``auto`` is ``exp-chi2`` for one feature,
      ``weighted-product`` for several. For sparse bags of many visterms, choose one of the first two.
    - ``loss``: ``hinge``, the paper's; ``warp`` weighs the top of the ranking (Weston et al. 2011): a relevant picture
      is compared with others until one violates the margin. The lower its estimated rank, the more it is moved.
    - ``sampling``: ``triplets`` makes all triplets equally likely, ``queries`` all queries.
    - ``averaged``: keep the mean of the weights during learning instead of the last.
    - ``held_out_share``: the share of pictures to hold out, on which c and the number of steps are chosen. The steps
      are then repeated on all pictures. With 0, all steps are taken.
    - ``max_query_words``: the most words of queries made from captions (None: as many as a million subsets of captions
      allow).

    For graded relevance, pass ``queries`` with gains; a better picture must then lead by the difference of the gains.

    >>> X, tags = [[3, 0, 1], [2, 1, 0], [0, 3, 1], [0, 2, 2]], [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> model = PAMIR(n_steps=1000, kernel="hellinger", held_out_share=0, random_state=0).fit(X, tags)
    >>> model.score_queries([[5, 0, 0], [0, 5, 0]], [[1.0, 0.0], [0.0, 1.0]]).argmax(axis=1)
    array([0, 1])
    """

    intercept_scaling = 0.0  # adding a constant to all scores does not change a ranking

    aggressiveness: Annotated[float | Sequence[float], POSITIVE, "array-like"] = 0.1
    n_steps: Annotated[int, FROM_1] = 1_000_000
    _: KW_ONLY
    kernel: str = "auto"
    loss: Annotated[str, StrOptions(set(LOSSES))] = "hinge"
    sampling: Annotated[str, StrOptions(set(SAMPLINGS))] = "triplets"
    averaged: bool = True
    held_out_share: Annotated[float, SHARE] = 0.1
    max_query_words: Annotated[int | None, FROM_0] = None
    random_state: Seed = None
    _fitted_constraints: ClassVar[dict[str, str]] = {"aggressiveness_": "float >0", "n_steps_": "int >=0"}

    def fit(self, X: Features, tags: Any, queries: Queries | None = None) -> Self:
        """Learn from tagged pictures: from ``queries`` if given, else from all queries made from their captions."""
        self._validate_params()
        candidates = positive_candidates("aggressiveness", self.aggressiveness)
        checked = self._check_fit_features(X)
        tags = check_tags(tags, n_pictures(X))
        tagged = rows_with_tags(tags)
        rows = np.arange(tags.shape[0]) if queries is not None else tagged
        self.n_tags_ = int(tags.shape[1])
        self.idf_ = idf(np.bincount(tags.indices, minlength=self.n_tags_), int((np.diff(tags.indptr) > 0).sum()))
        if queries is None:
            longest = self.max_query_words or affordable_words(tags, MAX_TRAINING_SUBSETS)
            queries = from_tags(tags[rows], max_words=longest)
        if (queries.words.shape[1], queries.relevance.shape[1]) != (self.n_tags_, len(rows)):
            raise InputError(
                f"queries have {queries.words.shape[1]} words and {queries.relevance.shape[1]} pictures, but there"
                f" are {self.n_tags_} tags and {len(rows)} pictures"
            )
        asked = Asked(query_vectors(queries.words, self.idf_), sparse.csr_array(queries.relevance))
        triplets = asked.triplets()
        space = self._space(checked, rows, tags)
        rng = generator(self.random_state)
        seed = int(rng.integers(_SEEDS))
        held = rng.permutation(len(rows))[: int(self.held_out_share * len(rows))]
        rest = np.setdiff1d(np.arange(len(rows)), held)
        learned_from = asked.of_pictures(rest)
        if len(held) and learned_from.has_triplets():
            examined = Examined(space.against(held, rest), asked.of_pictures(held).some(MAX_VALIDATION_QUERIES, rng))
            c, found = self._choose(candidates, space.subset(rest), learned_from.triplets(), examined, seed)
            n_steps, precisions = found.n_steps, found.precisions
            del found, examined  # as large as what is learned now
            course = learn_from_triplets(space, triplets, self._settings(c, n_steps), seed)
            course.precisions = precisions
        else:
            c = candidates[0]
            course = learn_from_triplets(space, triplets, self._settings(c, self.n_steps), seed)
        self.aggressiveness_ = c
        self.n_steps_, self.objective_ = course.n_steps, np.array(course.losses)
        self.validation_precision_ = np.array(course.precisions)
        self._keep_coefficients(checked, rows, space, course.coefficients)
        return self

    def _choose(
        self,
        candidates: list[float],
        space: FeatureSpace | GramSpace,
        triplets: Triplets,
        examined: Examined,
        seed: int,
    ) -> tuple[float, Course]:
        """Learn with every aggressiveness until it gets no better; returns the best of them and its course."""
        courses = [
            learn_from_triplets(space, triplets, self._settings(c, self.n_steps), seed, examined.precision)
            for c in candidates
        ]
        best = int(np.argmax([course.best_precision for course in courses]))
        return candidates[best], courses[best]

    def _settings(self, aggressiveness: float, n_steps: int) -> TripletSettings:
        return TripletSettings(aggressiveness, n_steps, self.loss, self.sampling, self.averaged)

    def word_scores(self, X: Features) -> Scores:
        """(n_pictures, n_tags): ``w_t . p`` of every picture and word."""
        return self._task_scores(X)

    def _space(self, X: Features, rows: Array, tags: sparse.csr_array) -> FeatureSpace | GramSpace:
        """The training pictures: by their features if that is faster, else by their kernel."""
        name, _ = kernels.kernel_named(self.kernel_)
        if self._by_features(cast(Matrix, X), len(rows)):
            return FeatureSpace(kernels.feature_map(cast(Matrix, take(X, rows)), name, precision(rows)))
        # mutants: 0 -> 1: other kernels do not look at the labels
        # mutants: 2.0 -> 4.0: only the sign of a label says whether the tag is present
        labels = 2.0 * tags[rows].T.toarray() - 1.0 if name in kernels.PRODUCTS else np.empty((0, len(rows)))
        return GramSpace(self._training_gram(X, rows, labels))

    def _by_features(self, X: Matrix, n_rows: int) -> bool:
        """Whether steps use features: sparse ones, or dense ones with fewer dimensions than pictures.

        ``warp`` makes many comparisons for one step. It is faster with a kernel, which keeps every score.
        """
        if self.kernel_ not in kernels.EXPLICIT:
            return False
        # mutants: <= -> <, !="warp" -> =='warp': features and their kernel give the same weights; the choice only saves
        #   time
        return sparse.issparse(X) or (X.shape[1] <= n_rows and (self.loss != "warp" or n_rows > MAX_GRAM_ROWS))

    def _keep_coefficients(self, X: Features, rows: Array, space: FeatureSpace | GramSpace, theta: Array) -> None:
        if isinstance(space, GramSpace):
            self._keep(X, rows, theta)
        else:
            self._forget("dual_coef_", "support_", "support_vectors_", "product_kernel_")
            self.coef_, self.intercept_ = theta, np.zeros(len(theta))

    def _evidence(self, X: Features, weights: sparse.csr_array) -> tuple[Array, str]:
        X = self._weighed(X)
        name, _ = kernels.kernel_named(self.kernel_)
        if name in kernels.EXPLICIT:
            # mutants: False -> True: explain has checked the width of the picture when it computed the scores
            mapped = kernels.feature_map(check_features(self, X, fitting=False), name, self.coef_.dtype)
            dense = mapped if isinstance(mapped, np.ndarray) else mapped.toarray()
            return (weights @ self.coef_)[0] * dense[0], "dimension"
        parts = (weights @ self.dual_coef_)[0] * np.asarray(self._support_kernel(X))[0]
        return np.bincount(self.support_, parts), "picture"
