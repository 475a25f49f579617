"""FisherEncoder against scikit-image's fisher_vector: the same mixture, the same vector up to convention.

Run: python benchmarks/fisher.py   (with scikit-image installed; without it only our own times are printed)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from visterm.vision import DiagonalGMM, FisherEncoder, SpatialPyramid


def descriptors(n: int, n_dims: int, seed: int) -> np.ndarray:
    """Descriptors in overlapping clusters of unequal size and spread, like local descriptors after PCA."""
    centres = np.random.default_rng(0).normal(size=(400, n_dims)) * np.linspace(2.0, 0.3, n_dims)
    rng = np.random.default_rng(seed)
    cluster = rng.choice(400, size=n, p=rng.dirichlet(np.ones(400)))
    return (centres[cluster] + rng.normal(size=(n, n_dims)) * 0.7).astype(np.float32)


def best(runs: dict[str, Callable[[], np.ndarray]], rounds: int) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """The least seconds and the result of each run; they take turns, so that load affects all alike."""
    seconds = dict.fromkeys(runs, np.inf)
    results = {}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            results[name] = run()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    return seconds, results


def scikit_image(gmm: DiagonalGMM, X: np.ndarray) -> Callable[[], np.ndarray]:
    """scikit-image's vector of means and deviations under ``gmm``, converted to our convention."""
    from skimage.feature import fisher_vector
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(len(gmm.weights_), covariance_type="diag")
    mixture.weights_, mixture.means_, mixture.covariances_ = gmm.weights_, gmm.means_, gmm.variances_
    mixture.precisions_cholesky_ = 1.0 / np.sqrt(gmm.variances_)
    mixture.n_features_in_ = X.shape[1]

    def encode() -> np.ndarray:
        vector = fisher_vector(X, mixture, improved=True)[len(gmm.weights_) :]  # the weights' gradients come first
        half = len(vector) // 2
        vector[half:] *= -1.0  # their deviations' gradients have the opposite sign
        return vector / np.linalg.norm(vector)

    return encode


def main() -> None:
    """Print milliseconds per picture, ratios, and the agreement of the vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--descriptors", type=int, default=10_000)
    parser.add_argument("--dims", type=int, default=64)
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()

    gmm = DiagonalGMM(options.components, n_iterations=5, random_state=0)
    gmm.fit(descriptors(20_000, options.dims, seed=1))
    X = descriptors(options.descriptors, options.dims, seed=2)
    frames = np.random.default_rng(3).uniform(0, [500, 375], size=(len(X), 2))
    encoder, exact = FisherEncoder(gmm), FisherEncoder(gmm, truncate=0.0)
    runs: dict[str, Callable[[], np.ndarray]] = {
        "visterm": lambda: encoder.encode(X),
        "visterm, all components": lambda: exact.encode(X),
        "visterm, 1x1+3x1 cells": lambda: SpatialPyramid("1x1+3x1").encode(encoder, X, frames, width=500, height=375),
    }
    if find_spec("skimage"):
        runs["scikit-image float32"] = scikit_image(gmm, X)
        runs["scikit-image float64"] = scikit_image(gmm, X.astype(np.float64))
    else:
        print("scikit-image is not installed: nothing to compare with")
    seconds, vectors = best(runs, options.rounds)
    print(f"{options.descriptors} x {options.dims} descriptors, {options.components} components")
    for name, took in seconds.items():
        cosine = float(vectors[name][: encoder.n_dims] @ vectors["visterm"])
        print(f"{name:25s} {1e3 * took:8.1f} ms  {took / seconds['visterm']:5.1f}x  cosine {cosine:.6f}")


if __name__ == "__main__":
    main()
