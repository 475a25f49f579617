"""Probabilistic latent semantic analysis: tags first ("pLSA-Words"), or codewords and tags together."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from visterm.contracts import FRACTION, AnnotatorMixin, Features, Scores, declared
from visterm.topics.inference.aspects import (
    Aspects,
    Schedule,
    Step,
    completion,
    find_schedule,
    fold_in,
    follow,
    steps_of_both,
    steps_of_words,
)
from visterm.topics.inference.em import check_tag_bags, distributions
from visterm.topics.inference.topic_model import TopicModel


@declared
class PLSA(AnnotatorMixin, TopicModel):
    """Predicts tags from topics: p(tag | picture) = sum_z p(tag | z) p(z | picture).

    ``asymmetric`` is the pLSA-Words of Monay and Gatica-Perez (2004). It learns the topics from the tags alone, since
    tags mean more than codewords. Then it keeps p(z | picture) and learns p(codeword | z). It uses only tagged
    pictures. Otherwise one topic model learns both, with a vocabulary for each: p(codeword | z) and p(tag | z) both sum
    to one. It also learns from untagged pictures, whose tags are not known rather than absent.

    A new picture is folded in: its p(z | picture) explains its codewords best. With ``held_out_share`` > 0 that share
    of the tagged pictures is held out. How well their codewords predict their tags decides when to stop, and when to
    damp the expectation step by another factor ``cooling`` (Hofmann's tempered EM). The same steps are then repeated on
    all pictures. With 0, and for the tags alone, EM runs until its log-likelihood rises by less than ``tol``,
    relatively, or for ``max_iter`` steps.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> PLSA(n_topics=2, held_out_share=0, random_state=0).fit(X, tags).score_tags([[5, 0], [0, 5]]).round(1)
    array([[1., 0.], [0., 1.]])
    """

    scores_are_chances = True

    n_topics: int = 20
    _: KW_ONLY
    asymmetric: bool = True
    n_tokens: float | None = None
    held_out_share: float = 0.1
    cooling: Annotated[float, FRACTION] = 0.9
    max_iter: int = 100
    tol: float = 1e-5
    random_state: Any = None

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the tags and the codewords of the topics."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        tags = check_tag_bags(tags, bags.shape[0])
        self._count_tags(tags)
        random = check_random_state(self.random_state)
        tagged = np.flatnonzero(np.diff(tags.indptr))
        held = random.permutation(tagged)[: int(self.held_out_share * len(tagged))]
        if self.asymmetric:
            return self._fit_tags_first(bags[tagged], tags[tagged], np.isin(tagged, held), random)
        return self._fit_together(bags, tags, np.isin(np.arange(bags.shape[0]), held), random)

    def _fit_tags_first(
        self, bags: sparse.csr_array, tags: sparse.csr_array, held: NDArray[np.bool_], random: Any
    ) -> Self:
        # First the tags, by plain EM. Held-out pictures cannot decide how long: the likelihood of their tags asks for
        # few steps and broad topics, which say little about a picture. Ranking needs narrow ones: on Corel5K's
        # validation pictures its average precision is 25.5 %, and 23.8 % after few steps.
        start = Aspects.random(tags, self.n_topics, random)
        plain = [(1.0, self.max_iter)]
        of_tags, self.tag_objective_ = follow(plain, start, steps_of_both(start, tags), tol=self.tol)

        # Then the codewords. Every picture keeps the topics of its tags, so the problem is convex.
        def tags_given_codewords(aspects: Aspects, power: float) -> float:
            return completion(tags[held], fold_in(bags[held], aspects.word_topics, power), of_tags.word_topics)

        start = Aspects(of_tags.picture_topics, np.full((bags.shape[1], self.n_topics), 1 / bags.shape[1]))
        schedule = self._schedule(start, steps_of_words, bags, held, tags_given_codewords)
        of_codewords, objective = follow(schedule, start, steps_of_words(start, bags), tol=self.tol)
        return self.keep(of_codewords.word_topics, of_tags.word_topics, schedule, objective)

    def _fit_together(
        self, bags: sparse.csr_array, tags: sparse.csr_array, held: NDArray[np.bool_], random: Any
    ) -> Self:
        both = sparse.csr_array(sparse.hstack([bags, tags]))

        def tags_given_codewords(aspects: Aspects, power: float) -> float:
            codewords, words = np.split(aspects.word_topics, [bags.shape[1]])
            return completion(tags[held], fold_in(bags[held], codewords, power), words)

        start = Aspects.random(both, self.n_topics, random, split=bags.shape[1])
        schedule = self._schedule(start, steps_of_both, both, held, tags_given_codewords)
        aspects, objective = follow(schedule, start, steps_of_both(start, both), tol=self.tol)
        codewords, words = np.split(aspects.word_topics, [bags.shape[1]])
        return self.keep(codewords, words, schedule, objective)

    def _schedule(
        self,
        start: Aspects,
        steps: Callable[[Aspects, sparse.csr_array], Step],
        counts: sparse.csr_array,
        held: NDArray[np.bool_],
        score: Callable[[Aspects, float], float],
    ) -> Schedule:
        """Plain EM for ``max_iter`` steps, or the schedule that is best for held-out pictures."""
        if not held.any():
            return [(1.0, self.max_iter)]
        start = replace(start, picture_topics=start.picture_topics[~held])
        step = steps(start, counts[~held])
        return find_schedule(start, step, score, max_iter=self.max_iter, cooling=self.cooling)

    def keep(
        self, codeword_topics: NDArray[Any], tag_topics: NDArray[Any], schedule: Schedule, objective: NDArray[Any]
    ) -> Self:
        """Take p(word | z) as learned by ``schedule``, with the objective of every step: the end of a fit."""
        self.topic_codewords_, self.topic_tags_ = codeword_topics.T.copy(), tag_topics.T.copy()
        self.n_features_in_ = len(codeword_topics)
        self.power_, self.schedule_ = schedule[-1][0], np.array(schedule)
        self.objective_, self.n_iter_ = objective, len(objective)
        return self

    def transform(self, X: Features) -> NDArray[np.float64]:
        """p(z | picture) from the codewords, (n_pictures, n_topics); uniform for a picture without known codewords."""
        bags = self._bags(X)
        return fold_in(bags, self.topic_codewords_.T, self.power_)

    def score_tags(self, X: Features) -> Scores:
        """p(tag | picture): the probability that the next tag of the picture is this one."""
        return distributions(self.transform(X) @ self.topic_tags_)
