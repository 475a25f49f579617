"""What was understood of a query: the words asked for, and what is to be said about the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from visterm.documents.wording import counted
from visterm.find.rank.beliefs import Asked, Every, Fused, Leaf, Some, Without
from visterm.language import Near

How = Literal["name", "form", "written", "spelling", "meaning", "look", "unknown", "ignored"]
_LISTED = {
    "tag": "has the tag",
    "class": "has the class",
    "caption": "has a caption with",
    "filename": "has a file name like",
    "place": "was taken in",
    "camera": "was taken with the camera",
    "lens": "was taken with the lens",
    "colour": "has the colour label",
    "creator": "was made by",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A word that is unknown, and what the search did with it.

    If a known word was searched for instead, ``meant`` is that word and ``others`` are further candidates. If it was
    found by meaning rather than by spelling, ``near`` holds the words with their similarities. An unknown plain word is
    ``ignored``, or judged ``by_look`` of the pictures, and ``near`` has the nearest known words; if it is an ordinary
    word, ``alike`` lists known words that are spelled nearly the same. An unknown value of a field matches no picture;
    ``others`` then lists some known values.
    """

    word: str
    meant: str | None = None
    others: tuple[str, ...] = ()
    ignored: bool = False
    field: str | None = None
    near: tuple[Near, ...] = ()
    alike: tuple[str, ...] = ()
    by_look: bool = False

    def __str__(self) -> str:
        kind = _LISTED.get(self.field or "", "has the word")
        if self.by_look:
            words = ", ".join(repr(near.name) for near in self.near)
            return f"no picture {kind} {self.word!r}{f'; the nearest known: {words}' if words else ''}"
        if self.near:
            found = " or ".join(f"{near.name!r} ({near.likeness:.2f})" for near in self.near)
            close = "which is" if len(self.near) == 1 else "which are"
            return f"no picture {kind} {self.word!r}: searched for {found} instead, {close} close in meaning"
        if self.meant is not None:
            also = f"; or did you mean {', '.join(self.others)}?" if self.others else ""
            return f"no picture {kind} {self.word!r}: searched for {self.meant!r} instead{also}"
        known = f"; the known ones are {', '.join(self.others)}" if self.others else ""
        alike = f"; did you mean {', '.join(self.alike)}?" if self.alike else ""
        return f"no picture {kind} {self.word!r}{', so it was ignored' if self.ignored else ''}{known}{alike}"


@dataclass(frozen=True, slots=True)
class Understood:
    """How a word of a query was understood, and what is known of it.

    It is the ``name`` of a tag or class, or another ``form`` of such ``names``, accent or old name; or it is only
    ``written`` in captions or names of files. An unknown word was replaced by names that are near in ``spelling`` or
    ``meaning``; or pictures are judged by their ``look``, and ``names`` are the nearest known words; or else it is
    ``unknown``. An ``ignored`` word says nothing about pictures. People say the word of ``n_pictures``; if it
    ``has_model``, a model says something of all others. ``excluded`` words should not match.
    """

    word: str
    how: How
    names: tuple[str, ...] = ()
    n_pictures: int = 0
    has_model: bool = False
    field: str | None = None
    excluded: bool = False

    @property
    def lacks_model(self) -> bool:
        """Whether people used the word, but no model knows it."""
        return self.how not in ("ignored", "look") and self.field in (None, "tag", "class") and not self.has_model

    def in_words(self, *, searched: bool) -> str:
        """The same in words; without a model that ``searched``, it is no news that none knows the word.

        >>> Understood("ran", "form", ("run",), 166, has_model=True).in_words(searched=True)
        'ran as run (166 pictures)'
        >>> Understood("yacht", "written", (), 1).in_words(searched=True)
        'yacht (1 picture, no model)'
        """
        word = f"{'-' * self.excluded}{'' if self.field is None else f'{self.field}:'}{self.word}"
        if self.how == "unknown":
            return f"{word} (unknown)"
        if self.how == "look":
            near = f", like {' or '.join(self.names)}" if self.names else ""
            return f"{word} (by look{near})"
        as_names = "" if self.how in ("name", "written") else f" as {' or '.join(self.names)}"
        model = ", no model" if searched and self.lacks_model else ""
        return f"{word}{as_names} ({counted(self.n_pictures, 'picture')}{model})"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of a query and its weight. ``word`` is what the person typed, if it is a plain word."""

    asked: Asked
    weight: float
    word: str | None = None


@dataclass(slots=True)
class Reading:
    """What is ``asked`` for (None if no word is known), and what is to be said about it.

    ``parts`` are the parts that must all hold. ``missing`` has the unknown words that should hold but were left out,
    ``ignored`` the words that say nothing about pictures (of ``fillers``, the words that do not; ``silent`` words are
    ignored without a word). ``hints`` tell how to write what was probably meant. ``understood`` says how each word was
    understood. ``by_look`` says that the look of pictures decides, not only the words: if no picture is likely, the
    likeliest are shown as guesses. ``some_first`` says that pictures with some of the words come before guesses.
    ``looked`` has the words that only the look decides, ``like`` the known words that some of them are like; ``others``
    asks for the other words alone. Something is found from the probability ``nothing_below`` on (None: the usual one).
    """

    asked: Asked | None = None
    parts: list[Part] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    fillers: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    understood: list[Understood] = field(default_factory=list)
    by_look: bool = False
    some_first: bool = True
    looked: list[str] = field(default_factory=list)
    like: list[Asked] = field(default_factory=list)
    others: Asked | None = None
    nothing_below: float | None = None

    @property
    def n_looked_up(self) -> int:
        """How many unknown words were replaced or ignored."""
        return sum(note.meant is not None or note.ignored for note in self.notes)


def distinct(parts: Sequence[Part]) -> list[Part]:
    """The parts, each once: of parts that ask for the same, the surest with the largest weight."""
    by_meaning: dict[object, Part] = {}
    for part in parts:
        same = _meaning(part.asked)
        known = by_meaning.get(same, part)
        surest = part if isinstance(known.asked, Leaf) and known.asked.surer else known
        by_meaning[same] = Part(surest.asked, max(known.weight, part.weight), known.word)
    return list(by_meaning.values())


def _meaning(asked: Asked) -> object:
    """Equal for parts that ask for the same; the leaf of a word is the same object each time."""
    match asked:
        case Leaf():
            return asked.surer or asked
        case Without():
            return ("without", _meaning(asked.part))
        case Fused():
            return asked
        case Every() | Some():
            return (type(asked), tuple(map(_meaning, asked.parts)), asked.weights)
