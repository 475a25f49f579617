"""Heads for what the labels of a collection allow, and the labels that they disagree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from visterm.calibration import PRECISION
from visterm.catalogue.acts import Act, Extent
from visterm.catalogue.labels import Kind
from visterm.catalogue.truth import Truth
from visterm.collection.judgements import Age, Judged, LikelyName, n_labelled
from visterm.collection.moment import Collection
from visterm.collection.view import View
from visterm.compute import memory
from visterm.review.head import ClassHead, TagHead, class_doubt, fit_classes, fit_tags, tag_doubt

#: Heads learn from at most this many labelled pictures: all answers, and a sample of what was said otherwise.
_MOST_LEARNED = 20_000
#: The bytes that a name takes for each picture, and for each picture that heads learn from.
_OF_PICTURE, _OF_LEARNED = 20, 60
#: This many answers count as asked just now: pictures like theirs wait. Tried: 0, 24, 48 and 96.
_RECENT = 24
#: A head needs this many labelled pictures.
_LEAST = 4
#: This many complete descriptions tell which tags pictures lack; then a part of a description is no description.
_ENOUGH = 10
_MOST_ERRORS = 200
#: A label looks wrong if the head gives it at most this probability, and another class at least that.
_UNLIKELY, _LIKELY = 0.15, 0.6
_UNLIKELY_TAG = 0.02
#: Tags of a picture that are looked at to measure.
_MOST_TAGS = 12

#: A label that looks wrong: picture id, what was said, and what the head says.
Doubted = tuple[int, str, LikelyName]
#: Who says what the heads have learned.
REVIEW = "review"


@dataclass(frozen=True, eq=False)
class Heads:
    """Heads over the pictures ``places`` of a view (rows of ``Z``), at one state of the collection.

    ``recent`` are the numbers of the pictures that were answered last, but for measuring questions.
    """

    collection: Collection
    places: NDArray[np.intp]
    Z: NDArray[np.float32]
    class_names: list[str]
    tag_names: list[str]
    classes: ClassHead | None
    tags: TagHead | None
    half: ClassHead | None
    learned: str
    doubt: NDArray[np.float32]
    recent: list[int]
    errors: list[Doubted] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        """What quality is measured of: classes if the collection has some, otherwise tags."""
        return "class" if self.classes is not None else "tag"

    @property
    def kinds(self) -> list[Kind]:
        """What is asked about."""
        known: list[tuple[Kind, object]] = [("class", self.classes), ("tag", self.tags)]
        return [kind for kind, head in known if head is not None]

    @cached_property
    def answered(self) -> list[int]:
        """The numbers of the pictures that taught what quality is measured of, but for measuring questions."""
        head, truth = self.classes or self.tags, self.collection.truth
        if head is None:
            return []
        rows = np.array(self.collection.frame.rows, np.intp)[self.places[head.rows]]
        acts = truth.class_acts if self.classes else truth.tag_acts
        return [int(number) for number in truth.ids[rows[acts[rows] != Act.MEASURED]]]

    @cached_property
    def class_judged(self) -> Judged | None:
        """What was learned of classes, as it is read everywhere."""
        return None if self.classes is None else self._judged("class", self.class_names, self.classes.p)

    @cached_property
    def tag_judged(self) -> Judged | None:
        """What was learned of tags, as it is read everywhere."""
        return None if self.tags is None else self._judged("tag", self.tag_names, self.tags.p)

    def _judged(self, kind: Kind, names: list[str], p: NDArray[np.float32]) -> Judged:
        looked = np.zeros(len(self.collection.frame.rows), np.bool_)
        looked[self.places] = True
        place = np.cumsum(looked) - 1  # places are in order
        age = Age(REVIEW, kind, self.learned, n_labelled(self.collection.truth, kind))
        return Judged(age, names, looked, lambda row: p[place[row]].astype(np.float64))

    @cached_property
    def row_in_truth(self) -> dict[int, int]:
        """The row of ``Z`` by the row of the truth."""
        rows = self.collection.frame.rows
        return {rows[place]: row for row, place in enumerate(self.places.tolist())}

    @cached_property
    def likeliest(self) -> NDArray[np.integer[Any]]:
        """The numbers of the likeliest names for each row of ``Z``, without its own label: one class, or some tags."""
        if self.classes is not None:
            return self.classes.likeliest[:, None]
        if self.tags is None:
            return np.empty((len(self.Z), 0), np.intp)
        return np.argsort(-self.tags.without_own, axis=1, kind="stable")[:, :_MOST_TAGS]


def fit_heads(view: View, places: NDArray[np.intp], Z: NDArray[np.float32], before: Heads | None = None) -> Heads:
    """Heads for what the labels allow, and what looks wrong; ``before`` learned earlier."""
    truth = view.collection.truth
    labelled = _few(np.flatnonzero(view.classes[places] >= 0), truth.class_acts[view.rows[places]])
    classes, class_names, half = None, list[str](), None
    if len(labelled) >= _LEAST and len(np.unique(view.classes[places[labelled]])) >= 2:
        numbers, given = np.unique(view.classes[places[labelled]], return_inverse=True)
        class_names = [view.class_names[number] for number in numbers]
        classes = fit_classes(Z, labelled, given, len(numbers))
        half = _half(Z, labelled, given, len(numbers))
    known = KnownTags.of(truth, view.rows[places])
    tags, used = known.head(Z, _few(known.described, truth.tag_acts[view.rows[places]]))
    tag_names = [truth.tag_names[column] for column in used]
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    fit = Heads(
        collection=view.collection,
        places=places,
        Z=Z,
        class_names=class_names,
        tag_names=tag_names,
        classes=classes,
        tags=tags,
        half=half,
        learned=now,
        doubt=_doubt(truth, view.rows[places], Z, classes, tags, known),
        recent=[],
    )
    fit.recent.extend(_recent(fit, before))
    fit.errors.extend(_errors(view, fit, known.given))
    return fit


def _recent(fit: Heads, before: Heads | None) -> list[int]:
    """The pictures that were answered last, of those that still have an answer: what was new in the latest fits."""
    if before is None:
        return []
    known, answered = set(before.answered), fit.answered
    kept = [number for number in before.recent if number in set(answered)]
    return [*kept, *(number for number in answered if number not in known)][-_RECENT:]


class KnownTags(NamedTuple):
    """The tags that people gave to the pictures of the heads, and denied; ``described`` are those that have no others.

    Where enough pictures were described completely, only these have no others. Elsewhere every tagged picture counts
    as described, but for the answers to questions about one tag.
    """

    given: sparse.csr_array
    denied: sparse.csr_array
    described: NDArray[np.intp]

    @classmethod
    def of(cls, truth: Truth, rows: NDArray[np.intp]) -> KnownTags:
        """What is known of some rows of the truth."""
        given = truth.tags[rows]
        n_tags = np.diff(given.indptr)
        whole = np.flatnonzero((n_tags > 0) & (truth.extent[rows] > Extent.PART))
        if len(whole) < _ENOUGH:
            one_answer = (n_tags == 1) & (truth.extent[rows] == Extent.PART) & (truth.tag_acts[rows] == Act.ANSWERED)
            whole = np.flatnonzero((n_tags > 0) & ~one_answer)
        return cls(given, truth.rejected[rows], whole)

    def head(self, Z: NDArray[np.float32], described: NDArray[np.intp]) -> tuple[TagHead | None, NDArray[np.intp]]:
        """What can be learned with these of the described pictures, and the columns of its tags."""
        nothing = np.empty(0, np.intp)
        if len(described) < _LEAST:
            return None, nothing
        away = np.ones(len(Z), np.float32)
        away[self.described] = 0
        partly = sparse.csr_array(self.given.multiply(away[:, None]))
        own = self.given[described]
        n_given = np.bincount(own.indices, minlength=own.shape[1])
        used = np.flatnonzero(n_given + np.asarray(partly.sum(axis=0)).ravel() >= 2)
        if not n_given.any():
            return None, nothing
        used = _frequent(used, n_given, len(Z), len(described))
        answers = sparse.csr_array(partly - self.denied.multiply(away[:, None]))[:, used]
        answers.eliminate_zeros()
        return fit_tags(Z, described, own[:, used], PRECISION, answers), used


def _few(labelled: NDArray[np.intp], acts: NDArray[np.int8]) -> NDArray[np.intp]:
    """Those of the ``labelled`` pictures that heads learn from: all, or all answers and some others, the same again."""
    if len(labelled) <= _MOST_LEARNED:
        return labelled
    is_answer = np.isin(acts[labelled], (Act.ANSWERED, Act.MEASURED))
    drawn = np.random.default_rng(0).random(len(acts))[labelled] + is_answer
    return np.sort(labelled[np.argsort(-drawn, kind="stable")[:_MOST_LEARNED]])


def _frequent(used: NDArray[np.intp], n_given: NDArray[np.intp], n_pictures: int, n_learned: int) -> NDArray[np.intp]:
    """Those of the ``used`` tags that fit into memory: the most frequent ones, in order."""
    n_fit = max(1, memory.left() // 2 // (_OF_PICTURE * n_pictures + _OF_LEARNED * n_learned))
    return used if len(used) <= n_fit else np.sort(used[np.argsort(-n_given[used], kind="stable")[:n_fit]])


def _doubt(
    truth: Truth,
    rows: NDArray[np.intp],
    Z: NDArray[np.float32],
    classes: ClassHead | None,
    tags: TagHead | None,
    known: KnownTags,
) -> NDArray[np.float32]:
    """How unsure the heads are of each row of ``Z`` without its own label, and without answers to measuring questions.

    If a queue knew these, it would leave out pictures like them, and they would be the only ones without a labelled
    neighbour: they would look harder than other pictures.
    """
    if classes is not None:
        own = truth.class_acts[rows][classes.rows] != Act.MEASURED
        names, given = np.unique(classes.given[own], return_inverse=True)
        is_other = len(names) >= 2 and int(own.sum()) >= _LEAST and not own.all()
        return class_doubt((fit_classes(Z, classes.rows[own], given, len(names)) if is_other else classes).without_own)
    if tags is None:
        return np.ones(len(Z), np.float32)
    own = truth.tag_acts[rows][tags.rows] != Act.MEASURED
    other = None if own.all() else known.head(Z, tags.rows[own])[0]
    return tag_doubt((other or tags).without_own)


def _half(Z: NDArray[np.float32], rows: NDArray[Any], given: NDArray[Any], n_classes: int) -> ClassHead | None:
    """A head that learned from half of the labels, to estimate what more labels would bring."""
    if len(rows) < 4 * n_classes:
        return None
    some = np.random.default_rng(0).permutation(len(rows))[: len(rows) // 2]
    return fit_classes(Z, rows[some], given[some], n_classes)


def _errors(view: View, fit: Heads, matrix: Any) -> list[Doubted]:
    """Labels that confident heads, which have not seen them, disagree with; the most suspicious first."""
    found: list[tuple[float, int, str, LikelyName]] = []
    if fit.classes is not None:
        head = fit.classes
        rows = np.arange(len(head.rows))
        own, best = head.left_out[rows, head.given], head.left_out.argmax(axis=1)
        top = head.left_out[rows, best]
        for i in np.flatnonzero((own <= _UNLIKELY) & (top >= _LIKELY) & (best != head.given)):
            number = int(view.ids[fit.places[head.rows[i]]])
            option = LikelyName(fit.class_names[best[i]], round(float(top[i]), 4), "class", REVIEW)
            found.append((float(top[i] - own[i]), number, fit.class_names[head.given[i]], option))
    if fit.tags is not None:
        column = {name: place for place, name in enumerate(fit.tag_names)}
        names = view.collection.truth.tag_names
        without = fit.tags.without_own
        for row, tag in zip(*matrix.nonzero(), strict=True):
            place = column.get(names[tag])
            if place is not None and without[row, place] <= _UNLIKELY_TAG:
                p = float(without[row, place])
                option = LikelyName(names[tag], round(p, 4), "tag", REVIEW)
                found.append((0.5 - p, int(view.ids[fit.places[row]]), names[tag], option))
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found[:_MOST_ERRORS]]
