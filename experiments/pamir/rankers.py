"""The rankers that the experiments on Corel5K compare, and the settings of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import log_expit

from visterm.calibration import fit_platt
from visterm.margin import GramInnerProducts, KernelRidgeAnnotator, ridge
from visterm.measures import AveragePrecision
from visterm.neighbours.tagprop import TagProp
from visterm.ranking import (
    CMRM,
    CMTT,
    PAMIR,
    CaptionRidge,
    ConceptSVM,
    FeatureSpace,
    TagRanker,
    Triplets,
    TripletSettings,
    learn_from_triplets,
)
from visterm.ranking.queries import Queries, from_tags, query_vectors, wanted_words
from visterm.topics import PLSA

Setting = dict[str, Any]


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
    """A ranker, its settings to choose from, and how to fit it with one of them."""

    name: str
    fit: Callable[..., Any]
    settings: list[Setting] = field(default_factory=lambda: [{}])


def grid(**values: tuple[Any, ...]) -> list[Setting]:
    """All combinations."""
    return [dict(zip(values, setting, strict=True)) for setting in itertools.product(*values.values())]


def on_features(task: Task, make: Callable[..., Any]) -> Callable[..., Any]:
    """A ranker that takes the features directly."""

    def fit(**setting: Any) -> Callable[[str], np.ndarray]:
        model = make(**setting)
        more = {"validation": (task.validation.X, task.validation.tags)} if isinstance(model, PAMIR) else {}
        model.fit(task.train.X, task.train.tags, **more)
        return lambda part: task.scores(model, part)

    return fit


def on_kernel(task: Task, make: Callable[..., Any]) -> Callable[..., Any]:
    """A ranker that takes the kernel; its scale is chosen."""

    def fit(scale: float, **setting: Any) -> Callable[[str], np.ndarray]:
        model = make(**setting)
        kernels = {part: task.kernel(part, scale) for part in ("train", "validation", "test")}
        more = {"validation": (kernels["validation"], task.validation.tags)} if isinstance(model, PAMIR) else {}
        model.fit(kernels["train"], task.train.tags, **more)
        return lambda part: task.scores(model, part, kernels[part])

    return fit


def log_sum(alpha: float, kernel: str) -> TagRanker:
    """Ridge regression of every word, calibrated left-out probabilities, the sum of their logarithms."""
    return TagRanker(KernelRidgeAnnotator(alpha, kernel=kernel), probabilities=True, equal_words=True)


def calibrated(task: Task) -> Callable[..., Any]:
    """PAMIR's word scores as probabilities, by Platt's sigmoid on three held-out folds; the sum of their logarithms."""

    def fit(scale: float, **setting: Any) -> Callable[[str], np.ndarray]:
        G, tags = task.kernel("train", scale), task.train.tags
        common = {"kernel": "precomputed", "held_out_share": 0, "random_state": 0}
        held_out = np.empty(tags.shape, np.float32)
        for fold in np.array_split(np.random.default_rng(0).permutation(len(G)), 3):
            rest = np.setdiff1d(np.arange(len(G)), fold)
            part = PAMIR(**common, **setting).fit(np.ascontiguousarray(G[np.ix_(rest, rest)]), tags[rest])
            held_out[fold] = part.word_scores(G[np.ix_(fold, rest)])
        slope, offset = fit_platt(held_out, tags.toarray()).T
        model = PAMIR(**common, **setting).fit(G, tags)

        def answer(part: str) -> np.ndarray:
            wanted = wanted_words(query_vectors(task.asked[part].words, task.idf), task.idf)
            return np.asarray(wanted @ log_expit(model.word_scores(task.kernel(part, scale)) * slope + offset).T)

        return answer

    return fit


def ranked_logarithms(task: Task) -> Callable[..., Any]:
    """PAMIR on the left-out log-probabilities of ridge regression; it starts from the ranking by their sum."""

    def fit(scale: float, alpha: float, aggressiveness: float, loss: str) -> Callable[[str], np.ndarray]:
        present = task.train.tags.toarray()
        theta, left_out = ridge(GramInnerProducts(task.kernel("train", scale), 1.0), present, alpha)
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
        return lambda part: np.asarray(asked[part] @ (logarithms(part) @ course.coefficients.T).T)

    return fit


def visterm_rankers(task: Task) -> Iterator[Ranker]:
    """The rankers of the paper, and ours, on visterms."""
    pamir = {"aggressiveness": (0.03, 0.1, 0.3), "averaged": (True, False)}
    yield Ranker("CMRM", on_features(task, CMRM), grid(alpha=(0.1, 0.3, 0.5), beta=(0.1, 0.3, 0.6, 0.9)))
    yield Ranker("CMTT", on_features(task, CMTT), grid(n_singular_values=(20, 50, 100, 200, 400)))
    yield Ranker(
        "PLSA",
        on_features(task, lambda **s: TagRanker(PLSA(random_state=0, **s), equal_words=True)),
        grid(n_topics=(60, 120, 240)),
    )
    machines = [{"C": (0.1, 0.3, 1.0, 3.0, 10.0), "kernel": kernel} for kernel in ("visterm", "log-visterm")]
    yield Ranker("one SVM per word", on_features(task, lambda **s: ConceptSVM(random_state=0, **s)), machines)
    for name, loss, kernel, n_steps in (
        ("PAMIR, as in the paper", "hinge", "visterm", 3_000_000),
        ("PAMIR, damped counts", "hinge", "log-visterm", 3_000_000),
        ("PAMIR, damped, top-weighted", "warp", "log-visterm", 1_000_000),
    ):
        fixed = {"kernel": kernel, "loss": loss, "n_steps": n_steps, "random_state": 0}
        choices = pamir if loss == "hinge" else {"aggressiveness": (0.1, 0.3)}
        yield Ranker(name, on_features(task, lambda fixed=fixed, **s: PAMIR(**fixed, **s)), grid(**choices))
    yield from regressions(task, {"scale": (0.5, 1.0), "alpha": (0.03, 0.1, 0.3)})


def regressions(task: Task, choices: dict[str, tuple[float, ...]]) -> Iterator[Ranker]:
    """Ridge regression of every word by three rules, on the kernel."""
    given = {"kernel": "precomputed"}
    yield Ranker(
        "ridge, sum of standard scores",
        on_kernel(task, lambda **s: TagRanker(KernelRidgeAnnotator(**given, **s), equal_words=True)),
        grid(**choices),
    )
    yield Ranker("ridge, sum of logarithms", on_kernel(task, lambda **s: log_sum(**given, **s)), grid(**choices))
    yield Ranker("caption-ridge", on_kernel(task, lambda **s: CaptionRidge(**given, **s)), grid(**choices))


def kernel_rankers(task: Task) -> Iterator[Ranker]:
    """Rankers on the product kernel of several features."""
    given = {"kernel": "precomputed"}
    common = given | {"random_state": 0}
    yield Ranker(
        "one SVM per word", on_kernel(task, lambda **s: ConceptSVM(**common, **s)), grid(scale=(0.5,), C=(10.0,))
    )
    for name, fixed in (
        ("PAMIR", {"loss": "hinge", "n_steps": 3_000_000}),
        ("PAMIR, top-weighted", {"loss": "warp", "n_steps": 1_500_000}),
    ):
        yield Ranker(
            name,
            on_kernel(task, lambda fixed=fixed, **s: PAMIR(**common, **fixed, **s)),
            grid(scale=(0.0625, 0.125, 0.25), aggressiveness=(1.0, 10.0)),
        )
    yield Ranker(
        "PAMIR, top-weighted, sum of logarithms",
        calibrated(task),
        grid(scale=(0.0625, 0.125), aggressiveness=(1.0,), loss=("warp",), n_steps=(1_000_000,)),
    )
    yield from regressions(task, {"scale": (0.5, 1.0), "alpha": (0.03, 0.1)})
    yield Ranker(
        "PAMIR on the logarithms of ridge",
        ranked_logarithms(task),
        grid(scale=(1.0,), alpha=(0.03,), aggressiveness=(3e-4, 1e-3, 3e-3), loss=("hinge", "warp")),
    )


def tagprop(tables: Mapping[str, Mapping[str, np.ndarray]], task: Task) -> Ranker:
    """Neighbours with weights learned by likelihood, on the same base distances."""

    def fit() -> Callable[[str], np.ndarray]:
        model = TagRanker(TagProp(metric="precomputed"), equal_words=True).fit(tables["train"], task.train.tags)
        return lambda part: task.scores(model, part, tables[part])

    return Ranker("TagProp, sum of logarithms", fit)
