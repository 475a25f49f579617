from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import NMF

from visterm.compute.threads import in_threads
from visterm.errors import InputError
from visterm.topics import PLSA, Aspects
from visterm.topics.inference import aspects as aspects_module
from visterm.topics.inference._kernels_plsa import expected_ratios
from visterm.topics.inference._kernels_plsa import fold_in as fold_in_kernel
from visterm.topics.inference.aspects import (
    PATIENCE,
    completion,
    find_schedule,
    fold_in,
    follow,
    steps_of_both,
    steps_of_words,
)
from visterm.topics.inference.em import Bags


def random_counts(seed, n_pictures=9, n_words=6):
    return sparse.csr_array(np.random.default_rng(seed).poisson(1.2, (n_pictures, n_words)).astype(float))


def start(counts, n_topics, seed=0):
    return Aspects.random(counts, n_topics, np.random.RandomState(seed))


def both(counts):
    return steps_of_both(start(counts, 1), counts)


def log_likelihood(counts, aspects, power=1.0):
    dense = counts.toarray()
    p = aspects.picture_topics**power @ (aspects.word_topics**power).T
    return (dense[dense > 0] * np.log(p[dense > 0])).sum() / power


@given(seed=st.integers(0, 10**6), n_topics=st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_the_kernel_equals_dense_algebra(seed, n_topics):
    counts = random_counts(seed)
    a = start(counts, n_topics, seed % 97)
    dense = counts.toarray()
    ratios = dense / (a.picture_topics @ a.word_topics.T)
    picture_sums, word_sums = np.zeros_like(a.picture_topics), np.zeros_like(a.word_topics)
    total = expected_ratios(
        Bags(counts.indptr, counts.indices, counts.data), a.picture_topics, a.word_topics, picture_sums, word_sums
    )
    np.testing.assert_allclose(picture_sums, ratios @ a.word_topics, rtol=1e-10)
    np.testing.assert_allclose(word_sums, ratios.T @ a.picture_topics, rtol=1e-10)
    assert total == pytest.approx(log_likelihood(counts, a))


def reference_fold_in(counts, word_topics, power, n_steps):
    dense = counts.toarray()
    theta = np.full((dense.shape[0], word_topics.shape[1]), 1 / word_topics.shape[1])
    for _ in range(n_steps):
        posterior = (theta[:, None, :] * word_topics[None]) ** power
        posterior /= posterior.sum(axis=2, keepdims=True)
        updated = np.einsum("dv,dvk->dk", dense, posterior) / np.maximum(dense.sum(axis=1, keepdims=True), 1)
        theta = np.where(dense.sum(axis=1, keepdims=True) > 0, updated, theta)
    return theta


@pytest.mark.parametrize("power", [1.0, 0.7])
def test_the_fold_in_kernel_equals_its_reference(power):
    counts = sparse.csr_array(np.vstack([random_counts(4).toarray(), np.zeros((1, 6))]))
    words = start(counts, 3).word_topics
    out = np.empty((10, 3))
    fold_in_kernel(Bags(counts.indptr, counts.indices, counts.data), words**power, power, 7, 0.0, out)
    np.testing.assert_allclose(out, reference_fold_in(counts, words, power, 7), rtol=1e-9)


def test_fold_in_ends_once_nothing_changes():
    counts = random_counts(4)
    words, out = start(counts, 3).word_topics, np.empty((9, 3))
    fold_in_kernel(Bags(counts.indptr, counts.indices, counts.data), words, 1.0, 50, 0.6, out)  # no topic moves by 0.6
    np.testing.assert_allclose(out, reference_fold_in(counts, words, 1.0, 1), rtol=1e-9)


@pytest.mark.parametrize("power", [1.0, 0.7])
def test_new_pictures_of_a_single_token_or_none_are_folded_in_too(power, monkeypatch):
    monkeypatch.setattr(aspects_module, "_FOLD_IN_STEPS", 4)
    monkeypatch.setattr(aspects_module, "_FOLD_IN_TOLERANCE", 0.0)
    counts = sparse.csr_array(np.vstack([random_counts(4).toarray(), np.eye(6), np.zeros((1, 6))]))
    words = start(counts, 3).word_topics
    np.testing.assert_allclose(fold_in(counts, words, power), reference_fold_in(counts, words, power, 4), rtol=1e-9)


def test_no_topic_of_a_picture_starts_twice_as_probable_as_another():
    pictures = start(random_counts(0, n_pictures=500), 3).picture_topics
    np.testing.assert_allclose(pictures.sum(axis=1), 1)
    ratios = pictures.max(axis=1) / pictures.min(axis=1)
    assert 1.8 < ratios.max() < 2


def test_a_token_that_no_topic_explains_is_skipped():
    counts = sparse.csr_array([[2.0, 1.0], [0.0, 3.0]])
    words = np.array([[1.0, 1.0], [0.0, 0.0]])  # the second word has no topic
    updated, objective = Aspects(np.array([[0.5, 0.5], [0.2, 0.8]]), words).step(counts)
    assert objective == 0  # log 1 for each of the two tokens that are explained
    np.testing.assert_allclose(updated.word_topics, words)
    np.testing.assert_allclose(updated.picture_topics[1], 0.5)
    words[0] = [0.4, 0.1]
    np.testing.assert_array_equal(fold_in(counts, words), fold_in(sparse.csr_array([[2.0, 0.0], [0.0, 0.0]]), words))


def test_completion_is_the_likelihood_with_a_small_share_of_slips():
    counts = sparse.csr_array([[0.0, 2.0, 1.0]])
    p = completion(counts, np.array([[0.25, 0.75]]), np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]]))
    assert p == pytest.approx(2 * np.log(0.99 * 0.125 + 0.01 / 3) + np.log(0.01 / 3))


