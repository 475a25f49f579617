"""The workspace: a folder of pictures and everything Visterm does with them, behind one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.collection.opened import Pictures
from visterm.find.finder import Finder

if TYPE_CHECKING:
    from visterm.catalogue.acts import AnsweredQueue
    from visterm.catalogue.labels import Kind
    from visterm.collection.features import Computed, Recipes
    from visterm.exchange.writers import Exported
    from visterm.labels.adding import Addition, Attached, Removal
    from visterm.labels.backups import BackedUp
    from visterm.labels.deciding import Decision
    from visterm.labels.history import History, Undoing
    from visterm.labels.labelling import Labelled
    from visterm.labels.naming import Edit, Merges, Vocabulary
    from visterm.learn.evaluating import Evaluation
    from visterm.learn.reports import Models, Report, Reports
    from visterm.learn.training import TrainedModel, Training
    from visterm.review.reviewer import Reviewer
    from visterm.upkeep.checking import Checkup
    from visterm.upkeep.jobs import Jobs
    from visterm.upkeep.status import Status


class Workspace(Finder):
    """A collection: its pictures, the labels of people and models, and everything that can be done with them.

    ``folder`` holds ``.visterm``; the pictures may lie in it or anywhere else. Every method returns a document: a
    dataclass whose ``to_dict()`` is what ``--json`` prints. The object is meant to be kept: what it has read stays in
    memory, and is read again when another process has changed the catalogue or a model has appeared. Any number of
    threads may use it; :meth:`close` ends it for all.
    """

    # Your pictures

    def add(self, folders: Pictures = (), *, labels: Pictures = (), **options: Any) -> Addition:
        """Add pictures and their labels, or update the catalogue after folders (default: its own) have changed.

        ``options`` are the other fields of :class:`~visterm.labels.adding.AddOptions`, such as ``format="folders"``.
        """
        from visterm.labels.adding import AddOptions, add

        return add(self, self._paths(folders), AddOptions(labels=self._paths(labels), **options))

    def attach(self, record: str | Path, file: str | Path) -> Attached:
        """Give a record that has lost its file the new file ``file``."""
        from visterm.labels.adding import attach

        return attach(self, self.reference(record), Path(file))

    def remove(self, pictures: Pictures, *, dry_run: bool = False) -> Removal:
        """Forget files, folders or pictures by content hash, with their labels; no file is touched."""
        from visterm.labels.adding import remove

        return remove(self, [self.reference(name) for name in self._several(pictures)], dry_run=dry_run)

    def label(self, pictures: Pictures, *, new: bool | Sequence[str] = False, **said: Any) -> Labelled:
        """Note what a person says about pictures; it outranks imports and models.

        ``said`` are fields of :class:`~visterm.labels.statement.Statement`, such as ``tags="sea", complete=True``. A
        name that looks like a slip is refused unless ``new`` is true or has it.
        """
        from visterm.labels.labelling import label
        from visterm.labels.statement import Statement

        said |= {name: _names(said[name]) for name in ("tags", "no_tags", "clear") if name in said}
        return label(self, self._several(pictures), Statement(**said), new=new)

    def decide(self, decisions: Sequence[Decision], *, answering: AnsweredQueue | None = None) -> Labelled:
        """Accept or reject any number of suggestions in one step; ``answering`` names a queue of the review."""
        from visterm.labels.deciding import decide

        return decide(self, decisions, answering=answering)

    def vocabulary(self, *, captions: bool = False) -> Vocabulary:
        """The classes and tags in use, the most used first."""
        from visterm.labels.naming import vocabulary

        return vocabulary(self, captions=captions)

    def rename(self, old: str, new: str, *, kind: Kind = "tag") -> Edit:
        """Give a tag or class another name."""
        from visterm.labels.naming import rename

        return rename(self, old, new, kind=kind)

    def merge(self, names: str | Sequence[str], *, into: str, kind: Kind = "tag") -> Edit:
        """Make several tags or classes one."""
        from visterm.labels.naming import merge

        return merge(self, _names(names), into=into, kind=kind)

    def propose_merges(self, *, kind: Kind = "tag", apply: bool = False) -> Merges:
        """Tags or classes that look like forms of one word; ``apply`` merges them."""
        from visterm.labels.naming import propose_merges

        return propose_merges(self, kind=kind, apply=apply)

    def drop(self, names: str | Sequence[str], *, kind: Kind = "tag") -> Edit:
        """Leave tags or classes out, in later imports too."""
        from visterm.labels.naming import drop

        return drop(self, _names(names), kind=kind)

    def restore(self, names: str | Sequence[str], *, kind: Kind = "tag") -> Edit:
        """Bring dropped, renamed or merged names back."""
        from visterm.labels.naming import restore

        return restore(self, _names(names), kind=kind)

    def history(
        self, picture: str | Path | int | None = None, *, limit: int = 20, before: int | None = None
    ) -> History:
        """What was changed, by whom and when, the newest first, in the whole collection or in one picture."""
        from visterm.labels.history import history

        (of_picture,) = (None,) if picture is None else self._several(picture)
        return history(self, of_picture, limit=limit, before=before)

    def undo(self, number: int = 1, *, only: int | None = None) -> Undoing:
        """Undo the last change of labels, vocabulary or pictures, or the last few.

        With ``only``, the number of an action, nothing is undone unless that action is the last one.
        """
        from visterm.labels.history import undo

        return undo(self, number, only=only)

    def redo(self, number: int = 1) -> Undoing:
        """Do again what was undone last."""
        from visterm.labels.history import redo

        return redo(self, number)

    def status(self) -> Status:
        """What the collection holds: counts, coverage, most frequent tags, unreadable pictures, models."""
        from visterm.upkeep.status import status

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
        from visterm.labels.exporting import export

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
        """The feature recipes, and the approximate cost of each for this collection."""
        from visterm.collection.features import recipes

        return recipes(self)

    def features(self, *recipes: str, for_models: bool = False) -> Computed:
        """Compute missing features; ``for_models`` computes what the models in use need, and their scores."""
        from visterm.collection.features import compute
        from visterm.collection.scores import look_at_all

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
        """Learn from the labelled pictures, measure on held-out pictures, and keep the models.

        Without ``method``, Visterm compares a few features and methods within about ``minutes`` and takes the best for
        classes, tags and search; ``"classes"``, ``"tags"`` or ``"search"`` does this for one of them. A choice is kept
        until there are twice as many labelled pictures, or until ``choose_again``. The name of a method trains that
        method.
        """
        from visterm.learn.training import train

        return train(
            self,
            method,
            name=name,
            recipe=recipe,
            parameters=parameters,
            minutes=minutes,
            choose_again=choose_again,
        )

    def models(self) -> Models:
        """The trained models, the newest last, and the model in use for each task."""
        from visterm.learn.reports import models

        return models(self)

    def reports(self) -> Reports:
        """How good each trained model is, in short; the newest first."""
        from visterm.learn.reports import reports

        return reports(self)

    def report(self, model: str) -> Report:
        """All that was measured of one model, named as ``NAME@VERSION``."""
        from visterm.learn.reports import report

        return report(self, model)

    def evaluate(self, *methods: str, recipe: str | Sequence[str] = (), max_seconds: float | None = None) -> Evaluation:
        """Compare methods (default: all) with each other and with the baseline on held-out pictures.

        With one recipe or several, every method is measured on each of them.
        """
        from visterm.learn.evaluating import evaluate

        return evaluate(self, methods, recipes=_names(recipe), max_seconds=max_seconds)

    # Care

    def backup(self, file: str | Path) -> BackedUp:
        """Write all labels of people and imports, with their history, to one new file."""
        from visterm.labels.backups import backup

        return backup(self, Path(file))

    def doctor(self, *, repair: bool = False) -> Checkup:
        """Check the installation and the workspace; ``repair`` removes derived files that are damaged."""
        from visterm.upkeep.checking import doctor

        return doctor(self, repair=repair)

    # What use cases share

    @cached_property
    def reviewer(self) -> Reviewer:
        """Questions for a person, and heads that learn from the answers."""
        from visterm.review.reviewer import Reviewer

        with self._guard:
            return Reviewer(self)

    @cached_property
    def jobs(self) -> Jobs:
        """Long work in processes of its own."""
        from visterm.upkeep.jobs import Jobs

        return Jobs(self.folder, self.state)


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
