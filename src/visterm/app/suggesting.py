"""What a model says of pictures, inside the collection and outside it: classes and tags."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from visterm.app.doubts import doubts_about, is_calibrated
from visterm.app.features import described, features_of_files, stored_features
from visterm.app.files import is_there
from visterm.app.notebook import PictureDocument
from visterm.app.wording import counted, not_a_share
from visterm.calibration import TagProbabilities
from visterm.catalogue.labels import Kind, LabelRow
from visterm.catalogue.pictures import Picture
from visterm.catalogue.records import Skipped, model_source
from visterm.catalogue.scan import find_pictures
from visterm.contracts import Features, Scores, Task
from visterm.errors import InputError, UsageError
from visterm.learning import PRECISION, class_scores, leaves_out, rare_order, splits, unseen, word_scores
from visterm.measures import predict_tags
from visterm.models import Model, checked_scores, using

if TYPE_CHECKING:
    from visterm.app.workspace import Workspace

_TASKS: dict[Kind, Task] = {"class": Task.CLASSIFY, "tag": Task.ANNOTATE}


@dataclass(frozen=True)
class LikelyName:
    """A class or tag, and the probability that the picture has it."""

    name: str
    probability: float


@dataclass(frozen=True)
class Suggestion:
    """What a model says of one picture, best first; ``picture_id`` is that of the catalogue, None for other files."""

    path: str
    labels: list[LikelyName]
    picture_id: int | None = None


@dataclass(frozen=True)
class Suggestions(PictureDocument):
    """What a model says of several pictures, how many suggestions were written, and what could not be looked at.

    ``calibrated`` says whether the probabilities were learned from held-out pictures; if those were too few, they are
    a guess. ``doubts`` say in words why the answers should be taken with care.
    """

    model: str
    answers: list[Suggestion]
    written: int
    skipped: list[Skipped]
    calibrated: bool = True
    doubts: list[str] = field(default_factory=list)

    def captions(self) -> Iterator[tuple[str, str]]:
        """What the model says of each picture."""
        return ((item.path, ", ".join(label.name for label in item.labels) or "nothing") for item in self.answers)


@dataclass(frozen=True)
class _Subjects:
    """The pictures that are asked about, with their features."""

    X: Features
    paths: list[str]
    ids: list[int | None]
    skipped: list[Skipped]


def classify(
    workspace: Workspace | None, model: Model, pictures: Sequence[Path] = (), *, n_best: int = 3, write: bool = False
) -> Suggestions:
    """The most likely classes of pictures; without ``pictures``, of all that have no class yet."""
    subjects = _subjects(workspace, model, pictures, lacking="class", wait=write)
    if not subjects.paths:
        return _suggestions(model, subjects, np.empty((0, 0)), [], (), "class")
    estimator = model.estimator
    with using(model):
        names = _current(workspace, "class", tuple(model.info.classes[int(c)] for c in estimator.classes_))
        scores = checked_scores(class_scores(estimator, subjects.X), len(subjects.paths), len(names))
        # What the method itself predicts comes first: its rule for ties is its own.
        predicted = np.searchsorted(estimator.classes_, estimator.predict(subjects.X))
        best = []
        for row, first in zip(scores, predicted, strict=True):
            others = [int(c) for c in np.argsort(-row, kind="stable") if c != first]
            best.append(_shown([int(first), *others], names)[:n_best])
        suggestions = _suggestions(
            model, subjects, scores, best, names, "class", _labelled(workspace, subjects, "class")
        )
    return _written(workspace, model, suggestions, "class", n_labels=1) if write else suggestions


def tag(
    workspace: Workspace | None,
    model: Model,
    pictures: Sequence[Path] = (),
    *,
    precision: float = PRECISION,
    n_best: int | None = None,
    at_least: float | None = None,
    rare: bool = False,
    write: bool = False,
) -> Suggestions:
    """The likely tags of pictures, the most likely first; without ``pictures``, of all that have no tags yet.

    Of each picture, the tags above their thresholds: of all suggestions of a tag, a share of ``precision`` should be
    right. A picture may get no tag. With ``at_least``, instead, the tags of at least that probability; with ``n_best``,
    the best ones, however unlikely. ``rare`` puts tags first that stand out more than they usually do.
    """
    for what, share in (("the precision", precision), ("the least probability", at_least)):
        if share is not None and not 0 <= share <= 1:
            raise UsageError(not_a_share(what, share))
    subjects = _subjects(workspace, model, pictures, lacking="tags", wait=write)
    if not subjects.paths:
        return _suggestions(model, subjects, np.empty((0, 0)), [], (), "tag")
    estimator, n_tags = unseen(model.estimator), len(model.info.tags)
    with using(model):
        scores = checked_scores(word_scores(estimator, subjects.X), len(subjects.paths), n_tags)
        likely = model.relevance or TagProbabilities.unmeasured(scores, model.info.tag_counts, model.info.n_tagged)
        log_odds = checked_scores(likely.log_odds(scores), len(subjects.paths), n_tags)
        p = expit(log_odds)
        order = rare_order(estimator, subjects.X, likely.lifts(log_odds)) if rare else log_odds
        ranked = predict_tags(order, n_best or p.shape[1], frequencies=model.info.tag_counts)
        if n_best is not None and at_least is None:
            best = [list(columns) for columns in ranked]
        else:
            least = likely.thresholds(precision) if at_least is None else np.full(p.shape[1], at_least)
            best = [[c for c in columns if p[row, c] >= least[c]] for row, columns in enumerate(ranked)]
        names = _current(workspace, "tag", model.info.tags)
        denied = [set[str]()] * len(best) if workspace is None else _denied(workspace, subjects.ids)
        best = [_shown(columns, names, without) for columns, without in zip(best, denied, strict=True)]
        n_known = 0 if leaves_out(estimator) else _labelled(workspace, subjects, "tag")
        suggestions = _suggestions(model, subjects, p, best, names, "tag", n_known)
    return _written(workspace, model, suggestions, "tag", n_labels=None) if write else suggestions


def _labelled(workspace: Workspace | None, subjects: _Subjects, kind: Kind) -> int:
    """How many of the pictures have labels of this kind that a model learns from."""
    if workspace is None:
        return 0
    truth, asked = workspace.collection().truth, set(subjects.ids)
    rows = [
        row
        for row, number in enumerate(truth.ids.tolist())
        if number in asked and not splits.is_test(truth.splits[row])
    ]
    if kind == "class":
        return sum(truth.classes[row] is not None for row in rows)
    return int(np.count_nonzero(np.diff(truth.tags.indptr)[rows]))


def _current(workspace: Workspace | None, kind: Kind, names: tuple[str, ...]) -> Sequence[str]:
    """What a model's names are called in the workspace now; dropped ones are empty."""
    return names if workspace is None else workspace.collection().frame.current_names(kind, names)


