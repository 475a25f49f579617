"""Everything that finds pictures, or says something of them, behind one object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from visterm import collection, find
from visterm.collection.holdings import Holdings
from visterm.collection.opened import Pictures


class Finder(Holdings):
    """The part of the :class:`~visterm.workspace.Workspace` that answers questions and changes nothing."""

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
        filters: collection.Filters | None = None,
    ) -> find.Findings:
        """Find pictures from a few words, tagged or not: ``limit`` of them, after the first ``start``."""
        wanted = find.searching.Wanted(limit, start, unlikely, why, filters)
        return find.searching.search(self.searchers, query, wanted, model=model)

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

    def labels_of(self, numbers: Sequence[int]) -> find.LabelsOfPictures:
        """What is known of some pictures, in short."""
        return find.labels_of(self, numbers)

    def details(self, number: int) -> find.PictureDetails:
        """All that is known of one picture."""
        return find.details(self, number)

    def complete(self, text: str) -> find.Completions:
        """What the last word of a query may become."""
        return find.complete(self, text)

    @cached_property
    def searchers(self) -> find.Searchers:
        """What answers searches, kept ready."""
        with self._guard:
            return find.Searchers(self)

    @cached_property
    def saved_searches(self) -> find.Saved:
        """Searches that a person wants to keep."""
        return find.Saved(self.state / "searches.json")

    @cached_property
    def gallery(self) -> find.Gallery:
        """Lists of pictures, page by page."""
        with self._guard:
            return find.Gallery(self.searchers)
