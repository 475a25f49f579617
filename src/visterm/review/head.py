"""Learning while a person reviews: linear heads that are fitted again in a fraction of a second.

The pictures' features are reduced once, to their leading principal directions. A head is ridge regression on them, of
all classes or tags at once. Its leave-one-out scores are exact and cost nothing more, so every fit comes with an honest
measure: what it says of each labelled picture without having seen its label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from visterm.calibration import Denials, TagProbabilities, class_probabilities, fit_temperature
from visterm.margin import Ridge
from visterm.measures import TagAccuracy
from visterm.subspace import sample

Floats = NDArray[np.float32]
Integers = NDArray[np.integer[Any]]

#: The ridges tried, in multiples of the mean eigenvalue of the labelled pictures' covariance.
_RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0)
#: Pictures whose class could be any, added when probabilities are learned: few right answers are no certainty.
_PRIOR = 2.0
#: Two pictures count as alike by their cosine to this power.
_SHARPNESS = 3
#: Questions are chosen among at most this many pictures.
_MOST_CANDIDATES = 2500
#: No picture is settled wholly.
_LEAST_DOUBT = 1e-6


@dataclass(frozen=True, eq=False)
class Head:
    """Scores of all pictures, and the leave-one-out scores of the ``rows`` and of the other pictures with answers."""

    rows: Integers
    scores: Floats
    left_out: Floats
    others_left_out: Floats


def fit_head(
    Z: Floats, rows: Integers, targets: NDArray[np.floating[Any]], answers: sparse.csc_array | None = None
) -> Head:
    """Ridge regression of ``targets`` (n_rows, n_outputs) on ``Z[rows]``; the ridge has the least leave-one-out error.

    ``answers`` (len(Z), n_outputs) are about further pictures, not among ``rows``: the target of an output is 1 where
    they are positive and 0 where they are negative.
    """
    A = Z[rows].astype(np.float64)
    ridge, theta, left_out = Ridge.of_least_error(A, targets, _RIDGES)
    weights = A.T @ theta
    if answers is None:
        answers = sparse.csc_array((len(Z), targets.shape[1]))
    others = np.unique(answers.indices)
    of_others = Z[others].astype(np.float64)
    others_left_out = of_others @ weights
    for output in np.flatnonzero(np.diff(answers.indptr)):
        own = slice(*answers.indptr[output : output + 2])
        at, t = np.searchsorted(others, answers.indices[own]), (answers.data[own] > 0).astype(np.float64)
        B = of_others[at]
        known = ridge.border(theta[:, output], targets[:, output], B @ A.T, B @ B.T, t)
        weights[:, output] = A.T @ known.theta + B.T @ known.of_others
        left_out[:, output], others_left_out[at, output] = known.left_out, known.others_left_out
    scores = Z @ weights.astype(np.float32)
    return Head(rows, scores.astype(np.float32), left_out.astype(np.float32), others_left_out.astype(np.float32))


@dataclass(frozen=True, eq=False)
class ClassHead:
    """Probabilities of the classes for all pictures, and for the labelled ``rows`` without their own label."""

    rows: Integers
    given: Integers
    p: Floats
    left_out: Floats

    @property
    def accuracy(self) -> float:
        """The share of labelled pictures whose class is right without their own label."""
        return float((self.left_out.argmax(axis=1) == self.given).mean()) if len(self.rows) else 0.0

    @property
    def without_own(self) -> Floats:
        """The probabilities of all pictures, without their own labels."""
        p = self.p.copy()
        p[self.rows] = self.left_out
        return p

    @property
    def likeliest(self) -> Integers:
        """The likeliest class of all pictures, of the labelled ones without their own label."""
        return self.without_own.argmax(axis=1)


def fit_classes(Z: Floats, rows: Integers, given: Integers, n_classes: int) -> ClassHead:
    """A head for classes: ``given`` are the classes of ``rows``, from 0."""
    targets = np.zeros((len(rows), n_classes))
    targets[np.arange(len(rows)), given] = 1.0
    head = fit_head(Z, rows, targets)
    temperature = fit_temperature(head.left_out, given, prior=_PRIOR)
    return ClassHead(
        rows,
        given,
        class_probabilities(head.scores, temperature).astype(np.float32),
        class_probabilities(head.left_out, temperature).astype(np.float32),
    )


@dataclass(frozen=True, eq=False)
class TagHead:
    """Probabilities of the tags for all pictures and, without their own labels, for the described ``rows``.

    ``others`` are the pictures of which only some tags are known, and ``others_left_out`` their probabilities without
    what is known of that tag. ``accuracy`` is the tag accuracy without the pictures' own labels: of as many tags as a
    picture has, how many of the likeliest are right.
    """

    rows: Integers
    p: Floats
    left_out: Floats
    others: Integers
    others_left_out: Floats
    thresholds: Floats
    accuracy: float

    @property
    def without_own(self) -> Floats:
        """The probabilities of all pictures, without their own labels."""
        p = self.p.copy()
        p[self.rows], p[self.others] = self.left_out, self.others_left_out
        return p


def fit_tags(
    Z: Floats, rows: Integers, tags: sparse.csr_array, precision: float, answers: sparse.csr_array | None = None
) -> TagHead:
    """A head for tags: row i of ``tags`` is picture ``rows[i]``, which has these and no other tags.

    ``answers`` (len(Z), n_tags) are what is known of other pictures: 1 for tags that they have, -1 for tags that they
    do not have. Nothing else is known of these.
    """
    present = tags.toarray().astype(np.float64)
    head = fit_head(Z, rows, present, None if answers is None else sparse.csc_array(answers))
    counts = present.sum(axis=0)
    denials, others = None, np.empty(0, np.intp)
    if answers is not None and answers.nnz:
        others = np.flatnonzero(np.diff(answers.indptr))
        denials = Denials(head.others_left_out, answers[others] < 0, answers[others] > 0)
    likely = TagProbabilities().fit(head.left_out, tags, tag_counts=counts, n_tagged=len(rows), denials=denials)
    left_out = likely.log_odds(head.left_out)
    return TagHead(
        rows=rows,
        p=expit(likely.log_odds(head.scores)).astype(np.float32),
        left_out=expit(left_out).astype(np.float32),
        others=others,
        others_left_out=expit(likely.log_odds(head.others_left_out)).astype(np.float32),
        thresholds=likely.thresholds(precision).astype(np.float32),
        accuracy=TagAccuracy()(tags, left_out),
    )


def class_doubt(p: Floats) -> Floats:
    """How unsure a head is of each picture, from 0 to 1: one minus the lead of the likeliest class.

    >>> class_doubt(np.array([[0.75, 0.25], [0.5, 0.5]], np.float32)).tolist()
    [0.5, 1.0]
    """
    if p.shape[1] < 2:
        return np.ones(len(p), np.float32)
    two = -np.partition(-p, 1, axis=1)[:, :2]
    return (1 - (two[:, 0] - two[:, 1])).astype(np.float32)


def tag_doubt(p: Floats) -> Floats:
    """How unsure a head is of each picture's tags, from 0 to 1: the mean of its three most doubtful tags.

    >>> tag_doubt(np.array([[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]], np.float32)).tolist()
    [1.0, 0.0]
    """
    doubt = 4 * p * (1 - p)
    n = min(3, p.shape[1])
    return (-np.partition(-doubt, n - 1, axis=1)[:, :n]).mean(axis=1).astype(np.float32) if n else np.ones(len(p), "f4")


def choose_questions(
    Z: Floats,
    candidates: Integers,
    doubt: Floats,
    n_questions: int,
    *,
    settled: Sequence[int] | Integers = (),
    random_state: int = 0,
) -> Integers:
    """The pictures that teach most: doubtful ones that stand for many other doubtful ones.

    Picture i is worth ``doubt_i * sum_j alike_ij doubt_j``. Once it is chosen, pictures like it count as settled:
    ``doubt_j`` is multiplied by ``1 - alike_ij``, so that the next one is another kind of picture. So do pictures like
    those of the rows ``settled``, which were asked about before. ``doubt`` has one entry per candidate. Of many
    candidates, a sample is looked at.
    """
    if len(candidates) > _MOST_CANDIDATES:
        some = sample(len(candidates), _MOST_CANDIDATES, random_state)
        candidates, doubt = candidates[some], doubt[some]
    own = Z[candidates, :-1]
    left = doubt.astype(np.float32).copy()
    for like in _alike(own, Z[np.asarray(settled, np.intp), :-1]).T:
        left = np.maximum(left * (1 - like), _LEAST_DOUBT)
    alike = _alike(own, own)
    free = np.ones(len(candidates), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(n_questions, len(candidates)):
        worth = np.where(free, left * (alike @ left), -1.0)
        best = int(worth.argmax())
        chosen.append(best)
        free[best] = False
        left = np.maximum(left * (1 - alike[best]), _LEAST_DOUBT)
    return candidates[chosen]


def _alike(some: Floats, others: Floats) -> Floats:
    return np.maximum(some @ others.T, 0.0) ** _SHARPNESS


@dataclass(frozen=True, eq=False)
class Group:
    """Pictures that look alike: ``rows``, the most typical first, and the mean cosine to their centre."""

    rows: Integers
    tightness: float


def group(Z: Floats, rows: Integers, n_groups: int | None = None, *, random_state: int = 0) -> list[Group]:
    """Groups of look-alikes; every picture is in one. The largest and tightest come first."""
    from sklearn.cluster import KMeans

    if not len(rows):
        return []
    own = Z[rows, :-1]
    n_groups = n_groups or int(np.clip(round((len(rows) / 3) ** 0.5), 2, 60))
    n_groups = min(n_groups, len(rows))
    found = KMeans(n_groups, n_init=2, random_state=random_state).fit(own)
    groups = []
    for number in range(n_groups):
        members = np.flatnonzero(found.labels_ == number)
        if len(members):
            centre = found.cluster_centers_[number]
            near = own[members] @ (centre / max(1e-12, float(np.linalg.norm(centre))))
            order = np.argsort(-near, kind="stable")
            groups.append(Group(rows[members[order]], float(near.mean())))
    return sorted(groups, key=lambda each: -len(each.rows) * max(0.0, each.tightness) ** 2)