@given(
    seed=st.integers(0, 10**6),
    n_topics=st.integers(1, 5),
    power=st.sampled_from([1.0, 0.8, 0.5]),
    steps=st.sampled_from([steps_of_both, steps_of_words]),
)
@settings(max_examples=40, deadline=None)
def test_no_step_lowers_the_objective_at_its_power(seed, n_topics, power, steps):
    counts = random_counts(seed)
    aspects, previous = start(counts, n_topics, seed % 89), -np.inf
    step = steps(aspects, counts)
    for _ in range(15):
        updated, objective = step(aspects, power)
        assert objective == pytest.approx(log_likelihood(counts, aspects, power))
        assert objective >= previous - 1e-9 * abs(objective)
        aspects, previous = updated, objective
        np.testing.assert_allclose(aspects.picture_topics.sum(axis=1), 1)
        np.testing.assert_allclose(aspects.word_topics.sum(axis=0), 1)


def test_shards_do_not_change_the_answer(monkeypatch):
    counts = random_counts(1, n_pictures=40)
    whole, objective = start(counts, 3).step(counts)
    monkeypatch.setattr(aspects_module, "SHARD_ROWS", 7)
    cut, cut_objective = start(counts, 3).step(counts)
    np.testing.assert_allclose(cut.word_topics, whole.word_topics, rtol=1e-10)
    np.testing.assert_allclose(cut.picture_topics, whole.picture_topics, rtol=1e-10)
    assert cut_objective == pytest.approx(objective)


def test_there_are_few_shards_however_many_pictures(monkeypatch):
    counts, n_shards = random_counts(1, n_pictures=40), []
    monkeypatch.setattr(aspects_module, "SHARD_ROWS", 1)
    monkeypatch.setattr(aspects_module, "MOST_SHARDS", 3)

    def counted(task, shards):
        n_shards.append(len(shards))
        return in_threads(task, shards)

    monkeypatch.setattr(aspects_module, "in_threads", counted)
    start(counts, 3).step(counts)
    assert n_shards == [3]


def test_no_pictures_leave_the_words_unknown():
    counts = random_counts(1)
    a = start(counts, 3)
    updated, objective = Aspects(a.picture_topics[:0], a.word_topics).step(counts[:0])
    np.testing.assert_allclose(updated.word_topics, 1 / 6)
    assert objective == 0


