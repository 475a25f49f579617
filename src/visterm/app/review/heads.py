"""Heads for what the labels of a collection allow, and the labels that they disagree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.app.collection import Collection
from visterm.app.gallery.view import View
from visterm.app.review.documents import Option
from visterm.catalogue.labels import Kind
from visterm.learning import PRECISION, fit_classes, fit_tags
from visterm.learning.reviewing import ClassHead, TagHead

#: A head needs this many labelled pictures.
_LEAST = 4
_MOST_ERRORS = 200
#: A label looks wrong if the head gives it at most this probability, and another class at least that.
_UNLIKELY, _LIKELY = 0.15, 0.6
_UNLIKELY_TAG = 0.02

#: A label that looks wrong: picture id, kind, what was said, and what the head says.
Doubted = tuple[int, Kind, str, Option]


@dataclass(frozen=True, eq=False)
class Heads:
    """Heads over the pictures ``places`` of a view (rows of ``Z``), at one state of the collection."""

    collection: Collection
    places: NDArray[np.intp]
    Z: NDArray[np.float32]
    class_names: list[str]
    tag_names: list[str]
    classes: ClassHead | None
    tags: TagHead | None
    half: float | None
    errors: list[Doubted] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        """What is asked about: classes where there are some, else tags."""
        return "class" if self.classes is not None else "tag"

    @property
    def quality(self) -> float | None:
        """Measured without each picture's own label: the share of right classes, or the tag accuracy."""
        if self.classes is not None:
            return self.classes.accuracy
        return None if self.tags is None else self.tags.accuracy


def fit_heads(view: View, places: NDArray[np.intp], Z: NDArray[np.float32]) -> Heads:
    """Heads for what the labels allow, and what looks wrong."""
    truth = view.collection.truth
    labelled = np.flatnonzero(view.classes[places] >= 0)
    classes, class_names, half = None, list[str](), None
    if len(labelled) >= _LEAST and len(np.unique(view.classes[places[labelled]])) >= 2:
        known, given = np.unique(view.classes[places[labelled]], return_inverse=True)
        class_names = [view.class_names[number] for number in known]
        classes = fit_classes(Z, labelled, given, len(known))
        half = _half(Z, labelled, given, len(known))
    matrix = truth.tags[view.rows[places]]
    tagged = np.flatnonzero(np.diff(matrix.indptr) > 0)
    tags, tag_names = None, list[str]()
    if len(tagged) >= _LEAST:
        used = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) >= 2)
        if len(used):
            tag_names = [truth.tag_names[column] for column in used]
            denied = truth.rejected[view.rows[places]][:, used]
            denied = denied.multiply(np.where(np.diff(matrix.indptr) > 0, 0, 1)[:, None]).tocsr()
            denied.eliminate_zeros()
            tags = fit_tags(Z, tagged, matrix[tagged][:, used], PRECISION, denied)
    fit = Heads(view.collection, places, Z, class_names, tag_names, classes, tags, half)
    fit.errors.extend(_errors(view, fit, matrix))
    return fit


def _half(Z: NDArray[np.float32], rows: NDArray[Any], given: NDArray[Any], n_classes: int) -> float | None:
    """The accuracy with half of the labels, to tell what more would bring."""
    if len(rows) < 4 * n_classes:
        return None
    some = np.random.default_rng(0).permutation(len(rows))[: len(rows) // 2]
    return fit_classes(Z, rows[some], given[some], n_classes).accuracy


def _errors(view: View, fit: Heads, matrix: Any) -> list[Doubted]:
    """Labels that confident heads, which have not seen them, disagree with; the most suspicious first."""
    found: list[tuple[float, int, Kind, str, Option]] = []
    if fit.classes is not None:
        head = fit.classes
        rows = np.arange(len(head.rows))
        own, best = head.left_out[rows, head.given], head.left_out.argmax(axis=1)
        top = head.left_out[rows, best]
        for i in np.flatnonzero((own <= _UNLIKELY) & (top >= _LIKELY) & (best != head.given)):
            number = int(view.ids[fit.places[head.rows[i]]])
            option = Option("class", fit.class_names[best[i]], round(float(top[i]), 4))
            found.append((float(top[i] - own[i]), number, "class", fit.class_names[head.given[i]], option))
    if fit.tags is not None:
        column = {name: place for place, name in enumerate(fit.tag_names)}
        names = view.collection.truth.tag_names
        for place_of, row in enumerate(fit.tags.rows):
            for tag in matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]:
                place = column.get(names[tag])
                if place is not None and fit.tags.left_out[place_of, place] <= _UNLIKELY_TAG:
                    p = float(fit.tags.left_out[place_of, place])
                    option = Option("tag", names[tag], round(p, 4))
                    found.append((0.5 - p, int(view.ids[fit.places[row]]), "tag", names[tag], option))
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found[:_MOST_ERRORS]]
