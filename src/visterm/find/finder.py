"""Everything that finds pictures, or says something of them, behind one object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.holdings import Holdings
from visterm.collection.opened import Pictures

if TYPE_CHECKING:
    from visterm.collection.filters import Filters
    from visterm.find.lists.completion import Completions
    from visterm.find.lists.overview import Overview
    from visterm.find.lists.pages import Gallery
    from visterm.find.lists.picture import LabelsOfPictures, PictureDetails
    from visterm.find.lists.saved import Saved
    from visterm.find.looking import Look
    from visterm.find.searchers import Searchers
    from visterm.find.searching import Findings
    from visterm.find.showing import Drawing
    from visterm.find.similar import Lookalikes
    from visterm.find.suggesting import Suggestions
    from visterm.find.why import Why


class Finder(Holdings):
    """The part of the :class:`~visterm.workspace.Workspace` that answers questions and changes nothing."""

    def classify(
        self, pictures: Pictures = (), *, model: str | None = None, n_best: int = 3, write: bool = False
    ) -> Suggestions:
        """Say which class pictures belong to (default: all that have none)."""
        from visterm.find.suggesting import classify

        return classify(self, self._paths(pictures), model=model, n_best=n_best, write=write)

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

        A share of ``precision`` of all suggestions should be right, so a picture may get none. ``n_best`` asks for a
        fixed number, ``at_least`` for a probability; ``rare`` puts rare tags that stand out first.
        """
        from visterm.find.suggesting import Wanted, tag

        wanted = Wanted(precision, n_best, at_least, rare)
        return tag(self, self._paths(pictures), wanted, model=model, write=write)

    def search(
        self,
        query: str,
        *,
        model: str | None = None,
        limit: int = 20,
        start: int = 0,
        unlikely: bool = False,
        why: bool = False,
        filters: Filters | None = None,
    ) -> Findings:
        """Find pictures from a few words, tagged or not: ``limit`` of them, after the first ``start``."""
        from visterm.find.searching import Wanted, search

        wanted = Wanted(limit, start, unlikely, why, filters)
        return search(self.searchers, query, wanted, model=model)

    def similar(
        self, picture: str | Path | int, *, recipe: str | None = None, model: str | None = None, limit: int = 20
    ) -> Lookalikes:
        """Find the pictures that look most like a given one."""
        from visterm.collection.features import RECIPE
        from visterm.find.similar import similar

        (named,) = self._several(picture)
        return similar(self, Path(named), recipe=recipe or RECIPE, model=model, limit=limit)

    def sheet(self, found: Findings | Lookalikes, file: str | Path) -> Path:
        """Write pictures that were found as a contact sheet, PNG or JPEG."""
        from visterm.find.sheets import findings_sheet

        return findings_sheet(self, found, Path(file))

    def show(self, picture: str | Path, *, feature: str = "sift", output: str | Path | None = None) -> Drawing:
        """Write a picture of what the machine sees in a picture."""
        from visterm.find.showing import show

        return show(self, Path(picture), feature=feature, output=None if output is None else Path(output))

    def why(self, picture: str | Path | int, word: str) -> Why:
        """Why the model suggests a tag for a picture: the parts that count, and a picture it reminds of."""
        from visterm.find.why import why

        known = self.picture(picture)
        return why(self, str(picture) if known is None else known.sha256, word)

    def look(self, data: bytes) -> Look:
        """Classify and tag a picture from outside, given as bytes, and find pictures like it; it is not added."""
        from visterm.find.looking import look

        return look(self, data)

    def overview(self) -> Overview:
        """The collection in short: its size, its models, and the work that waits."""
        from visterm.find.lists.overview import overview

        return overview(self)

    def labels_of(self, numbers: Sequence[int]) -> LabelsOfPictures:
        """What is known of some pictures, in short."""
        from visterm.find.lists.picture import labels_of

        return labels_of(self, numbers)

    def details(self, number: int) -> PictureDetails:
        """All that is known of one picture."""
        from visterm.find.lists.picture import details

        return details(self, number)

    def complete(self, text: str) -> Completions:
        """What the last word of a query may become."""
        from visterm.find.lists.completion import complete

        return complete(self, text)

    @cached_property
    def searchers(self) -> Searchers:
        """What answers searches, kept ready."""
        from visterm.find.searchers import Searchers

        with self._guard:
            return Searchers(self)

    @cached_property
    def saved_searches(self) -> Saved:
        """Searches that a person wants to keep."""
        from visterm.find.lists.saved import Saved

        return Saved(self.state / "searches.json")

    @cached_property
    def gallery(self) -> Gallery:
        """Lists of pictures, page by page."""
        from visterm.find.lists.pages import Gallery

        with self._guard:
            return Gallery(self.searchers)