def _shown(columns: Iterable[int], names: Sequence[str], without: Collection[str] = ()) -> list[int]:
    """The columns whose names are neither dropped nor ``without``; of merged names, the first."""
    firsts: dict[str, int] = {}
    for column in columns:
        if names[column] and names[column] not in without:
            firsts.setdefault(names[column], int(column))
    return list(firsts.values())


def _denied(workspace: Workspace, ids: Sequence[int | None]) -> list[set[str]]:
    """The tags that people said each picture does not have: a model does not suggest them again."""
    truth = workspace.collection().truth
    row_of = {int(number): row for row, number in enumerate(truth.ids)}
    denied: list[set[str]] = []
    for number in ids:
        row = None if number is None else row_of.get(number)
        own = () if row is None else truth.rejected.indices[truth.rejected.indptr[row] : truth.rejected.indptr[row + 1]]
        denied.append({truth.tag_names[column] for column in own})
    return denied


def _written(
    workspace: Workspace | None, model: Model, made: Suggestions, kind: Kind, *, n_labels: int | None
) -> Suggestions:
    """The suggestions, written to the catalogue as the model's; what people said stays as it is."""
    if workspace is None:
        raise InputError("suggestions are kept in a workspace: work inside one, or leave out --write")
    rows: list[LabelRow] = [
        (suggestion.picture_id, kind, label.name, "suggested", label.probability)
        for suggestion in made.answers
        if suggestion.picture_id is not None
        for label in suggestion.labels[:n_labels]
    ]
    source = model_source(model.info.name, model.info.version)
    return replace(made, written=workspace.catalogue.write_labels(rows, source=source))


