"""The classes and tags that a model suggests for pictures, inside the collection and outside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.calibration import PRECISION
from visterm.catalogue.healing import read_picture
from visterm.catalogue.labels import Kind, LabelRow
from visterm.catalogue.parts import is_test
from visterm.catalogue.pictures import Picture
from visterm.catalogue.records import Skipped, model_source
from visterm.catalogue.scan import find_pictures
from visterm.collection.doubts import doubts_about, is_calibrated
from visterm.collection.features import described, features_of_files, stored_features
from visterm.collection.holdings import Holdings
from visterm.collection.judgements import Age, LikelyName
from visterm.collection.judging import ClassJudge, TagJudge, none_of
from visterm.collection.measuring import tags_of
from visterm.collection.rows import PictureRow, row_of
from visterm.collection.scores import class_index, stored_index, word_index
from visterm.compute.rows import slices
from visterm.contracts import Features, Task, leaves_out
from visterm.documents.notebook import PictureDocument
from visterm.documents.wording import counted, not_a_share
from visterm.errors import InputError, PictureError, UsageError
from visterm.measures import predict_tags
from visterm.models import Model, load_model
from visterm.models.shelf import require_task
from visterm.storage.files import is_there

Floats = NDArray[np.floating[Any]]

#: Probabilities treated at a time: pictures times names.
_BLOCK = 2**20
_TASKS: dict[Kind, Task] = {"class": Task.CLASSIFY, "tag": Task.ANNOTATE}


@dataclass(frozen=True)
class Suggestions(PictureDocument):
    """What a model suggests for several pictures. ``written`` suggestions were kept; ``skipped`` files were unusable.

    The ``labels`` of each picture are what the model suggests, best first; ``ages`` say when it learned.
    ``calibrated`` is true if the probabilities were learned from enough held-out pictures; otherwise they are a guess.
    ``doubts`` say in words why to take the answers with care.
    """

    model: str
    answers: list[PictureRow]
    written: int
    skipped: list[Skipped]
    calibrated: bool = True
    doubts: list[str] = field(default_factory=list)
    ages: list[Age] = field(default_factory=list)

    def captions(self) -> Iterator[tuple[str, str]]:
        """What the model says of each picture."""
        return ((item.path, ", ".join(label.name for label in item.labels) or "nothing") for item in self.answers)


@dataclass(frozen=True)
class _Subjects:
    """The pictures that are asked about, and the log-probabilities of all names that the model learned, of some rows.

    ``features`` gives the features of some rows, which only some orders need.
    """

    log_p: Callable[[slice], Floats]
    rows: list[PictureRow]
    skipped: list[Skipped]
    features: Callable[[slice], Features]

    def blocks(self, judge: TagJudge | ClassJudge) -> Iterator[tuple[slice, Floats]]:
        """The probabilities of the names of today, of some pictures at a time."""
        for rows in slices(len(self.rows), max(1, _BLOCK // max(1, len(judge.names)))):
            yield rows, judge.probabilities(self.log_p(rows))


@dataclass(frozen=True)
class Wanted:
    """Which tags to suggest. Of all suggestions of a tag, a share of ``precision`` should be right.

    A picture may get no tag. With ``at_least``, instead, the tags of at least that probability; with ``n_best``, the
    best ones, however unlikely. ``rare`` puts tags first that stand out more than they usually do.
    """

    precision: float = PRECISION
    n_best: int | None = None
    at_least: float | None = None
    rare: bool = False

    def __post_init__(self) -> None:
        for what, share in (("the precision", self.precision), ("the least probability", self.at_least)):
            if share is not None and not 0 <= share <= 1:
                raise UsageError(not_a_share(what, share))

    def least(self, judge: TagJudge) -> Floats:
        """The least probability at which each name is suggested."""
        if self.at_least is None:
            return np.zeros(len(judge.names)) if self.n_best is not None else judge.thresholds(self.precision)
        return np.full(len(judge.names), self.at_least)

    def of(
        self, places: NDArray[np.int64], p: Floats, judge: TagJudge, least: Floats, denied: Collection[str]
    ) -> list[int]:
        """Those of the names, best first, that are suggested for a picture with the probabilities ``p``."""
        if self.n_best is None:
            places = places[p[places] >= least[places]]
        best = islice((place for place in places.tolist() if judge.names[place] not in denied), self.n_best)
        return [place for place in best if p[place] >= least[place]]


def classify(
    holdings: Holdings | None,
    pictures: Sequence[Path] = (),
    *,
    model: str | None = None,
    n_best: int = 3,
    write: bool = False,
) -> Suggestions:
    """The most likely classes of pictures; without ``pictures``, of all that have no class yet."""
    return _with_model(
        holdings, "class", model, lambda chosen: classify_by(chosen, holdings, pictures, n_best=n_best, write=write)
    )


def tag(
    holdings: Holdings | None,
    pictures: Sequence[Path] = (),
    wanted: Wanted = Wanted(),
    *,
    model: str | None = None,
    write: bool = False,
) -> Suggestions:
    """The likely tags of pictures, the most likely first; without ``pictures``, of all that have no tags yet."""
    return _with_model(holdings, "tag", model, lambda chosen: tag_by(chosen, holdings, pictures, wanted, write=write))


def _with_model(
    holdings: Holdings | None, kind: Kind, reference: str | None, answer: Callable[[Model], Suggestions]
) -> Suggestions:
    """What ``answer`` says with the wanted model; without a workspace, with the model in the folder ``reference``."""
    if holdings is not None:
        return holdings.shelf.use(_TASKS[kind], reference, answer).located(holdings.folder)
    if reference is None:
        raise InputError("name the model folder to use, or work inside a workspace")
    return answer(require_task(load_model(Path(reference)), _TASKS[kind]))


def classify_by(
    model: Model, holdings: Holdings | None, pictures: Sequence[Path] = (), *, n_best: int = 3, write: bool = False
) -> Suggestions:
    """The same by a given model; without a workspace, of the pictures that are named."""
    frame = None if holdings is None else holdings.collection().frame
    judge = ClassJudge(model, frame)
    subjects = _subjects(holdings, judge, pictures, wait=write)
    denied = _denied(holdings, subjects.rows, "class")
    best: list[list[LikelyName]] = []
    firsts: list[list[str]] = []
    none: list[float] = []
    for rows, p in subjects.blocks(judge):
        none += [round(float(rest), 4) for rest in none_of(p)]
        for row, without, rest in zip(p, denied[rows], none[rows], strict=True):
            places = np.argsort(-row, kind="stable").tolist()
            # What the model thinks likeliest, unless a person denied it, or none is likelier: then it says nothing.
            firsts.append([judge.names[place] for place in places[:1] if row[place] >= rest])
            places = [place for place in places if judge.names[place] not in without]
            best.append(_likely(judge, row, places[:n_best]))
    made = _suggestions(holdings, judge, subjects, best)
    made = replace(made, answers=[replace(row, none=rest) for row, rest in zip(made.answers, none, strict=True)])
    return _written(holdings, model, made, "class", firsts) if write else made


def tag_by(
    model: Model,
    holdings: Holdings | None,
    pictures: Sequence[Path] = (),
    wanted: Wanted = Wanted(),
    *,
    write: bool = False,
) -> Suggestions:
    """The same by a given model; without a workspace, of the pictures that are named."""
    frame = None if holdings is None else holdings.collection().frame
    judge = TagJudge(model, frame)
    subjects = _subjects(holdings, judge, pictures, wait=write)
    denied = _denied(holdings, subjects.rows, "tag")
    least = wanted.least(judge)
    best: list[list[LikelyName]] = []
    for rows, p in subjects.blocks(judge):
        if not judge.names:
            best += [[] for _ in p]
            continue
        order = judge.rare_order(subjects.log_p(rows), subjects.features(rows)) if wanted.rare else p
        ranked = predict_tags(order, p.shape[1], frequencies=judge.counts)
        for row, places, without in zip(p, ranked, denied[rows], strict=True):
            best.append(_likely(judge, row, wanted.of(places, row, judge, least, without)))
    made = _suggestions(holdings, judge, subjects, best)
    return _written(holdings, model, made, "tag") if write else made


def _likely(judge: TagJudge | ClassJudge, p: Floats, places: Sequence[int]) -> list[LikelyName]:
    by = judge.model.info.reference
    return [LikelyName(judge.names[place], float(p[place]), judge.kind, by) for place in places]


def _n_learned_from(holdings: Holdings | None, rows: Sequence[PictureRow], kind: Kind) -> int:
    """How many of the pictures have labels of this kind that a model learns from."""
    if holdings is None:
        return 0
    truth = holdings.collection().truth
    test = {number for number, split in zip(truth.ids.tolist(), truth.splits, strict=True) if is_test(split)}
    labelled = [row for row in rows if (row.class_ if kind == "class" else row.tags)]
    return sum(row.id is not None and row.id not in test for row in labelled)


def _denied(holdings: Holdings | None, rows: Sequence[PictureRow], kind: Kind) -> list[Collection[str]]:
    """The classes or tags that people said each picture does not have: a model does not suggest them again."""
    if holdings is None:
        return [()] * len(rows)
    truth = holdings.collection().truth
    place_of = {number: row for row, number in enumerate(truth.ids.tolist())}
    denied: list[Collection[str]] = []
    for asked in rows:
        row = place_of.get(asked.id or 0)
        if row is None:
            denied.append(())
        elif kind == "class":
            denied.append(truth.denied_classes.get(row, ()))
        else:
            denied.append(tags_of(truth, row, denied=True))
    return denied


def _written(
    holdings: Holdings | None,
    model: Model,
    made: Suggestions,
    kind: Kind,
    only: Sequence[Collection[str]] | None = None,
) -> Suggestions:
    """The suggestions, written to the catalogue as the model's; what people said stays as it is.

    ``only`` has the names to write of each picture (default: all).
    """
    if holdings is None:
        raise InputError("suggestions are kept in a workspace: work inside one, or leave out --write")
    rows: list[LabelRow] = [
        (row.id, kind, label.name, "suggested", label.probability)
        for place, row in enumerate(made.answers)
        if row.id is not None
        for label in row.labels
        if only is None or label.name in only[place]
    ]
    source = model_source(model.info.name, model.info.version)
    return replace(made, written=holdings.catalogue.write_labels(rows, source=source))


def _subjects(
    holdings: Holdings | None, judge: TagJudge | ClassJudge, pictures: Sequence[Path], *, wait: bool
) -> _Subjects:
    """The given pictures, or by default those of the collection that lack a class or tags."""
    if pictures:
        return _named(holdings, judge, pictures)
    if holdings is None:
        raise InputError("name the pictures to look at, or work inside a workspace")
    chosen = [each for each in holdings.catalogue.pictures(state="ok") if each.paths and not _has(each, judge.kind)]
    recipe = judge.model.recipe
    places, failed = described(holdings, recipe, [picture.sha256 for picture in chosen], wait=wait)
    chosen = [chosen[place] for place in places]
    keys = [picture.sha256 for picture in chosen]
    return _Subjects(
        _indexed(holdings, judge, keys),
        [row_of(picture) for picture in chosen],
        failed,
        lambda rows: stored_features(holdings, recipe, keys[rows]),
    )


def _named(holdings: Holdings | None, judge: TagJudge | ClassJudge, pictures: Sequence[Path]) -> _Subjects:
    """Pictures that a person names. Of one that the collection knows, the model says what it says everywhere else."""
    skipped: list[Skipped] = []
    files = [file for path in pictures for file in _files(holdings, path, skipped)]
    known = [_picture_in(holdings, file) for file in files]
    index = None if holdings is None else stored_index(holdings, judge.model, judge.kind)
    seen = [picture is not None and index is not None and not index.missing([picture.sha256]) for picture in known]
    others = [place for place, is_seen in enumerate(seen) if not is_seen]
    X, kept, failed = features_of_files(judge.model.recipe, [files[place] for place in others])
    looked = judge.look(X, len(kept)) if kept else np.empty((0, 0))
    rows = dict(zip([others[place] for place in kept], looked, strict=True))
    if holdings is not None and any(seen):
        keys = [picture.sha256 for picture, is_seen in zip(known, seen, strict=True) if picture and is_seen]
        places = [place for place, is_seen in enumerate(seen) if is_seen]
        rows |= dict(zip(places, _indexed(holdings, judge, keys)(slice(None)), strict=True))
    order = sorted(rows)
    chosen = [files[place] for place in order]
    return _Subjects(
        lambda some: np.stack([rows[place] for place in order[some]]),
        [_as_named(files[place], known[place]) for place in order],
        skipped + failed,
        lambda some: features_of_files(judge.model.recipe, chosen[some])[0],
    )


def _as_named(file: Path, picture: Picture | None) -> PictureRow:
    """The row of a file, with the path by which a person named it."""
    return PictureRow(str(file)) if picture is None else replace(row_of(picture), path=str(file))


def _indexed(holdings: Holdings, judge: TagJudge | ClassJudge, keys: Sequence[str]) -> Callable[[slice], Floats]:
    """The log-probabilities that the index holds of pictures that have features."""
    snapshot = (class_index if judge.kind == "class" else word_index)(holdings, judge.model, keys).snapshot
    slots = snapshot.find(keys)
    return lambda rows: snapshot.vectors(slots[rows])


def _has(picture: Picture, kind: Kind) -> bool:
    if kind == "class":
        return picture.class_label is not None
    return any(label.state == "accepted" for label in picture.tags)


def _files(holdings: Holdings | None, path: Path, skipped: list[Skipped]) -> list[Path]:
    """The picture files that ``path`` means: a file, all pictures of a folder, or a catalogued picture."""
    if is_there(path) and path.is_dir():
        return [Path(found.path) for found in find_pictures(path, skipped.append)]
    if not is_there(path) and holdings is not None:
        picture = holdings.catalogue.picture(path)
        if picture is not None:
            return [holdings.catalogue.file_of(picture)]
    if not is_there(path):
        skipped.append(Skipped(str(path), "there is no such file"))
        return []
    return [path]


def _picture_in(holdings: Holdings | None, file: Path) -> Picture | None:
    """The picture of the collection that is in ``file`` now; None if there is none, or the file has changed."""
    picture = None if holdings is None else holdings.catalogue.picture(file.absolute())
    if picture is None:
        return None
    try:
        read_picture(file, picture.sha256)
        return picture
    except PictureError:  # whoever looks at it says what is wrong
        return None


def _suggestions(
    holdings: Holdings | None, judge: TagJudge | ClassJudge, subjects: _Subjects, best: Sequence[list[LikelyName]]
) -> Suggestions:
    model, kind = judge.model, judge.kind
    answers = [replace(row, labels=labels) for row, labels in zip(subjects.rows, best, strict=True)]
    task = _TASKS[kind]
    doubts = doubts_about(model, task)
    left_out = kind == "tag" and leaves_out(model.estimator)
    known = 0 if left_out else _n_learned_from(holdings, answers, kind)
    if known:
        given = "a class" if kind == "class" else "tags"
        have = f"{counted(known, 'picture')} here {'has' if known == 1 else 'have'} {given} already"
        doubts = [*doubts, f"{have}: a model is too sure about pictures that it learned from"]
    age = Age.of(model.info, kind)
    ages = [age if holdings is None else age.now(holdings.collection().truth)]
    calibrated = is_calibrated(model, task)
    return Suggestions(model.info.reference, answers, 0, subjects.skipped, calibrated, doubts, ages)
