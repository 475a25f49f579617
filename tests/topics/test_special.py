"""The derivatives of the log gamma function are those of scipy."""

from __future__ import annotations

import numpy as np
from scipy.special import bernoulli, polygamma
from scipy.special import digamma as scipy_digamma

from visterm.topics.inference._kernels_lda import BERNOULLI, digamma, trigamma

SMALL_AND_LARGE = np.concatenate([np.geomspace(1e-6, 1e6, 400), [1.0, 9.999, 10.0]])
#: Where the series begins: the last of its numbers matter most.
BEGIN = np.linspace(10.0, 11.0, 21)


def test_digamma_is_that_of_scipy():
    found = [digamma(x) for x in SMALL_AND_LARGE]
    np.testing.assert_allclose(found, scipy_digamma(SMALL_AND_LARGE), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose([digamma(x) for x in BEGIN], scipy_digamma(BEGIN), rtol=1e-15)


def test_trigamma_is_that_of_scipy():
    np.testing.assert_allclose([trigamma(x) for x in SMALL_AND_LARGE], polygamma(1, SMALL_AND_LARGE), rtol=1e-12)
    np.testing.assert_allclose([trigamma(x) for x in BEGIN], polygamma(1, BEGIN), rtol=2e-14)


def test_the_numbers_of_the_series_are_those_of_bernoulli():
    np.testing.assert_allclose(BERNOULLI, bernoulli(12)[2::2], rtol=1e-11)
