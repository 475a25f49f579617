"""Which pictures train and which test: given, stratified, folds, a number per class, or a share that keeps its tags.

A split depends on its seed alone and returns sorted, disjoint row numbers. A class with a single picture always
trains: a method that never saw the class could not predict it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from visterm.catalogue.parts import canonical
from visterm.errors import InputError
from visterm.measures.inputs import Integers, Matrix, check_labels, zeros_and_ones

Seed = int | np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The rows that train and the rows that test: sorted, disjoint, each at least one."""

    train: Integers
    test: Integers

    @classmethod
    def of(cls, train: ArrayLike, test: ArrayLike) -> Split:
        """Sort the rows of both sides and check that neither is empty."""
        sides = [np.sort(np.asarray(rows, dtype=np.int64)) for rows in (train, test)]
        for name, rows in zip(("train", "test"), sides, strict=True):
            if not rows.size:
                raise InputError(
                    f"the split leaves no picture to {name} on: change its sizes, or add labelled pictures"
                )
        return cls(*sides)


def together(split: Split, group: Integers | None, may_test: NDArray[np.bool_]) -> Split:
    """``split`` with every group on the side of its first picture that ``may_test``; None: there are no groups.

    Copies of a picture on both sides would flatter. A picture that may not test, of a group that tests, is on neither.

    >>> everything = np.ones(4, np.bool_)
    >>> together(Split.of([0, 1], [2, 3]), np.array([0, 1, 0, 3]), everything)
    Split(train=array([0, 1, 2]), test=array([3]))
    """
    if group is None:
        return split
    side = np.zeros(len(group), np.int8)
    side[split.train], side[split.test] = 1, 2
    order = np.lexsort((np.arange(len(group)), ~(may_test & (side > 0)), side == 0))
    _, first, inverse = np.unique(group[order], return_index=True, return_inverse=True)
    of_first = np.zeros(len(group), np.int8)
    of_first[order] = side[order][first][inverse]
    tests = (side > 0) & (of_first == 2)
    return Split.of(np.flatnonzero((side > 0) & (of_first == 1)), np.flatnonzero(tests & may_test))


def given(splits: Sequence[str | None]) -> Split:
    """The split that came with the data; a picture of another part, or of none (None), is on neither side.

    Case and the usual synonyms (training, testing) do not matter.

    >>> given(["train", "Test", None, "training"])
    Split(train=array([0, 3]), test=array([1]))
    """
    parts = [None if part is None else canonical(part) for part in splits]
    for name in ("train", "test"):
        if name not in parts:
            found = ", ".join(f"{part} ({count})" for part, count in Counter(parts).items() if part) or "none"
            raise InputError(f"no picture belongs to the part {name!r}; the parts given are: {found}")
    return Split.of(*([row for row, part in enumerate(parts) if part == name] for name in ("train", "test")))


def stratified(y: ArrayLike, test_share: float, random_state: Seed) -> Split:
    """Draw ``test_share`` of the pictures: the same share of each class, as far as whole pictures allow.

    Shares are rounded so that the total is right (largest remainders first); every class keeps a training picture.

    >>> stratified(["coast"] * 4 + ["forest"] * 2 + ["rare"], 0.5, random_state=0)
    Split(train=array([0, 1, 5, 6]), test=array([2, 3, 4]))
    """
    _check_share(test_share, "test_share")
    rng = np.random.default_rng(random_state)
    members = _members(_codes(y), rng)
    sizes = np.array([len(rows) for rows in members])
    quota = np.minimum(test_share * sizes, sizes - 1)
    n_test = np.floor(quota).astype(np.int64)
    total = max(round(float(quota.sum())), int(quota.any()))  # at least one, if any class can spare it
    largest_remainders = np.lexsort((rng.random(len(sizes)), n_test - quota))
    n_test[largest_remainders[: total - int(n_test.sum())]] += 1
    return Split.of(
        np.concatenate([rows[n:] for rows, n in zip(members, n_test, strict=True)]),
        np.concatenate([rows[:n] for rows, n in zip(members, n_test, strict=True)]),
    )


