"""What a person says of pictures: classes, tags, denials, and what a model suggested."""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from visterm.catalogue.acts import Act
from visterm.catalogue.healing import heal
from visterm.catalogue.labels import KINDS, Kind, LabelRow, clean_name
from visterm.catalogue.pictures import Label, Picture
from visterm.catalogue.records import IMPORT, PERSON
from visterm.catalogue.sayings import TextKind
from visterm.collection.holdings import Holdings
from visterm.documents.document import Document
from visterm.documents.wording import counted
from visterm.errors import InputError, UsageError
from visterm.labels.statement import Statement

#: What can be cleared: all a person said about a kind, or about one name of it.
_CLEARABLE: dict[str, Kind] = {"class": "class", "tags": "tag"}
_PREFIXES: dict[str, Kind] = {"class": "class", "tag": "tag"}
_ALL_TAGS: tuple[Kind, None] = ("tag", None)


class NewNameError(InputError):
    """A class or tag is new and may be a slip; nothing was changed.

    ``near`` is the name in use that it looks like, None if there is none. ``near_kind`` says whether that is a class
    or a tag, and ``n_pictures`` how many pictures have it. ``doubt`` says why Visterm asks about the name.
    """

    def __init__(
        self, kind: Kind, name: str, doubt: str, *, near: str | None = None, near_kind: Kind | None = None, n: int = 0
    ) -> None:
        self.kind, self.name, self.doubt = kind, name, doubt
        self.near, self.near_kind, self.n_pictures = near, near_kind or kind, n
        super().__init__(f"the {kind} {self.question} (new=True uses the name anyway)")

    @property
    def question(self) -> str:
        """What to ask a person."""
        return f"{self.name!r} {self.doubt}"


@dataclass(frozen=True)
class Labelled(Document):
    """How many new labels were noted, how many of these accept a model's suggestion, and how many were cleared.

    ``nothing_suggested`` lists pictures that had no open suggestion to accept. ``called`` maps a renamed or merged name
    to the name that was noted instead. ``action`` is the number of this step in the history; None if nothing changed.
    ``taken`` has the accepted labels, such as ``tag boat``, with their numbers of pictures; ``known`` has those that a
    person had given before. ``not_cleared`` lists what could not be cleared, such as ``tags``, because no person had
    said it; ``imported`` has what imports say of it. ``described`` counts the pictures that a person described now and
    not before, if that was said; ``denied`` has the tags that ``only`` denied, with their numbers of pictures.
    ``texts`` counts the captions and titles that were written and differ from those before, if any were said.
    """

    labels: int
    accepted: int = 0
    cleared: int = 0
    nothing_suggested: list[str] = field(default_factory=list)
    called: dict[str, str] = field(default_factory=dict)
    action: int | None = None
    taken: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    not_cleared: list[str] = field(default_factory=list)
    imported: dict[str, int] = field(default_factory=dict)
    described: int | None = None
    denied: dict[str, int] = field(default_factory=dict)
    texts: int | None = None


def label(
    holdings: Holdings,
    pictures: Sequence[str | Path],
    statement: Statement,
    *,
    new: bool | Sequence[str] = False,
) -> Labelled:
    """Note what a person says about pictures, all of it or nothing.

    A class or tag that looks like a slip of one in use raises :class:`NewNameError`, unless it is meant to be ``new``:
    True, or the names that are meant.
    """
    texts = [what for what in get_args(TextKind) if what in statement.clear]
    clearings = {what: _clearing(holdings, what) for what in statement.clear if what not in texts}
    names = [(kind, name) for kind, name, _ in statement.labels]
    if new is not True:
        _refuse_slips(holdings, names, new or ())
        _refuse_denials(holdings, statement.no_tags, new or ())
    catalogue = holdings.catalogue
    heal(catalogue, map(holdings.reference, pictures))
    with catalogue.transaction():  # from here on a picture keeps its number: nobody restores a backup meanwhile
        known = {picture.id: picture for picture in (_known(holdings, reference) for reference in pictures)}
        if statement.says_something:
            _refuse_unreadable(known.values())
        with catalogue.transaction(statement.in_words(len(known))):
            cleared = {
                what: sum(catalogue.unlabel(number, kind, name) for number in known)
                for what, (kind, name) in clearings.items()
            }
            cleared |= {what: sum(catalogue.clear_text(number, what) for number in known) for what in texts}
            noted = _note(holdings, known, statement)
    described = {picture.described for picture in known.values()}
    not_cleared = [
        what for what, n in cleared.items() if not n and not (clearings.get(what) == _ALL_TAGS and PERSON in described)
    ]
    return replace(
        noted,
        cleared=sum(cleared.values()),
        called=_called(holdings, names),
        action=catalogue.history.made,
        not_cleared=not_cleared,
        imported=_imported(holdings, known, [clearings[what] for what in not_cleared if what in clearings]),
    )


