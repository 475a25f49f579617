"""Sharing labels among copies: what is said of one form of a picture is true of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from visterm.catalogue.labels import LabelRow
from visterm.catalogue.pictures import Picture
from visterm.catalogue.records import PERSON
from visterm.copies import finding
from visterm.copies.grouping import groups
from visterm.documents.document import Document
from visterm.documents.wording import counted

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings


@dataclass(frozen=True)
class Shared(Document):
    """Labels that copies get from each other, such as ``tag boat``, with their numbers of pictures.

    ``disputed`` are names that are said of one copy and denied of another, and classes that differ; they are left as
    they are. ``action`` is the number of this step in the history; None if nothing changed.
    """

    labels: dict[str, int]
    n_pictures: int
    n_groups: int
    disputed: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False
    action: int | None = None


def share(holdings: Holdings, *, dry_run: bool = False) -> Shared:
    """Give every copy of a picture the class and the tags that people or imports gave another one.

    Copies are groups of the same picture, not series. Nothing is taken away. What is new is a person's label.
    """
    rows: list[LabelRow] = []
    disputed: Counter[str] = Counter()
    n_groups = 0
    for group in groups(holdings, finding.found(holdings)).of("picture"):
        new = _of_group(holdings.catalogue.pictures_with_ids(group.ids), disputed)
        n_groups += bool(new)
        rows += new
    action = None
    if rows and not dry_run:
        with holdings.catalogue.transaction(f"share labels among copies, {counted(n_groups, 'group')}"):
            holdings.catalogue.write_labels(rows, source=PERSON)
        action = holdings.catalogue.history.made
    given = Counter(f"{kind} {name}" for _, kind, name, *_ in rows)
    n_pictures = len({number for number, *_ in rows})
    return Shared(dict(given.most_common()), n_pictures, n_groups, dict(disputed), dry_run, action)


def _of_group(pictures: Sequence[Picture], disputed: Counter[str]) -> list[LabelRow]:
    """The labels that pictures of a group get from each other; counts those that are disputed."""
    rows: list[LabelRow] = []
    classes = {picture.class_label.name for picture in pictures if picture.class_label is not None}
    denied_classes = {label.name for p in pictures for label in p.classes if label.state == "rejected"}
    if len(classes) > 1 or classes & denied_classes:
        disputed.update(f"class {name}" for name in classes)
    else:
        rows += [(p.id, "class", name, "accepted", None) for name in classes for p in pictures if p.class_label is None]
    of_state = {
        state: {label.name for picture in pictures for label in picture.tags if label.state == state}
        for state in ("accepted", "rejected")
    }
    disputed.update(f"tag {name}" for name in of_state["accepted"] & of_state["rejected"])
    for name in sorted(of_state["accepted"] - of_state["rejected"]):
        for picture in pictures:
            if not any(label.name == name and label.state == "accepted" for label in picture.tags):
                rows.append((picture.id, "tag", name, "accepted", None))
    return rows
