"""From labelled pictures to a measured estimator, with at most two fits of the method."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm import registry
from visterm.calibration import Denials, Written
from visterm.contracts import Task, leaves_out, take, unseen
from visterm.contracts.answers import ScoredPictures
from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.learn.engine import splits
from visterm.learn.engine.affordable import affordable_measured, most_measured
from visterm.learn.engine.fitting import Fitted, chosen_by_trial, grown, has_labels, learns_from_untagged
from visterm.learn.engine.measuring import Measured, Performance, measure, measure_fitted, training_part
from visterm.learn.engine.splits import Split
from visterm.learn.engine.suggestions import JudgedTags, denials_of, judge_by_halves, tag_probabilities
from visterm.registry import Method

#: From more pictures than this, a method that can score them as if each had been left out learns once: see
#: :mod:`visterm.margin.solver.sums`.
LEARN_ONCE = 10_000
#: The place of a picture that is not in the measuring sample.
_OUTSIDE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The tagged pictures that an estimator has not seen; it learned from the ``train`` rows of a split.

    Its scores serve to interpret those of the final estimator: how sure a prediction is, and from which score on a
    picture gets a tag. The estimator itself is not kept: it is as large as the final one. In ``judged``, each half of
    the pictures is judged by what was learned from the other half; None if there are test pictures to measure on.
    ``denials`` are what it says of held-out pictures that nobody tagged, and the tags denied there, if there are any.
    """

    scored: ScoredPictures
    data: Dataset
    split: Split
    judged: JudgedTags | None = None
    denials: Denials | None = None

    @property
    def train_tags(self) -> Any:
        """(n_pictures, n_tags) tags that the estimator learned from."""
        return self.data.tags[self.split.train]

    @property
    def tags(self) -> Any:
        """(n_pictures, n_tags) tags of the scored pictures."""
        return self.data.tags[tagged_rows(self.data, self.split)]

    @property
    def written(self) -> Written | None:
        """How much of the truth these tags are."""
        return self.data.written(tagged_rows(self.data, self.split))


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The final estimator and its measured performance.

    ``performance`` is None and ``baseline`` is empty if too few pictures are labelled to hold some out. ``test`` are
    the rows of ``data`` that came marked as test pictures; the estimator has not seen their labels.
    """

    estimator: Any
    data: Dataset
    test: NDArray[np.int64]
    fit_seconds: float
    performance: Performance | None
    baseline: dict[str, float]
    held_out: HeldOut | None

    @property
    def metrics(self) -> dict[str, float]:
        """The measures by name."""
        return {} if self.performance is None else self.performance.flat()

    def own(self) -> Dataset:
        """The pictures whose labels the estimator may have learned from."""
        return self.data.select(np.setdiff1d(np.arange(len(self.data)), self.test))


def tagged_rows(data: Dataset, split: Split) -> NDArray[np.int64]:
    """The rows held out by a split that show how good tags are."""
    return split.test[data.measurable[split.test]]


def train_method(
    method: Method, data: Dataset, parameters: Mapping[str, Any] | None = None, earlier: Any = None
) -> Trained:
    """Fit the method to all labelled pictures except the test pictures, and measure it.

    With test pictures, the final estimator itself is measured on them. A second fit, without some of the other
    pictures, gives the held-out scores that search learns from. Without test pictures, a fit to one part is measured on
    the rest, which also gives the held-out scores; the final estimator then learns from everything. A method that
    learns from untagged pictures also gets the held-out and the test pictures, without their labels. Of many pictures,
    a method that scores those it learned from as if each had been left out needs only the final fit; if ``earlier``, an
    estimator of the same method and parameters, can take the pictures that are new to it, it learns only these.

    >>> from scipy.sparse import csr_array
    >>> known = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    >>> X = known + np.random.default_rng(0).random((40, 2))
    >>> data = Dataset("pictures", X, np.full(40, -1), (), csr_array(known, dtype=float), ("sea", "car"))
    >>> trained = train_method(registry.get("knn-tags"), data)
    >>> trained.baseline["AvgP"] < trained.metrics["AvgP"]
    True
    """
    if not has_labels(method, data):
        wanted = "a class" if Task.CLASSIFY in method.tasks else "tags"
        raise InputError(f"{method.name} learns from pictures with {wanted}, but there are none: import or add labels")
    if data.is_test.any():
        return _with_test_pictures(method, data, parameters, earlier)
    return _without_test_pictures(method, data, parameters, earlier)


def validation_split(data: Dataset, *, test_share: float = 0.25, random_state: int = 0) -> Split:
    """The split that came with the pictures, else a share of the labelled pictures.

    These are the first of the measuring sample; if it is too small, others are drawn at random, class by class, but
    none that a queue chose by doubt. Of the pictures with nothing but denied tags, the same share is drawn. Copies and
    series stay on one side. Training pictures without labels stay in the training part: some methods learn from them.
    """
    test = np.flatnonzero(data.is_test)
    if len(test):
        most = affordable_measured(len(data.tag_names))
        some = test if len(test) <= most else np.random.default_rng(random_state).choice(test, most, replace=False)
        return Split.of(np.setdiff1d(np.arange(len(data)), test), some)
    labelled = np.flatnonzero(data.has_class | data.measurable)
    if len(labelled) < 2:
        raise InputError("at least two labelled pictures are needed to measure anything: label more, or import labels")
    test_share = min(test_share, most_measured(len(data.tag_names)) / len(labelled))
    drawn = _drawn(data, labelled, test_share, random_state)
    others = np.setdiff1d(np.flatnonzero(data.only_denied), labelled, assume_unique=True)
    others = np.random.default_rng(random_state).permutation(others)[: round(test_share * len(others))]
    test = np.union1d(drawn, others)
    split = Split.of(np.setdiff1d(np.arange(len(data)), test), test)
    may_test = (data.has_class | data.measurable | data.only_denied) & ~_origins(data)[1]
    return splits.together(split, data.group, may_test)


def _drawn(data: Dataset, labelled: NDArray[np.int64], test_share: float, random_state: int) -> NDArray[np.int64]:
    """The share of the ``labelled`` rows to measure on."""
    place, by_doubt = _origins(data)
    sample = labelled[place[labelled] < _OUTSIDE]
    others = labelled[(place[labelled] == _OUTSIDE) & ~by_doubt[labelled]]
    if max(len(sample), len(others)) == len(labelled):
        return labelled[splits.stratified(data.y[labelled], test_share, random_state).test]
    n_test = round(test_share * len(labelled))
    first = sample[np.argsort(place[sample], kind="stable")][:n_test]
    classes = np.unique(data.y[labelled])
    if len(np.unique(data.y[np.setdiff1d(labelled, first)])) < min(2, len(classes)):
        first = first[:0]  # nothing to tell apart would be left to learn from
    missing = min(n_test - len(first), len(others) - 1)
    if missing > 0:
        with suppress(InputError):  # each has a class of its own
            drawn = splits.stratified(data.y[others], missing / len(others), random_state)
            first = np.union1d(first, others[drawn.test])
    return first


def _origins(data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The place of each picture in the measuring sample, of classes or of tags; and which were chosen by doubt."""
    place, by_doubt = np.full(len(data), _OUTSIDE), np.zeros(len(data), np.bool_)
    for origin in (data.class_origin, data.tag_origin):
        if origin is not None:
            place = np.where(origin.in_sample, np.minimum(place, origin.place), place)
            by_doubt |= origin.by_doubt
    return place, by_doubt