def _note(holdings: Holdings, known: dict[int, Picture], statement: Statement) -> Labelled:
    """Write what the person says, after what was to be cleared is gone, within the caller's transaction."""
    catalogue = holdings.catalogue
    said: list[LabelRow] = [
        (number, kind, name, state, None) for number in known for kind, name, state in statement.labels
    ]
    accepted, nothing = _accepted(holdings, known.values(), said) if statement.accept else ([], [])
    as_they_are = catalogue.pictures_with_ids(known) if statement.clear else list(known.values())
    denied = _denied(holdings, as_they_are, [*accepted, *said]) if statement.only else []
    said += denied
    before = _said_before(holdings, as_they_are, said)
    n_labels = catalogue.write_labels(dict.fromkeys(accepted), source=PERSON, act=Act.ACCEPTED) if accepted else 0
    n_labels += catalogue.write_labels(dict.fromkeys(said), source=PERSON, act=statement.act) if said else 0
    n_texts = catalogue.write_texts(known, statement.texts) if statement.texts else None
    n_described = catalogue.describe(known, act=statement.act) if statement.describes else None
    return Labelled(
        n_labels - len(before),
        accepted=len(accepted),
        nothing_suggested=nothing,
        taken=_tally(accepted),
        known=_tally(before),
        described=n_described,
        denied=_tally(denied),
        texts=n_texts,
    )


def _denied(holdings: Holdings, pictures: Iterable[Picture], said: Iterable[LabelRow]) -> list[LabelRow]:
    """Denials of the tags that anybody gave and that are not ``said``."""
    now = holdings.catalogue.aliases("tag")
    cleaned = ((number, clean_name(name)) for number, kind, name, *_ in said if kind == "tag")
    kept = {(number, now.get(name, name)) for number, name in cleaned}
    return [
        (picture.id, "tag", label.name, "rejected", None)
        for picture in pictures
        for label in picture.tags
        if label.state == "accepted" and (picture.id, label.name) not in kept
    ]


def _tally(rows: Iterable[LabelRow]) -> dict[str, int]:
    """Labels such as ``tag boat``, and of how many pictures."""
    names = (f"{'' if state == 'accepted' else 'not '}{kind} {name}" for _, kind, name, state, _ in rows)
    return dict(Counter(names).most_common())


def _said_before(holdings: Holdings, pictures: Iterable[Picture], said: Iterable[LabelRow]) -> list[LabelRow]:
    """Those of the rows that a person has said of these pictures already, each once."""
    own = {
        (picture.id, kind, label.name, label.state)
        for picture in pictures
        for kind, labels in _of_kinds(picture)
        for label in labels
        if label.source == PERSON
    }
    now = {kind: holdings.catalogue.aliases(kind) for kind in KINDS}
    cleaned = ((row, row[1], clean_name(row[2])) for row in dict.fromkeys(said))
    return [row for row, kind, name in cleaned if (row[0], kind, now[kind].get(name, name), row[3]) in own]


def _imported(holdings: Holdings, ids: Iterable[int], clearings: Sequence[tuple[Kind, str | None]]) -> dict[str, int]:
    """What imports say of the pictures where a person who wanted to clear it had said nothing."""
    if not clearings:
        return {}
    now = {kind: holdings.catalogue.aliases(kind) for kind in KINDS}
    wanted = {(kind, name and now[kind].get(clean_name(name), clean_name(name))) for kind, name in clearings}
    rows: list[LabelRow] = [
        (picture.id, kind, label.name, "accepted" if label.state == "accepted" else "rejected", None)
        for picture in holdings.catalogue.pictures_with_ids(ids)
        for kind, labels in _of_kinds(picture)
        for label in labels
        if label.source == IMPORT and not wanted.isdisjoint([(kind, None), (kind, label.name)])
    ]
    return _tally(rows)


def _of_kinds(picture: Picture) -> tuple[tuple[Kind, Sequence[Label]], ...]:
    return ("class", picture.classes), ("tag", picture.tags)


def _called(holdings: Holdings, names: Sequence[tuple[Kind, str]]) -> dict[str, str]:
    """Those of the names that stand for another one now, with that one."""
    aliases = {kind: holdings.catalogue.aliases(kind) for kind in KINDS}
    cleaned = [(kind, clean_name(name)) for kind, name in names]
    return {name: aliases[kind][name] for kind, name in cleaned if name in aliases[kind]}


