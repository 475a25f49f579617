"""What a model says of pictures, inside the collection and outside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.app.describing import describe, features_of_files, stored_features
from visterm.app.workspace import Workspace
from visterm.catalogue.labels import Kind, LabelRow
from visterm.catalogue.records import Skipped, model_source
from visterm.catalogue.scan import find_pictures
from visterm.contracts import Features, Scores, Task
from visterm.errors import InputError
from visterm.measures import predict_tags
from visterm.models import Model


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model says of one picture: names with scores, best first."""

    path: str
    labels: tuple[tuple[str, float], ...]
    picture_id: int | None = None


@dataclass(slots=True)
class Answers:
    """What a model says of several pictures, and what could not be looked at."""

    model: str
    answers: list[Answer]
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Subjects:
    """The pictures that are asked about, with their features."""

    X: Features
    paths: list[str]
    ids: list[int | None]
    skipped: list[Skipped]


def classify(model: Model, paths: Sequence[Path], workspace: Workspace | None = None, *, n_best: int = 3) -> Answers:
    """The most likely classes of pictures; without ``paths``, of all that have no class yet."""
    subjects = _subjects(model, paths, workspace, lacking="class")
    estimator = model.estimator
    if not subjects.paths:
        return Answers(_reference(model), [], subjects.skipped)
    scores = estimator.predict_proba(subjects.X) if hasattr(estimator, "predict_proba") else None
    if scores is None:
        scores = estimator.decision_function(subjects.X)
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    # What the method itself predicts comes first: its rule for ties is its own.
    predicted = np.searchsorted(estimator.classes_, estimator.predict(subjects.X))
    names = [model.info.classes[int(c)] for c in estimator.classes_]
    best = []
    for row, first in zip(scores, predicted, strict=True):
        others = [int(c) for c in np.argsort(-row, kind="stable") if c != first]
        best.append([int(first), *others][:n_best])
    return _answers(model, subjects, scores, best, names)


def tag(
    model: Model,
    paths: Sequence[Path],
    workspace: Workspace | None = None,
    *,
    n_best: int = 5,
    at_least: float | None = None,
) -> Answers:
    """The best tags of pictures; without ``paths``, of all that have no tags yet.

    With ``at_least``, only tags of at least that probability, which may be none.
    """
    if at_least is not None and not model.estimator.scores_are_probabilities:
        raise InputError(
            f"{model.info.method} ranks tags without saying how sure it is: leave out --sure, or train a method whose"
            " scores are probabilities, such as graph-mixture"
        )
    subjects = _subjects(model, paths, workspace, lacking="tags")
    if not subjects.paths:
        return Answers(_reference(model), [], subjects.skipped)
    scores = model.estimator.score_tags(subjects.X)
    best: Any = predict_tags(scores, n_best, frequencies=model.info.tag_counts)
    if at_least is not None:
        best = [[column for column in columns if scores[row, column] >= at_least] for row, columns in enumerate(best)]
    return _answers(model, subjects, scores, best, model.info.tags)


def suggest(workspace: Workspace, model: Model, answers: Answers, task: Task) -> int:
    """Write answers to the catalogue as the model's suggestions; people's labels stay what they are."""
    kind: Kind = "class" if task is Task.CLASSIFY else "tag"
    rows: list[LabelRow] = [
        (answer.picture_id, kind, name, "suggested", score)
        for answer in answers.answers
        if answer.picture_id is not None
        for name, score in (answer.labels[:1] if task is Task.CLASSIFY else answer.labels)
    ]
    return workspace.catalogue.write_labels(rows, source=model_source(model.info.name, model.info.version))


def _subjects(model: Model, paths: Sequence[Path], workspace: Workspace | None, *, lacking: str | None) -> _Subjects:
    """The pictures named by ``paths``, else those of the collection that lack a class or tags (None: all)."""
    if paths:
        skipped: list[Skipped] = []
        files = [file for path in paths for file in _files(path, workspace, skipped)]
        X, kept, failed = features_of_files(model.recipe, files)
        ids = [_id_in(workspace, files[i]) for i in kept]
        return _Subjects(X, [str(files[i]) for i in kept], ids, skipped + failed)
    if workspace is None:
        raise InputError("name the pictures to look at, or work inside a workspace")
    (done,) = describe(workspace, model.recipe)
    chosen = [
        picture
        for picture in workspace.catalogue.pictures(state="ok")
        if picture.paths and (lacking is None or not _has(picture, lacking))
    ]
    without = workspace.features.missing(model.recipe, [picture.sha256 for picture in chosen])
    chosen = [picture for picture in chosen if picture.sha256 not in without]
    X = stored_features(workspace, model.recipe, [picture.sha256 for picture in chosen])
    return _Subjects(X, [picture.paths[0] for picture in chosen], [picture.id for picture in chosen], done.failed)


def _has(picture: Any, what: str) -> bool:
    if what == "class":
        return picture.class_label is not None
    return any(label.state == "accepted" for label in picture.tags)


def _files(path: Path, workspace: Workspace | None, skipped: list[Skipped]) -> list[Path]:
    """The picture files that ``path`` means: a file, all pictures of a folder, or a catalogued picture."""
    if path.is_dir():
        return [Path(found.path) for found in find_pictures(path, skipped.append)]
    if not path.exists() and workspace is not None:
        picture = workspace.catalogue.picture(path)
        if picture is not None:
            return [workspace.catalogue.file_of(picture)]
    if not path.exists():
        skipped.append(Skipped(str(path), "there is no such file"))
        return []
    return [path]


def _id_in(workspace: Workspace | None, file: Path) -> int | None:
    picture = workspace.catalogue.picture(file.absolute()) if workspace is not None else None
    return None if picture is None else picture.id


def _answers(
    model: Model,
    subjects: _Subjects,
    scores: Scores,
    best: Sequence[Sequence[int]] | NDArray[Any],
    names: Sequence[str],
) -> Answers:
    answers = [
        Answer(path, tuple((names[int(c)], float(scores[row, int(c)])) for c in columns), picture_id)
        for row, (path, picture_id, columns) in enumerate(zip(subjects.paths, subjects.ids, best, strict=True))
    ]
    return Answers(_reference(model), answers, subjects.skipped)


def _reference(model: Model) -> str:
    return f"{model.info.name}@{model.info.version}"
