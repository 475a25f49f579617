"""The reviewer: the questions that teach most, labels that look wrong, one tag at a time, and groups to begin with.

A :class:`Reviewer` keeps heads over the stored network features. They are fitted again in the background after a
person has decided something, so nobody ever waits for learning: questions come from the last fit, without those that
have been answered since.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection as Collection_
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.labels import Kind
from visterm.catalogue.listing import Said
from visterm.collection.features import RECIPE, ready_recipe, stored_features
from visterm.collection.filters import in_state
from visterm.collection.judgements import LikelyName, believed
from visterm.collection.moment import Frame
from visterm.collection.rows import columns_of, rows_of
from visterm.collection.view import View
from visterm.contracts import Task
from visterm.errors import InputError, VistermError
from visterm.models import ModelInfo
from visterm.review.documents import CurvePoint, Groups, PictureGroup, Questions, Queue, ReviewState, TagWork
from visterm.review.head import choose_questions, class_doubt, group, tag_doubt
from visterm.review.heads import Doubted, Heads, fit_heads
from visterm.storage import write_text_atomically
from visterm.subspace import reduced

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: A tag below this probability, or below this share of its threshold, is not asked about.
_LEAST_ASKED, _SHARE_ASKED = 0.02, 0.3
#: Answers offered for a picture: one for each of the keys 1 to 9.
_MOST_OPTIONS = 9
#: Decisions that a person makes in ten minutes, about one in four seconds.
_IN_TEN_MINUTES = 150
_MAX_CURVE = 500


class Reviewer:
    """Keeps the heads and the queues of a workspace; any number of threads may ask."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._guard, self._work = threading.Lock(), threading.Lock()
        self._reduced: tuple[Frame, object, NDArray[np.intp], NDArray[np.float32]] | None = None
        self._fit: Heads | None = None
        self._learning = False
        self._curve: list[CurvePoint] | None = None
        self._kept: set[tuple[int, str, str]] | None = None
        self._file, self._kept_file = holdings.state / "review.json", holdings.state / "review-kept.json"

    # What is asked for

    def state(self) -> ReviewState:
        """The state of the review; learning starts again if labels have changed."""
        view = self._holdings.views.newest()
        try:
            fit = self._current(view)
        except VistermError as error:
            return ReviewState(
                ready=False,
                cold=False,
                learning=False,
                kind="class",
                labelled=0,
                unlabelled=len(view),
                teach=0,
                errors=0,
                tags=[],
                curve=[],
                expected=None,
                fitted_changes=0,
                problem=str(error),
            )
        labelled = self._n_labelled(view, fit.kind)
        curve = self._known_curve()
        tags = self._tag_work(view, fit)
        task = Task.CLASSIFY if fit.kind == "class" else Task.ANNOTATE
        model = self._holdings.shelf.best(task)
        return ReviewState(
            ready=True,
            cold=fit.classes is None and fit.tags is None,
            learning=self._learning,
            kind=fit.kind,
            labelled=labelled,
            unlabelled=len(view) - labelled,
            teach=len(self._undecided(view, fit)),
            errors=len(self._open_errors(view, fit)),
            tags=tags,
            curve=curve,
            expected=expected(curve, fit.half),
            fitted_changes=fit.collection.version[1],
            alike=int(in_state(view, "unlabelled")[fit.places].sum()),
            measure=ModelInfo.main_measure(task),
            model=None if model is None else model.reference,
            model_quality=None if model is None else model.quality(task),
        )

    def questions(
        self, queue: Queue, *, tag: str | None = None, without: Collection_[int] = (), limit: int = 20
    ) -> Questions:
        """The next questions of a queue, without some pictures."""
        view = self._holdings.views.newest()
        fit = self._current(view)
        if queue == "errors":
            found = [each for each in self._open_errors(view, fit) if each[0] not in without]
            return self._asked(view, fit, queue, [self._error(view, fit, *each) for each in found[:limit]], len(found))
        if queue == "tag":
            return self._about_tag(view, fit, tag or "", without, limit)
        rows = self._undecided(view, fit)
        rows = rows[~np.isin(view.ids[fit.places[rows]], list(without))]
        p = fit.classes.p if fit.classes is not None else fit.tags.p if fit.tags is not None else None
        if p is None or not len(rows):
            return self._asked(view, fit, queue, [], len(rows))
        doubt = class_doubt(p[rows]) if fit.classes is not None else tag_doubt(p[rows])
        chosen = choose_questions(fit.Z, rows, doubt, limit, random_state=fit.collection.version[1])
        asked = [_Asked(int(row), self._likely(view, fit, int(row))) for row in chosen]
        return self._asked(view, fit, queue, asked, len(rows))

    def groups(self, *, limit: int = 30) -> Groups:
        """Groups of look-alikes among the pictures without a label."""
        view = self._holdings.views.newest()
        places, Z = self._features(view)
        rows = np.flatnonzero(in_state(view, "unlabelled")[places])
        found = group(Z, rows)
        shown = []
        for number, each in enumerate(found[:limit]):
            own = Z[each.rows, :-1]
            near = own @ own.mean(axis=0)
            edge = near.mean() - 1.5 * near.std()
            members = columns_of(self._holdings, view, places[each.rows])
            outliers = view.ids[places[each.rows[near < edge]]].tolist()
            shown.append(PictureGroup(number, len(near), round(each.tightness, 3), members, outliers))
        return Groups(shown, len(rows))

    def keep(self, number: int, kind: Kind, name: str, *, keep: bool = True) -> ReviewState:
        """Note that a label that looked wrong is right, so that it is not asked again; without ``keep``, undo that."""
        self._holdings.numbered([number])
        with self._guard:
            kept = self._known_kept()
            (kept.add if keep else kept.discard)((number, kind, name))
            with suppress(VistermError):
                write_text_atomically(self._kept_file, json.dumps(sorted(kept)))
        return self.state()

    @property
    def fit(self) -> Heads | None:
        """What was learned last; None if nobody has asked yet."""
        return self._fit

    def wait(self) -> None:
        """Return when the heads have learned from all that was said so far."""
        self._learn()

    # Fitting

    def _current(self, view: View) -> Heads:
        """The last fit; the first one is waited for, later ones are made in the background."""
        fit = self._fit
        if fit is None or fit.collection.frame is not view.collection.frame:
            self._learn()
            fit = self._fit
            if fit is None:
                raise InputError("nothing can be reviewed yet")
            return fit
        if not self._is_newest(fit, view) and not self._learning:
            self._learning = True
            threading.Thread(target=self._learn_quietly, daemon=True).start()
        return fit

    def _is_newest(self, fit: Heads, view: View) -> bool:
        """Whether ``fit`` knows all that was said, and all features."""
        edition = self._holdings.library.edition(ready_recipe(self._holdings, RECIPE))
        known = self._reduced
        return fit.collection is view.collection and known is not None and known[1] is edition and known[3] is fit.Z

    def _learn_quietly(self) -> None:
        try:
            with suppress(VistermError):  # the next request tells
                self._learn()
        finally:
            self._learning = False

    def _learn(self) -> None:
        with self._work:
            view = self._holdings.views.newest()
            if self._fit is not None and self._is_newest(self._fit, view):
                return
            places, Z = self._features(view)
            fit = fit_heads(view, places, Z)
            self._fit = fit
            self._measured(view, fit)

    def _features(self, view: View) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows of the view that have features, and those features in their leading directions."""
        with self._guard:
            frame = view.collection.frame
            recipe = ready_recipe(self._holdings, RECIPE)
            edition = self._holdings.library.edition(recipe)
            if self._reduced is None or self._reduced[0] is not frame or self._reduced[1] is not edition:
                without = set(self._holdings.library.missing(recipe, frame.keys))
                places = np.array([row for row, key in enumerate(frame.keys) if key not in without], np.intp)
                if not len(places):
                    raise InputError("no picture has been looked at yet: start 'Look at the pictures' under Jobs")
                X = stored_features(self._holdings, recipe, [frame.keys[row] for row in places])
                self._reduced = (frame, edition, places, reduced(np.asarray(X, np.float32)))
            return self._reduced[2], self._reduced[3]

    def _measured(self, view: View, fit: Heads) -> None:
        quality = fit.quality
        if quality is None:
            return
        curve = self._known_curve()
        n = self._n_labelled(view, fit.kind)
        if not curve or curve[-1].labels != n or abs(curve[-1].quality - quality) > 1e-9:
            curve = [*curve, CurvePoint(n, round(quality, 4), time.time())][-_MAX_CURVE:]
            self._curve = curve
            points = [[point.labels, point.quality, point.time] for point in curve]
            with suppress(VistermError):  # a disk that cannot be written to must not stop a review
                write_text_atomically(self._file, json.dumps(points))

    def _known_curve(self) -> list[CurvePoint]:
        if self._curve is None:
            self._curve = []
            with suppress(OSError, ValueError, TypeError):
                self._curve = [CurvePoint(*point) for point in json.loads(self._file.read_text())]
        return self._curve

    def _known_kept(self) -> set[tuple[int, str, str]]:
        if self._kept is None:
            self._kept = set()
            with suppress(OSError, ValueError, TypeError):
                found = json.loads(self._kept_file.read_text())
                self._kept = {(int(number), str(kind), str(name)) for number, kind, name in found}
        return self._kept

    # Queues

    @staticmethod
    def _n_labelled(view: View, kind: Kind) -> int:
        if kind == "class":
            return int((view.classes >= 0).sum())
        return int((np.diff(view.collection.truth.tags[view.rows].indptr) > 0).sum())

    def _undecided(self, view: View, fit: Heads) -> NDArray[np.intp]:
        """The rows of ``fit.Z`` whose pictures have no class (or no tags) now, if there is still something to ask."""
        if fit.kind == "class":
            open_, flag = view.classes[fit.places] < 0, Said.REJECTED_CLASS
        else:
            open_, flag = np.diff(view.collection.truth.tags[view.rows].indptr)[fit.places] == 0, Said.REJECTED
        denied = np.flatnonzero(open_ & ((view.said[fit.places] & flag) > 0))
        for row in denied.tolist():
            open_[row] = any(one.probability >= _LEAST_ASKED for one in self._likely(view, fit, row))
        return np.flatnonzero(open_)

    @staticmethod
    def _likely(view: View, fit: Heads, row: int) -> list[LikelyName]:
        """The likely answers about a row of ``fit.Z``, the likeliest first, without what people denied."""
        at = int(fit.places[row])
        truth, place = view.collection.truth, int(view.rows[at])
        if fit.class_judged is not None:
            denied = truth.denied_classes.get(place, frozenset())
            found = believed(view.class_judgements, fit.class_judged, at)
        elif fit.tag_judged is not None:
            own = truth.rejected.indices[truth.rejected.indptr[place] : truth.rejected.indptr[place + 1]]
            denied = frozenset(truth.tag_names[column] for column in own.tolist())
            found = believed(view.tag_judgements, fit.tag_judged, at)
        else:
            return []
        left = [name for name in found if name.name not in denied]
        return sorted(left, key=lambda name: -name.probability)[:_MOST_OPTIONS]

    def _open_errors(self, view: View, fit: Heads) -> list[Doubted]:
        """The likely errors that are still open: the label still stands, and nobody has confirmed it."""
        truth = view.collection.truth
        column = {name: place for place, name in enumerate(truth.tag_names)}
        kept = self._known_kept()
        standing = []
        for number, said, option in fit.errors:
            row = view.row_of.get(number)
            if row is None or (number, option.kind, said) in kept:
                continue
            at = int(view.rows[row])
            own = truth.tags.indices[truth.tags.indptr[at] : truth.tags.indptr[at + 1]]
            if truth.classes[at] == said if option.kind == "class" else column.get(said, -1) in own:
                standing.append((number, said, option))
        return standing

    def _tag_work(self, view: View, fit: Heads) -> list[TagWork]:
        if fit.tags is None:
            return []
        decided = self._decided(view, fit)
        near = (fit.tags.p >= np.maximum(_LEAST_ASKED, _SHARE_ASKED * fit.tags.thresholds)) & ~decided
        counts = near.sum(axis=0)
        order = np.argsort(-counts, kind="stable")
        return [TagWork(fit.tag_names[place], int(counts[place])) for place in order if counts[place]]

    @staticmethod
    def _decided(view: View, fit: Heads) -> NDArray[np.bool_]:
        """Which (picture, tag) pairs people have decided about, for the rows of ``fit.Z`` and ``fit.tag_names``."""
        truth = view.collection.truth
        column = {name: place for place, name in enumerate(truth.tag_names)}
        said = (truth.tags + truth.rejected)[view.rows[fit.places]].tocsc()
        decided = np.zeros((len(fit.places), len(fit.tag_names)), np.bool_)
        for place, name in enumerate(fit.tag_names):
            if name in column:
                own = said.indices[said.indptr[column[name]] : said.indptr[column[name] + 1]]
                decided[own, place] = True
        return decided

    def _about_tag(self, view: View, fit: Heads, tag: str, without: Collection_[int], limit: int) -> Questions:
        """Pictures around the threshold of a tag: the answers there teach most about it."""
        judged = fit.tag_judged
        if fit.tags is None or judged is None or tag not in fit.tag_names:
            raise InputError(f"the tag {tag!r} cannot be reviewed: give it to a few pictures first")
        place = fit.tag_names.index(tag)
        p, threshold = fit.tags.p[:, place], float(fit.tags.thresholds[place])
        open_ = ~self._decided(view, fit)[:, place] & (p >= np.maximum(_LEAST_ASKED, _SHARE_ASKED * threshold))
        rows = np.flatnonzero(open_)
        rows = rows[~np.isin(view.ids[fit.places[rows]], list(without))]
        distance = np.abs(_logit(p[rows]) - _logit(np.array([min(threshold, 0.99)])))
        rows = rows[np.argsort(distance, kind="stable")]
        asked = []
        for row in rows[:limit].tolist():
            likely = believed(view.tag_judgements, judged, int(fit.places[row]))
            asked.append(_Asked(row, asked=likely[place]))
        return self._asked(view, fit, "tag", asked, len(rows))

    def _error(self, view: View, fit: Heads, number: int, said: str, option: LikelyName) -> _Asked:
        row = int(np.flatnonzero(fit.places == view.row_of[number])[0])
        return _Asked(row, self._likely(view, fit, row) if option.kind == "class" else [], option, said)

    def _asked(self, view: View, fit: Heads, queue: Queue, asked: list[_Asked], left: int) -> Questions:
        """Questions as rows of pictures."""
        ids = [int(view.ids[fit.places[one.row]]) for one in asked]
        known = {row.id: row for row in rows_of(self._holdings, ids, view)}
        learned = fit.tag_judged if queue == "tag" or fit.class_judged is None else fit.class_judged
        ages = [*view.ages, *(() if learned is None else (learned.age.now(view.collection.truth),))]
        questions = [
            replace(known[number], labels=list(one.labels), asked=one.asked, said=one.said)
            for number, one in zip(ids, asked, strict=True)
            if number in known
        ]
        return Questions(queue, questions, left, ages)


class _Asked(NamedTuple):
    """A question about a row of the heads' features."""

    row: int
    labels: Sequence[LikelyName] = ()
    asked: LikelyName | None = None
    said: str | None = None


def expected(curve: list[CurvePoint], half: float | None) -> float | None:
    """The quality after ten more minutes: each doubling of the labels halves what it brings."""
    if not curve or half is None or not curve[-1].labels:
        return None
    now = curve[-1]
    gain = max(0.0, now.quality - half)
    doublings = np.log2(1 + _IN_TEN_MINUTES / now.labels)
    return float(min(1.0, now.quality + gain * (1 - 0.5**doublings)))


def _logit(p: NDArray[Any]) -> NDArray[Any]:
    clipped = np.clip(p, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(clipped / (1 - clipped)))
