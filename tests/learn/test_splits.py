from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.errors import InputError
from visterm.learn.engine import splits

few = settings(max_examples=50, deadline=None)
seeds = st.integers(0, 1000)


@st.composite
def collections(draw):
    """Classes of 1 to 9 pictures, at least one of them of two, in random order."""
    sizes = [*draw(st.lists(st.integers(1, 9), max_size=6)), draw(st.integers(2, 9))]
    y = np.repeat([f"class {i}" for i in range(len(sizes))], sizes)
    return y[np.random.default_rng(draw(seeds)).permutation(len(y))]


def check(split, n):
    for rows in (split.train, split.test):
        assert rows.dtype == np.int64
        assert (np.diff(rows) > 0).all()
        assert len(rows)
        assert rows[0] >= 0
        assert rows[-1] < n
    assert not set(split.train) & set(split.test)


def same(one, other):
    return np.array_equal(one.train, other.train) and np.array_equal(one.test, other.test)


@few
@given(collections(), st.floats(0.05, 0.95), seeds)
def test_stratified_gives_each_class_its_share_and_a_training_picture(y, share, seed):
    split = splits.stratified(y, share, seed)
    check(split, len(y))
    assert len(split.train) + len(split.test) == len(y)
    assert set(y[split.train]) == set(y)
    for name in set(y):
        size, n_test = (y == name).sum(), (y[split.test] == name).sum()
        assert abs(n_test - min(share * size, size - 1)) < 1
    assert same(split, splits.stratified(y.tolist(), share, seed))


def test_stratified_totals_are_right_and_seeds_differ():
    y = np.repeat(np.arange(40), 3)
    split = splits.stratified(y, 0.5, 0)
    assert len(split.test) == 60
    assert not same(split, splits.stratified(y, 0.5, 1))


@few
@given(collections(), st.integers(2, 5), seeds)
def test_folds_test_every_picture_of_a_repeated_class_once(y, n_folds, seed):
    names, sizes = np.unique(y, return_counts=True)
    testable = int(sizes[sizes > 1].sum())
    if testable < n_folds:
        with pytest.raises(InputError, match="folds"):
            splits.k_fold(y, n_folds, seed)
        return
    folds = list(splits.k_fold(y, n_folds, seed))
    assert len(folds) == n_folds
    for fold in folds:
        check(fold, len(y))
        assert len(fold.train) + len(fold.test) == len(y)
        for name, size in zip(names, sizes, strict=True):
            n_test = (y[fold.test] == name).sum()
            assert n_test == 0 if size == 1 else size // n_folds <= n_test <= -(-size // n_folds)
    tested = np.concatenate([fold.test for fold in folds])
    assert len(tested) == len(set(tested)) == testable
    lengths = [len(fold.test) for fold in folds]
    assert max(lengths) - min(lengths) <= 1


@few
@given(st.integers(2, 30), st.integers(2, 5), seeds)
def test_folds_of_a_number_of_pictures(n, n_folds, seed):
    if n_folds <= n:
        folds = list(splits.k_fold(n, n_folds, seed))
        np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(n))
        assert all(same(*pair) for pair in zip(folds, splits.k_fold(np.int64(n), n_folds, seed), strict=True))


