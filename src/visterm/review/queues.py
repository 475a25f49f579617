"""The queues of a review: which pictures are asked about, and which answers are likely."""

from __future__ import annotations

from collections.abc import Collection as Collection_
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import merge
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue.acts import Extent
from visterm.catalogue.labels import Kind
from visterm.collection.judgements import Judged, LikelyName, believed
from visterm.collection.measuring import MeasuringSample, tags_of
from visterm.collection.rows import PictureRow, rows_of
from visterm.collection.view import View
from visterm.errors import InputError
from visterm.review.documents import Questions, Queue, SixQuestion, TagWork
from visterm.review.head import TagHead, choose_questions
from visterm.review.heads import Doubted, Heads

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: Answers offered for a picture: one for each of the keys 1 to 9.
_MOST_OPTIONS = 9
#: A tag below this probability, or below this share of its threshold, is not asked about.
_LEAST_ASKED, _SHARE_ASKED = 0.02, 0.3
#: Pictures of a question about one tag.
_SIX = 6


class Asked(NamedTuple):
    """A question about a row of the heads' features."""

    row: int
    labels: Sequence[LikelyName] = ()
    asked: LikelyName | None = None
    said: str | None = None


# Class and tags of a picture


def lacks(view: View, fit: Heads, kind: Kind) -> NDArray[np.bool_]:
    """The rows of ``fit.Z`` whose pictures have no class, or no tags."""
    if kind == "class":
        return np.asarray(view.classes[fit.places] < 0)
    return np.asarray(np.diff(view.collection.truth.tags[view.rows[fit.places]].indptr) == 0)


def undecided(view: View, fit: Heads) -> NDArray[np.intp]:
    """The rows of ``fit.Z`` whose pictures have no class or no tags now, if there is still something to ask."""
    open_ = np.zeros(len(fit.places), np.bool_)
    truth = view.collection.truth
    for kind in fit.kinds or [fit.kind]:
        own = lacks(view, fit, kind)
        denied = truth.denied_classes if kind == "class" else _rows_with(truth.rejected)
        for row in np.flatnonzero(own):
            if int(view.rows[fit.places[row]]) in denied:
                own[row] = any(one.probability >= _LEAST_ASKED for one in likely(view, fit, int(row), [kind]))
        open_ |= own
    return np.flatnonzero(open_)


def _rows_with(matrix: Any) -> frozenset[int]:
    return frozenset(np.flatnonzero(np.diff(matrix.indptr)).tolist())


def teaching_order(view: View, fit: Heads, rows: NDArray[np.intp], without: Collection_[int], limit: int) -> list[int]:
    """The first of the undecided rows that teach most: pictures without a class, if classes are asked for; then others.

    So no other question delays what a class label teaches. Pictures like those that were answered last, or are being
    asked about (``without``), come later.
    """
    settled = np.flatnonzero(_among(view, fit, [*fit.recent, *without]))
    first = lacks(view, fit, "class")[rows] & (fit.classes is not None)
    chosen: list[int] = []
    for some in (rows[first], rows[~first]):
        n, seed = limit - len(chosen), fit.collection.version[1]
        if len(some) and n:
            chosen += choose_questions(fit.Z, some, fit.doubt[some], n, settled=settled, random_state=seed).tolist()
    return chosen


def asked_of(view: View, fit: Heads, rows: Sequence[int]) -> list[Asked]:
    """The questions about pictures: what they lack of class and tags, in one question."""
    lacking = {kind: lacks(view, fit, kind) for kind in fit.kinds}
    kinds = [[kind for kind in fit.kinds if lacking[kind][row]] or fit.kinds for row in rows]
    return [Asked(row, likely(view, fit, row, wanted)) for row, wanted in zip(rows, kinds, strict=True)]


