"""What a person says of copies: the same picture, not the same, or which one to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.catalogue.twins import Verdict, pairs_of
from visterm.copies import finding
from visterm.copies.grouping import Level, groups
from visterm.documents.document import Document
from visterm.documents.wording import counted
from visterm.errors import InputError

if TYPE_CHECKING:
    from visterm.collection.holdings import Holdings

#: The levels that a person decides about.
_JUDGED: tuple[Level, ...] = ("picture", "series")


@dataclass(frozen=True)
class Judged(Document):
    """What was noted of pictures, by id: the ``kept`` ones, and how many pairs are the same, a series or different.

    ``action`` is the number of this step in the history; None if nothing changed.
    """

    ids: list[int]
    kept: list[int]
    pairs: dict[str, int]
    action: int | None = None


def judge(holdings: Holdings, pictures: Sequence[str | Path], said: Verdict) -> Judged:
    """Note that pictures are the same picture, of one series, or different ones, each with each."""
    ids = _ids(holdings, pictures)
    if len(ids) < 2:
        raise InputError("name at least two different pictures")
    what = {"same": "the same picture", "series": "one series", "different": "not the same"}[said]
    return _noted(holdings, f"say that {len(ids)} pictures are {what}", ids, {said: pairs_of(ids)})


def keep(holdings: Holdings, pictures: Sequence[str | Path]) -> Judged:
    """Note that of the group that they belong to, exactly these pictures are to be kept; the group is decided then."""
    ids = _ids(holdings, pictures)
    now = groups(holdings, finding.found(holdings))
    level, group = next(
        ((level, group) for level in _JUDGED for group in now.of(level) if set(ids) <= set(group.ids)),
        (None, None),
    )
    if group is None:
        raise InputError(
            f"{counted(len(ids), 'picture')} to keep, but no group of copies has all of them: 'visterm duplicates'"
            " shows the groups"
        )
    others = [number for number in group.ids if number not in ids]
    # What holds the group together from now on: one pair for each other picture. Of a series, copies are one picture.
    copies = [set(each.ids) for each in now.of("picture")] if level == "series" else []
    first_of = {number: min(each) for each in copies for number in each}
    first = first_of.get(ids[0], ids[0])
    heads = sorted({first_of.get(number, number) for number in group.ids} - {first})
    pairs = [(min(first, head), max(first, head)) for head in heads]
    open_ = [pair for pair in pairs if pair not in now.twins.verdicts]
    said: dict[Verdict, list[tuple[int, int]]] = {"series" if level == "series" else "same": open_}
    what = f"keep {len(ids)} of {counted(len(group.ids), 'picture')} of one group"
    return _noted(holdings, what, ids, said, keep=ids, others=others)


def _noted(
    holdings: Holdings,
    what: str,
    ids: list[int],
    pairs: dict[Verdict, list[tuple[int, int]]],
    *,
    keep: Sequence[int] = (),
    others: Sequence[int] = (),
) -> Judged:
    holdings.catalogue.judge_twins(what, pairs, keep=keep, others=others)
    counts = {str(said): len(of) for said, of in pairs.items()}
    return Judged(ids, list(keep), counts, holdings.catalogue.history.made)


def _ids(holdings: Holdings, pictures: Sequence[str | Path]) -> list[int]:
    ids = []
    for name in pictures:
        known = holdings.picture(name)
        if known is None:
            raise InputError(f"{name} is not in the collection: name a path, or at least 8 digits of a content hash")
        ids.append(known.id)
    return list(dict.fromkeys(ids))
