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
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.acts import Act
from visterm.catalogue.labels import Kind
from visterm.collection.features import RECIPE, ready_recipe, stored_features
from visterm.collection.filters import in_state
from visterm.collection.measuring import MeasuringSample, measuring_sample
from visterm.collection.measuring import skip as remember_skipped
from visterm.collection.moment import Frame
from visterm.collection.rows import columns_of
from visterm.collection.view import View
from visterm.contracts import Task
from visterm.documents.figure import Figure
from visterm.errors import InputError, VistermError
from visterm.learn.quality import figure_of
from visterm.review.asking import mixed
from visterm.review.curve import Curve, hoped_for, live_figure, measured_rows, portion
from visterm.review.documents import Groups, PictureGroup, Questions, Queue, ReviewState
from visterm.review.head import group
from visterm.review.heads import Heads, fit_heads
from visterm.review.queues import (
    about_error,
    about_tag,
    asked_of,
    documented,
    documented_sixes,
    open_errors,
    sixes,
    tag_work,
    teaching_order,
    to_measure,
    undecided,
)
from visterm.storage import write_text_atomically
from visterm.subspace import reduced

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: Measuring questions that may wait for an answer.
_MOST_WAITING = 200
#: Why nothing can be asked where pictures are only looked at by a job.
NOT_LOOKED_AT = (
    "no picture has been looked at yet: start 'Look at the pictures' under Jobs, or 'visterm features --for-models'"
)


