"""How well tags are suggested: per tag, per picture, and over the whole order of the vocabulary.

Truth is (n_pictures, n_tags) of 0 and 1, dense or sparse; scores have the same shape, larger is better. The measures
follow the papers and call a tag a word. Rules:

- **Ties.** A person sees one list of tags, so there is one order: of tags with the same score, the one rarer in
  training comes first (if ``frequencies``, the number of training pictures of each tag, are given), then the one with
  the lower column. Only :class:`WordAveragePrecision`, which ranks pictures, follows the rule of :mod:`.ranking`.
- **Empty.** A picture without a true tag is untagged, not wrong: it is left out everywhere. A word without a true
  picture is left out of means over words. A word that is never predicted has precision 0.
- **Short vocabulary.** If more tags are requested than exist, all are predicted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.compute.parallel import split
from visterm.errors import InputError
from visterm.measures.base import MeanMeasure, Measure
from visterm.measures.inputs import (
    Floats,
    Integers,
    Matrix,
    check_depth,
    check_same_shape,
    check_scores,
    rows_of,
    zeros_and_ones,
)
from visterm.measures.ranking import AveragePrecision, Placements

_AXES = "(n_pictures, n_tags)"
_BLOCK = 1 << 21  # scores sorted at a time: 16 MB of indices


def predict_tags(scores: ArrayLike, n: int, *, frequencies: ArrayLike | None = None) -> Integers:
    """The columns of the ``n`` best tags of every picture, best first, under the tie rule of this module.

    >>> predict_tags([[0.1, 0.9, 0.1]], 2)
    array([[1, 0]])
    >>> predict_tags([[0.1, 0.9, 0.1]], 2, frequencies=[30, 20, 10])
    array([[1, 2]])
    """
    check_depth(n, "a list of tags")
    scored = check_scores(scores, _AXES)
    best = np.empty((len(scored), min(n, scored.shape[1])), dtype=np.int64)
    for start, order in _orders(scored, np.arange(len(scored)), _priority(frequencies, scored.shape[1])):
        best[start : start + len(order)] = order[:, :n]
    return best


@dataclass(frozen=True, slots=True, eq=False)
class TagRanking:
    """The order of all tags for every tagged picture, reduced to the places of the true tags."""

    truth: csr_array
    scores: Floats
    priority: Integers
    position: Integers
    """The place, from 0, of every true tag (in the order of ``truth.indices``) among the tags of its picture."""
    _predicted: dict[int, Integers] = field(default_factory=dict)
    _only_order: Integers | None = None
    """All tags of all tagged pictures, best first, if they are few enough to keep."""

    @classmethod
    def of(cls, truth: Matrix, scores: ArrayLike, frequencies: ArrayLike | None = None) -> "TagRanking":
        """Find every true tag in the order of its picture's tags."""
        tags, scored = zeros_and_ones(truth, _AXES), check_scores(scores, _AXES)
        check_same_shape(tags.shape, scored.shape, _AXES)
        priority = _priority(frequencies, scored.shape[1])
        position = np.empty(tags.nnz, dtype=np.int64)
        tagged = np.flatnonzero(np.diff(tags.indptr))
        first_entry = np.append(tags.indptr[tagged], tags.nnz)
        only = None
        for start, order in _orders(scored, tagged, priority):
            only = order if len(order) == len(tagged) else None
            places = np.empty_like(order)
            np.put_along_axis(places, order, np.arange(order.shape[1])[np.newaxis], axis=1)
            counts = np.diff(first_entry[start : start + len(order) + 1])
            entries = slice(first_entry[start], first_entry[start + len(order)])
            position[entries] = places[np.repeat(np.arange(len(order)), counts), tags.indices[entries]]
        return cls(tags, scored, priority, position, {}, only)

    @property
    def tags_of_picture(self) -> Integers:
        """The number of true tags of every picture."""
        return np.diff(self.truth.indptr).astype(np.int64)

    @property
    def pictures_of_word(self) -> Integers:
        """For every tag, the number of pictures it is true of."""
        return np.bincount(self.truth.indices, minlength=self.truth.shape[1])

    def per_picture(self, terms: NDArray[Any]) -> Floats:
        """For every picture, the sum of ``terms``, one per true tag; NaN for a picture without tags."""
        sums = np.bincount(rows_of(self.truth), weights=terms, minlength=self.truth.shape[0])
        return np.where(self.tags_of_picture > 0, sums, np.nan)

    def per_word(self, terms: NDArray[Any]) -> Floats:
        """For every word, the sum of ``terms``, one per true tag; NaN for a word that is true of no picture."""
        sums = np.bincount(self.truth.indices, weights=terms, minlength=self.truth.shape[1])
        return np.where(self.pictures_of_word > 0, sums, np.nan)

    def times_predicted(self, n: int) -> Integers:
        """How many tagged pictures have each word among their ``n`` best."""
        if n not in self._predicted:
            total = np.zeros(self.truth.shape[1], dtype=np.int64)
            for order in self._all_orders():
                total += np.bincount(order[:, :n].ravel(), minlength=len(total))
            self._predicted[n] = total
        return self._predicted[n]

    def _all_orders(self) -> Iterator[Integers]:
        if self._only_order is not None:
            yield self._only_order
        else:
            tagged = np.flatnonzero(self.tags_of_picture)
            yield from (order for _, order in _orders(self.scores, tagged, self.priority))