def _accepted(
    holdings: Holdings, pictures: Iterable[Picture], said: Sequence[LabelRow]
) -> tuple[list[LabelRow], list[str]]:
    """What models suggest, less what the person decides at the same time; and the pictures without suggestions."""
    aliases = holdings.catalogue.aliases("tag")

    def decided(row: LabelRow) -> tuple[int, str, str]:
        number, kind, name, *_ = row
        return number, kind, "" if kind == "class" else aliases.get(clean_name(name), clean_name(name))

    own = set(map(decided, said))
    rows: list[LabelRow] = []
    nothing = []
    for picture in pictures:
        suggested = _suggested(_known(holdings, picture.sha256))
        rows += [row for row in suggested if decided(row) not in own]
        if not suggested:
            nothing.append(_name_of(picture))
    return rows, nothing


def _known(holdings: Holdings, reference: str | Path) -> Picture:
    known = holdings.picture(reference)
    if known is not None:
        return known
    if Path(reference).is_dir():
        raise InputError(f"{reference} is a folder: name the pictures in it, such as {shlex.quote(str(reference))}/*")
    if Path(reference).exists():
        quoted = shlex.quote(str(reference))
        raise InputError(f"{reference} is not in the collection yet: add it with visterm add {quoted}")
    named = [path for path in holdings.collection().evidence.paths if Path(path).name == Path(reference).name]
    hint = f"; did you mean {' or '.join(named[:2])}?" if named else ": check the name"
    raise InputError(f"{reference} does not exist, and no picture of the collection has this path{hint}")


def _name_of(picture: Picture) -> str:
    return next(iter(picture.paths), picture.sha256)


def _refuse_unreadable(pictures: Iterable[Picture]) -> None:
    for picture in pictures:
        if picture.state != "ok":
            raise InputError(
                f"{_name_of(picture)} cannot be labelled, since it cannot be read: {picture.reason}. Replace the file,"
                " add it again, then label it"
            )


def _clearing(holdings: Holdings, what: str) -> tuple[Kind, str | None]:
    """The kind and the name that a person wants to clear; None for all names."""
    if what in _CLEARABLE:
        return _CLEARABLE[what], None
    prefix, colon, name = what.partition(":")
    if not colon or prefix not in _PREFIXES or not name.strip():
        raise UsageError(
            f"{what!r} cannot be cleared: say 'class', 'tags', 'caption', 'title', or one name such as 'tag:boat'"
        )
    kind = _PREFIXES[prefix]
    if not holdings.catalogue.is_known(kind, name):
        raise InputError(f"there is no {kind} {name!r} to clear: the vocabulary lists those in use")
    return kind, name


def _refuse_slips(holdings: Holdings, names: Iterable[tuple[Kind, str]], meant: Sequence[str]) -> None:
    """Ask about new names that look like others in use, of the same kind or as a form of the other kind's word."""
    from visterm.language import nearest_name

    catalogue = holdings.catalogue
    new = [(kind, name) for kind, name in names if name not in meant and not catalogue.is_known(kind, name)]
    in_use = {kind: _in_use(holdings, kind) for kind in KINDS} if new else {}  # to count all labels takes a while
    for kind, name in new:
        if "," in name:
            raise NewNameError(kind, name, "has a comma in it: give each name separately")
        for other in sorted(KINDS, key=lambda other: other != kind):
            counts = in_use[other]
            near = None if clean_name(name) in counts else nearest_name(name, counts, catalogue.language)
            if near is not None:
                what = "" if other == kind else f"a {other} of " if counts[near] else f"a {other}, "
                doubt = f"is new; did you mean {near!r} ({what}{counted(counts[near], 'picture')})?"
                raise NewNameError(kind, name, doubt, near=near, near_kind=other, n=counts[near])


def _refuse_denials(holdings: Holdings, no_tags: Iterable[str], meant: Sequence[str]) -> None:
    """Ask about denied tags that nobody uses: most are slips, and they would enter the vocabulary."""
    for name in no_tags:
        if name not in meant and not holdings.catalogue.is_known("tag", name):
            raise NewNameError("tag", name, "is new: no picture has it, so there is nothing to deny")


def _in_use(holdings: Holdings, kind: Kind) -> dict[str, int]:
    """The names that pictures have or might have, with their number of pictures."""
    return {use.name: use.n_accepted for use in holdings.catalogue.vocabulary(kind) if use.n_accepted + use.n_suggested}


def _suggested(picture: Picture) -> list[LabelRow]:
    """The labels that models suggest for a picture and that no person or import has decided."""
    rows: list[LabelRow] = [
        (picture.id, "tag", label.name, "accepted", None) for label in picture.tags if label.state == "suggested"
    ]
    if picture.class_label is None and (best := picture.suggested_class) is not None:
        rows.append((picture.id, "class", best.name, "accepted", None))
    return rows
