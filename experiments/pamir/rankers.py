"""The rankers that the experiments on Corel5K compare: the same rules and the same number of settings for each.

A ranker gives every word of every picture a score, and a probability. Four rules make the score of a query from them:

- ``weighed``: the scores, each times the idf weight of its word in the query; PAMIR is trained for this rule;
- ``standard``: scores with mean 0 and deviation 1 over the pictures, added up; the paper's rule for machines;
- ``cosine``: the picture as a text, whose words occur as often as they are probable, as in text retrieval; the paper's
  rule for models that give probabilities;
- ``logarithms``: the sum of the logarithms of the words' probabilities, none below 0.001.

Models of P(word | picture) have probabilities. The scores of the others become probabilities by Platt's sigmoid,
learned from scores of left-out training pictures. PAMIR stops when its average precision on the validation pictures no
longer rises, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, log_expit

from visterm.calibration import fit_platt
from visterm.margin import GramInnerProducts, KernelRidgeAnnotator, Ridge
from visterm.measures import AveragePrecision
from visterm.neighbours.tagprop import TagProp
from visterm.ranking import (
    CMRM,
    CMTT,
    PAMIR,
    CaptionRidge,
    ConceptSVM,
    FeatureSpace,
    Triplets,
    TripletSettings,
    learn_from_triplets,
)
from visterm.ranking.queries import Queries, from_tags, query_vectors, wanted_words
from visterm.topics import PLSA

Setting = dict[str, Any]
Answers = Callable[[str], dict[str, np.ndarray]]

RULES = ("weighed", "standard", "cosine", "logarithms")
#: Probabilities below this count as equal.
FLOOR = 1e-3
#: Folds of training pictures that are left out to learn probabilities.
N_FOLDS = 3


@dataclass(frozen=True)
class Part:
    """Pictures of one part: what rankers see of them, and their tags."""

    X: Any
    tags: sparse.csr_array


@dataclass(frozen=True)
class Task:
    """Training, validation and test pictures with one kind of features, and the queries of the last two."""

    train: Part
    validation: Part
    test: Part
    asked: Mapping[str, Queries]
    idf: np.ndarray
    #: The kernel of the given scale between any part and the training pictures.
    kernel: Callable[[str, float], np.ndarray]

    def scores(self, model: Any, part: str, X: Any = None) -> np.ndarray:
        """A ranker's scores for the queries of a part."""
        Q = query_vectors(self.asked[part].words, self.idf)
        return model.score_queries(getattr(self, part).X if X is None else X, Q)


@dataclass
class Ranker:
    """A ranker, how to fit it, the ladder of values of each parameter, and where on them the search begins.

    ``fit(**setting)`` gives a function from a part to the scores of its queries by every rule.
    """

    name: str
    fit: Callable[..., Answers]
    ladders: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    start: Setting = field(default_factory=dict)


@dataclass(frozen=True)
class Words:
    """The scores of words for the pictures of one part (n_pictures, n_tags), and their probabilities."""

    scores: np.ndarray
    probabilities: np.ndarray


def by_rules(task: Task, part: str, words: Words) -> dict[str, np.ndarray]:
    """The scores of a part's queries by every rule."""
    Q = query_vectors(task.asked[part].words, task.idf)
    wanted = wanted_words(Q, task.idf)
    deviations = np.maximum(words.scores.std(axis=0), 1e-12)
    texts = words.probabilities * task.idf
    texts = texts / np.maximum(np.linalg.norm(texts, axis=1, keepdims=True), 1e-12)
    of_rules = {
        "weighed": Q @ words.scores.T,
        "standard": wanted @ ((words.scores - words.scores.mean(axis=0)) / deviations).T,
        "cosine": Q @ texts.T,
        "logarithms": wanted @ np.log(np.maximum(words.probabilities, FLOOR)).T,
    }
    return {rule: np.asarray(scores) for rule, scores in of_rules.items()}


def probable(task: Task, make: Callable[..., Any]) -> Callable[..., Answers]:
    """A model of P(word | picture) on the features."""

    def fit(**setting: Any) -> Answers:
        model = make(**setting).fit(task.train.X, tags=task.train.tags)

        def answer(part: str) -> dict[str, np.ndarray]:
            probabilities = model.score_tags(getattr(task, part).X)
            return by_rules(task, part, Words(probabilities, probabilities))

        return answer

    return fit