class TagMeasure(Measure[TagRanking]):
    """A measure of suggested tags, called with (truth, scores), and ``frequencies=`` for the tie rule."""

    family: ClassVar[str] = "tags"

    @classmethod
    def read(cls, truth: Matrix, prediction: ArrayLike, *, frequencies: ArrayLike | None = None) -> "TagRanking":
        """Find every true tag in the order of its picture's tags."""
        return TagRanking.of(truth, prediction, frequencies)


class WordMeasure(TagMeasure, MeanMeasure[TagRanking]):
    """The mean over the words that are true of at least one picture."""

    over: ClassVar[str] = "words with a picture"

    def per_word(self, truth: Matrix, scores: ArrayLike, *, frequencies: ArrayLike | None = None) -> Floats:
        """The measure of every word; NaN for a word that is true of no picture."""
        return self.values(self.read(truth, scores, frequencies=frequencies))


class PictureMeasure(TagMeasure, MeanMeasure[TagRanking]):
    """The mean over the tagged pictures."""

    over: ClassVar[str] = "tagged pictures"


@dataclass(frozen=True)
class _AtDepth:
    n: int

    def __post_init__(self) -> None:
        check_depth(self.n, type(self).__name__)


@dataclass(frozen=True)
class MeanPrecision(_AtDepth, WordMeasure):
    """The mean over words of (pictures rightly given the word) / (pictures given the word), ``n`` words per picture.

    The first word is given twice, rightly once; the second word is given once, rightly:

    >>> MeanPrecision(1)([[1, 0], [0, 1], [0, 1]], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    0.75
    """

    label: ClassVar[str] = "mean precision@{n}"

    def values(self, answer: TagRanking) -> Floats:
        """The precision of every word; 0 for a word that is never predicted."""
        return answer.per_word(answer.position < self.n) / np.maximum(answer.times_predicted(self.n), 1)


@dataclass(frozen=True)
class MeanRecall(_AtDepth, WordMeasure):
    """The mean over words of (pictures rightly given the word) / (pictures it is true of), ``n`` words per picture.

    >>> MeanRecall(1)([[1, 0], [0, 1], [0, 1]], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    0.75
    """

    label: ClassVar[str] = "mean recall@{n}"

    def values(self, answer: TagRanking) -> Floats:
        """The recall of every word."""
        return answer.per_word(answer.position < self.n) / np.maximum(answer.pictures_of_word, 1)


@dataclass(frozen=True)
class WordF(_AtDepth, TagMeasure):
    """F = 2 MP MR / (MP + MR) of mean precision MP and mean recall MR over words; 0 when both are 0.

    >>> WordF(1)([[1, 0], [0, 1], [0, 1]], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    0.75
    """

    label: ClassVar[str] = "word F@{n}"

    def value(self, answer: TagRanking) -> float:
        """The harmonic mean of the two means."""
        precision, recall = MeanPrecision(self.n).value(answer), MeanRecall(self.n).value(answer)
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True)
class NPlus(_AtDepth, TagMeasure):
    """N+, the number of words that are rightly given to at least one picture.

    >>> NPlus(1)([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]])
    1.0
    """

    label: ClassVar[str] = "N+@{n}"

    def value(self, answer: TagRanking) -> float:
        """The number of words with positive recall."""
        return float(np.count_nonzero(MeanRecall(self.n).values(answer) > 0))