def likely(view: View, fit: Heads, row: int, kinds: Sequence[Kind]) -> list[LikelyName]:
    """The likely answers about a row of ``fit.Z``, classes before tags, the likeliest first; none that was denied."""
    at = int(fit.places[row])
    truth, place = view.collection.truth, int(view.rows[at])
    found: list[LikelyName] = []
    if "class" in kinds and fit.class_judged is not None:
        denied = truth.denied_classes.get(place, frozenset())
        found += _best(believed(view.class_judgements, fit.class_judged, at), denied)
    if "tag" in kinds and fit.tag_judged is not None:
        denied = tags_of(truth, place, denied=True)
        found += _best(believed(view.tag_judgements, fit.tag_judged, at), denied)
    return found


def _best(names: Sequence[LikelyName], denied: frozenset[str]) -> list[LikelyName]:
    left = [name for name in names if name.name not in denied]
    return sorted(left, key=lambda name: -name.probability)[:_MOST_OPTIONS]


def to_measure(view: View, fit: Heads, samples: Sequence[MeasuringSample]) -> Iterator[int]:
    """The rows of ``fit.Z`` to ask about so that the measuring samples grow, each once."""
    order = view.collection.frame.in_measuring_order
    place = np.empty(len(view.collection.truth), np.intp)
    place[order] = np.arange(len(order))
    last = -1
    for row in merge(*(sample.next() for sample in samples), key=lambda row: int(place[row])):
        if row != last and row in fit.row_in_truth:
            yield fit.row_in_truth[row]
        last = row


# One tag


def decided(view: View, fit: Heads) -> NDArray[np.bool_]:
    """Which (picture, tag) pairs people have decided about, for the rows of ``fit.Z`` and ``fit.tag_names``."""
    truth = view.collection.truth
    column = {name: place for place, name in enumerate(truth.tag_names)}
    said = (truth.tags + truth.rejected)[view.rows[fit.places]].tocsc()
    found = np.zeros((len(fit.places), len(fit.tag_names)), np.bool_)
    for place, name in enumerate(fit.tag_names):
        if name in column:
            own = said.indices[said.indptr[column[name]] : said.indptr[column[name] + 1]]
            found[own, place] = True
    return found


def _in_doubt(view: View, fit: Heads) -> NDArray[np.bool_]:
    """The (picture, tag) pairs to ask about: people have not decided, and the tag is not too unlikely."""
    if fit.tags is None:
        return np.zeros((len(fit.places), 0), np.bool_)
    near = fit.tags.p >= np.maximum(_LEAST_ASKED, _SHARE_ASKED * fit.tags.thresholds)
    return np.asarray(near & ~decided(view, fit))


def tag_work(view: View, fit: Heads) -> list[TagWork]:
    """The tags that can be asked about, those with the most undecided pictures first."""
    counts = _in_doubt(view, fit).sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    return [TagWork(fit.tag_names[place], int(counts[place])) for place in order if counts[place]]


def about_tag(view: View, fit: Heads, tag: str, without: Collection_[int]) -> list[Asked]:
    """Pictures around the threshold of a tag: the answers there teach most about it."""
    head, judged, place = _learned(fit, tag)
    p, threshold = head.p[:, place], float(head.thresholds[place])
    rows = np.flatnonzero(_in_doubt(view, fit)[:, place] & ~_among(view, fit, without))
    distance = np.abs(_logit(p[rows]) - _logit(np.array([min(threshold, 0.99)])))
    rows = rows[np.argsort(distance, kind="stable")]
    return [Asked(row, asked=_of_tag(view, fit, judged, row, place)) for row in rows.tolist()]


def sixes(
    view: View, fit: Heads, tag: str | None, without: Collection_[int], limit: int
) -> tuple[list[list[Asked]], int]:
    """Questions about six pictures and one tag, at most one about each tag; and how many pairs are in doubt.

    Tags come first that have much doubt and few answers. Pictures that are described completely say enough.
    """
    if not fit.tag_names:
        return [], 0
    head, judged, only = _learned(fit, tag or fit.tag_names[0])
    open_ = _in_doubt(view, fit) & ~_among(view, fit, without)[:, None]
    open_ &= (view.collection.truth.extent[view.rows[fit.places]] == Extent.PART)[:, None]
    doubt = np.where(open_, 4 * head.p * (1 - head.p), 0)
    worth = doubt.sum(axis=0) / (_SIX + decided(view, fit)[head.others].sum(axis=0))
    order = [only] if tag else np.argsort(-worth, kind="stable").tolist()
    found: list[list[Asked]] = []
    taken = np.zeros(len(open_), np.bool_)
    for place in order[:limit]:
        rows = np.flatnonzero(open_[:, place] & ~taken)
        chosen = choose_questions(fit.Z, rows, doubt[rows, place], _SIX)
        chosen = chosen[np.argsort(-head.p[chosen, place], kind="stable")]  # so that "yes" comes in a run
        taken[chosen] = True
        if len(chosen):
            found.append([Asked(row, asked=_of_tag(view, fit, judged, row, place)) for row in chosen.tolist()])
    return found, int(open_[:, order].sum())


