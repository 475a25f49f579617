"""The query language: turns what a person typed into a tree.

    beach sunset            pictures of both
    "tall building"         the words together; a quote inside quotes is written twice
    "C++", "-x", "OR"       in quotes, signs and operators are part of a name
    -people, NOT people     without people
    boat OR ship            either; AND binds tighter than OR, parentheses group
    boat^2 sea              boat counts twice as much as sea
    tag:boat class:coast    only as a tag, only as a class
    caption:harbour         a word of the caption
    filename:norway         a word or a pattern (IMG_00*) of the file's name and folders
    like:photos/0042.jpg    pictures that look like this one
    is:untagged             pictures without a tag
    date:2019..2021         what files say of their pictures (see visterm.find.words.conditions)

Operators are written in capitals, so that "and", "or" and "not" remain words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

from visterm.errors import UsageError
from visterm.find.words.conditions import CONDITIONS, condition

#: Longer queries are refused: nobody types them on purpose.
MAX_CHARACTERS = 10_000
MAX_TERMS = 200
MAX_DEPTH = 50
MAX_WEIGHT = 100.0

FIELDS = ("tag", "class", "caption", "filename", "like", "is", *CONDITIONS)
#: Fields whose value is the path of a picture or a folder.
_OF_PATHS = ("like", "near", "folder")
#: The one value of the field ``is``.
UNTAGGED = "untagged"


class QueryError(UsageError):
    """The query has a mistake; the message gives the position of the character, counted from 1."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word, a quoted phrase, or ``field:value``. ``at`` is the position where it begins, from 0."""

    text: str
    at: int = 0
    field: str | None = None
    quoted: bool = False
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Not:
    """Pictures that do not match ``part``."""

    part: Node
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class AllOf:
    """Pictures that match every part."""

    parts: tuple[Node, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Pictures that match at least one part."""

    parts: tuple[Node, ...]
    weight: float = 1.0


Node: TypeAlias = Term | Not | AllOf | AnyOf


def parse(text: str) -> Node:
    """The tree of a query.

    >>> parse("boat -people")
    AllOf(parts=(Term(text='boat', at=0, field=None, quoted=False, weight=1.0),
                 Not(part=Term(text='people', at=6, field=None, quoted=False, weight=1.0), weight=1.0)), weight=1.0)
    >>> parse("(boat OR ship")
    Traceback (most recent call last):
      ...
    visterm.find.words.query.QueryError: the parenthesis at character 1 is never closed
    """
    if len(text) > MAX_CHARACTERS:
        raise QueryError(f"the query has {len(text)} characters; at most {MAX_CHARACTERS} are allowed")
    tokens = _tokens(text)
    if not tokens:
        raise QueryError("the query is empty: say what to look for, such as: boat sunset")
    n_terms = sum(token.kind == "term" for token in tokens)
    if n_terms > MAX_TERMS:
        raise QueryError(f"the query has {n_terms} words; at most {MAX_TERMS} are allowed")
    return _Parser(tokens).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    """``kind`` is "term", "(", ")", "AND", "OR", "NOT" or "^". A "^" carries the weight of the term before it."""

    kind: str
    at: int
    term: Term | None = None
    weight: float = math.nan


_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
_WORD = re.compile(r'[^\s\x00-\x1f\x7f()"^]+')
_PATH = re.compile(r'[^\s\x00-\x1f\x7f"^]+')  # parentheses are common in the names of files
_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?!")')
_FIELD = re.compile(r"([A-Za-z_]+):(?!//)")
_WEIGHT = re.compile(r"\^([^\s()]*)")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        character = text[at]
        if character in "()":
            tokens.append(_Token(character, at))
            at += 1
        elif weight := _WEIGHT.match(text, at):
            tokens.append(_Token("^", at, weight=_weight(weight.group(1), at)))
            at = weight.end()
        elif character == "-" and at + 1 < len(text) and not _SPACE.match(text, at + 1) and text[at + 1] != ")":
            tokens.append(_Token("NOT", at))
            at += 1
        else:
            token, at = _term(text, at)
            tokens.append(token)
    return tokens


def _term(text: str, at: int) -> tuple[_Token, int]:
    """The term or operator that begins at ``at``, and where it ends."""
    start = at
    field = None
    if named := _FIELD.match(text, at):
        field = named.group(1).lower()
        if field not in FIELDS:
            raise QueryError(
                f"there is no field {named.group(1)!r} (character {at + 1}): use {', '.join(FIELDS)}, "
                "or put the words in quotes to search for them as they are"
            )
        at = named.end()
    if text[at : at + 1] == '"':
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            raise QueryError(
                f"the quote that begins at character {at + 1} is never closed; "
                'a quote inside quotes is written twice, as in "5"" disc"'
            )
        phrase = quoted.group(1).replace('""', '"')
        return _Token("term", start, _checked(Term(phrase, start, field, quoted=True))), quoted.end()
    found = (_PATH if field in _OF_PATHS else _WORD).match(text, at)
    if found is None:
        raise QueryError(
            f"{field}: at character {start + 1} has no value: write it without a space, as in {field}:boat"
        )
    word = found.group()
    while word.endswith(")") and word.count(")") > word.count("("):  # closes a group, not a name such as photo(1).jpg
        word = word[:-1]
    if not word:
        raise QueryError(f"{field}: at character {start + 1} has no value: name a picture, as in like:photo.jpg")
    if field is None and word in ("AND", "OR", "NOT"):
        return _Token(word, start), at + len(word)
    return _Token("term", start, _checked(Term(word, start, field))), at + len(word)


def _checked(term: Term) -> Term:
    if term.field == "is" and term.text.lower() != UNTAGGED:
        raise QueryError(f"'is:{term.text}' at character {term.at + 1} is unknown: write is:{UNTAGGED}")
    if term.field in CONDITIONS:
        try:
            condition(term.field, term.text)
        except ValueError as error:
            where = f"{term.field}:{term.text}' at character {term.at + 1}"
            raise QueryError(f"'{where} cannot be read: {error}") from error
    return term


def _weight(text: str, at: int) -> float:
    weight = float(text) if re.fullmatch(r"\d*\.?\d+", text, re.ASCII) else 0.0
    if not 0 < weight <= MAX_WEIGHT:
        raise QueryError(
            f"the weight {'^' + text!r} at character {at + 1} must be a number above 0 and up to {MAX_WEIGHT:g}, "
            "as in boat^2"
        )
    return weight


class _Parser:
    """Recursive descent: any := all (OR all)*; all := (NOT* one [^weight])+, with optional AND between."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        tree = self._any()
        if self._kind() is not None:  # only a closing parenthesis stops the walk early
            raise QueryError(f"the parenthesis at character {self._at() + 1} closes nothing")
        return tree

    def _any(self) -> Node:
        parts = [self._all()]
        while self._kind() == "OR":
            self._next += 1
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self) -> Node:
        parts = [self._one()]
        while self._kind() not in (None, "OR", ")"):
            if self._kind() == "AND":
                self._next += 1
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self) -> Node:
        n_nots = 0
        while self._kind() == "NOT":
            n_nots += 1
            self._next += 1
        node = self._primary()
        if self._kind() == "^":
            node = replace(node, weight=self._tokens[self._next].weight)
            self._next += 1
        # Two NOTs cancel.
        return Not(replace(node, weight=1.0), weight=node.weight) if n_nots % 2 else node

    def _primary(self) -> Node:
        kind = self._kind()
        if kind == "term":
            term = self._tokens[self._next].term
            self._next += 1
            assert term is not None  # noqa: S101 - every token of this kind has one
            return term
        if kind == "(":
            opened = self._at()
            self._next += 1
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise QueryError(f"more than {MAX_DEPTH} parentheses inside each other, at character {opened + 1}")
            if self._kind() == ")":
                raise QueryError(f"the parentheses at character {opened + 1} are empty")
            node = self._any()
            if self._kind() != ")":
                raise QueryError(f"the parenthesis at character {opened + 1} is never closed")
            self._next += 1
            self._depth -= 1
            return node
        self._refuse(kind)

    def _refuse(self, kind: str | None) -> NoReturn:
        before = self._tokens[self._next - 1].kind if self._next else None
        if kind is None:
            raise QueryError(f"the query ends after {before}: add a word, or put {before} in quotes to search for it")
        where = f"at character {self._at() + 1}"
        if kind == ")" and before not in ("AND", "OR", "NOT"):
            raise QueryError(f"the parenthesis {where} closes nothing")
        raise QueryError(f"{kind!r} {where} is not a word: put it in quotes to search for it")

    def _kind(self) -> str | None:
        return self._tokens[self._next].kind if self._next < len(self._tokens) else None

    def _at(self) -> int:
        return self._tokens[self._next].at


def terms(node: Node) -> Iterator[Term]:
    """All terms of a tree, in their order.

    >>> [term.text for term in terms(parse("boat -(sea OR tag:sky)"))]
    ['boat', 'sea', 'sky']
    """
    if isinstance(node, Term):
        yield node
    else:
        for part in (node.part,) if isinstance(node, Not) else node.parts:
            yield from terms(part)
