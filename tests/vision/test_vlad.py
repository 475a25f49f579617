from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.vision.codebook import Codebook
from visterm.vision.vlad import Vlad


@pytest.fixture(scope="module")
def codebook() -> Codebook:
    return Codebook(5, random_state=0).fit(np.random.default_rng(0).normal(size=(200, 3)))


@given(n=st.integers(1, 30), seed=st.integers(0, 1000), intra=st.booleans(), power=st.sampled_from([1.0, 0.5, 0.3]))
@settings(max_examples=30, deadline=None)
def test_equals_its_definition(codebook, n, seed, intra, power):
    X = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    expected = np.zeros((5, 3))
    for x, word in zip(X, codebook.assign(X), strict=True):
        expected[word] += x - codebook.words_[word]
    if intra:
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        expected /= np.where(lengths > 0, lengths, 1)
    expected = (np.sign(expected) * np.abs(expected) ** power).ravel()
    expected /= np.linalg.norm(expected)
    vector = Vlad(codebook, intra_normalise=intra, power=power).encode(X)
    np.testing.assert_allclose(vector, expected, atol=1e-4)


def test_words_themselves_and_no_descriptors_give_zeros(codebook):
    vlad = Vlad(codebook)
    assert vlad.n_dims == 15
    assert not vlad.encode(codebook.words_).any()
    assert not vlad.encode(np.empty((0, 3))).any()


def test_misuse_is_refused(codebook):
    with pytest.raises(InputError, match="NaN"):
        Vlad(codebook).encode([[np.nan, 0.0, 0.0]])
    with pytest.raises(InputError, match="3 dimensions"):
        Vlad(codebook).encode([[0.0]])
    with pytest.raises(InputError, match="fit"):
        Vlad(Codebook(2)).encode([[0.0]])
