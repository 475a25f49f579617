"""A committee of supervised topic models, which averages out the effect of random starts."""

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from visterm.contracts import FROM_0, FROM_1, Features, JointMixin, Scores, declared
from visterm.topics.inference.topic_model import TopicModel
from visterm.topics.slda_refined import RefinedSupervisedLDA

#: Seeds of the members are below this number.
_SEEDS = 2**31


@declared
class TopicCommittee(JointMixin, TopicModel):
    """Averages the probabilities of several supervised topic models with different random starts.

    The mean over ``n_members`` of p(class | topics of the member), each a
    :class:`~visterm.topics.slda_refined.RefinedSupervisedLDA`, and the same for tags. Members seldom make the same
    errors (Hansen and Salamon, PAMI 1990). Learning and use cost n_members times as much as with a single model. The
    other parameters are those of the members.

    >>> X, y = [[4, 0, 1], [3, 1, 1], [0, 5, 1], [1, 4, 0]], [3, 3, 8, 8]
    >>> TopicCommittee(n_topics=2, n_members=3, random_state=0).fit(X, y).predict([[5, 0, 0], [0, 5, 0]])
    array([3, 8])
    """

    scores_are_probabilities = True

    n_topics: int = 20
    _: KW_ONLY
    n_members: Annotated[int, FROM_1] = 5
    alpha: float = 1.0
    smoothing: float = 0.01
    class_weight: str | None = None
    refine: Annotated[int, FROM_0] = 25
    n_tokens: float | None = None
    random_state: Any = None

    def fit(self, X: Features, y: ArrayLike | None = None, tags: Any = None) -> Self:
        """Learn every member from all pictures, with a class, tags, both or neither, as SupervisedLDA does."""
        self._validate_params()
        random = check_random_state(self.random_state)
        of_members = {name: value for name, value in self.get_params().items() if name != "n_members"}
        self.members_ = [
            RefinedSupervisedLDA(**of_members | {"random_state": random.randint(_SEEDS)}).fit(X, y, tags)
            for _ in range(self.n_members)
        ]
        self.classes_ = self.members_[0].classes_
        self.tag_counts_, self.mean_n_tags_ = self.members_[0].tag_counts_, self.members_[0].mean_n_tags_
        self.n_features_in_ = self.members_[0].n_features_in_
        return self

    def predict_proba(self, X: Features) -> Scores:
        """The mean of the members' probabilities of every class."""
        check_is_fitted(self)
        return np.mean([member.predict_proba(X) for member in self.members_], axis=0)

    def _predict_classes(self, X: Features) -> NDArray[Any]:
        """The class with the highest mean probability."""
        chances = self.predict_proba(X)
        return self.classes_[np.argmax(chances, axis=1)]

    def score_tags(self, X: Features) -> Scores:
        """The mean of the members' probabilities of every tag."""
        check_is_fitted(self)
        return np.mean([member.score_tags(X) for member in self.members_], axis=0)

    def transform(self, X: Features) -> NDArray[np.float64]:
        """The topic proportions under every member, side by side, (n_pictures, n_members * n_topics)."""
        check_is_fitted(self)
        return np.hstack([member.transform(X) for member in self.members_])
