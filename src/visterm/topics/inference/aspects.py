"""The aspect model p(word | picture) = sum_z p(word | z) p(z | picture), fitted by tempered expectation maximisation.

Hofmann (2001). Words are codewords, tags or both; ``counts`` is a CSR matrix of pictures by words. The posterior of a
token's topic is ``(p(word | z) p(z | picture)) ** power``, normalised. Power 1 is plain EM. A lower power damps the
posterior, which prevents overfitting.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.compute import progress
from visterm.compute.parallel import Shard, split
from visterm.compute.threads import in_threads
from visterm.topics.inference.em import Bags, distributions, over_shards, rows_of

#: A thread takes at least SHARD_ROWS pictures at a time, in at most MOST_SHARDS shards: each shard sums all words.
SHARD_ROWS, MOST_SHARDS = 2048, 8
#: Where only the words of topics are learned, a thread takes this many words at a time.
SHARD_WORDS = 128
#: To pick single topics takes about this many times as long as to run through them all.
_GATHERED = 8
#: The held-out pictures are scored every this many steps.
STEPS_PER_LOOK = 5
#: Fitting stops after ``PATIENCE`` scores, or powers, without a relative rise of ``WORTHWHILE``.
PATIENCE, WORTHWHILE = 3, 1e-4
#: The assumed share of held-out words that are unrelated to their picture.
SLIP = 0.01
_FOLD_IN_STEPS, _FOLD_IN_TOLERANCE = 100, 1e-4


@dataclass(frozen=True, slots=True)
class Aspects:
    """Topics of pictures (n_pictures, n_topics) and words of topics (n_words, n_topics), as probabilities.

    With ``split``, words from that number on are a second vocabulary: p(word | z) sums to one over each of the two, and
    a picture without words of one vocabulary says nothing about that vocabulary.
    """

    picture_topics: NDArray[np.float64]  # p(z | picture), rows sum to one
    word_topics: NDArray[np.float64]  # p(word | z), columns of each vocabulary sum to one
    split: int | None = None

    @classmethod
    def random(cls, counts: sparse.csr_array, n_topics: int, random: Any, split: int | None = None) -> "Aspects":
        """A start in which topics have different words, and pictures differ only a little in their topics."""
        n_pictures, n_words = counts.shape
        pictures = distributions(1 + random.random_sample((n_pictures, n_topics)))
        words = np.ascontiguousarray(random.exponential(size=(n_topics, n_words)).T)
        return cls(pictures, _vocabularies(words, split), split)

    def step(
        self,
        counts: sparse.csr_array,
        power: float = 1.0,
        *,
        settle: Callable[[NDArray[Any]], NDArray[np.float64]] = distributions,
    ) -> tuple["Aspects", float]:
        """One step of EM, and the objective *before* it: ``sum counts * log(sum_z (p p) ** power) / power``.

        At a given power no step lowers that objective; at power 1 it is the log-likelihood. ``settle`` turns the
        topics' expected counts into p(z | picture).
        """
        pictures, words = self.picture_topics**power, self.word_topics**power
        picture_sums, word_sums, total = _expected_ratios(counts, pictures, words)
        words *= word_sums
        topics = settle(pictures * picture_sums)
        return Aspects(topics, _vocabularies(words, self.split), self.split), total / power


#: A step of EM at a power, and the objective before it.
Step: TypeAlias = Callable[[Aspects, float], tuple[Aspects, float]]


def steps_of_both(_: Aspects, counts: sparse.csr_array) -> Step:
    """Steps that learn the topics of the pictures and the words of the topics."""
    return lambda aspects, power: aspects.step(counts, power)


def steps_of_words(start: Aspects, counts: sparse.csr_array) -> Step:
    """Steps that learn only the words of the topics; the pictures keep the topics that they have in ``start``.

    Topics of a picture that are zero cost nothing. These are most of them, once tags gave pictures their topics.
    """
    from visterm.topics.inference._kernels_plsa import expected_words

    of_words = sparse.csr_array(counts.T)
    topics = start.picture_topics
    # mutants: / -> *: both ways give the same words; which is faster depends on the number of topics that are not zero
    has_few = np.count_nonzero(topics, axis=1, keepdims=True) < topics.shape[1] / _GATHERED
    few = sparse.csr_array(np.where(has_few, topics, 0.0))

    @lru_cache(maxsize=1)
    def raised(power: float) -> tuple[NDArray[np.float64], Bags]:
        # mutants: 1 -> 2: a number to the power of 1 is that number
        every = topics if power == 1 or has_few.all() else topics**power
        return every, Bags(few.indptr, few.indices, few.data**power)

    def step(aspects: Aspects, power: float) -> tuple[Aspects, float]:
        expected, topics_of_pictures = np.empty_like(aspects.word_topics), raised(power)

        def of_shard(shard: Shard) -> float:
            pictures, words = rows_of(of_words, shard), aspects.word_topics[shard.rows]
            return float(expected_words(pictures, *topics_of_pictures, words, power, expected[shard.rows]))

        total = sum(in_threads(of_shard, split(len(expected), size=SHARD_WORDS)))
        return replace(aspects, word_topics=_vocabularies(expected, aspects.split)), total / power

    return step


def _vocabularies(weights: NDArray[np.float64], split: int | None) -> NDArray[np.float64]:
    """``weights`` (n_words, n_topics), changed in place to p(word | z) of one vocabulary, or of two."""
    for part in [weights] if split is None else np.split(weights, [split]):
        totals = part.sum(axis=0)
        np.divide(part, totals, out=part, where=totals > 0)
        part[:, totals <= 0] = 1 / len(part)
    return weights


def _expected_ratios(
    counts: sparse.csr_array, pictures: NDArray[Any], words: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    from visterm.topics.inference._kernels_plsa import expected_ratios

    picture_sums = np.zeros_like(pictures)

    def of_shard(shard: Shard) -> tuple[NDArray[np.float64], float]:
        rows, word_sums = shard.rows, np.zeros_like(words)
        total = expected_ratios(rows_of(counts, shard), pictures[rows], words, picture_sums[rows], word_sums)
        return word_sums, total

    size = max(SHARD_ROWS, -(-counts.shape[0] // MOST_SHARDS))
    parts = in_threads(of_shard, split(counts.shape[0], size=size) or [Shard(0, 0)])
    word_sums, total = parts[0]
    for sums, value in parts[1:]:
        word_sums += sums
        total += value
    return picture_sums, word_sums, total


def fold_in(counts: sparse.csr_array, word_topics: NDArray[Any], power: float = 1.0) -> NDArray[np.float64]:
    """p(z | picture) of new pictures, (n_pictures, n_topics)."""
    from visterm.topics.inference import _kernels_plsa

    words = np.ascontiguousarray(word_topics**power)
    topics = np.empty((counts.shape[0], words.shape[1]))

    def of_shard(shard: Shard) -> None:
        pictures, out = rows_of(counts, shard), topics[shard.rows]
        _kernels_plsa.fold_in(pictures, words, power, _FOLD_IN_STEPS, _FOLD_IN_TOLERANCE, out)

    over_shards(of_shard, counts.shape[0])
    return topics


def completion(counts: sparse.csr_array, picture_topics: NDArray[Any], word_topics: NDArray[Any]) -> float:
    """``sum counts * log p(word | picture)``, where every word has at least a small probability.

    So a held-out word that no topic of its picture contains has a finite cost.
    """
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    p = np.einsum("ij,ij->i", picture_topics[rows], word_topics[counts.indices])
    return float(counts.data @ np.log((1 - SLIP) * p + SLIP / counts.shape[1]))


#: Pairs of a power and the number of steps at that power.
Schedule: TypeAlias = list[tuple[float, int]]


def follow(schedule: Schedule, start: Aspects, step: Step, *, tol: float) -> tuple[Aspects, NDArray[np.float64]]:
    """Take the steps of ``schedule``. A power ends early when the objective rises by less than ``tol``, relatively.

    Returns the aspects and the objective before every step.
    """
    aspects, objective = start, list[float]()
    with progress.task("Fitting aspects", total=sum(steps for _, steps in schedule)) as bar:
        for power, steps in schedule:
            previous = -np.inf
            for _ in range(steps):
                updated, value = step(aspects, power)
                objective.append(value)
                bar.advance()
                bar.report(objective=value)
                if value - previous <= tol * abs(value):
                    break
                aspects, previous = updated, value
    return aspects, np.array(objective)


def find_schedule(
    start: Aspects, step: Step, held_out: Callable[[Aspects, float], float], *, max_iter: int, cooling: float
) -> Schedule:
    """The schedule after which ``held_out``, a score of the aspects at a power, no longer rises.

    Plain EM comes first. Whenever the score stops rising, or after ``max_iter`` steps, the power is multiplied by
    ``cooling``, until that does not help either (Hofmann's tempered EM). With ``cooling`` 1, there is only early
    stopping.
    """
    schedule: Schedule = []
    # mutants: 0 -> 1: the first score is always a rise, after which the count starts anew
    best, best_score, power, vain_powers = start, -np.inf, 1.0, 0
    while vain_powers < PATIENCE:
        aspects, useful, taken = best, 0, 0
        while taken < max_iter and taken - useful < PATIENCE * STEPS_PER_LOOK:
            for _ in range(STEPS_PER_LOOK):
                aspects, _ = step(aspects, power)
            taken += STEPS_PER_LOOK
            score = held_out(aspects, power)
            if score > best_score + WORTHWHILE * abs(score):
                best, best_score, useful = aspects, score, taken
        if useful:
            schedule.append((power, useful))
        vain_powers = 0 if useful else vain_powers + 1
        if cooling == 1:
            break
        power *= cooling
    return schedule