def _with_test_pictures(method: Method, data: Dataset, parameters: Mapping[str, Any] | None, earlier: Any) -> Trained:
    """Measure the final fit on the test pictures; for tags, hold some of the others out of another fit."""
    split = validation_split(data)
    held_out, probabilities = None, None
    train = training_part(data, split, transductive=learns_from_untagged(method))
    once = _learned_once(method, train, parameters, earlier)
    if method.does(Task.RANK):
        try:
            drawn = validation_split(data.select(split.train))
            inner = Split.of(split.train[drawn.train], split.train[drawn.test])
            estimator = _without_some(method, data, inner, parameters) if once is None else unseen(once.estimator)
            scored = ScoredPictures.by(estimator, take(data.X, tagged_rows(data, inner)))
            held_out = HeldOut(scored, data, inner, denials=denials_of(estimator, data, inner.test))
            parameters = {**(parameters or {}), **chosen_by_trial(estimator)}
            del estimator  # as large as the final one
            probabilities = tag_probabilities(
                scored.scores,
                held_out.tags,
                held_out.train_tags,
                denials=held_out.denials,
                written=held_out.written,
            )
        except InputError:  # too few to hold some out
            held_out = None
    final = once or Fitted.to(train, method, parameters, doing="Training {}")
    try:
        performance = measure_fitted(final, data, split.test, probabilities=probabilities).performance
    except InputError:  # no test picture has the labels that the method predicts
        performance = None
    return _trained(final, data, split, performance, held_out)