def _subjects(
    workspace: Workspace | None, model: Model, pictures: Sequence[Path], *, lacking: str, wait: bool
) -> _Subjects:
    """The given pictures, else those of the collection that lack a class or tags."""
    if pictures:
        skipped: list[Skipped] = []
        files = [file for path in pictures for file in _files(workspace, path, skipped)]
        X, kept, failed = features_of_files(model.recipe, files)
        ids = [_id_in(workspace, files[i]) for i in kept]
        return _Subjects(X, [str(files[i]) for i in kept], ids, skipped + failed)
    if workspace is None:
        raise InputError("name the pictures to look at, or work inside a workspace")
    chosen = [
        picture for picture in workspace.catalogue.pictures(state="ok") if picture.paths and not _has(picture, lacking)
    ]
    places, failed = described(workspace, model.recipe, [picture.sha256 for picture in chosen], wait=wait)
    chosen = [chosen[place] for place in places]
    X = stored_features(workspace, model.recipe, [picture.sha256 for picture in chosen])
    return _Subjects(X, [picture.paths[0] for picture in chosen], [picture.id for picture in chosen], failed)


def _has(picture: Picture, what: str) -> bool:
    if what == "class":
        return picture.class_label is not None
    return any(label.state == "accepted" for label in picture.tags)


def _files(workspace: Workspace | None, path: Path, skipped: list[Skipped]) -> list[Path]:
    """The picture files that ``path`` means: a file, all pictures of a folder, or a catalogued picture."""
    if is_there(path) and path.is_dir():
        return [Path(found.path) for found in find_pictures(path, skipped.append)]
    if not is_there(path) and workspace is not None:
        picture = workspace.catalogue.picture(path)
        if picture is not None:
            return [workspace.catalogue.file_of(picture)]
    if not is_there(path):
        skipped.append(Skipped(str(path), "there is no such file"))
        return []
    return [path]


def _id_in(workspace: Workspace | None, file: Path) -> int | None:
    picture = workspace.catalogue.picture(file.absolute()) if workspace is not None else None
    return None if picture is None else picture.id


def _suggestions(
    model: Model,
    subjects: _Subjects,
    scores: Scores,
    best: Sequence[Sequence[int]] | NDArray[Any],
    names: Sequence[str],
    kind: Kind,
    n_labelled: int = 0,
) -> Suggestions:
    answers = [
        Suggestion(path, [LikelyName(names[int(c)], float(scores[row, int(c)])) for c in columns], picture_id)
        for row, (path, picture_id, columns) in enumerate(zip(subjects.paths, subjects.ids, best, strict=True))
    ]
    task = _TASKS[kind]
    calibrated, doubts = is_calibrated(model, task), doubts_about(model, task)
    if n_labelled:
        given = "a class" if kind == "class" else "tags"
        have = f"{counted(n_labelled, 'picture')} here {'has' if n_labelled == 1 else 'have'} {given} already"
        doubts = [*doubts, f"{have}: a model is too sure of pictures that it learned from"]
    return Suggestions(model.info.reference, answers, 0, subjects.skipped, calibrated, doubts)