@few
@given(st.lists(st.integers(4, 9), min_size=1, max_size=5), st.sampled_from([None, 1, 2]), seeds)
def test_per_class_takes_the_same_number_of_every_class(sizes, n_test, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    split = splits.per_class(y, 2, seed, n_test=n_test)
    check(split, len(y))
    np.testing.assert_array_equal(np.bincount(y[split.train]), 2)
    np.testing.assert_array_equal(np.bincount(y[split.test]), np.array(sizes) - 2 if n_test is None else n_test)


@few
@given(st.integers(2, 60), st.floats(0.01, 0.99), seeds)
def test_share_tagged_covers_all_pictures(n, share, seed):
    split = splits.share_tagged(n, share, seed)
    check(split, n)
    assert len(split.train) + len(split.test) == n
    assert abs(len(split.train) - share * n) <= 1


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_share_tagged_leaves_untagged_pictures_out(kind):
    tags = np.eye(10, 4, dtype=int)
    tags[7, 2] = 1
    split = splits.share_tagged(kind(tags), 0.4, random_state=0)
    assert sorted([*split.train, *split.test]) == [0, 1, 2, 3, 7]
    assert len(split.train) == 2


def test_given_follows_the_parts_and_their_synonyms():
    parts = ["TRAIN", " training", "val", "testing", None, "test", "holdout"]
    split = splits.given(parts)
    assert (split.train.tolist(), split.test.tolist()) == ([0, 1], [3, 5])


def test_a_generator_may_give_several_splits():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    assert not same(splits.stratified(y, 0.5, rng), splits.stratified(y, 0.5, rng))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: splits.given(["train", "val"]), r"'test'; the parts given are: train \(1\), validation \(1\)"),
        (lambda: splits.given([]), "the parts given are: none"),
        (lambda: splits.stratified([0, 1], 1.0, 0), "between 0 and 1"),
        (lambda: splits.stratified([0, 1, 2], 0.5, 0), "no picture to test on"),
        (lambda: splits.stratified([], 0.5, 0), "no pictures"),
        (lambda: splits.stratified(["a", None], 0.5, 0), "leave out"),
        (lambda: splits.k_fold([0, 0, 1], 3, 0), "2 pictures cannot be split into 3 folds"),
        (lambda: splits.k_fold(5, 1, 0), "at least 2 folds"),
        (lambda: splits.k_fold(0, 2, 0), "0 pictures"),
        (lambda: splits.per_class(["a", "a", "b"], 1, 0), "such as b with 1"),
        (lambda: splits.per_class([0, 0], 0, 0), "at least 1"),
        (lambda: splits.share_tagged(1, 0.5, 0), "at least 2"),
        (lambda: splits.share_tagged(4, 0.0, 0), "between 0 and 1"),
        (lambda: splits.share_tagged(np.zeros((5, 2)), 0.5, 0), "not 0"),
    ],
)
def test_impossible_splits_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@few
@given(st.integers(4, 40), st.integers(1, 8), seeds)
def test_groups_stay_on_one_side_and_what_is_alone_stays_where_it_was(n, n_groups, seed):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups + n, n)  # some of several, many of one
    may_test = rng.random(n) < 0.8
    drawn = rng.permutation(np.flatnonzero(may_test))[: max(1, n // 4)]
    if len(drawn) == 0 or len(drawn) == n:
        return
    before = splits.Split.of(np.setdiff1d(np.arange(n), drawn), drawn)
    try:
        after = splits.together(before, group, may_test)
    except InputError:  # one group is all there is
        assert len(set(group[before.train]) - set(group[before.test])) == 0 or len(set(group)) < n
        return
    check(after, n)
    assert not set(group[after.train]) & set(group[after.test])
    assert may_test[after.test].all()
    alone = np.flatnonzero(np.bincount(group, minlength=group.max() + 1)[group] == 1)
    assert set(alone) & set(after.test) == set(alone) & set(before.test)
    assert set(alone) & set(after.train) == set(alone) & set(before.train)


def test_a_group_is_on_the_side_of_its_first_picture_that_may_test():
    before = splits.Split.of([0, 1, 3, 4], [2, 5])
    group = np.array([7, 8, 7, 8, 9, 8])
    after = splits.together(before, group, np.array([False, True, True, True, True, True]))
    assert after.test.tolist() == [2]  # 0 may not test: it is on neither side
    assert after.train.tolist() == [1, 3, 4, 5]  # 1 is the first of its group, so 5 trains with it
    assert splits.together(before, None, np.ones(6, np.bool_)) is before
