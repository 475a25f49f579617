from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from visterm.errors import InputError
from visterm.vision import Codebook, nearest_words, seed_words
from visterm.vision.encode import codebook as module
from visterm.vision.encode import descriptor_pca
from visterm.vision.encode._kernels import squared_distances, sum_by_word


def blobs(n: int, n_dims: int, n_blobs: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_blobs, n_dims)) * 4
    return (centres[rng.integers(n_blobs, size=n)] + rng.normal(size=(n, n_dims))).astype(np.float32)


def all_distances(rows: np.ndarray, words: np.ndarray) -> np.ndarray:
    return ((rows[:, None].astype(np.float64) - words[None]) ** 2).sum(axis=2)


def test_kernels_equal_their_definitions():
    rows, words = blobs(50, 3, 4), blobs(6, 3, 4, seed=1)
    ids = np.random.default_rng(0).integers(6, size=50).astype(np.int32)
    sums, counts = np.zeros((6, 3)), np.zeros(6, np.int64)
    sum_by_word(rows, ids, sums, counts)
    expected = np.zeros((6, 3))
    np.add.at(expected, ids, rows.astype(np.float64))
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    np.testing.assert_array_equal(counts, np.bincount(ids, minlength=6))
    out = np.empty(50)
    squared_distances(rows, words, ids, out)
    np.testing.assert_allclose(out, all_distances(rows, words)[np.arange(50), ids], rtol=1e-12)


@given(
    rows=npst.arrays(np.float32, (12, 3), elements=st.floats(-8, 8, width=16)),
    words=npst.arrays(np.float32, (5, 3), elements=st.floats(-8, 8, width=16)),
    offset=st.sampled_from([0.0, 1000.0]),
)
@settings(max_examples=60, deadline=None)
def test_the_nearest_word_is_nearest(rows, words, offset):
    rows, words = rows + np.float32(offset), words + np.float32(offset)
    distances = all_distances(rows, words)
    found = distances[np.arange(12), nearest_words(rows, words)]
    np.testing.assert_allclose(found, distances.min(axis=1), rtol=1e-4, atol=1e-4)


def test_blocks_and_shards_change_nothing(monkeypatch):
    rows, words = blobs(500, 8, 20), blobs(37, 8, 20, seed=1)
    expected = all_distances(rows, words).argmin(axis=1)
    np.testing.assert_array_equal(nearest_words(rows, words), expected)
    monkeypatch.setattr(module, "_BLOCK_SCORES", 100)
    monkeypatch.setattr(descriptor_pca, "SHARD_ROWS", 64)
    np.testing.assert_array_equal(nearest_words(rows, words), expected)


def test_separated_clusters_are_found():
    centres = np.array([[0, 0], [20, 0], [0, 20], [20, 20]])
    rows = np.concatenate([centre + np.random.default_rng(0).normal(size=(50, 2)) for centre in centres])
    codebook = Codebook(4, random_state=0).fit(rows)
    means = np.array([rows[i * 50 : i * 50 + 50].mean(axis=0) for i in range(4)])
    order = nearest_words(means.astype(np.float32), codebook.words_)
    np.testing.assert_allclose(codebook.words_[order], means, atol=1e-5)
    within = sum(((rows[i * 50 : i * 50 + 50] - means[i]) ** 2).sum() for i in range(4))
    assert codebook.inertias_[-1] == pytest.approx(within, rel=1e-6)


@given(seed=st.integers(0, 10_000), n_words=st.integers(1, 12))
@settings(max_examples=20, deadline=None)
def test_inertia_never_rises(seed, n_words):
    codebook = Codebook(n_words, tolerance=0.0, random_state=seed).fit(blobs(120, 4, 6, seed))
    assert (np.diff(codebook.inertias_) <= 1e-9 * codebook.inertias_[:-1]).all()


def test_as_good_as_scikit_learn():
    from sklearn.cluster import KMeans

    rows = blobs(2000, 8, 30)
    ours = min(Codebook(20, n_iterations=100, random_state=seed).fit(rows).inertias_[-1] for seed in range(3))
    assert ours <= 1.03 * KMeans(20, n_init=3, random_state=0).fit(rows).inertia_


