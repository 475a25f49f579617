"""Training on labels as people give them: a part of a picture's tags is no denial of the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from visterm import registry
from visterm.catalogue.acts import Extent
from visterm.contracts import word_scores
from visterm.learn import Dataset, learned_search, train_method
from visterm.learn.engine.completeness import completed, with_shares

N, N_TAGS = 360, 12


@pytest.fixture(scope="module")
def truth():
    """Pictures that look like their tags."""
    rng = np.random.default_rng(0)
    tags = (rng.random((N, N_TAGS)) < 0.4).astype(np.float32)
    tags[tags.sum(axis=1) == 0, 0] = 1
    X = np.maximum(0, tags @ rng.normal(size=(N_TAGS, 60)) + 0.6 * rng.normal(size=(N, 60)))
    return Dataset("pictures", X.astype(np.float32), np.full(N, -1), (), sparse.csr_array(tags), tuple("abcdefghijkl"))


def given(truth, written, extent):
    return replace(
        truth, tags=sparse.csr_array(written), extent=extent.astype(np.int8), loose=np.zeros(N_TAGS, np.bool_)
    )


def one_tag_each(truth, rows, seed=1):
    rng, T = np.random.default_rng(seed), truth.tags.toarray()
    written = np.zeros_like(T)
    for row in rows:
        written[row, rng.choice(np.flatnonzero(T[row]))] = 1
    return written


def probabilities(data, pictures, method="ridge-tags"):
    trained = train_method(registry.get(method), data)
    relevance, _ = learned_search(trained)
    return relevance.probabilities(word_scores(trained.estimator, pictures.X))


def test_complete_labels_are_learned_as_before(truth):
    rows = np.arange(200)
    claimed = with_shares(given(truth, truth.tags.toarray(), np.full(N, Extent.CLAIMED)).select(rows))
    assert (claimed.shares == 1).all()
    assert completed(claimed).tags.nnz == claimed.tags.nnz
    plain = probabilities(truth.select(rows), truth.select(np.arange(200, N)))
    np.testing.assert_array_equal(probabilities(claimed, truth.select(np.arange(200, N))), plain)


@pytest.mark.parametrize("method", ["ridge-tags", "label-propagation", "caption-ridge", "knn-tags"])
def test_one_tag_for_many_pictures_costs_the_other_tags_nothing(truth, method):
    T, others = truth.tags.toarray(), truth.select(np.arange(220, N))
    written = np.zeros_like(T)
    written[:100] = T[:100]
    rest = np.arange(100, 220)
    own = rest[T[rest, 3] > 0][:40]
    bulk = written.copy()
    bulk[own, 3] = 1
    extent = np.where(np.arange(N) < 100, Extent.CLAIMED, Extent.PART)
    before = probabilities(truth.select(np.arange(100)), others, method)
    touched = np.concatenate([np.arange(100), own])
    after = probabilities(with_shares(given(truth, bulk, extent).select(touched)), others, method)
    blind = probabilities(replace(given(truth, bulk, extent), extent=None).select(touched), others, method)
    old = [0, 1, 2, *range(4, N_TAGS)]

    def sure(p):
        return (p[:, old] >= 0.5)[others.tags.toarray()[:, old] > 0].mean()

    assert sure(after) > sure(before) - 0.05
    assert sure(after) > sure(blind)


@pytest.mark.parametrize("extent", [Extent.PART, Extent.CLAIMED])
def test_one_tag_a_picture_gives_probabilities_of_all(truth, extent):
    rows, others = np.arange(220), truth.select(np.arange(220, N))
    written = one_tag_each(truth, rows)
    data = with_shares(given(truth, written, np.full(N, extent)).select(rows))
    true = 220 / truth.tags[:220].nnz
    assert true < data.shares.mean() < 1.8 * true  # careful: a share that is too low would promise too much
    T = others.tags.toarray() > 0
    p, blind = probabilities(data, others), probabilities(replace(data, shares=None, extent=None), others)
    assert (p >= 0.5)[T].mean() > 0.5 > 5 * (blind >= 0.5)[T].mean()
    assert T[p >= 0.5].mean() > 0.8


def test_denied_tags_are_never_added(truth):
    rows = np.arange(200)
    T = truth.tags.toarray()
    written = T.copy()
    written[100:200] = one_tag_each(truth, np.arange(100, 200))[100:200]
    denied = np.zeros_like(T)
    denied[100:200] = (T[100:200] > 0) & (written[100:200] == 0)  # what is true, people deny
    extent = np.where(np.arange(N) < 100, Extent.WHOLE, Extent.PART)
    open_ = given(truth, written, extent).select(rows)
    free = completed(with_shares(open_))
    assert (free.tags.toarray()[100:] * denied[100:200]).sum() > 30  # they would be
    told = completed(with_shares(replace(open_, denied=sparse.csr_array(denied[rows]))))
    assert (told.tags.toarray()[100:] * denied[100:200]).sum() == 0


def test_a_tag_that_no_description_names_is_denied_by_none(truth):
    """The descriptions are older than the tag: they say nothing of it, so its probabilities do not suffer."""
    T, others = truth.tags.toarray(), truth.select(np.arange(220, N))
    written = T.copy()
    written[:150, 5] = 0
    rest = np.arange(150, 220)
    written[rest] = 0
    written[rest[T[rest, 5] > 0], 5] = 1
    extent = np.where(np.arange(N) < 150, Extent.CLAIMED, Extent.PART)
    touched = np.flatnonzero(written[:220].any(axis=1))
    data = given(truth, written, extent).select(touched)
    loose = np.eye(N_TAGS, dtype=np.bool_)[5]
    told = probabilities(with_shares(replace(data, loose=loose)), others)
    strict = probabilities(with_shares(data), others)
    assert told[:, 5].mean() > 1.5 * strict[:, 5].mean()
    has = others.tags.toarray()[:, 5] > 0
    assert told[has, 5].mean() > 2 * told[~has, 5].mean()


def test_answers_about_single_tags_teach_what_is_absent(truth):
    rng, T = np.random.default_rng(3), truth.tags.toarray()
    asked = rng.random(T.shape) < 0.5
    written, denied = T * asked, (1 - T) * asked
    rows = np.flatnonzero(written[:220].any(axis=1))
    others = truth.select(np.arange(220, N))
    data = replace(given(truth, written, np.full(N, Extent.PART)), denied=sparse.csr_array(denied)).select(rows)
    known = with_shares(data)
    assert known.has_answers
    p = probabilities(known, others).astype(np.float64)
    loss = -np.where(others.tags.toarray() > 0, np.log(p), np.log1p(-p)).mean()
    blind = probabilities(replace(data, extent=None), others).astype(np.float64)
    assert loss < 0.8 * -np.where(others.tags.toarray() > 0, np.log(blind), np.log1p(-blind)).mean()
    assert p.mean() == pytest.approx(T.mean(), abs=0.1)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_a_rare_tag_is_usable_at_once_and_honestly_unsure(truth, n):
    """A tag of a few pictures ranks its pictures first, without certainty, and changes nothing for the other tags."""
    T = truth.tags.toarray()
    rare = np.zeros((N, 1), np.float32)
    X = np.asarray(truth.X).copy()
    looks = np.random.default_rng(5).normal(size=60) * 2
    shows = np.concatenate([np.arange(n), np.arange(220, 240)])
    X[shows] = np.maximum(0, X[shows] + looks)
    rare[:n] = 1
    data = replace(truth, X=X, tags=sparse.csr_array(np.hstack([T, rare])), tag_names=(*truth.tag_names, "m"))
    rows, others = np.arange(200), data.select(np.arange(220, N))
    p = probabilities(data.select(rows), others)
    first = np.argsort(-p[:, N_TAGS], kind="stable")[:20]
    assert (first < 20).mean() >= (0.4 if n == 1 else 0.6)
    assert p[:, N_TAGS].sum() < 1.5 * 20
    plain = probabilities(replace(truth, X=X).select(rows), others)
    assert np.abs(p[:, :N_TAGS] - plain).mean() < 0.02