def test_plsa_is_matrix_factorisation_under_kullback_leibler_divergence():
    rng = np.random.default_rng(0)
    X = rng.poisson(20 * rng.dirichlet(np.ones(3), 30) @ rng.dirichlet(np.full(12, 0.5), 3)).astype(float)
    X = X[X.sum(axis=1) > 0]
    counts = sparse.csr_array(X)
    fitted, _ = follow([(1.0, 3000)], start(counts, 3), both(counts), tol=0)
    nmf = NMF(3, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=3000, tol=1e-9, random_state=0)
    W = nmf.fit_transform(X)
    # Both keep the row sums, so that their divergences differ by as much as their log-likelihoods.
    theirs = W @ nmf.components_
    p = theirs / theirs.sum(axis=1, keepdims=True)
    assert log_likelihood(counts, fitted) == pytest.approx((X[X > 0] * np.log(p[X > 0])).sum(), rel=2e-3)


def test_fold_in_of_training_pictures_is_no_worse_than_training():
    counts = random_counts(2, n_pictures=30, n_words=10)
    fitted, _ = follow([(1.0, 200)], start(counts, 3), both(counts), tol=0)
    folded = Aspects(fold_in(counts, fitted.word_topics), fitted.word_topics)
    assert log_likelihood(counts, folded) >= log_likelihood(counts, fitted) - 0.02 * abs(log_likelihood(counts, fitted))


@given(
    seed=st.integers(0, 10**6),
    n_topics=st.integers(2, 6),
    power=st.sampled_from([1.0, 0.6]),
    split=st.sampled_from([2, 3]),
    gathered=st.sampled_from([1, 8]),
)
@settings(max_examples=40, deadline=None)
def test_with_the_topics_of_pictures_fixed_the_words_equal_dense_algebra(seed, n_topics, power, split, gathered):
    counts = random_counts(seed)
    rng = np.random.default_rng(seed)
    a = start(counts, n_topics, seed % 83)
    # Some topics of pictures are zero, as tags leave them; the first picture has none, so nothing explains it.
    a = Aspects(a.picture_topics * (rng.random(a.picture_topics.shape) < 0.5), a.word_topics, split)
    a.picture_topics[0] = 0
    pictures, words, dense = a.picture_topics**power, a.word_topics**power, counts.toarray()
    p = pictures @ words.T
    ratios = np.divide(dense, p, out=np.zeros_like(p), where=p > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aspects_module, "_GATHERED", gathered)  # 1: every picture with a topic that is zero
        updated, objective = steps_of_words(a, counts)(a, power)
    expected = words * (ratios.T @ pictures)
    for of in (slice(0, split), slice(split, 6)):
        totals = expected[of].sum(axis=0)
        share = np.where(totals > 0, expected[of] / np.where(totals > 0, totals, 1), 1 / len(expected[of]))
        np.testing.assert_allclose(updated.word_topics[of], share, rtol=1e-10)
    assert updated.picture_topics is a.picture_topics
    seen = (dense > 0) & (p > 0)
    assert objective == pytest.approx((dense[seen] * np.log(p[seen])).sum() / power)


def test_many_words_are_learned_in_shards(monkeypatch):
    counts = random_counts(5, n_words=40)
    a = start(counts, 3)
    whole, objective = steps_of_words(a, counts)(a, 0.8)
    monkeypatch.setattr(aspects_module, "SHARD_WORDS", 7)
    cut, of_cut = steps_of_words(a, counts)(a, 0.8)
    np.testing.assert_array_equal(cut.word_topics, whole.word_topics)
    assert of_cut == pytest.approx(objective)


def test_the_schedule_cools_only_while_that_helps():
    counts = random_counts(3, n_pictures=40)
    liked = {1.0: 2, 0.5: 1}  # looks at each power of which each is better than all before
    looks: dict[float, int] = {}

    def judge(_, power):
        looks[power] = looks.get(power, 0) + 1
        return 100.0 * sum(looks.values()) if looks[power] <= liked.get(power, 0) else 0.0

    schedule = find_schedule(start(counts, 2), both(counts), judge, max_iter=500, cooling=0.5)
    steps = aspects_module.STEPS_PER_LOOK
    assert schedule == [(1.0, 2 * steps), (0.5, steps)]
    vain = {0.5 ** (2 + i): PATIENCE for i in range(PATIENCE)}
    assert looks == {1.0: 2 + PATIENCE, 0.5: 1 + PATIENCE} | vain
    assert find_schedule(start(counts, 2), both(counts), lambda *_: 1.0, max_iter=500, cooling=1) == [(1.0, steps)]