def scored(task: Task, make: Callable[..., Any], *, on_kernel: bool) -> Callable[..., Answers]:
    """A model that scores words, on the features or on the kernel of the given scale."""

    def fit(**setting: Any) -> Answers:
        scale = setting.pop("scale", None)

        def features(part: str, rows: Any = slice(None), columns: Any = slice(None)) -> Any:
            if not on_kernel:
                return getattr(task, part).X[rows]
            return np.ascontiguousarray(task.kernel(part, scale)[rows][:, columns])

        tags, model = task.train.tags, make(**setting)
        if isinstance(model, PAMIR):
            model.fit(features("train"), tags, validation=(features("validation"), task.validation.tags))
            setting["n_steps"] = model.n_steps_
        else:
            model.fit(features("train"), tags)
        held_out = np.empty(tags.shape, np.float32)
        for fold in np.array_split(np.random.default_rng(0).permutation(tags.shape[0]), N_FOLDS):
            rest = np.setdiff1d(np.arange(tags.shape[0]), fold)
            part = make(**setting).fit(features("train", rest, rest), tags[rest])
            held_out[fold] = word_scores(part, features("train", fold, rest))
        slope, offset = fit_platt(held_out, tags.toarray()).T

        def answer(part: str) -> dict[str, np.ndarray]:
            scores = word_scores(model, features(part))
            return by_rules(task, part, Words(scores, expit(scores * slope + offset)))

        return answer

    return fit


def word_scores(model: Any, X: Any) -> np.ndarray:
    """The scores of words of a ranker or an annotator."""
    return np.asarray(model.word_scores(X) if hasattr(model, "word_scores") else model.score_tags(X))


def whole(task: Task, make: Callable[..., Any]) -> Callable[..., Answers]:
    """A ranker of whole queries on the kernel, which has its own rule."""

    def fit(scale: float, **setting: Any) -> Answers:
        model = make(**setting).fit(task.kernel("train", scale), task.train.tags)
        return lambda part: {"own": task.scores(model, part, task.kernel(part, scale))}

    return fit


def ranked_logarithms(task: Task) -> Callable[..., Answers]:
    """PAMIR on the left-out log-probabilities of ridge regression; it starts from the ranking by their sum."""

    def fit(scale: float, alpha: float, aggressiveness: float, loss: str) -> Answers:
        present = task.train.tags.toarray()
        theta, left_out = Ridge(alpha).fit(GramInnerProducts(task.kernel("train", scale), 1.0)).solve(present)
        slope, offset = fit_platt(left_out, present).T
        queries = from_tags(task.train.tags)
        words = wanted_words(query_vectors(queries.words, task.idf), task.idf)
        triplets = Triplets.of(words, queries.relevance)
        asked = {part: wanted_words(query_vectors(q.words, task.idf), task.idf) for part, q in task.asked.items()}

        def logarithms(part: str) -> np.ndarray:
            scores = task.kernel(part, scale) @ theta + theta.sum(axis=0)
            return log_expit(scores * slope + offset)

        on_validation = logarithms("validation")

        def precision(W: np.ndarray) -> float:
            scores = np.asarray(asked["validation"] @ (on_validation @ W.T).T)
            return AveragePrecision()(task.asked["validation"].relevance, scores)

        space = FeatureSpace(log_expit(left_out * slope + offset).astype(np.float32))
        settings = TripletSettings(aggressiveness, 500_000, loss)
        course = learn_from_triplets(space, triplets, settings, 0, precision, start=np.eye(len(slope)))
        return lambda part: {"own": np.asarray(asked[part] @ (logarithms(part) @ course.coefficients.T).T)}

    return fit