def _without_some(method: Method, data: Dataset, inner: Split, parameters: Mapping[str, Any] | None) -> Any:
    """An estimator that has not seen the pictures that ``inner`` holds out."""
    part = training_part(data, inner, transductive=learns_from_untagged(method))
    return Fitted.to(part, method, parameters, doing="Fitting {} without some pictures").estimator


def _without_test_pictures(
    method: Method, data: Dataset, parameters: Mapping[str, Any] | None, earlier: Any
) -> Trained:
    """Measure a fit to one part on the rest; the final fit is to everything."""
    performance, held_out, split, once = None, None, None, None
    try:
        split = validation_split(data)
        once = _learned_once(method, data, parameters, earlier)
        if once is None:
            measured = measure(method, data, split, parameters=parameters, transductive=learns_from_untagged(method))
        else:
            part = training_part(data, split, transductive=False)
            measured = measure_fitted(replace(once, estimator=unseen(once.estimator), train=part), data, split.test)
            del part
        held_out = _scored_by(measured, split) if method.does(Task.RANK) else None
        performance = measured.performance
        parameters = {**(parameters or {}), **chosen_by_trial(measured.estimator)}
        del measured  # its estimator is as large as the final one
    except InputError:  # one labelled picture, or one class only, can be learned from but not measured on
        performance = None
    final = once or Fitted.to(data, method, parameters, doing="Training {}")
    return _trained(final, data, split, performance, held_out)


def _learned_once(method: Method, data: Dataset, parameters: Mapping[str, Any] | None, earlier: Any) -> Fitted | None:
    """A fit to all of many pictures that scores each exactly as if it had been left out; None if it cannot."""
    if len(data) <= LEARN_ONCE or not hasattr(method.load(), "as_if_left_out") or data.only_denied.any():
        return None
    final = grown(method, data, earlier) or Fitted.to(data, method, parameters, doing="Training {}")
    return final if leaves_out(final.estimator) else None


def _scored_by(measured: Measured, split: Split) -> HeldOut | None:
    """The held-out pictures with tags, as the measured estimator scored and judged them; None if there are none."""
    data, rows = measured.data, tagged_rows(measured.data, split)
    if not len(rows):
        return None
    pictures = data.select(rows)
    scored = ScoredPictures.by(measured.estimator, pictures.X, measured.word_scores)
    denials = denials_of(measured.estimator, data, split.test)
    judged = measured.judged or judge_by_halves(
        scored.scores, pictures, data.tags[split.train], measured.estimator, denials
    )
    return HeldOut(scored, data, split, judged, denials)


def _trained(
    final: Fitted, data: Dataset, split: Split | None, performance: Performance | None, held_out: HeldOut | None
) -> Trained:
    """The final fit with what was measured, and what guessing reaches."""
    baseline: dict[str, float] = {}
    if split is not None and performance is not None:
        labels = data.without_features()
        for task in performance.values:
            baseline |= measure(registry.baseline(task), labels, split, tasks=(task,)).values[task]
    test = np.flatnonzero(data.is_test)
    return Trained(final.estimator, data, test, final.seconds, performance, baseline, held_out)