def _learned(fit: Heads, tag: str) -> tuple[TagHead, Judged, int]:
    """What was learned of tags, and the place of one."""
    if fit.tags is None or fit.tag_judged is None or tag not in fit.tag_names:
        raise InputError(f"the tag {tag!r} cannot be reviewed: give it to a few pictures first")
    return fit.tags, fit.tag_judged, fit.tag_names.index(tag)


def _of_tag(view: View, fit: Heads, judged: Judged, row: int, place: int) -> LikelyName:
    return believed(view.tag_judgements, judged, int(fit.places[row]))[place]


def _among(view: View, fit: Heads, numbers: Collection_[int]) -> NDArray[np.bool_]:
    """The rows of ``fit.Z`` of the pictures with these numbers."""
    return np.asarray(np.isin(view.ids[fit.places], list(numbers)))


# Likely errors


def open_errors(view: View, fit: Heads, kept: Collection_[tuple[int, str, str]]) -> list[Doubted]:
    """The likely errors that are still open: the label still stands, and nobody has confirmed it."""
    truth = view.collection.truth
    standing = []
    for number, said, option in fit.errors:
        row = view.row_of.get(number)
        if row is None or (number, option.kind, said) in kept:
            continue
        at = int(view.rows[row])
        if truth.classes[at] == said if option.kind == "class" else said in tags_of(truth, at):
            standing.append((number, said, option))
    return standing


def about_error(view: View, fit: Heads, number: int, said: str, option: LikelyName) -> Asked:
    """The question about a label that looks wrong."""
    row = int(np.flatnonzero(fit.places == view.row_of[number])[0])
    return Asked(row, likely(view, fit, row, ["class"]) if option.kind == "class" else [], option, said)


# Documents


def documented(
    holdings: Holdings,
    view: View,
    fit: Heads,
    queue: Queue,
    asked: Sequence[Asked],
    left: int,
    measuring: Collection_[int] = (),
) -> Questions:
    """Questions as rows of pictures."""
    questions = _rows(holdings, view, fit, asked)
    learned = [fit.tag_judged] if queue in ("tag", "six") else [fit.class_judged, fit.tag_judged]
    ages = [*view.ages, *(each.age.now(view.collection.truth) for each in learned if each is not None)]
    to_measure = [int(view.ids[fit.places[row]]) for row in measuring]
    return Questions(queue, questions, left, ages, to_measure)


def documented_sixes(
    holdings: Holdings, view: View, fit: Heads, found: Sequence[Sequence[Asked]], left: int
) -> Questions:
    """Questions about six pictures each."""
    six = []
    for asked in found:
        pictures = _rows(holdings, view, fit, asked)
        if pictures and asked[0].asked is not None:
            six.append(SixQuestion(asked[0].asked.name, pictures))
    return replace(documented(holdings, view, fit, "six", [], left), six=six)


def _rows(holdings: Holdings, view: View, fit: Heads, asked: Sequence[Asked]) -> list[PictureRow]:
    ids = [int(view.ids[fit.places[one.row]]) for one in asked]
    known = {row.id: row for row in rows_of(holdings, ids, view)}
    return [
        replace(known[number], labels=list(one.labels), asked=one.asked, said=one.said)
        for number, one in zip(ids, asked, strict=True)
        if number in known
    ]


def _logit(p: NDArray[Any]) -> NDArray[Any]:
    clipped = np.clip(p, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(clipped / (1 - clipped)))
