"""Heads learn from what fits: all answers, a sample of the other labels, and the most frequent tags."""

import numpy as np
from scipy import sparse

from visterm.catalogue.acts import Act
from visterm.compute import memory
from visterm.review import heads


def test_of_many_labelled_pictures_all_answers_and_a_sample_are_learned(monkeypatch):
    acts = np.full(1000, Act.DESCRIBED, np.int8)
    acts[[5, 800, 990]] = Act.ANSWERED, Act.MEASURED, Act.ANSWERED
    labelled = np.arange(0, 1000, 5)
    assert heads._few(labelled, acts) is labelled
    monkeypatch.setattr(heads, "_MOST_LEARNED", 20)
    some = heads._few(labelled, acts)
    assert len(some) == 20
    assert {5, 800, 990} <= set(some.tolist()) <= set(labelled.tolist())
    assert (np.diff(some) > 0).all()
    acts[7] = Act.ANSWERED  # not labelled: what others learn from stays the same
    np.testing.assert_array_equal(heads._few(labelled, acts), some)


def test_of_many_tags_the_most_frequent_are_learned(monkeypatch):
    rng = np.random.default_rng(0)
    Z = np.hstack([rng.standard_normal((40, 3)), np.ones((40, 1))]).astype(np.float32)
    tags = sparse.csr_array(rng.random((40, 6)) < np.array([0.2, 0.9, 0.3, 0.6, 0.1, 0.7]), dtype=np.float32)
    known = heads.KnownTags(tags, sparse.csr_array(tags.shape, dtype=np.float32), np.arange(40))
    monkeypatch.setattr(memory, "left", lambda: 2 * 6 * 40 * (20 + 60))
    assert known.head(Z, known.described)[1].tolist() == [0, 1, 2, 3, 4, 5]
    monkeypatch.setattr(memory, "left", lambda: 2 * 3 * 40 * (20 + 60))
    head, used = known.head(Z, known.described)
    assert used.tolist() == [1, 3, 5]
    assert head.p.shape == (40, 3)
