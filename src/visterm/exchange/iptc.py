"""Keywords in IPTC records (the Information Interchange Model), which older programs embed in pictures."""

from __future__ import annotations

from collections.abc import Iterator

#: Programs cut a keyword to this many bytes, as the standard requires.
MAX_KEYWORD_BYTES = 64

_MARKER = 0x1C
_CHARACTER_SET = (1, 90)
_KEYWORDS = (2, 25)
_UTF8 = b"\x1b%G"


def read_keywords(block: bytes) -> list[str]:
    r"""The keywords of an IPTC block, in order, as far as the block is intact.

    Text is UTF-8 if the block declares it, or declares nothing and the bytes are valid UTF-8. Otherwise it is Western
    European (cp1252), which programs write without declaring it.

    >>> read_keywords(b"\x1c\x02\x19\x00\x05sk\xe5ne\x1c\x02\x19\x00\x03sea")
    ['skåne', 'sea']
    """
    character_set = b""
    keywords: list[bytes] = []
    for dataset, value in _datasets(block):
        if dataset == _CHARACTER_SET:
            character_set = value
        elif dataset == _KEYWORDS:
            keywords.append(value)
    may_be_utf8 = character_set in (b"", _UTF8)
    return [_decode(keyword, may_be_utf8) for keyword in keywords]


def _decode(value: bytes, may_be_utf8: bool) -> str:
    if may_be_utf8:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            # A keyword that was cut inside its last letter is still UTF-8.
            if len(value) >= MAX_KEYWORD_BYTES - 3 and not (cut := value.decode("utf-8", "ignore")).isascii():
                return cut
    return value.decode("cp1252", "replace")


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
