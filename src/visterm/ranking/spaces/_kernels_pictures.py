"""Numba loops for kernels between pictures."""

from typing import Any

import numpy as np

from visterm.compute.compiled import compiled


@compiled(fastmath={"reassoc", "contract"})
def log_likelihoods(means: Any, variances: Any, other_means: Any, other_variances: Any, out: Any) -> None:
    """``out[i, j] = log N(means[i]; other_means[j], variances[i] + other_variances[j])`` of diagonal Gaussians."""
    n_dims = means.shape[1]
    for i in range(len(means)):
        for j in range(len(other_means)):
            distance, product, logarithm = 0.0, 1.0, 0.0
            for d in range(n_dims):
                variance = variances[i, d] + other_variances[j, d]
                difference = means[i, d] - other_means[j, d]
                distance += difference * difference / variance
                product *= variance
                # mutants: == -> !=, not, 8 -> 9: the sum of logarithms is the same, however many factors each of them
                #   has
                if d % 8 == 7:  # one logarithm for eight variances, before their product overflows
                    logarithm += np.log(product)
                    product = 1.0
            logarithm += np.log(product)
            out[i, j] = -0.5 * (distance + logarithm + n_dims * np.log(2 * np.pi))