@dataclass(frozen=True)
class PicturePrecision(_AtDepth, PictureMeasure):
    """The share of the ``n`` predicted tags that are true, mean over pictures.

    >>> PicturePrecision(2)([[1, 0, 0], [1, 1, 0]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    0.75
    """

    label: ClassVar[str] = "picture precision@{n}"

    def values(self, answer: TagRanking) -> Floats:
        """The precision of every picture."""
        return answer.per_picture(answer.position < self.n) / min(self.n, answer.truth.shape[1])


@dataclass(frozen=True)
class PictureRecall(_AtDepth, PictureMeasure):
    """The share of the true tags that are among the ``n`` predicted, mean over pictures.

    >>> PictureRecall(1)([[1, 0, 0], [1, 1, 0]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    0.75
    """

    label: ClassVar[str] = "picture recall@{n}"

    def values(self, answer: TagRanking) -> Floats:
        """The recall of every picture."""
        return answer.per_picture(answer.position < self.n) / np.maximum(answer.tags_of_picture, 1)


@dataclass(frozen=True)
class PictureF(_AtDepth, PictureMeasure):
    """F = 2 correct / (predicted + true) of every picture, mean over pictures.

    >>> PictureF(1)([[1, 0, 0], [1, 1, 0]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])  # 1 and 2/3
    0.833...
    """

    label: ClassVar[str] = "picture F@{n}"

    def values(self, answer: TagRanking) -> Floats:
        """The F measure of every picture."""
        n_predicted = min(self.n, answer.truth.shape[1])
        return 2 * answer.per_picture(answer.position < self.n) / (n_predicted + answer.tags_of_picture)


@dataclass(frozen=True)
class TagAccuracy(PictureMeasure):
    """The share of correct tags when as many are predicted as the picture has, mean over pictures.

    >>> TagAccuracy()([[1, 0, 0], [1, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    0.75
    """

    label: ClassVar[str] = "tag accuracy"

    def values(self, answer: TagRanking) -> Floats:
        """The accuracy of every picture."""
        n_true = answer.tags_of_picture
        correct = answer.position < np.repeat(n_true, n_true)
        return answer.per_picture(correct) / np.maximum(n_true, 1)


@dataclass(frozen=True)
class CompleteLength(PictureMeasure):
    """How many tags must be predicted until all true ones are among them, mean over pictures; lower is better.

    >>> CompleteLength()([[1, 0, 0], [1, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    2.0
    """

    label: ClassVar[str] = "complete length"
    higher_is_better: ClassVar[bool] = False

    def values(self, answer: TagRanking) -> Floats:
        """The length that each picture needs."""
        length = np.zeros(answer.truth.shape[0])
        np.maximum.at(length, rows_of(answer.truth), answer.position + 1.0)
        return np.where(length > 0, length, np.nan)


@dataclass(frozen=True)
class WordAveragePrecision(WordMeasure):
    """The average precision of the tagged pictures ranked by their score for a word, mean over words.

    >>> WordAveragePrecision()([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.8, 0.9], [0.7, 0.0]])
    0.916...
    """

    label: ClassVar[str] = "word average precision"

    def values(self, answer: TagRanking) -> Floats:
        """The average precision of every word."""
        tagged = np.flatnonzero(answer.tags_of_picture)
        rankings = Placements.of(answer.truth[tagged].T, answer.scores[tagged].T)
        return AveragePrecision().values(rankings)


def _priority(frequencies: ArrayLike | None, n_tags: int) -> Integers:
    """The columns in the order in which ties are broken: rarest first, then lowest first."""
    if frequencies is None:
        return np.arange(n_tags)
    counts = np.asarray(frequencies)
    if counts.shape != (n_tags,) or counts.dtype.kind not in "iuf":
        raise InputError(f"frequencies must be one number for each of the {n_tags} tags, not of shape {counts.shape}")
    return np.argsort(counts, kind="stable")


def _orders(scores: Floats, pictures: Integers, priority: Integers) -> Iterator[tuple[int, Integers]]:
    """All tags, best first, for blocks of ``pictures``: the position of the block's first picture, and the orders."""
    for block in split(len(pictures), size=max(1, _BLOCK // max(1, scores.shape[1]))):
        by_priority = scores[pictures[block.rows]][:, priority]
        yield block.start, priority[np.argsort(-by_priority, axis=1, kind="stable")]
