"""Neighbours by meaning: the nearest pictures by kernel canonical contextual distance vote for their tags."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import progress
from visterm.contracts import Features, Matrix, check_feature_mapping, n_pictures
from visterm.contracts.estimator import FROM_0, FROM_1, FROM_2, INSIDE, NOT_NEGATIVE, POSITIVE, declared
from visterm.distances import BaseDistances, nearest, weighted_sum
from visterm.neighbours.tagprop import TagProp
from visterm.neighbours.voting.calibrated import CalibratedVotes
from visterm.neighbours.voting.votes import Floats, Votes, fading, maximise_likelihood
from visterm.subspace import ContextualDistance, kernel_components, project

#: The weights of features are learned from this many training pictures; more cost time and change little.
_WEIGHED = 4000
_MAX_ITER = 50
#: The start of learning: votes fade by a factor of e over a tenth of the mean distance.
_FALL = 10.0


@declared
class KernelContextualAnnotator(CalibratedVotes):
    """Tags a picture like the training pictures closest in meaning, by codes learned from features and tags together.

    1. One kernel combines the features: ``exp(-scale * sum_f w_f d_f)``. ``d_f`` are their base distances (with a mean
       of one), ``w`` are TagProp's weights, which sum to one.
    2. Kernel principal components over ``n_landmarks`` training pictures: ``n_components`` coordinates of each picture.
    3. Canonical contextual distance with both views (CCD2) codes training pictures by their features and tags, and
       other pictures by their features, in ``n_dims`` dimensions.
    4. The ``n_neighbors`` nearest codes vote with weight ``exp(-fall * distance)``; votes become scores as in
       :class:`~visterm.neighbours.TagProp`.

    The fall and the scores are learned from training pictures. Each is coded by a subspace that was learned
    without it (``n_folds`` parts); otherwise pictures would seem similar only because they share its tags. ``metric``
    is that of :class:`~visterm.distances.BaseDistances`, ``precomputed`` included. ``ridge`` and ``beta`` are those of
    :class:`~visterm.subspace.ContextualDistance`.

    Steps 2 and 3: Nakayama, Harada, Kuniyoshi, BMVC 2010; votes: Guillaumin et al., ICCV 2009.

    >>> rng = np.random.default_rng(0)
    >>> tags = np.repeat(np.eye(3, dtype=int), 20, axis=0)
    >>> X = {"colour": tags @ rng.random((3, 9)) + 0.2 * rng.random((60, 9)), "noise": rng.random((60, 4))}
    >>> KernelContextualAnnotator(n_dims=2, n_neighbors=10).fit(X, tags).score_tags(X)[::20].argmax(axis=1)
    array([0, 1, 2])
    """

    n_dims: Annotated[int, FROM_1] = 50
    _: KW_ONLY
    n_neighbors: int = 200
    metric: Any = "auto"
    scale: Annotated[float, POSITIVE] = 0.5
    n_landmarks: Annotated[int, FROM_2] = 5000
    n_components: Annotated[int, FROM_1] = 400
    ridge: Annotated[float, NOT_NEGATIVE] = 0.1
    beta: Annotated[float, INSIDE] = 0.25
    tag_power: float = 1.0
    sigmoids: bool = False
    shrinkage: float = 1.0
    n_folds: Annotated[int, FROM_2] = 5
    random_state: Annotated[int | None, FROM_0] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "feature_weights_": "mapping",
        "kernel_mean_": "n_landmarks",
        "train_codes_": "n_train n_code",
        "fall_": "float",
    }

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the kernel, the subspace and the scores of votes from the tagged pictures."""
        self._validate_params()
        features, tags = self._keep_tagged(X, tags)
        rng = np.random.default_rng(self.random_state)
        self.feature_weights_ = self._weighed(features, tags, rng)
        coordinates = self._learn_coordinates(features, rng)
        self.subspace_ = self._subspace().fit(coordinates, self.train_tags_).made_small()
        self.train_codes_ = self.subspace_.transform_training(coordinates, self.train_tags_)
        self._learn_votes(coordinates, rng)
        return self

    def transform(self, X: Features) -> NDArray[Any]:
        """The codes of pictures by their features, (n_pictures, n_dims)."""
        features = check_feature_mapping(self, X, fitting=False)
        return self.subspace_.transform(self._coordinates(self._kernel(features)))

    def _neighbours(self, X: Features) -> tuple[NDArray[np.intp], Floats]:
        rows, distances = nearest(self.transform(X), self.train_codes_, self.n_neighbors)
        return rows, fading(distances[..., None], np.array([self.fall_]))

    def _weighed(
        self, features: dict[str, Matrix], tags: sparse.csr_array, rng: np.random.Generator
    ) -> dict[str, float]:
        """TagProp's weights of the features, which sum to one."""
        equal = dict.fromkeys(features, 1 / len(features))
        if len(features) == 1 or len(self.train_rows_) < 3:
            return equal
        asked = np.zeros(tags.shape[0], np.bool_)
        asked[rng.permutation(self.train_rows_)[:_WEIGHED]] = True
        # A picture without tags is no neighbour of any picture.
        sampled = sparse.csr_array(tags.multiply(asked[:, None]))
        # mutants: False -> True, 0 -> 1: scores are learned after the weights, and only the weights are used
        model = TagProp(self.n_neighbors, metric=self.metric, sigmoids=False, tag_power=0).fit(features, sampled)
        total = sum(model.feature_weights_.values())
        return {name: weight / total for name, weight in model.feature_weights_.items()} if total > 0 else equal

    def _learn_coordinates(self, features: dict[str, Matrix], rng: np.random.Generator) -> NDArray[Any]:
        """The coordinates of the training pictures in the kernel's principal components."""
        n_landmarks = min(self.n_landmarks, len(self.train_rows_))
        landmarks = np.sort(rng.choice(len(self.train_rows_), n_landmarks, replace=False))
        self.distances_ = BaseDistances(self.metric).fit(features, rows=self.train_rows_[landmarks])
        kernel = self._kernel(features, self.train_rows_)
        self.kernel_mean_ = kernel.mean(axis=0, dtype=np.float64)
        rows = kernel[landmarks]
        between = np.add(rows, rows.T, dtype=np.float64)
        del rows  # large
        between /= 2
        _, self.components_ = kernel_components(between, kernel, self.kernel_mean_, self.n_components)
        return self._coordinates(kernel)

    def _kernel(self, features: Features, rows: NDArray[np.intp] | None = None) -> NDArray[Any]:
        """The kernels of some pictures (None: all) with the landmarks, (n_pictures, n_landmarks)."""
        weights = np.array([self.feature_weights_[name] for name in self.distances_.metrics_])
        n_rows = n_pictures(features) if rows is None else len(rows)
        kernel = np.empty((n_rows, self.distances_.n_train_), self.distances_.dtype)

        def of_block(place: slice, block: NDArray[Any]) -> tuple[slice, NDArray[Any]]:
            return place, np.exp(-self.scale * weighted_sum(block, weights))

        for place, values in self.distances_.map_blocks(features, of_block, rows=rows):
            kernel[place] = values
        return kernel

    def _coordinates(self, kernel: NDArray[Any]) -> NDArray[Any]:
        return project(kernel, self.kernel_mean_, self.components_)

    def _subspace(self) -> ContextualDistance:
        return ContextualDistance(self.n_dims, views=2, beta=self.beta, ridge=self.ridge, reduce_to=None)

    def _learn_votes(self, coordinates: NDArray[Any], rng: np.random.Generator) -> None:
        """Learn how fast votes fall and which scores they give, each picture coded by a subspace without it."""
        n = len(self.train_rows_)
        self.fall_, self.objective_ = 1.0, np.empty(0)
        self._no_calibration()
        if n < 2 * self.n_folds:
            return
        k = min(self.n_neighbors, n - 1)
        rows, base = np.empty((n, k), np.intp), np.empty((n, k, 1))
        for fold in np.array_split(rng.permutation(n), self.n_folds):
            rest = np.setdiff1d(np.arange(n), fold)
            subspace = self._subspace().fit(coordinates[rest], self.train_tags_[rest]).made_small()
            codes = subspace.transform_training(coordinates, self.train_tags_)
            queries = subspace.transform(coordinates[fold])
            rows[fold], base[fold, :, 0] = nearest(queries, codes, k, own_rows=fold)
        scale = base.mean() or 1.0
        votes = Votes(rows, self.train_tags_)
        with progress.task("Weighing neighbours", total=_MAX_ITER) as bar:
            weights, trace = maximise_likelihood(
                votes, base / scale, np.array([_FALL]), (self.slope_, self.offset_), max_iter=_MAX_ITER, bar=bar
            )
        self.fall_, self.objective_ = float(weights[0] / scale), np.array(trace)
        self._calibrate(votes, fading(base, np.array([self.fall_])))