def k_fold(y_or_n: ArrayLike | int, n_folds: int, random_state: Seed) -> Iterator[Split]:
    """Make ``n_folds`` splits so that every picture tests once; given classes, every fold has a share of each class.

    Pictures are dealt to the folds class by class, so folds differ by one picture at most.

    >>> [fold.test.tolist() for fold in k_fold(4, 2, random_state=0)]
    [[1, 2], [0, 3]]
    """
    rng = np.random.default_rng(random_state)
    if isinstance(y_or_n, (int, np.integer)):
        n = int(y_or_n)
        members = [rng.permutation(n)] if n > 0 else []
    else:
        codes = _codes(y_or_n)
        n, members = len(codes), _members(codes, rng)
    tested = np.concatenate([rows for rows in members if len(rows) > 1] or [np.empty(0, dtype=np.int64)])
    if not 2 <= n_folds <= len(tested):
        raise InputError(
            f"{len(tested)} pictures cannot be split into {n_folds} folds: use at least 2 folds, with a picture each"
            " (classes with a single picture only train)"
        )
    fold = np.full(n, -1)
    fold[tested] = np.arange(len(tested)) % n_folds
    return (Split.of(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds))


def per_class(y: ArrayLike, n_train: int, random_state: Seed, *, n_test: int | None = None) -> Split:
    """Draw ``n_train`` training and ``n_test`` other test pictures (None: all the rest) of every class.

    A class too small for both raises an error, since the protocol promises every class the same number.

    >>> split = per_class(["coast"] * 3 + ["forest"] * 4, 2, random_state=0)
    >>> len(split.train), len(split.test)
    (4, 3)
    """
    if n_train < 1 or (n_test is not None and n_test < 1):
        raise InputError(f"a class needs at least 1 picture on each side, not n_train={n_train}, n_test={n_test}")
    rng = np.random.default_rng(random_state)
    labels = check_labels(y, "y")
    members = _members(_codes(labels), rng)
    needed = n_train + (n_test or 1)
    smallest = min(members, key=len)
    if len(smallest) < needed:
        raise InputError(
            f"{sum(len(rows) < needed for rows in members)} of {len(members)} classes have fewer than the {needed}"
            f" pictures needed, such as {labels[smallest[0]]!s} with {len(smallest)}: leave them out or use fewer"
        )
    last = None if n_test is None else needed
    return Split.of(
        np.concatenate([rows[:n_train] for rows in members]), np.concatenate([rows[n_train:last] for rows in members])
    )


def share_tagged(n_or_tags: int | Matrix, share: float, random_state: Seed) -> Split:
    """Draw the ``share`` of the pictures that keep their tags (train); the others are to be annotated (test).

    Given the (n_pictures, n_tags) matrix, both sides contain only pictures that have tags.

    >>> share_tagged(8, 0.25, random_state=0)
    Split(train=array([2, 4]), test=array([0, 1, 3, 5, 6, 7]))
    """
    _check_share(share, "share")
    if isinstance(n_or_tags, (int, np.integer)):
        pictures = np.arange(int(n_or_tags))
    else:
        pictures = np.flatnonzero(np.diff(zeros_and_ones(n_or_tags, "(n_pictures, n_tags)").indptr))
    if len(pictures) < 2:
        raise InputError(f"splitting tagged pictures needs at least 2 of them, not {len(pictures)}")
    shuffled = np.random.default_rng(random_state).permutation(pictures)
    n_tagged = min(max(1, round(share * len(pictures))), len(pictures) - 1)
    return Split.of(shuffled[:n_tagged], shuffled[n_tagged:])


def _check_share(share: float, name: str) -> None:
    if not 0.0 < share < 1.0:
        raise InputError(f"{name} must lie between 0 and 1, not {share}")


def _codes(y: ArrayLike) -> Integers:
    """The classes as numbers 0..n_classes-1, in sorted order."""
    labels = check_labels(y, "y")
    if not labels.size:
        raise InputError("there are no pictures to split")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _members(codes: Integers, rng: np.random.Generator) -> list[NDArray[Any]]:
    """The rows of every class, shuffled."""
    shuffled = rng.permutation(len(codes))
    grouped = shuffled[np.argsort(codes[shuffled], kind="stable")]
    return np.split(grouped, np.cumsum(np.bincount(codes))[:-1])
