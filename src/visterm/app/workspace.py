"""The workspace: a folder of pictures and everything Visterm does with them, behind one object."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from visterm.app.files import is_there
from visterm.app.shelf import ModelShelf
from visterm.catalogue.catalogue import Catalogue
from visterm.errors import InputError, VistermError

if TYPE_CHECKING:
    from visterm.app.adding import Addition, Attached, Removal
    from visterm.app.backups import BackedUp
    from visterm.app.checking import Checkup
    from visterm.app.choosing import Training
    from visterm.app.collection import Collection, Collections
    from visterm.app.exporting import Exported
    from visterm.app.features import Computed, Recipes
    from visterm.app.gallery.pages import Gallery
    from visterm.app.gallery.predictions import Predictions
    from visterm.app.gallery.saved import Saved
    from visterm.app.gallery.thumbnails import Thumbnails
    from visterm.app.gallery.view import Views
    from visterm.app.history import History, Undoing
    from visterm.app.jobs import Jobs
    from visterm.app.labelling import Labelled
    from visterm.app.naming import Edit, Merges, Vocabulary
    from visterm.app.reports import Report, Reports
    from visterm.app.review.reviewer import Reviewer
    from visterm.app.searchers import Searchers
    from visterm.app.searching import Findings
    from visterm.app.showing import Drawing
    from visterm.app.similar import Lookalikes
    from visterm.app.status import Status
    from visterm.app.suggesting import Suggestions
    from visterm.app.training import Evaluation, Models, TrainedModel
    from visterm.catalogue.labels import Kind
    from visterm.catalogue.pictures import Picture
    from visterm.features import FeatureLibrary

STATE = ".visterm"
#: Pictures as a person names them: a path, a pattern such as ``holiday/*.jpg``, or several of these.
Pictures = str | Path | Sequence[str | Path]


class Workspace:
    """A collection: its pictures, what people and models say of them, and all that can be done with it.

    ``folder`` holds ``.visterm``; the pictures may lie in it or anywhere else. Every method returns a document: a
    dataclass whose ``to_dict()`` is what ``--json`` prints. The object is meant to be kept: what it has read stays in
    memory, and is read again when another process has changed the catalogue or a model has appeared. Any number of
    threads may use it; :meth:`close` ends it for all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.state = self.folder / STATE
        if not self.state.is_dir():
            raise InputError(f"{folder} is no Visterm workspace: make it one with 'visterm init {folder}'")
        self.catalogue = Catalogue(self.state / "catalogue.sqlite", root=self.folder)
        self.shelf = ModelShelf(self.state / "models")
        self._guard = threading.RLock()

    @classmethod
    def create(cls, folder: Path, *, language: str | None = None) -> Self:
        """Make ``folder`` a workspace, or open it if it is one; ``language`` is that of captions and file names."""
        try:
            (folder / STATE).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VistermError(f"cannot make a workspace of {folder}: {error.strerror or error}") from error
        workspace = cls(folder)
        if language is not None:
            try:
                workspace.catalogue.language = language
            except BaseException:
                workspace.close()
                raise
        return workspace

    @classmethod
    def find(cls, start: Path | None = None) -> Self:
        """The workspace of ``start``: the folder itself or the nearest one above it.

        Without ``start`` the folder named by ``VISTERM_WORKSPACE``, else the current one.
        """
        return cls(cls.locate(start))

    @staticmethod
    def locate(start: Path | None = None) -> Path:
        """The folder of the workspace that :meth:`find` opens."""
        start = (start or Path(os.environ.get("VISTERM_WORKSPACE", "."))).resolve()
        for folder in (start, *start.parents):
            if (folder / STATE).is_dir():
                return folder
        inside = sorted(path.parent.name for path in start.glob(f"*/{STATE}")) if start.is_dir() else []
        hint = (
            f"use the one in {inside[0]} with '-w {inside[0]}'" if len(inside) == 1 else "make one with 'visterm init'"
        )
        raise InputError(f"there is no Visterm workspace at {start} or above it: {hint}")

    def close(self) -> None:
        """Close the catalogue."""
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.catalogue.__exit__(kind, error, at)

    def __repr__(self) -> str:
        return f"Workspace({str(self.folder)!r})"

    # Your pictures

    def add(
        self,
        folders: Pictures = (),
        *,
        labels: Pictures = (),
        format: str | None = None,
        look_for_labels: bool = True,
        caption_tags: bool | None = None,
        min_count: int = 2,
        phrases: Sequence[str] = (),
        again: bool = False,
        as_new: bool = False,
        dry_run: bool = False,
    ) -> Addition:
        """Add pictures and their labels, or bring the catalogue in step with changed folders (default: its own)."""
        from visterm.app.adding import add

        return add(
            self,
            self._paths(folders),
            labels=self._paths(labels),
            format=format,
            look_for_labels=look_for_labels,
            caption_tags=caption_tags,
            min_count=min_count,
            phrases=phrases,
            again=again,
            as_new=as_new,
            dry_run=dry_run,
        )

    def attach(self, record: str | Path, file: str | Path) -> Attached:
        """Say that ``file`` is the picture of a record that has lost its file."""
        from visterm.app.adding import attach

        return attach(self, self._reference(record), Path(file))

    def remove(self, pictures: Pictures, *, dry_run: bool = False) -> Removal:
        """Forget files, folders or pictures by content hash, with their labels; no file is touched."""
        from visterm.app.adding import remove

        return remove(self, [self._reference(name) for name in _several(pictures)], dry_run=dry_run)

    def label(
        self,
        pictures: Pictures,
        *,
        class_name: str | None = None,
        tags: str | Sequence[str] = (),
        no_tags: str | Sequence[str] = (),
        clear: str | Sequence[str] = (),
        accept: bool = False,
        new: bool | Sequence[str] = False,
    ) -> Labelled:
        """Say what pictures are; a person's word outranks imports and models."""
        from visterm.app.labelling import label

        return label(
            self,
            _several(pictures),
            class_name=class_name,
            tags=_names(tags),
            no_tags=_names(no_tags),
            clear=_names(clear),
            accept=accept,
            new=new,
        )

    def vocabulary(self, *, captions: bool = False) -> Vocabulary:
        """The classes and tags in use, the most used first."""
        from visterm.app.naming import vocabulary

        return vocabulary(self, captions=captions)

    def rename(self, old: str, new: str, *, kind: Kind = "tag") -> Edit:
        """Give a tag or class another name."""
        from visterm.app.naming import rename

        return rename(self, old, new, kind=kind)

    def merge(self, names: str | Sequence[str], *, into: str, kind: Kind = "tag") -> Edit:
        """Make several tags or classes one."""
        from visterm.app.naming import merge

        return merge(self, _names(names), into=into, kind=kind)

    def propose_merges(self, *, kind: Kind = "tag", apply: bool = False) -> Merges:
        """Tags or classes that look like forms of one word; with ``apply``, they are merged."""
        from visterm.app.naming import propose_merges

        return propose_merges(self, kind=kind, apply=apply)

    def drop(self, names: str | Sequence[str], *, kind: Kind = "tag") -> Edit:
        """Leave tags or classes out, also of later imports."""
        from visterm.app.naming import drop

        return drop(self, _names(names), kind=kind)

    def restore(self, names: str | Sequence[str], *, kind: Kind = "tag") -> Edit:
        """Bring dropped, renamed or merged names back."""
        from visterm.app.naming import restore

        return restore(self, _names(names), kind=kind)

    def history(self, picture: str | Path | None = None, *, limit: int = 20, before: int | None = None) -> History:
        """What was changed, by whom and when, the newest first; everything, or what changed one picture."""
        from visterm.app.history import history

        return history(self, picture, limit=limit, before=before)

    def undo(self, number: int = 1, *, only: int | None = None) -> Undoing:
        """Undo the last change of labels, vocabulary or pictures, or the last few.

        With ``only``, the number of an action, nothing is undone unless that action is the last one.
        """
        from visterm.app.history import undo

        return undo(self, number, only=only)

    def redo(self, number: int = 1) -> Undoing:
        """Do again what was undone last."""
        from visterm.app.history import redo

        return redo(self, number)

    def status(self) -> Status:
        """What the collection holds: counts, coverage, most frequent tags, unreadable pictures, models."""
        from visterm.app.status import status

        return status(self)

    def export(
        self,
        destination: str | Path | None = None,
        *,
        format: str | None = None,
        suggestions: float | None = None,
        hierarchy: str | None = None,
        dry_run: bool = False,
    ) -> Exported:
        """Write all labels to a file in the format of its ending, or as XMP sidecars beside the pictures."""
        from visterm.app.exporting import export

        return export(
            self,
            None if destination is None else Path(destination),
            format=format,
            suggestions=suggestions,
            hierarchy=hierarchy,
            dry_run=dry_run,
        )

    # Learning

    def recipes(self) -> Recipes:
        """The feature recipes, and about what each costs for this collection."""
        from visterm.app.features import recipes

        return recipes(self)

    def features(self, *recipes: str, for_models: bool = False) -> Computed:
        """Compute the features that are missing; ``for_models``, those of the models in use and what they say."""
        from visterm.app.features import compute
        from visterm.app.indexing import look_at_all

        if for_models:
            return look_at_all(self)

        return compute(self, recipes)

    def train(
        self,
        method: str | None = None,
        *,
        name: str | None = None,
        recipe: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        minutes: float = 3.0,
        choose_again: bool = False,
    ) -> TrainedModel | Training:
        """Learn from what is labelled, measure on held-out pictures, and keep the models.

        With nothing named, features and methods are chosen by comparing a few within about ``minutes``, for classes,
        tags and search; ``"classes"``, ``"tags"`` or ``"search"`` chooses for one of them. A choice is kept until there
        are twice as many labelled pictures, or ``choose_again``. The name of a method trains that method.
        """
        from visterm.app.choosing import WANTED, train_all
        from visterm.app.training import require_method, train

        if method is not None and method not in WANTED:
            require_method(method, also=WANTED)
            return train(self, method, name=name, recipe=recipe, parameters=parameters)
        if name is not None or parameters:
            raise InputError("a name and parameters go with a method: name one, such as 'sdca'")
        wanted = tuple(WANTED) if method is None else (method,)
        return train_all(self, wanted, recipe=recipe, minutes=minutes, choose_again=choose_again)

    def models(self) -> Models:
        """The trained models, the newest last, and which is in use for what."""
        from visterm.app.training import models

        return models(self)

    def reports(self) -> Reports:
        """How good each trained model is, in short; the newest first."""
        from visterm.app.reports import reports

        return reports(self)

    def report(self, model: str) -> Report:
        """All that was measured of one model, named as ``NAME@VERSION``."""
        from visterm.app.reports import report

        return report(self, model)

    def evaluate(self, *methods: str, recipe: str | Sequence[str] = (), max_seconds: float | None = None) -> Evaluation:
        """Compare methods (default: all) with each other and with the baseline on held-out pictures.

        With one recipe or several, every method is measured on each of them.
        """
        from visterm.app.training import evaluate

        return evaluate(self, methods, recipes=_names(recipe), max_seconds=max_seconds)

    # Finding

    def classify(
        self, pictures: Pictures = (), *, model: str | None = None, n_best: int = 3, write: bool = False
    ) -> Suggestions:
        """Say which class pictures belong to (default: all that have none)."""
        from visterm.app.suggesting import classify
        from visterm.contracts.tasks import Task

        paths = self._paths(pictures)
        done = self.shelf.use(
            Task.CLASSIFY, model, lambda chosen: classify(self, chosen, paths, n_best=n_best, write=write)
        )
        return done.located(self.folder)

    def tag(
        self,
        pictures: Pictures = (),
        *,
        model: str | None = None,
        precision: float = 0.8,
        n_best: int | None = None,
        at_least: float | None = None,
        rare: bool = False,
        write: bool = False,
    ) -> Suggestions:
        """Suggest tags for pictures (default: all that have none), each with its probability.

        Of all suggestions of a tag, a share of ``precision`` should be right, so a picture may get none. ``n_best``
        asks for a fixed number, ``at_least`` for a probability; ``rare`` puts rare tags that stand out first.
        """
        from visterm.app.suggesting import tag
        from visterm.contracts.tasks import Task

        paths = self._paths(pictures)
        done = self.shelf.use(
            Task.ANNOTATE,
            model,
            lambda chosen: tag(
                self,
                chosen,
                paths,
                precision=precision,
                n_best=n_best,
                at_least=at_least,
                rare=rare,
                write=write,
            ),
        )
        return done.located(self.folder)

    def search(
        self, query: str, *, model: str | None = None, limit: int = 20, unlikely: bool = False, why: bool = False
    ) -> Findings:
        """Find pictures from a few words, tagged or not."""
        from visterm.app.searching import search

        return search(self, query, model=model, limit=limit, unlikely=unlikely, why=why)

    def similar(
        self, picture: str | Path, *, recipe: str | None = None, model: str | None = None, limit: int = 20
    ) -> Lookalikes:
        """Find the pictures that look most like a given one."""
        from visterm.app.similar import RECIPE, similar

        return similar(self, Path(picture), recipe=recipe or RECIPE, model=model, limit=limit)

    def sheet(self, found: Findings | Lookalikes, file: str | Path) -> Path:
        """Write pictures that were found as a contact sheet, PNG or JPEG."""
        from visterm.app.sheets import findings_sheet

        return findings_sheet(self, found, Path(file))

    def show(self, picture: str | Path, *, feature: str = "sift", output: str | Path | None = None) -> Drawing:
        """Write a picture of what the machine sees in a picture."""
        from visterm.app.showing import show

        return show(self, Path(picture), feature=feature, output=None if output is None else Path(output))

    # Care

    def backup(self, file: str | Path) -> BackedUp:
        """Write the truth, all that people and imports said and its history, to one new file."""
        from visterm.app.backups import backup

        return backup(self, Path(file))

    def doctor(self, *, repair: bool = False) -> Checkup:
        """Check the installation and the workspace; ``repair`` removes derived files that are damaged."""
        from visterm.app.checking import doctor

        return doctor(self, repair=repair)

    # What use cases share

    def collection(self) -> Collection:
        """The collection as it is now."""
        return self._collections.newest()

    @cached_property
    def library(self) -> FeatureLibrary:
        """What recipes learned from this collection, and the features they computed."""
        from visterm.features import FeatureLibrary

        with self._guard:
            return FeatureLibrary(self.state)

    @cached_property
    def searchers(self) -> Searchers:
        """What answers searches, kept ready."""
        from visterm.app.searchers import Searchers

        with self._guard:
            return Searchers(self)

    @cached_property
    def reviewer(self) -> Reviewer:
        """Questions for a person, and heads that learn from the answers."""
        from visterm.app.review.reviewer import Reviewer

        with self._guard:
            return Reviewer(self)

    @cached_property
    def jobs(self) -> Jobs:
        """Long work in processes of its own."""
        from visterm.app.jobs import Jobs

        return Jobs(self.folder, self.state)

    @cached_property
    def saved_searches(self) -> Saved:
        """Searches that a person wants to keep."""
        from visterm.app.gallery.saved import Saved

        return Saved(self.state / "searches.json")

    @cached_property
    def thumbnails(self) -> Thumbnails:
        """Small pictures of the pictures."""
        from visterm.app.gallery.thumbnails import Thumbnails

        return Thumbnails(self.state / "thumbnails")

    @cached_property
    def predictions(self) -> Predictions:
        """What the models in use say of every picture, kept ready."""
        from visterm.app.gallery.predictions import Predictions

        with self._guard:
            return Predictions(self)

    @cached_property
    def views(self) -> Views:
        """The pictures as arrays, for lists and counts."""
        from visterm.app.gallery.view import Views

        with self._guard:
            return Views(self)

    @cached_property
    def gallery(self) -> Gallery:
        """Lists of pictures, page by page."""
        from visterm.app.gallery.pages import Gallery

        with self._guard:
            return Gallery(self)

    @cached_property
    def _collections(self) -> Collections:
        from visterm.app.collection import Collections

        with self._guard:
            return Collections(self.catalogue)

    def picture(self, reference: str | Path) -> Picture | None:
        """The picture that a person names: by a file that is here, a path in the catalogue or a content hash."""
        return self.catalogue.picture(self._reference(reference))

    def _reference(self, name: str | Path) -> str | Path:
        return Path(name).absolute() if is_there(name) else name

    def _paths(self, names: Pictures) -> list[Path]:
        """The paths that a person means; a pattern stands for the files it matches, here or in the workspace."""
        return [path for name in _several(names) for path in self._matches(name)]

    def _matches(self, name: str | Path) -> list[Path]:
        if is_there(name) or not glob.has_magic(str(name)):
            return [Path(name)]
        for folder in (Path(), self.folder):
            found = sorted(glob.glob(str(folder / name), recursive=True))  # noqa: PTH207 - the name may be absolute
            if found:
                return [Path(file) for file in found]
        raise InputError(f"no file matches {str(name)!r}, neither here nor in {self.folder}")


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _several(names: Pictures) -> list[str | Path]:
    return [names] if isinstance(names, (str, Path)) else list(names)