def test_the_schedule_has_no_more_than_the_given_steps():
    looks = []

    def judge(_, power):
        looks.append(power)
        return float(len(looks))

    def step(aspects, _):
        return aspects, 0.0

    steps = aspects_module.STEPS_PER_LOOK
    assert find_schedule(None, step, judge, max_iter=2 * steps, cooling=1) == [(1.0, 2 * steps)]
    assert looks == [1.0, 1.0]
    looks.clear()
    assert find_schedule(None, step, lambda *_: looks.append(1) or 5.0, max_iter=500, cooling=1) == [(1.0, steps)]
    assert len(looks) == 1 + PATIENCE  # with cooling 1 there is no second power


def test_a_power_ends_when_the_objective_rises_by_less_than_the_tolerance():
    values = iter([-100.0, -90.0, -85.0, -84.5, -60.0, -59.9])
    found, objective = follow([(1.0, 9), (0.5, 9)], 0, lambda n, _: (n + 1, next(values)), tol=0.01)
    assert objective.tolist() == [-100, -90, -85, -84.5, -60, -59.9]
    assert found == 4  # steps that raised it
    values = iter([1.0, 2.0, 3.0])
    found, objective = follow([(1.0, 2), (0.5, 1)], 0, lambda n, _: (n + 1, next(values)), tol=0.01)
    assert (found, objective.tolist()) == (3, [1, 2, 3])


def planted(seed=0, n_pictures=300):
    rng = np.random.default_rng(seed)
    pi, beta = rng.dirichlet(np.full(40, 0.1), 4), rng.dirichlet(np.full(30, 0.1), 4)
    theta = rng.dirichlet(np.full(4, 0.3), n_pictures)
    X = np.array([rng.multinomial(60, row @ pi) for row in theta])
    tags = np.array([rng.multinomial(12, row @ beta) > 0 for row in theta]).astype(float)
    return X, tags, theta @ beta


@pytest.mark.parametrize("asymmetric", [True, False])
@pytest.mark.parametrize("held_out_share", [0.0, 0.2])
def test_planted_tags_are_predicted(asymmetric, held_out_share):
    X, tags, truth = planted()
    tags[200:] = 0
    model = PLSA(4, asymmetric=asymmetric, held_out_share=held_out_share, random_state=0).fit(X, tags)
    scores = model.score_tags(X[200:])
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    floor = np.abs(truth[200:] - tags.sum(axis=0) / tags.sum()).mean()
    assert np.abs(truth[200:] - scores).mean() < 0.9 * floor


@pytest.mark.parametrize("asymmetric", [True, False])
def test_held_out_pictures_find_the_schedule(asymmetric):
    X, tags, _ = planted(n_pictures=40)
    settings = {"asymmetric": asymmetric, "max_iter": 18, "random_state": 0}
    plain = PLSA(2, held_out_share=0.0, **settings).fit(X, tags)
    assert plain.schedule_.tolist() == [[1, 18]]
    assert plain.power_ == 1
    found = PLSA(2, held_out_share=0.2, **settings).fit(X, tags)
    assert (found.schedule_[:, 1] % aspects_module.STEPS_PER_LOOK == 0).all()
    assert found.schedule_[0, 0] == 1
    assert found.power_ == found.schedule_[-1, 0]
    assert found.n_iter_ == len(found.objective_) <= found.schedule_[:, 1].sum()


