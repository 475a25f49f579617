"""Texts in EXIF, which has the layout of a TIFF file: descriptions by cameras and programs, keywords by Windows."""

import io
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from visterm.exchange.charsets import decode_undeclared
from visterm.exchange.exif_facts import (
    CAMERA_FIELDS,
    EXIF_POINTER,
    GPS_FIELDS,
    GPS_POINTER,
    MAIN_FIELDS,
    exif_facts,
)
from visterm.exchange.facts import Facts
from visterm.vision.tiff import Tiff

_DESCRIPTION, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS = 0x010E, 0x9C9B, 0x9C9C, 0x9C9E
#: The fields that :func:`exif_texts` reads.
TEXT_FIELDS = (_DESCRIPTION, _XP_TITLE, _XP_COMMENT, _XP_KEYWORDS)
#: The types of fields that hold bytes, whatever they mean: IPTC is often written as whole numbers.
_BYTES = (1, 2, 4, 6, 7)
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
    """The caption, the keywords, and the other metadata.

    ``guess`` names the character set of the caption if it had to be guessed.
    """

    keywords: tuple[str, ...] = ()
    caption: str | None = None
    guess: str | None = None
    facts: Facts = field(default_factory=Facts, repr=False)


def read_exif(stream: BinaryIO, wanted: Collection[int] = ()) -> tuple[ExifTexts, dict[int, bytes]]:
    """The texts and facts in a TIFF structure, and the bytes of the ``wanted`` fields of its first directory."""
    tiff = Tiff(stream)
    main, _ = tiff.directory(tiff.first, {*TEXT_FIELDS, *MAIN_FIELDS, *wanted})
    blocks = {tag: value.data for tag, value in main.items() if value.kind in _BYTES}
    texts = exif_texts(blocks)
    camera = tiff.below(main, EXIF_POINTER, CAMERA_FIELDS)
    position = tiff.below(main, GPS_POINTER, GPS_FIELDS)
    return replace(texts, facts=exif_facts(main, camera, position)), blocks


def exif_of_parts(main: bytes, camera: bytes, position: bytes) -> ExifTexts:
    """The facts in three TIFF structures, one for each directory."""
    wanted = ((main, MAIN_FIELDS), (camera, CAMERA_FIELDS), (position, GPS_FIELDS))
    structures = ((Tiff(io.BytesIO(block)), fields) for block, fields in wanted)
    return ExifTexts(facts=exif_facts(*(tiff.directory(tiff.first, fields)[0] for tiff, fields in structures)))


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