AGGRESSIVENESS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SCALES = (0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
ALPHAS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def visterm_rankers(task: Task) -> Iterator[Ranker]:
    """The rankers of the paper, and ours, on visterms."""
    yield Ranker(
        "CMRM",
        probable(task, CMRM),
        {"alpha": (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), "beta": (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97)},
        {"alpha": 0.3, "beta": 0.5},
    )
    yield Ranker(
        "CMTT",
        probable(task, CMTT),
        {"n_singular_values": (10, 20, 35, 50, 75, 100, 150, 200, 300, 400, 600, 800)},
        {"n_singular_values": 100},
    )
    yield Ranker(
        "PLSA, tags first",
        probable(task, lambda **s: PLSA(random_state=0, **s)),
        {"n_topics": (30, 60, 120, 240, 480, 720, 960, 1440, 1920)},
        {"n_topics": 480},
    )
    machine = {"random_state": 0, "n_folds": 2}
    yield Ranker(
        "one SVM per word",
        scored(task, lambda **s: ConceptSVM(**machine, **s), on_kernel=False),
        {"C": COSTS, "kernel": ("visterm", "log-visterm")},
        {"C": 1.0, "kernel": "log-visterm"},
    )
    for name, fixed in (
        ("PAMIR, as in the paper", {"loss": "hinge", "kernel": "visterm", "n_steps": 1_000_000}),
        ("PAMIR, damped counts", {"loss": "hinge", "kernel": "log-visterm", "n_steps": 1_000_000}),
        ("PAMIR, damped, top-weighted", {"loss": "warp", "kernel": "log-visterm", "n_steps": 300_000}),
    ):
        common = fixed | {"random_state": 0, "held_out_share": 0}
        yield Ranker(
            name,
            scored(task, lambda common=common, **s: PAMIR(**(common | s)), on_kernel=False),
            {"aggressiveness": AGGRESSIVENESS, "averaged": (True, False)},
            {"aggressiveness": 0.1, "averaged": True},
        )
    yield from regressions(task)


def regressions(task: Task) -> Iterator[Ranker]:
    """Ridge regression of every word, and of words and pairs of words, on the kernel."""
    given, ladders = {"kernel": "precomputed"}, {"scale": SCALES, "alpha": ALPHAS}
    start = {"scale": 0.5, "alpha": 0.1}
    yield Ranker("ridge", scored(task, lambda **s: KernelRidgeAnnotator(**given, **s), on_kernel=True), ladders, start)
    yield Ranker("caption-ridge", whole(task, lambda **s: CaptionRidge(**given, **s)), ladders, start)


def kernel_rankers(task: Task) -> Iterator[Ranker]:
    """Rankers on the product kernel of several features."""
    given = {"kernel": "precomputed", "random_state": 0}
    yield Ranker(
        "one SVM per word",
        scored(task, lambda **s: ConceptSVM(n_folds=2, **given, **s), on_kernel=True),
        {"scale": SCALES, "C": COSTS},
        {"scale": 0.5, "C": 10.0},
    )
    for name, fixed in (
        ("PAMIR", {"loss": "hinge", "n_steps": 1_000_000}),
        ("PAMIR, top-weighted", {"loss": "warp", "n_steps": 500_000}),
    ):
        common = given | fixed | {"held_out_share": 0}
        yield Ranker(
            name,
            scored(task, lambda common=common, **s: PAMIR(**(common | s)), on_kernel=True),
            {"scale": SCALES, "aggressiveness": AGGRESSIVENESS},
            {"scale": 0.125, "aggressiveness": 1.0},
        )
    yield from regressions(task)
    yield Ranker(
        "PAMIR on the logarithms of ridge",
        ranked_logarithms(task),
        {
            "scale": SCALES,
            "alpha": ALPHAS,
            "aggressiveness": (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3),
            "loss": ("hinge", "warp"),
        },
        {"scale": 1.0, "alpha": 0.03, "aggressiveness": 1e-3, "loss": "warp"},
    )


def tagprop(tables: Mapping[str, Mapping[str, np.ndarray]], task: Task) -> Ranker:
    """Neighbours with weights learned by likelihood, on the same base distances."""

    def fit(n_neighbors: int) -> Answers:
        model = TagProp(n_neighbors, metric="precomputed", tag_power=1.0).fit(tables["train"], task.train.tags)

        def answer(part: str) -> dict[str, np.ndarray]:
            scores = model.score_tags(tables[part])
            return by_rules(task, part, Words(scores, scores))

        return answer

    return Ranker("TagProp", fit, {"n_neighbors": (1, 3, 6, 12, 25, 50, 100, 200, 400, 800)}, {"n_neighbors": 200})
