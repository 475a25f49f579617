"""Texts in EXIF, which has the layout of a TIFF file: descriptions by cameras and programs, keywords by Windows."""

import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from typing import BinaryIO

from visterm.exchange.charsets import decode_undeclared
from visterm.exchange.xmp_packet import MAX_BYTES

_DESCRIPTION, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS = 0x010E, 0x9C9B, 0x9C9C, 0x9C9E
#: The fields that :func:`exif_texts` reads.
TEXT_FIELDS = (_DESCRIPTION, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS)
_TYPE_BYTES = {1: 1, 2: 1, 4: 4, 6: 1, 7: 1}
_KEYWORD_SEPARATOR = ";"

#: What cameras and programs write where a person could describe the picture.
_STOCK_DESCRIPTION = re.compile(
    r"<?(\w+[ -])*digital (still ?)?camera>?|<digimax.*>|sony dsc\b.*|samsung( camera pictures)?|exif_jpeg_picture|"
    r"dcim|binary comment|created by imlib|iclarified|default|untitled",
    re.IGNORECASE,
)
#: Codes of Huawei's and Xiaomi's telephones for how a picture was taken.
_STOCK_CODE = re.compile(
    "bdr|btf(hdr|mdn)?|btr|cof|dav|ddr|edf|fbt(hdr)?|fdo|hdr(pl)?|jiu|mde(_soft)?|oznor(WO)?|ptfbty|ptr|qrf|rbt|rhdr|"
    "rpt(fbt|sdr)?|sdr|vfhd"
)


@dataclass(frozen=True, slots=True)
class ExifTexts:
    """The caption and keywords; ``guess`` names the character set of the caption if it had to be guessed."""

    keywords: tuple[str, ...] = ()
    caption: str | None = None
    guess: str | None = None


def read_fields(stream: BinaryIO, wanted: Collection[int]) -> dict[int, bytes]:
    """The bytes of the ``wanted`` fields of the first directory of a TIFF structure, where intact."""
    stream.seek(0)
    head = stream.read(8)
    if head[:4] not in (b"II*\0", b"MM\0*"):
        return {}
    order = "<" if head.startswith(b"II") else ">"
    try:
        stream.seek(struct.unpack(f"{order}I", head[4:])[0])
        n_entries = struct.unpack(f"{order}H", stream.read(2))[0]
        entries = list(struct.iter_unpack(f"{order}HHI4s", stream.read(12 * n_entries)))
    except struct.error:
        return {}
    fields: dict[int, bytes] = {}
    for tag, kind, count, value in entries:
        size = count * _TYPE_BYTES.get(kind, 0)
        if tag not in wanted or not 0 < size <= MAX_BYTES:
            continue
        if size <= len(value):  # so short that it stands in place of its offset
            fields[tag] = value[:size]
        else:
            stream.seek(struct.unpack(f"{order}I", value)[0])
            fields[tag] = stream.read(size)
    return fields


def exif_texts(fields: dict[int, bytes]) -> ExifTexts:
    r"""The caption and keywords in ``fields``; the caption is the description, else the comment, else the title.

    >>> exif_texts({0x010E: b"A boat.\0", 0x9C9E: "sea;sky\0".encode("utf-16-le")})
    ExifTexts(keywords=('sea', 'sky'), caption='A boat.', guess=None)
    """
    decoded = decode_undeclared([fields.get(_DESCRIPTION, b"").partition(b"\0")[0]])
    titles = (_windows_text(fields.get(tag, b"")) for tag in (_XP_COMMENT, _XP_TITLE))
    captions = (text.strip() for text in (decoded.texts[0], *titles))
    keywords = _windows_text(fields.get(_XP_KEYWORDS, b"")).split(_KEYWORD_SEPARATOR)
    return ExifTexts(
        tuple(word.strip() for word in keywords if word.strip()),
        next((text for text in captions if text and not is_stock_description(text)), None),
        decoded.guess,
    )


def is_stock_description(text: str) -> bool:
    """Whether a camera or a program wrote this into every picture, so that it describes none.

    >>> is_stock_description("OLYMPUS DIGITAL CAMERA"), is_stock_description("My digital camera on a table")
    (True, False)
    """
    text = " ".join(text.split())
    return bool(_STOCK_DESCRIPTION.fullmatch(text) or _STOCK_CODE.fullmatch(text))


def _windows_text(value: bytes) -> str:
    """Text in UTF-16, as Windows writes it, up to its end mark."""
    return value[: len(value) // 2 * 2].decode("utf-16-le", "replace").partition("\0")[0]