class Reviewer:
    """Keeps the heads and the queues of a workspace; any number of threads may ask."""

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._guard, self._work = threading.Lock(), threading.Lock()
        self._reduced: tuple[Frame, object, NDArray[np.intp], NDArray[np.float32]] | None = None
        self._fit: Heads | None = None
        self._learning = False
        self._curve = Curve(holdings.state / "review.json")
        self._kept: set[tuple[int, str, str]] | None = None
        self._kept_file = holdings.state / "review-kept.json"

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
        sample = self._sample(view, fit.kind)
        return ReviewState(
            ready=True,
            cold=fit.classes is None and fit.tags is None,
            learning=self._learning,
            kind=fit.kind,
            labelled=labelled,
            unlabelled=len(view) - labelled,
            teach=len(undecided(view, fit)),
            errors=len(open_errors(view, fit, self._known_kept())),
            tags=tag_work(view, fit),
            curve=self._curve.points(view.collection, fit.kind, measured_rows(sample)),
            expected=hoped_for(fit, self._sample_then(fit), labelled),
            fitted_changes=fit.collection.version[1],
            alike=int(in_state(view, "unlabelled")[fit.places].sum()),
            measure=max(self._sample(view, kind).to_ask for kind in fit.kinds or [fit.kind]),
            figure=self._figure(fit),
            asked=fit.kinds,
        )

    def questions(
        self, queue: Queue, *, tag: str | None = None, without: Collection_[int] = (), limit: int = 20
    ) -> Questions:
        """The next questions of a queue, without some pictures."""
        view = self._holdings.views.newest()
        fit = self._current(view)
        if queue == "errors":
            found = [each for each in open_errors(view, fit, self._known_kept()) if each[0] not in without]
            asked = [about_error(view, fit, *each) for each in found[:limit]]
            return documented(self._holdings, view, fit, queue, asked, len(found))
        if queue == "tag":
            asked = about_tag(view, fit, tag or "", without)
            return documented(self._holdings, view, fit, queue, asked[:limit], len(asked))
        if queue == "six":
            return documented_sixes(self._holdings, view, fit, *sixes(view, fit, tag, without, limit))
        if queue == "measure":
            rows = list(self._to_measure(view, fit, without))
            some = rows[:limit]
            return documented(self._holdings, view, fit, queue, asked_of(view, fit, some), len(rows), some)
        return self._teach(view, fit, without, limit)

    def groups(self, *, limit: int = 30) -> Groups:
        """Groups of look-alikes among the pictures without a label."""
        view = self._holdings.views.newest()
        places, Z = self.looked_at(view)
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

    def skip(self, number: int, *, skip: bool = True) -> ReviewState:
        """Note that nobody can tell the answer to a measuring question, so that it is not asked again, or undo that."""
        (picture,) = self._holdings.numbered([number])
        fit = self._current(self._holdings.views.newest())
        with self._guard:
            for kind in fit.kinds:
                remember_skipped(self._holdings.state, kind, picture.sha256, skipping=skip)
        return self.state()

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
            places, Z = self.looked_at(view)
            fit = fit_heads(view, places, Z, self._fit)
            self._fit = fit
            self._measured(view, fit)

    def looked_at(self, view: View) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The rows of the view that have features, and those features in their leading directions."""
        with self._guard:
            frame = view.collection.frame
            recipe = ready_recipe(self._holdings, RECIPE)
            edition = self._holdings.library.edition(recipe)
            if self._reduced is None or self._reduced[0] is not frame or self._reduced[1] is not edition:
                without = set(self._holdings.library.missing(recipe, frame.keys))
                places = np.array([row for row, key in enumerate(frame.keys) if key not in without], np.intp)
                if not len(places):
                    raise InputError(NOT_LOOKED_AT)
                X = stored_features(self._holdings, recipe, [frame.keys[row] for row in places])
                self._reduced = (frame, edition, places, reduced(np.asarray(X)))
            return self._reduced[2], self._reduced[3]

    def _measured(self, view: View, fit: Heads) -> None:
        if fit.classes is not None or fit.tags is not None:
            n_labelled, ids = self._n_labelled(view, fit.kind), view.collection.truth.ids
            self._curve.add(portion(fit, ids, self._sample_then(fit), n_labelled, time.time()))

    def _sample(self, view: View, kind: Kind) -> MeasuringSample:
        return measuring_sample(self._holdings, view.collection, kind)

    def _sample_then(self, fit: Heads) -> MeasuringSample:
        """The measuring sample as it was when the heads learned."""
        return measuring_sample(self._holdings, fit.collection, fit.kind)

    def _figure(self, fit: Heads) -> Figure | None:
        """How good the model in use is; without one that was measured, what the review has learned."""
        task = Task.CLASSIFY if fit.kind == "class" else Task.ANNOTATE
        model = self._holdings.shelf.best(task)
        figure = None if model is None else figure_of(self._holdings, model, task)
        if figure is None or (figure.value is None and figure.pictures == 0):
            figure = live_figure(fit, self._sample_then(fit)) if fit.classes or fit.tags else None
        return figure

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

    def _to_measure(self, view: View, fit: Heads, without: Collection_[int]) -> Iterator[int]:
        """The rows of ``fit.Z`` that measuring questions ask about."""
        samples = [self._sample(view, kind) for kind in fit.kinds]
        return (row for row in to_measure(view, fit, samples) if int(view.ids[fit.places[row]]) not in without)

    def _teach(self, view: View, fit: Heads, without: Collection_[int], limit: int) -> Questions:
        """Pictures that teach most, and among them some to measure."""
        rows = undecided(view, fit)
        rows = rows[~np.isin(view.ids[fit.places[rows]], list(without))]
        if not len(rows) or not fit.kinds:
            return documented(self._holdings, view, fit, "teach", [], len(rows))
        samples = [self._sample(view, kind) for kind in fit.kinds]
        acts = np.stack([sample.act for sample in samples])
        measured, answered = (int((acts == act).any(axis=0).sum()) for act in (Act.MEASURED, Act.ANSWERED))
        # What was asked and is not answered yet counts as if it were.
        waiting = list(islice(to_measure(view, fit, samples), _MOST_WAITING))
        open_ = [row for row in waiting if int(view.ids[fit.places[row]]) not in without]
        both = mixed(
            teaching_order(view, fit, rows, without, limit),
            open_,
            measured=measured + len(waiting) - len(open_),
            answers=measured + answered + len(without),
            limit=min(limit, len(rows)),
        )
        found = dict(both)
        measuring = [row for row, measures in found.items() if measures]
        return documented(self._holdings, view, fit, "teach", asked_of(view, fit, list(found)), len(rows), measuring)
