"""Keywords and captions in IPTC records (the Information Interchange Model), which older programs embed in pictures."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from visterm.exchange.charsets import decode_undeclared
from visterm.exchange.facts import Facts, Gathering, Problem, plain_text

#: Programs cut a keyword to this many bytes, as the standard requires.
MAX_KEYWORD_BYTES = 64

_MARKER = 0x1C
_CHARACTER_SET = (1, 90)
_KEYWORDS = (2, 25)
_CAPTION = (2, 120)
_DATE, _TIME = (2, 55), (2, 60)
_CLOCK = re.compile(r"(\d\d)(\d\d)(\d\d)([-+]\d{4})?")
#: Other texts, by the field of the metadata that they are.
_TEXTS = {(2, 5): "title", (2, 80): "creator", (2, 116): "copyright"}
#: The parts of ISO 8859 by the letter of their escape sequence (ISO 2022).
_ISO_8859 = {b"A": 1, b"B": 2, b"C": 3, b"D": 4, b"L": 5, b"G": 6, b"F": 7, b"H": 8, b"M": 9}


@dataclass(frozen=True, slots=True)
class IptcTexts:
    """The keywords, in order, the caption, and the other metadata.

    ``guess`` names the character set if the block does not declare it.
    """

    keywords: tuple[str, ...] = ()
    caption: str | None = None
    guess: str | None = None
    facts: Facts = field(default_factory=Facts, repr=False)


def read_iptc(block: bytes) -> IptcTexts:
    r"""The keywords and the caption of an IPTC block, as far as the block is intact.

    Text is in the character set that the block declares, UTF-8 or a part of ISO 8859. Otherwise it is UTF-8 if the
    bytes are valid, else a guess (see :mod:`visterm.exchange.charsets`).

    >>> read_iptc(b"\x1c\x02\x19\x00\x05sk\xe5ne\x1c\x02\x19\x00\x03sea")
    IptcTexts(keywords=('skåne', 'sea'), caption=None, guess='Western European')
    """
    character_set = b""
    keywords: list[bytes] = []
    captions: list[bytes] = []
    others: list[tuple[str, bytes]] = []
    times: dict[tuple[int, int], str] = {}
    for dataset, value in _datasets(block):
        if dataset == _CHARACTER_SET:
            character_set = value
        elif dataset == _KEYWORDS:
            keywords.append(value)
        elif dataset == _CAPTION and not captions:
            captions.append(value)
        elif dataset in _TEXTS:
            others.append((_TEXTS[dataset], value))
        elif dataset in (_DATE, _TIME):
            times.setdefault(dataset, value.decode("latin-1"))
    texts, guess = _decode(character_set, [*keywords, *captions, *(value for _, value in others)])
    caption = texts[len(keywords)] if captions else None
    named = zip((name for name, _ in others), texts[len(keywords) + len(captions) :], strict=True)
    facts = _facts(list(named), times.get(_DATE), times.get(_TIME, ""))
    return IptcTexts(tuple(texts[: len(keywords)]), caption, guess, facts)


def _facts(texts: list[tuple[str, str]], date: str | None, time: str) -> Facts:
    """The metadata; a picture may have several creators."""
    found = Gathering("IPTC")
    for name in _TEXTS.values():
        several = (plain_text(text) for own, text in texts if own == name)
        found.take(name, name, "; ".join(filter(None, several)), plain_text)
    if date is not None:
        day = "-".join((date[:4], date[4:6], date[6:]))
        known = _CLOCK.fullmatch(time.strip(" \0"))
        clock = f" {known[1]}:{known[2]}:{known[3]}{known[4] or ''}" if known and len(date) == len("20190714") else ""
        found.take_time("DateCreated", f"{day}{clock}" if date.strip("0 \0") else None)
        if time.strip(" \0") and not known:
            found.problems.append(Problem("IPTC TimeCreated", time))
    return found.facts()


def _decode(character_set: bytes, values: list[bytes]) -> tuple[list[str], str | None]:
    part = _ISO_8859.get(character_set[2:]) if character_set[:2] in (b"\x1b-", b"\x1b.", b"\x1b/") else None
    if part is not None:
        # Programs that declare Latin-1 write the curved quotes of Windows, too.
        encoding = "cp1252" if part == 1 else f"iso8859-{part}"
        return [value.decode(encoding, "replace") for value in values], None
    decoded = decode_undeclared(values, cut_at=MAX_KEYWORD_BYTES)
    return decoded.texts, decoded.guess


def _datasets(block: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    while at + 5 <= len(block) and block[at] == _MARKER:
        dataset = (block[at + 1], block[at + 2])
        size = int.from_bytes(block[at + 3 : at + 5], "big")
        at += 5
        if size & 0x8000:  # an extended dataset: the length of the length
            n_bytes = size & 0x7FFF
            size = int.from_bytes(block[at : at + n_bytes], "big")
            at += n_bytes
        if at + size > len(block):
            return
        yield dataset, block[at : at + size]
        at += size