def test_the_same_seed_gives_the_same_words():
    rows = blobs(400, 5, 10)
    first, second = (Codebook(9, max_sample=300, random_state=5).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(first.words_, second.words_)


def test_an_abandoned_word_is_moved_to_the_worst_served_row():
    rows = np.array([[0.0], [1.0], [2.0], [90.0]], np.float32)
    words = np.array([[1.0], [500.0]], np.float32)
    ids = np.zeros(4, np.int32)
    moved = module._centres(rows, words, ids, all_distances(rows, words)[:, 0])
    np.testing.assert_allclose(moved, [[1.0], [90.0]])
    np.testing.assert_array_equal(ids, [0, 0, 0, 1])


def test_duplicates_are_no_trouble():
    rows = np.repeat([[1.0, 2.0], [3.0, 4.0]], 20, axis=0)
    codebook = Codebook(5, random_state=0).fit(rows)
    assert np.isfinite(codebook.words_).all()
    assert codebook.inertias_[-1] == 0.0
    np.testing.assert_allclose(codebook.words_[codebook.assign(rows)], rows)


def test_as_many_words_as_descriptors():
    rows = blobs(8, 3, 8)
    codebook = Codebook(8, random_state=0).fit(rows)
    assert sorted(codebook.assign(rows)) == list(range(8))


def test_seeds_are_rows_and_spread():
    rows = np.concatenate([np.zeros((99, 2)), np.full((1, 2), 50.0)]).astype(np.float32)
    seeds = seed_words(rows, 2, np.random.default_rng(0))
    # From 20 sampled rows the lone one may be missing, from all of them it must be chosen.
    assert set(map(tuple, seeds)) <= {(0.0, 0.0), (50.0, 50.0)}
    seeds = seed_words(rows, 10, np.random.default_rng(0))
    assert (50.0, 50.0) in set(map(tuple, seeds))


@pytest.fixture
def large(monkeypatch) -> Codebook:
    """A codebook made large by lowering the limit."""
    monkeypatch.setattr(module, "EXACT_WORDS", 50)
    return Codebook(256, n_probes=4, random_state=0).fit(blobs(4000, 6, 60))


def test_cells_partition_the_words(large):
    assert large.words_.shape == (256, 6)
    assert large.cell_starts_[0] == 0
    assert large.cell_starts_[-1] == 256
    assert (np.diff(large.inertias_) <= 1e-9 * large.inertias_[:-1]).all()
    cells = np.repeat(np.arange(16), np.diff(large.cell_starts_))
    np.testing.assert_array_equal(cells, nearest_words(large.words_, large.cell_centres_))


def test_cells_agree_with_exact_assignment(large):
    rows = blobs(2000, 6, 60)
    exact = large.assign(rows, exact=True)
    assert (large.assign(rows) == exact).mean() > 0.97
    large.n_probes = 16
    np.testing.assert_array_equal(large.assign(rows), exact)


def test_a_large_codebook_is_as_good_as_an_exact_one(large, monkeypatch):
    monkeypatch.setattr(module, "EXACT_WORDS", 4000)
    exact = Codebook(256, random_state=0).fit(blobs(4000, 6, 60))
    assert large.inertias_[-1] <= 1.05 * exact.inertias_[-1]


def test_words_are_shared_in_proportion():
    np.testing.assert_array_equal(module._apportion(10, np.array([50, 30, 20, 0])), [5, 3, 2, 0])
    shares = module._apportion(7, np.array([1, 1, 8]))
    assert shares.sum() == 7
    assert (shares <= [1, 1, 8]).all()


@given(seed=st.integers(0, 1000), n_nearest=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_soft_assignment_equals_its_definition(seed, n_nearest):
    codebook = Codebook(6, random_state=0).fit(blobs(60, 3, 6))
    rows = blobs(10, 3, 6, seed)
    distances = all_distances(rows, codebook.words_)
    np.testing.assert_array_equal(codebook.soft_assign(rows, n_nearest), np.argsort(distances, axis=1)[:, :n_nearest])


def test_no_descriptors():
    codebook = Codebook(2, random_state=0).fit([[0.0], [10.0]])
    assert codebook.assign(np.empty((0, 1))).shape == (0,)
    assert codebook.soft_assign(np.empty((0, 1)), 2).shape == (0, 2)


def test_misuse_is_refused():
    with pytest.raises(InputError, match="need 5 descriptors or more"):
        Codebook(5).fit(np.ones((4, 2)))
    with pytest.raises(InputError, match="at least one codeword"):
        Codebook(0).fit(np.ones((4, 2)))
    with pytest.raises(InputError, match="NaN"):
        Codebook(1).fit([[np.nan]])
    with pytest.raises(InputError, match="fit"):
        Codebook(1).assign([[1.0]])
    codebook = Codebook(2, random_state=0).fit([[0.0], [10.0]])
    with pytest.raises(InputError, match="1 dimensions"):
        codebook.assign([[1.0, 2.0]])
    with pytest.raises(InputError, match="between 1 and 2"):
        codebook.soft_assign([[1.0]], 3)
    with pytest.raises(InputError, match="no cells"):
        codebook.assign([[1.0]], exact=False)
