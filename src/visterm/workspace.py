"""The workspace: a folder of pictures and everything Visterm does with them, behind one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from visterm import catalogue, collection, copies, exchange, find, labels, learn, review, upkeep
from visterm.catalogue.acts import AnsweredQueue
from visterm.collection.holdings import Holdings
from visterm.collection.opened import Pictures


class Workspace(Holdings):
    """A collection: its pictures, the labels of people and models, and everything that can be done with them.

    ``folder`` holds ``.visterm``; the pictures may lie in it or anywhere else. Every method returns a document: a
    dataclass whose ``to_dict()`` is what ``--json`` prints. The object is meant to be kept: what it has read stays in
    memory, and is read again when another process has changed the catalogue or a model has appeared. Any number of
    threads may use it; :meth:`close` ends it for all.
    """

    # Your pictures

    def add(self, folders: Pictures = (), *, labels: Pictures = (), **options: Any) -> labels.Addition:
        """Add pictures and their labels, or update the catalogue after folders (default: its own) have changed.

        ``options`` are the other fields of :class:`~visterm.labels.adding.AddOptions`, such as ``format="folders"``.
        """
        from visterm.labels.adding import AddOptions, add

        return add(self, self._paths(folders), AddOptions(labels=self._paths(labels), **options))

    def attach(self, record: str | Path, file: str | Path) -> labels.Attached:
        """Give a record that has lost its file the new file ``file``."""
        return labels.adding.attach(self, self.reference(record), Path(file))

    def remove(self, pictures: Pictures, *, dry_run: bool = False) -> labels.Removal:
        """Forget files, folders or pictures by content hash, with their labels; no file is touched."""
        return labels.adding.remove(self, [self.reference(name) for name in self._several(pictures)], dry_run=dry_run)

    def label(self, pictures: Pictures, *, new: bool | Sequence[str] = False, **said: Any) -> labels.Labelled:
        """Note what a person says about pictures; it outranks imports and models.

        ``said`` are fields of :class:`~visterm.labels.statement.Statement`, such as ``tags="sea", complete=True``. A
        name that looks like a slip is refused unless ``new`` is true or has it.
        """
        said |= {name: _names(said[name]) for name in ("tags", "no_tags", "clear") if name in said}
        return labels.labelling.label(self, self._several(pictures), labels.Statement(**said), new=new)

    def decide(
        self, decisions: Sequence[labels.deciding.Decision], *, answering: AnsweredQueue | None = None
    ) -> labels.Labelled:
        """Accept or reject any number of suggestions in one step; ``answering`` names a queue of the review."""
        return labels.deciding.decide(self, decisions, answering=answering)

    def vocabulary(self, *, captions: bool = False) -> labels.Vocabulary:
        """The classes and tags in use, the most used first."""
        return labels.naming.vocabulary(self, captions=captions)

    def rename(self, old: str, new: str, *, kind: catalogue.Kind = "tag") -> labels.Edit:
        """Give a tag or class another name."""
        return labels.naming.rename(self, old, new, kind=kind)

    def merge(self, names: str | Sequence[str], *, into: str, kind: catalogue.Kind = "tag") -> labels.Edit:
        """Merge several tags or classes into one."""
        return labels.naming.merge(self, _names(names), into=into, kind=kind)

    def propose_merges(self, *, kind: catalogue.Kind = "tag", apply: bool = False) -> labels.Merges:
        """Tags or classes that look like forms of one word; ``apply`` merges them."""
        return labels.naming.propose_merges(self, kind=kind, apply=apply)

    def drop(self, names: str | Sequence[str], *, kind: catalogue.Kind = "tag") -> labels.Edit:
        """Leave tags or classes out, in later imports too."""
        return labels.naming.drop(self, _names(names), kind=kind)

    def restore(self, names: str | Sequence[str], *, kind: catalogue.Kind = "tag") -> labels.Edit:
        """Bring dropped, renamed or merged names back."""
        return labels.naming.restore(self, _names(names), kind=kind)

    def suggested_words(self, *, limit: int = 24) -> review.SuggestedWords:
        """Words for pictures without labels: groups of look-alikes, each with the word that fits it best."""
        return self.new_words.suggested(limit=limit)

    def duplicates(self, *, find: bool = True, **wanted: Any) -> copies.Duplicates:
        """Groups of copies: the same bytes, the same picture, a series; new pictures are compared first.

        Without ``find``, nothing is compared. ``wanted`` are ``level``, ``decided``, ``start`` and ``limit``, as in
        :func:`visterm.copies.documents.duplicates`.
        """
        return copies.documents.duplicates(self, find=find, **wanted)

    def judge_copies(self, pictures: Pictures, said: catalogue.Verdict) -> copies.Judged:
        """Say that pictures are the ``same`` picture, one ``series``, or ``different`` ones; nobody asks again."""
        return copies.judging.judge(self, self._several(pictures), said)

    def keep_copies(self, pictures: Pictures) -> copies.Judged:
        """Say that of the group of copies that they belong to, exactly these pictures are to be kept."""
        return copies.judging.keep(self, self._several(pictures))

    def share_labels(self, *, dry_run: bool = False) -> copies.Shared:
        """Give copies of a picture the labels of each other; what they dispute stays as it is."""
        return copies.sharing.share(self, dry_run=dry_run)

    def trash_copies(self, folder: str | Path, *, dry_run: bool = True) -> copies.Moved:
        """Move the files of decided copies that are not kept to ``folder``; by default, only say which."""
        return copies.trash.trash(self, Path(folder), dry_run=dry_run)

    def untrash_copies(self, folder: str | Path) -> copies.Moved:
        """Move files back from ``folder``."""
        return copies.trash.back(self, Path(folder))

    def history(
        self, picture: str | Path | int | None = None, *, limit: int = 20, before: int | None = None
    ) -> labels.History:
        """What was changed, by whom and when, the newest first, in the whole collection or in one picture."""
        (of_picture,) = (None,) if picture is None else self._several(picture)
        return labels.history.history(self, of_picture, limit=limit, before=before)

    def undo(self, number: int = 1, *, only: int | None = None) -> labels.Undoing:
        """Undo the last change of labels, vocabulary or pictures, or the last few.

        With ``only``, the number of an action, nothing is undone unless that action is the last one.
        """
        return labels.history.undo(self, number, only=only)

    def redo(self, number: int = 1) -> labels.Undoing:
        """Redo the action that was undone last."""
        return labels.history.redo(self, number)

    def status(self) -> upkeep.Status:
        """What the collection holds: counts, coverage, most frequent tags, unreadable pictures, models."""
        return upkeep.status.status(self, self.unlearned())

    def export(
        self,
        destination: str | Path | None = None,
        *,
        format: str | None = None,
        suggestions: float | None = None,
        hierarchy: str | None = None,
        dry_run: bool = False,
    ) -> exchange.Exported:
        """Write all labels to a file in the format of its ending, or as XMP sidecars beside the pictures."""
        return labels.exporting.export(
            self,
            None if destination is None else Path(destination),
            format=format,
            suggestions=suggestions,
            hierarchy=hierarchy,
            dry_run=dry_run,
        )

    # Learning

    def recipes(self) -> collection.Recipes:
        """The feature recipes, and the approximate cost of each for this collection."""
        return collection.features.recipes(self)

    def features(self, *recipes: str, for_models: bool = False) -> collection.Computed:
        """Compute missing features; ``for_models`` computes what the models in use need, and their scores."""
        if for_models:
            return learn.any_words.look_at_all(self)

        return collection.features.compute(self, recipes)

    def train(
        self,
        method: str | None = None,
        *,
        name: str | None = None,
        recipe: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        minutes: float = 3.0,
        choose_again: bool = False,
    ) -> learn.TrainedModel | learn.Training:
        """Learn from the labelled pictures, measure on held-out pictures, and keep the models.

        Without ``method``, Visterm compares a few features and methods within about ``minutes`` and takes the best for
        classes, tags and search; ``"classes"``, ``"tags"`` or ``"search"`` does this for one of them. A choice is kept
        until there are twice as many labelled pictures, or until ``choose_again``. The name of a method trains that
        method.
        """
        return learn.training.train(
            self,
            method,
            name=name,
            recipe=recipe,
            parameters=parameters,
            minutes=minutes,
            choose_again=choose_again,
        )

    def models(self) -> learn.Models:
        """The trained models, the newest last, and the model in use for each task."""
        return learn.reports.models(self)

    def quality(self) -> learn.Qualities:
        """How good the models in use are: one figure with its interval for each of classes, tags and search."""
        return learn.quality.quality(self)

    def reports(self) -> learn.Reports:
        """How good each trained model is, in short; the newest first."""
        return learn.reports.reports(self)

    def report(self, model: str) -> learn.Report:
        """All that was measured of one model, named as ``NAME@VERSION``."""
        return learn.reports.report(self, model)

    def evaluate(
        self, *methods: str, recipe: str | Sequence[str] = (), max_seconds: float | None = None
    ) -> learn.Evaluation:
        """Compare methods (default: all) with each other and with the baseline on held-out pictures.

        With one recipe or several, every method is measured on each of them.
        """
        return learn.evaluating.evaluate(self, methods, recipes=_names(recipe), max_seconds=max_seconds)

    # Finding

    def classify(
        self, pictures: Pictures = (), *, model: str | None = None, n_best: int = 3, write: bool = False
    ) -> find.Suggestions:
        """Say which class pictures belong to (default: all that have none)."""
        return find.suggesting.classify(self, self._paths(pictures), model=model, n_best=n_best, write=write)

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
    ) -> find.Suggestions:
        """Suggest tags for pictures (default: all that have none), each with its probability.

        A share of ``precision`` of all suggestions should be right, so a picture may get none. ``n_best`` asks for a
        fixed number, ``at_least`` for a probability; ``rare`` puts rare tags that stand out first.
        """
        wanted = find.suggesting.Wanted(precision, n_best, at_least, rare)
        return find.suggesting.tag(self, self._paths(pictures), wanted, model=model, write=write)

    def search(
        self,
        query: str,
        *,
        model: str | None = None,
        limit: int = 20,
        start: int = 0,
        unlikely: bool = False,
        why: bool = False,
        **narrowed: Any,
    ) -> find.Findings:
        """Find pictures from a few words, tagged or not: ``limit`` of them, after the first ``start``.

        ``narrowed`` are the other fields of :class:`~visterm.find.searching.Wanted`, such as ``sort="date"``.
        """
        wanted = find.searching.Wanted(limit, start, unlikely, why, **narrowed)
        return find.searching.search(self.searchers, query, wanted, model=model)

    def facets(self, query: str = "") -> find.Facets:
        """How many of the pictures that a query finds (default: of all) have each tag, month, place and so on."""
        return self.gallery.facets(query)

    def similar(
        self, picture: str | Path | int, *, recipe: str | None = None, model: str | None = None, limit: int = 20
    ) -> find.Lookalikes:
        """Find the pictures that look most like a given one."""
        (named,) = self._several(picture)
        return find.similar.similar(self, Path(named), recipe=recipe, model=model, limit=limit)

    def sheet(self, found: find.Findings | find.Lookalikes, file: str | Path) -> Path:
        """Write pictures that were found as a contact sheet, PNG or JPEG."""
        return find.sheets.findings_sheet(self, found, Path(file))

    def show(self, picture: str | Path, *, feature: str = "sift", output: str | Path | None = None) -> find.Drawing:
        """Write a picture of what the machine sees in a picture."""
        return find.showing.show(self, Path(picture), feature=feature, output=None if output is None else Path(output))

    def why(self, picture: str | Path | int, word: str) -> find.Why:
        """Why the model suggests a tag for a picture: the parts that count, and a picture it reminds of."""
        known = self.picture(picture)
        return find.why.why(self, str(picture) if known is None else known.sha256, word)

    def look(self, data: bytes) -> find.Look:
        """Classify and tag a picture from outside, given as bytes, and find pictures like it; it is not added."""
        return find.looking.look(self, data)

    def overview(self) -> find.Overview:
        """The collection in short: its size, its models, and the work that waits."""
        return find.overview(self)

    def unlearned(self) -> upkeep.Unlearned:
        """What people have said since the models in use learned, and whether it is time to learn again."""
        return upkeep.unlearned.unlearned(self, self.reviewer)

    def learn_when(self, when: str) -> upkeep.Unlearned:
        """Say who decides when to learn again: ``off``, ``ask`` (the page offers it) or ``self``."""
        upkeep.unlearned.learn_when(self, when)
        return self.unlearned()

    def labels_of(self, numbers: Sequence[int]) -> find.LabelsOfPictures:
        """What is known of some pictures, in short."""
        return find.labels_of(self, numbers)

    def details(self, number: int) -> find.PictureDetails:
        """All that is known of one picture."""
        return find.details(self, number)

    def complete(self, text: str) -> find.Completions:
        """What the last word of a query may become."""
        return find.complete(self, text)

    # Care

    def backup(self, file: str | Path) -> labels.BackedUp:
        """Write all labels of people and imports, with their history, to one new file."""
        return labels.backups.backup(self, Path(file))

    def doctor(self, *, repair: bool = False) -> upkeep.Checkup:
        """Check the installation and the workspace; ``repair`` removes derived files that are damaged."""
        return upkeep.checking.doctor(self, repair=repair)

    def encoders(self) -> upkeep.encoders.Encoders:
        """The image-text pairs of this user; they serve all collections."""
        return upkeep.encoders.show()

    def install_encoder(self, source: str | Path, name: str | None = None) -> upkeep.encoders.Encoders:
        """Install the image-text pair in a folder or zip; search by any words uses it from then on."""
        return upkeep.encoders.install(Path(source), name)

    def remove_encoder(self, name: str) -> upkeep.encoders.RemovedEncoder:
        """Delete an image-text pair of this user."""
        return upkeep.encoders.remove(name)

    # What use cases share

    @cached_property
    def reviewer(self) -> review.Reviewer:
        """Questions for a person, and heads that learn from the answers."""
        with self._guard:
            return review.Reviewer(self)

    @cached_property
    def new_words(self) -> review.NewWords:
        """Words that the collection does not have yet: suggested ones, and questions about one."""
        reviewer = self.reviewer
        with self._guard:
            return review.NewWords(self, reviewer)

    @cached_property
    def jobs(self) -> upkeep.Jobs:
        """Long work in processes of its own."""
        return upkeep.Jobs(self.folder, self.state)

    @cached_property
    def searchers(self) -> find.Searchers:
        """What answers searches, kept ready."""
        with self._guard:
            searchers = find.Searchers(self)
            searchers.learn_any_words = lambda holdings: learn.any_words.ready_any_words(holdings)
            return searchers

    @cached_property
    def saved_searches(self) -> find.Saved:
        """Searches that a person wants to keep."""
        return find.Saved(self.state / "searches.json")

    @cached_property
    def gallery(self) -> find.Gallery:
        """Lists of pictures, page by page."""
        with self._guard:
            return find.Gallery(self.searchers)


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
