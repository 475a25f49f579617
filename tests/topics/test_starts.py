"""Where topics start, and the sums that a step needs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.topics import TopicStatistics, infer_topics, normalised, start_topics
from visterm.topics.inference.joint_model import warm_up


class Chosen:
    """Draws the first of all pictures, then the most probable one; keeps what was asked."""

    def __init__(self):
        self.asked = []

    def permutation(self, rows):
        return rows

    def randint(self, n, size=None):
        self.asked.append(n)
        return 0 if size is None else np.arange(size)

    def choice(self, n, p):
        self.asked.append((n, p))
        return n - 1 if p is None else int(np.argmax(p))


PICTURES = np.array([[4.0, 0.0, 0.0, 0.0], [3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 4.0, 4.0, 0.0]])


def test_pictures_are_drawn_by_their_distance_from_those_drawn_before():
    random = Chosen()
    start_topics(sparse.csr_array(PICTURES), 4, random)
    shares = np.sqrt(PICTURES[[0, 1, 3]] / PICTURES[[0, 1, 3]].sum(axis=1, keepdims=True))
    distance = ((shares[:, None] - shares[None]) ** 2).sum(axis=2)  # 2 - 2 * sum sqrt(p q)
    assert random.asked[0] == 3  # the empty picture is no candidate
    (n, first), (_, second), (_, none) = random.asked[1:]
    assert n == 3
    np.testing.assert_allclose(first, distance[0] / distance[0].sum(), atol=1e-12)
    least = np.minimum(distance[0], distance[2])
    np.testing.assert_allclose(second, least / least.sum(), atol=1e-7)
    assert none is None or np.asarray(none).max() > 0.3  # only rounding errors are left


def test_near_pictures_are_drawn_by_their_distance_too():
    random = Chosen()
    start_topics(sparse.csr_array([[9.0, 1.0], [8.0, 2.0], [9.0, 1.0]]), 2, random)
    np.testing.assert_allclose(random.asked[1][1], [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("how", ["spread", "random"])
def test_a_topic_starts_as_a_picture_mixed_with_the_mean(how):
    random = Chosen()
    found = start_topics(sparse.csr_array(PICTURES), 2, random, how=how)
    mean = PICTURES.mean(axis=0)
    drawn = PICTURES[[0, 3]] if how == "spread" else PICTURES[[0, 1]]
    expected = 0.7 * mean.sum() * drawn / drawn.sum(axis=1, keepdims=True) + 0.3 * mean
    np.testing.assert_allclose(found, expected)
    assert random.asked[0] == 3


@pytest.mark.parametrize("seed", range(8))
def test_equal_pictures_are_drawn_once(seed):
    X = sparse.csr_array(np.repeat(np.eye(3) * 4, 5, axis=0))
    assert set(start_topics(X, 3, np.random.RandomState(seed)).argmax(axis=1)) == {0, 1, 2}


def test_warming_up_takes_one_sweep_at_a_time():
    rng = np.random.default_rng(0)
    bags, topics, alpha = sparse.csr_array(rng.poisson(2.0, (8, 5)) + 0.0), rng.dirichlet(np.ones(5), 3), np.ones(3)
    found, gamma = warm_up(bags, topics, alpha, 0.1, 2)
    first = infer_topics(bags, topics, alpha, max_sweeps=1)
    second = infer_topics(bags, normalised(first.statistics.codewords, 0.1), alpha, start=first.gamma, max_sweeps=1)
    np.testing.assert_allclose(found, normalised(second.statistics.codewords, 0.1))
    last = infer_topics(bags, found, alpha, start=second.gamma, max_sweeps=5).gamma
    np.testing.assert_allclose(gamma, last)


def statistics(seed, n_tags=2):
    rng = np.random.default_rng(seed)
    return TopicStatistics(seed, -1.5 * seed, rng.random((2, 3)), rng.random(2), rng.random((2, n_tags)))


def test_statistics_add_up():
    a, b = statistics(3), statistics(4)
    both = a + b
    assert (both.n_pictures, both.bound) == (7, -10.5)
    for part in ("codewords", "log_proportions", "tags"):
        np.testing.assert_allclose(getattr(both, part), getattr(a, part) + getattr(b, part))
    with pytest.raises(InputError, match="statistics of different topics cannot be merged"):
        a + statistics(4, n_tags=1)


def test_smoothed_counts_become_topics():
    np.testing.assert_allclose(
        normalised(np.array([[1.0, 0.0], [2.0, 3.5]]), 0.5), [[0.75, 0.25], [2.5 / 6.5, 4 / 6.5]]
    )
