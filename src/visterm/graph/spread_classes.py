"""Any classifier, followed by spreading: similar pictures, labelled or not, agree on their classes."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin, clone

from visterm.calibration import class_probabilities, fit_temperature
from visterm.contracts import Features, HasMethods, Scores, check_classes, declared, n_pictures, rows_with_class
from visterm.contracts.estimator import Estimator
from visterm.graph.neighbourhood import Neighbourhood
from visterm.graph.strangers import REACH, Strangers

Floats = NDArray[np.floating[Any]]
Integers = NDArray[np.integer[Any]]

#: How far beliefs spread: the values that are tried; and that where each class has one picture, so that none can be
#: held out. These, and all numbers below, were chosen on classes drawn from Corel5K training pictures.
ALPHAS = (0.0, 0.3, 0.5, 0.7, 0.8)
_WITHOUT_TRIAL = 0.7
#: Then the collection is labelled this often as the beliefs say, one picture a class, and what is learned is compared
#: with the beliefs; the true log-odds of right answers are lower by about this much.
_REHEARSALS, _ILLUSION = 3, 1.0
#: Labelled pictures are held out in at most this many parts.
_FOLDS = 4
#: Pictures whose class could be any, added when the temperature is fitted.
_PRIOR = 0.5
#: The temperature falls with this power of the number of labels: those who were held out were judged by fewer.
_LEARNING = 0.2
_LEAST = 1e-6


class HeldOut(NamedTuple):
    """Labelled pictures that took no part in learning: their classes, and what was believed of them, by alpha."""

    codes: Integers
    beliefs: dict[float, Floats]
    share: float

    @classmethod
    def joined(cls, parts: "list[HeldOut]") -> "HeldOut":
        """Several parts as one."""
        beliefs = {alpha: np.concatenate([part.beliefs[alpha] for part in parts]) for alpha in parts[0].beliefs}
        codes = np.concatenate([part.codes for part in parts])
        return cls(
            codes, beliefs, float(np.average([part.share for part in parts], weights=[len(p.codes) for p in parts]))
        )


@declared
class SpreadClassifier(ClassifierMixin, Estimator):
    """Spreads the probabilities of a classifier over the graph of all pictures, those without a class included.

    The ``estimator`` learns from the pictures with a class and says how likely each class is of every picture; labelled
    pictures are sure of theirs. These beliefs are spread along the links of similar pictures
    (:class:`~visterm.graph.Neighbourhood`), as far (``alpha``) as suits labelled pictures that were held out, by log
    loss. If nothing helps, alpha is 0. The same pictures set the temperature of the probabilities. A new picture
    believes what its neighbours do.

    Rows of ``predict_proba`` need not add up to 1: the rest is the probability that a picture belongs to none of the
    classes (:class:`~visterm.graph.Strangers`).

    >>> from visterm.neighbours import Prototypes
    >>> X = [[2.0, 0.1], [1.9, -0.2], [-2.0, 0.2], [-1.8, 0.0], [-1.9, 0.1]]
    >>> SpreadClassifier(Prototypes()).fit(X, ["sea", None, "wood", None, None]).predict(X).tolist()
    ['sea', 'sea', 'wood', 'wood', 'wood']
    """

    learns_from_untagged = True

    estimator: Annotated[Any, HasMethods(["fit", "predict_proba"])]
    _: KW_ONLY
    alphas: Annotated[Sequence[float], "array-like"] = ALPHAS
    random_state: Annotated[Any, "random_state"] = 0
    _fitted_constraints: ClassVar[dict[str, str]] = {
        "classes_": "n_classes",
        "beliefs_": "n_pictures n_classes >=0",
        "is_known_": "n_pictures int",
        "reach_": "float >=0",
        "temperature_": "float >0",
        "losses_": "n_alphas n_columns",
    }

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Learn from the pictures of known class, and spread over all."""
        self._validate_params()
        y = check_classes(y, n_pictures(X))
        rows = rows_with_class(y)
        self.classes_, codes = np.unique(y[rows], return_inverse=True)
        self.neighbourhood_ = Neighbourhood.of(X)
        self.n_features_in_ = self.neighbourhood_.n_features_in_
        self.estimator_ = clone(self.estimator).fit(X, y)
        held_out, p = self._held_out(X, y, rows, codes), self.estimator_.predict_proba(X)
        self.reach_, self.temperature_ = self._chosen(held_out) if held_out else (_WITHOUT_TRIAL, 1.0)
        self.beliefs_ = self._spread(p, rows, codes, self.reach_)
        if not held_out:
            self.losses_, self.temperature_ = np.empty((0, 2)), self._rehearsed(X, y, rows)
        self.is_known_ = np.isin(np.arange(len(y)), rows)
        self.strangers_ = Strangers().fit(self.neighbourhood_, rows, codes)
        return self

    def predict_proba(self, X: Features) -> Scores:
        """(n_pictures, n_classes) probabilities; what is missing to 1 is that of none of the classes."""
        beliefs, reach, known = self._beliefs(X)
        p = class_probabilities(np.log(np.maximum(beliefs, _LEAST)), self.temperature_)
        strange = np.where(known, 0.0, self.strangers_.probabilities(reach))
        return np.asarray(p * (1 - strange[:, np.newaxis]))

    def decision_function(self, X: Features) -> Scores:
        """(n_pictures, n_classes) log beliefs; of two classes, how much likelier the second is."""
        beliefs = np.log(np.maximum(self._beliefs(X)[0], _LEAST))
        return beliefs[:, 1] - beliefs[:, 0] if beliefs.shape[1] == 2 else beliefs

    def predict(self, X: Features) -> NDArray[Any]:
        """The likeliest class."""
        best = self._beliefs(X)[0].argmax(axis=1)
        return self.classes_[best]

    def _beliefs(self, X: Features) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """What is believed of pictures, how easily walks from them reach labelled ones, and which are labelled."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        near = self.neighbourhood_
        places = near.places(X)
        known, beliefs, reach = self.is_known_[places], self.beliefs_[places], self.strangers_.reach_[places]
        new = np.flatnonzero(places < 0)
        if len(new):
            from visterm.contracts import take

            some = take(X, new)
            beliefs[new] = near.of_new(some, self.estimator_.predict_proba(some), self.beliefs_, self.reach_)
            nothing, around = np.zeros((len(new), 1)), self.strangers_.reach_[:, np.newaxis]
            reach[new] = near.of_new(some, nothing, around, REACH)[:, 0]
            known = known & (places >= 0)
        return beliefs, reach, known

    def _spread(self, p: Floats, rows: Integers, codes: Integers, alpha: float) -> Floats:
        """Beliefs of all pictures; those of known class are sure."""
        if alpha == 0:
            return p
        given = p.copy()
        given[rows] = np.eye(len(self.classes_))[codes]
        return self.neighbourhood_.spread(given, alpha)

    def _held_out(self, X: Features, y: NDArray[Any], rows: Integers, codes: Integers) -> list[HeldOut]:
        """What is believed of the pictures of each part without their own labels; every class keeps a picture."""
        counts, rng = np.bincount(codes), np.random.default_rng(self.random_state)
        fold = np.full(len(rows), -1)
        for code in np.flatnonzero(counts > 1):
            members = rng.permutation(np.flatnonzero(codes == code))
            fold[members] = np.arange(len(members)) % min(_FOLDS, int(counts.max()))
        parts = []
        for number in range(fold.max() + 1):
            asked = fold == number
            without = y.copy()
            without[rows[asked]] = "-1" if without.dtype.kind == "U" else -1
            p = _as_chosen(self.estimator_).fit(X, without).predict_proba(X)
            spread_ = {a: self._spread(p, rows[~asked], codes[~asked], a)[rows[asked]] for a in self.alphas}
            parts.append(HeldOut(codes[asked], spread_, float(np.mean(~asked))))
        return parts

    def _chosen(self, parts: list[HeldOut]) -> tuple[float, float]:
        """The alpha with the least held-out log loss, and the temperature; ``losses_`` keeps what was tried."""
        held_out, best = HeldOut.joined(parts), (np.inf, 0.0, 1.0)
        losses = []
        for alpha, beliefs in held_out.beliefs.items():
            scores = np.log(np.maximum(beliefs, _LEAST))
            temperature = fit_temperature(scores, held_out.codes, prior=_PRIOR)
            p = class_probabilities(scores, temperature)[np.arange(len(scores)), held_out.codes]
            losses.append((alpha, -float(np.log(np.maximum(p, _LEAST)).mean())))
            best = min(best, (losses[-1][1], alpha, temperature * held_out.share**_LEARNING))
        self.losses_ = np.array(losses)
        return best[1:]

    def _rehearsed(self, X: Features, y: NDArray[Any], rows: Integers) -> float:
        """A temperature for one picture a class: how far what is believed agrees with what it would teach."""
        likely, n_classes = self.beliefs_.argmax(axis=1), len(self.classes_)
        others = np.delete(np.arange(len(y)), rows)
        if n_classes < 2 or not len(others):
            return 1.0
        rng, agreed = np.random.default_rng(self.random_state), []
        for _ in range(_REHEARSALS):
            drawn = np.array([rng.choice(np.flatnonzero(likely == code)) for code in np.unique(likely)])
            given = np.full_like(y, "-1" if y.dtype.kind == "U" else -1)
            given[drawn] = self.classes_[likely[drawn]]
            fitted = clone(self.estimator).fit(X, given)
            p = np.zeros(self.beliefs_.shape)
            p[:, np.searchsorted(self.classes_, fitted.classes_)] = fitted.predict_proba(X)
            said = self._spread(p, drawn, likely[drawn], self.reach_).argmax(axis=1)
            agreed.append(np.mean((said == likely)[others]))
        share = np.clip(np.mean(agreed), 1 / n_classes, 1 - 1 / len(y))
        wanted, scores = (
            max(1.05 / n_classes, expit(logit(share) - _ILLUSION)),
            np.log(np.maximum(self.beliefs_, _LEAST)),
        )

        def too_sure(log_temperature: float) -> float:
            p = class_probabilities(scores[others], np.exp(log_temperature))
            return float(p.max(axis=1).mean() - wanted)

        low, high = -4.0, 4.0
        return float(np.exp(brentq(too_sure, low, high))) if too_sure(low) > 0 > too_sure(high) else 1.0


def _as_chosen(estimator: Any) -> Any:
    """The same method with the parameters that a fit chose: C for ``C="auto"``."""
    found = {name: getattr(estimator, f"{name}_", value) for name, value in estimator.get_params(deep=False).items()}
    return clone(estimator).set_params(**found)