def test_tags_first_keeps_the_topics_of_the_tags():
    X, tags, _ = planted(1)
    model = PLSA(4, held_out_share=0, tol=0, max_iter=30, random_state=5).fit(X, tags)
    bags = sparse.csr_array(tags)
    alone, trace = follow([(1.0, 30)], Aspects.random(bags, 4, _after_permutation(5, len(X))), both(bags), tol=0)
    np.testing.assert_allclose(model.topic_tags_, alone.word_topics.T)
    np.testing.assert_allclose(model.tag_objective_, trace)
    kept = Aspects(alone.picture_topics, np.full((40, 4), 1 / 40))
    of_codewords, trace = follow([(1.0, 30)], kept, steps_of_words(kept, sparse.csr_array(X.astype(float))), tol=0)
    np.testing.assert_allclose(model.topic_codewords_, of_codewords.word_topics.T)
    np.testing.assert_allclose(model.objective_, trace)
    # Codewords do not matter to them, and held-out pictures decide only about codewords.
    for share, bags in ((0, X[:, ::-1]), (0.2, X)):
        other = PLSA(4, held_out_share=share, tol=0, max_iter=30, random_state=5).fit(bags, tags)
        np.testing.assert_allclose(model.topic_tags_, other.topic_tags_)


def _after_permutation(seed, n):
    random = np.random.RandomState(seed)
    random.permutation(n)
    return random


def test_untagged_pictures_matter_only_to_the_plain_model():
    X, tags, _ = planted(2)
    tags[150:] = 0
    fits = {
        (asymmetric, n): PLSA(3, asymmetric=asymmetric, held_out_share=0, max_iter=20, random_state=0).fit(
            X[:n], tags[:n]
        )
        for asymmetric in (True, False)
        for n in (150, 300)
    }
    np.testing.assert_allclose(fits[True, 150].topic_codewords_, fits[True, 300].topic_codewords_)
    assert np.abs(fits[False, 150].topic_codewords_ - fits[False, 300].topic_codewords_).max() > 1e-3


def test_codewords_and_tags_are_two_vocabularies():
    X, tags, _ = planted(5)
    few = np.where(np.arange(300)[:, None] < 30, tags, 0)
    model = PLSA(4, asymmetric=False, held_out_share=0, max_iter=30, random_state=0).fit(X, few)
    np.testing.assert_allclose(model.topic_codewords_.sum(axis=1), 1)
    np.testing.assert_allclose(model.topic_tags_.sum(axis=1), 1)
    # Untagged pictures say nothing about tags: with the topics of pictures fixed, only tagged ones determine them.
    both = sparse.csr_array(np.hstack([X, few]))
    aspects = Aspects.random(both, 4, np.random.RandomState(0), split=40)
    words = steps_of_words(aspects, both)(aspects, 1.0)[0].word_topics
    alone = Aspects(aspects.picture_topics[:30], aspects.word_topics, 40)
    np.testing.assert_allclose(words[40:], steps_of_words(alone, both[:30])(alone, 1.0)[0].word_topics[40:])


def test_new_pictures_are_folded_in_at_the_power_of_the_model():
    X, tags, _ = planted(6)
    model = PLSA(4, held_out_share=0, max_iter=20, random_state=0).fit(X, tags)
    model.power_ = 0.6
    bags = sparse.csr_array(X[:5].astype(float))
    np.testing.assert_allclose(model.transform(X[:5]), fold_in(bags, model.topic_codewords_.T, 0.6))
    assert np.abs(model.transform(X[:5]) - fold_in(bags, model.topic_codewords_.T)).max() > 0.01


def test_one_topic_is_the_tag_frequency():
    X, tags, _ = planted(3)
    scores = PLSA(1, random_state=0).fit(X, tags).score_tags(X[:2])
    np.testing.assert_allclose(scores, np.tile(tags.sum(axis=0) / tags.sum(), (2, 1)))


def test_empty_pictures_and_unseen_codewords():
    X, tags, _ = planted(4)
    X[:, 0] = 0
    model = PLSA(3, random_state=0).fit(X, tags)
    unseen = np.zeros((2, 40))
    unseen[1, 0] = 3
    np.testing.assert_allclose(model.transform(unseen), 1 / 3)
    both = unseen + 2 * X[:1]
    np.testing.assert_allclose(model.transform(both)[0], model.transform(both)[1], atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [({"n_topics": 0}, "n_topics"), ({"held_out_share": 1.0}, "held_out_share"), ({"cooling": 0}, "cooling")],
)
def test_parameters_without_sense_are_refused(parameters, word):
    X, tags, _ = planted()
    with pytest.raises(InputError, match=word):
        PLSA(**parameters).fit(X, tags)
