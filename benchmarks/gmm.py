"""DiagonalGMM against scikit-learn's GaussianMixture: the same start, the same iterations, the same likelihood.

Run: python benchmarks/gmm.py
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from visterm.vision import DiagonalGMM


def descriptors(n: int, n_dims: int) -> np.ndarray:
    """Descriptors in overlapping clusters of unequal size and spread, like local descriptors after PCA."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(400, n_dims)) * np.linspace(2.0, 0.3, n_dims)
    cluster = rng.choice(400, size=n, p=rng.dirichlet(np.ones(400)))
    return (centres[cluster] + rng.normal(size=(n, n_dims)) * 0.7).astype(np.float32)


def main() -> None:
    """Print seconds per EM iteration, their ratio, and both likelihoods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--descriptors", type=int, default=200_000)
    parser.add_argument("--dims", type=int, default=64)
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    from sklearn.mixture import GaussianMixture

    warnings.simplefilter("ignore")  # scikit-learn warns that this number of iterations does not converge
    X = descriptors(options.descriptors, options.dims)
    start = DiagonalGMM(options.components, random_state=0)
    start.initialise(X[:20_000])
    initial = start.weights_, start.means_, start.variances_

    def ours() -> float:
        gmm = DiagonalGMM(options.components)
        gmm.floor_ = start.floor_
        gmm.weights_, gmm.means_, gmm.variances_ = initial
        for _ in range(options.iterations):
            gmm.update(gmm.statistics(X))
        return gmm.log_likelihood(X)

    def theirs(X: np.ndarray) -> float:
        weights, means, variances = (array.astype(X.dtype) for array in initial)
        mixture = GaussianMixture(
            options.components,
            covariance_type="diag",
            weights_init=weights / weights.sum(),
            means_init=means,
            precisions_init=1.0 / variances,
            init_params="random_from_data",
            max_iter=options.iterations,
            tol=0.0,
            reg_covar=0.0,
        )
        return float(mixture.fit(X).score(X))

    candidates = {
        "visterm float32": ours,
        "scikit-learn float64": lambda: theirs(X.astype(np.float64)),
        "scikit-learn float32": lambda: theirs(X),
    }
    best = dict.fromkeys(candidates, np.inf)
    likelihood = {}
    for _ in range(options.rounds):
        for name, run in candidates.items():
            began = time.perf_counter()
            likelihood[name] = run()
            best[name] = min(best[name], time.perf_counter() - began)
    print(
        f"{options.descriptors} x {options.dims}, {options.components} components, {options.iterations} EM iterations"
    )
    for name in candidates:
        ratio = best[name] / best["visterm float32"]
        print(f"{name:22s} {best[name]:7.2f} s  {ratio:5.1f}x  log-likelihood {likelihood[name]:.5f}")


if __name__ == "__main__":
    main()
