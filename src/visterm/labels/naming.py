"""The vocabulary of a collection: its classes and tags, and how a person edits them."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from visterm.catalogue.labels import Kind
from visterm.catalogue.vocabulary import TermUse
from visterm.collection.holdings import Holdings
from visterm.contracts.tasks import Task
from visterm.documents.document import Document
from visterm.errors import InputError


@dataclass(frozen=True)
class Terms:
    """The names of one kind: those in use, those dropped, and old names with the names that replace them.

    ``quality`` says how well the model in use recognises a name on held-out pictures, from 0 to 1. For a class it is
    the share of its pictures that were classified rightly; for a tag, the average precision of a search for it.
    ``not_learned`` are stray keywords of one or two pictures, with their number of pictures.
    """

    terms: list[TermUse]
    dropped: list[str]
    aliases: dict[str, str]
    quality: dict[str, float] = field(default_factory=dict)
    not_learned: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CaptionWord:
    """A word of captions that is not a tag, and the number of captions that have it."""

    name: str
    n_captions: int


@dataclass(frozen=True)
class Vocabulary(Document):
    """The classes and tags of a collection; if asked for, also the words of captions that are not tags."""

    class_: Terms
    tag: Terms
    captions: list[CaptionWord] | None = None


@dataclass(frozen=True)
class Merge:
    """Names that look like forms of one word, with their number of pictures, and the command that makes them one."""

    into: str
    names: dict[str, int]
    command: str


@dataclass(frozen=True)
class Merges(Document):
    """Proposed merges, and whether they were made."""

    kind: str
    merges: list[Merge]
    applied: bool


@dataclass(frozen=True)
class Edit(Document):
    """What an edit of the vocabulary did, in words. ``action`` is its number in the history; None: nothing changed."""

    done: str
    action: int | None = None


def vocabulary(holdings: Holdings, *, captions: bool = False) -> Vocabulary:
    """The classes and tags in use, the most used first; with ``captions``, also the words that can be searched only."""
    catalogue = holdings.catalogue

    def terms(kind: Kind) -> Terms:
        model = holdings.shelf.best(Task.CLASSIFY if kind == "class" else Task.ANNOTATE)
        quality = {} if model is None else model.training.get("label_quality", {})
        stray = catalogue.stray_keywords() if kind == "tag" else {}
        return Terms(catalogue.vocabulary(kind), catalogue.dropped(kind), catalogue.aliases(kind), quality, stray)

    tags = terms("tag")
    words = _caption_words(holdings, {use.name for use in tags.terms}) if captions else None
    return Vocabulary(terms("class"), tags, words)


def _caption_words(holdings: Holdings, tags: set[str]) -> list[CaptionWord]:
    """The words of captions that are no tags, the most frequent first."""
    from visterm.language import CaptionTokenizer

    found = CaptionTokenizer(language=holdings.catalogue.language).read(holdings.catalogue.captions())
    counts = {word: number for word, number in (found.kept + found.others).items() if word not in tags}
    return [CaptionWord(word, number) for word, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def rename(holdings: Holdings, old: str, new: str, *, kind: Kind = "tag") -> Edit:
    """Give a tag or class another name."""
    holdings.catalogue.rename(kind, old, new)
    return _edit(holdings, f"{old} is called {new} now")


def merge(holdings: Holdings, names: Sequence[str], *, into: str, kind: Kind = "tag") -> Edit:
    """Make several tags or classes one, all of them or none."""
    holdings.catalogue.merge(kind, names, into)
    merged = [name for name in names if name != into]
    return _edit(holdings, f"{_listed(merged)} {into} now" if merged else f"{into} stays as it is")


def propose_merges(holdings: Holdings, *, kind: Kind = "tag", apply: bool = False) -> Merges:
    """Tags or classes that look like forms of one word; ``apply`` merges them, all of them or none."""
    from visterm.language import word_families

    catalogue = holdings.catalogue
    with catalogue.transaction(f"merge forms of one word ({kind})"):
        counts = {use.name: use.n_accepted for use in catalogue.vocabulary(kind)}
        families = word_families(counts, catalogue.language)
        for into, *names in families if apply else ():
            catalogue.merge(kind, names, into)
    merges = [
        Merge(into, {name: counts[name] for name in (into, *names)}, _merge_command(names, into, kind))
        for into, *names in families
    ]
    return Merges(kind, merges, apply)


def _merge_command(names: Sequence[str], into: str, kind: Kind) -> str:
    options = () if kind == "tag" else ("--kind", kind)
    return shlex.join(["visterm", "vocabulary", "merge", *names, "--into", into, *options])


def drop(holdings: Holdings, names: Sequence[str], *, kind: Kind = "tag") -> Edit:
    """Leave tags or classes out, in later imports too; all of them or none."""
    holdings.catalogue.drop(kind, *_some(names))
    return _edit(holdings, f"{_listed(names)} dropped")


def restore(holdings: Holdings, names: Sequence[str], *, kind: Kind = "tag") -> Edit:
    """Bring dropped, renamed or merged names back, all of them or none."""
    catalogue = holdings.catalogue
    stood_for = catalogue.aliases(kind)
    catalogue.restore(kind, *_some(names))
    used = {use.name for use in catalogue.vocabulary(kind)}
    alone = [name for name in names if name in stood_for and name not in used]
    done = [f"{_listed([name for name in names if name not in alone])} back"] if len(alone) < len(names) else []
    done += [f"{name} no longer stands for {stood_for[name]}, whose pictures keep it" for name in alone]
    return _edit(holdings, "; ".join(done))


def _edit(holdings: Holdings, done: str) -> Edit:
    return Edit(done, holdings.catalogue.history.made)


def _some(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise InputError("name at least one tag or class")
    return names


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
