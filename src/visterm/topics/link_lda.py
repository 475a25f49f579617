"""Link-LDA: one set of topic proportions per picture, two vocabularies."""

from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from visterm.compute import progress
from visterm.contracts import AnnotatorMixin, Features, Scores, declared
from visterm.topics.inference import em
from visterm.topics.inference.em import TopicStatistics, check_tag_bags
from visterm.topics.inference.topic_model import DirichletTopicModel, JointTopics
from visterm.topics.unigram_mixture import fit_unigrams, start_responsibilities

_START_STEPS = 20


@declared
class LinkLDA(AnnotatorMixin, DirichletTopicModel):
    """Predicts tags from topic proportions that a picture's codewords and tags share.

    theta ~ Dirichlet(``alpha``); every codeword and every tag draws a topic of its own from theta, then itself from
    pi_z or beta_z (Erosheva et al. 2004; a baseline of Shao et al. 2014). Every step of variational EM raises the
    evidence bound plus ``smoothing`` * (sum log pi + sum log beta), the Dirichlet smoothing of the topics. Untagged
    pictures have only codewords. ``learn_alpha`` finds one alpha per topic by Newton's method, starting from ``alpha``.
    Topics start as those of a mixture of unigrams.

    >>> X, tags = [[4, 0], [3, 1], [0, 5], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> LinkLDA(n_topics=2, random_state=0).fit(X, tags).score_tags([[9, 0], [0, 9]]).argmax(axis=1)
    array([0, 1])
    """

    scores_are_chances = True

    _: KW_ONLY
    smoothing: float = 0.1

    def fit(self, X: Features, tags: Any) -> Self:
        """Learn the topics of both vocabularies."""
        self._validate_params()
        bags = self._bags(X, fitting=True)
        tags = check_tag_bags(tags, bags.shape[0])
        self._count_tags(tags)
        # A token of either vocabulary has its own topic, so the E step treats both as one vocabulary.
        both, gamma = sparse.csr_array(sparse.hstack([bags, tags])), None

        def e_step(model: JointTopics) -> tuple[TopicStatistics, float]:
            nonlocal gamma
            topics = np.hstack([model.codewords, model.tags])
            inferred = em.infer_topics(both, topics, model.alpha, start=gamma)
            gamma = inferred.gamma
            codewords, tags = np.split(inferred.statistics.codewords, [bags.shape[1]], axis=1)
            statistics = replace(inferred.statistics, codewords=codewords, tags=tags)
            return statistics, statistics.bound + self._log_prior(model)

        with progress.task("Fitting Link-LDA", total=_START_STEPS + self.max_iter) as bar:
            start = self._start(bags, tags, check_random_state(self.random_state), bar)
            model, self.objective_ = em.climb(
                start, e_step, self._maximise, max_iter=self.max_iter, tol=self.tol, bar=bar
            )
        self._keep(model)
        self.n_iter_ = len(self.objective_)
        return self

    def _start(self, bags: sparse.csr_array, tags: sparse.csr_array, random: Any, bar: progress.Bar) -> JointTopics:
        """The topics of a mixture of unigrams. From a random start, the few tags rarely find good topics."""
        start, how = start_responsibilities(bags, tags, self.n_topics, random), {"tol": self.tol, "bar": bar}
        unigrams, _ = fit_unigrams(bags, tags, start, smoothing=self.smoothing, max_iter=_START_STEPS, **how)
        return JointTopics.of(unigrams.codewords, unigrams.tags, self.alpha)

    def score_tags(self, X: Features) -> Scores:
        """p(tag | codewords): the probability that the next tag of the picture is this one."""
        return self.transform(X) @ self.topic_tags_
