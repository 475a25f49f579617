"""Finds the XMP packet and IPTC block inside a picture file, without decoding any pixels.

It skips from block to block by their lengths, so a picture takes a few small reads. A damaged file gives the blocks
before the damage.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from visterm.exchange.xmp_packet import MAX_BYTES

#: At most this many blocks of a file are read (a large PNG has about ten thousand).
MAX_BLOCKS = 100_000

_JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_JPEG_PHOTOSHOP = b"Photoshop 3.0\0"
_APP1, _APP13, _START_OF_SCAN, _END_OF_IMAGE = 0xE1, 0xED, 0xDA, 0xD9
_PNG_XMP = b"XML:com.adobe.xmp\0"
_PHOTOSHOP_IPTC = 0x0404
_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP = 700, 33723, 34377
_TIFF_TYPE_BYTES = {1: 1, 2: 1, 4: 4, 6: 1, 7: 1}


@dataclass(frozen=True, slots=True)
class Embedded:
    """Raw metadata blocks of a picture file; None if absent."""

    xmp: bytes | None = None
    iptc: bytes | None = None


def read_embedded(file: Path) -> Embedded:
    """The metadata blocks in a JPEG, PNG, WebP or TIFF file, whatever its extension; none in other files."""
    with file.open("rb") as stream:
        head = stream.read(12)
        if head.startswith(b"\xff\xd8"):
            return _in_jpeg(stream)
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return Embedded(xmp=_in_png(stream))
        if head.startswith(b"RIFF") and head.endswith(b"WEBP"):
            return Embedded(xmp=_in_webp(stream))
        if head.startswith((b"II*\0", b"MM\0*")):
            return _in_tiff(stream, "<" if head.startswith(b"II") else ">")
    return Embedded()


def _in_jpeg(stream: BinaryIO) -> Embedded:
    # A packet over 64 KiB continues in "extended" segments; programs put large data there (depth maps), never tags.
    xmp: bytes | None = None
    photoshop = b""
    stream.seek(2)
    for _ in range(MAX_BLOCKS):
        head = stream.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (_START_OF_SCAN, _END_OF_IMAGE):
            break
        if head[1] == 0xFF:  # padding before a marker
            stream.seek(-3, 1)
            continue
        size = int.from_bytes(head[2:], "big") - 2
        if size < 0:
            break
        if head[1] not in (_APP1, _APP13):
            stream.seek(size, 1)
            continue
        body = stream.read(size)
        if head[1] == _APP1 and body.startswith(_JPEG_XMP):
            xmp = xmp or body[len(_JPEG_XMP) :]
        elif head[1] == _APP13 and body.startswith(_JPEG_PHOTOSHOP) and len(photoshop) < MAX_BYTES:
            photoshop += body[len(_JPEG_PHOTOSHOP) :]
    return Embedded(xmp, _iptc_of_photoshop(photoshop))


def _in_png(stream: BinaryIO) -> bytes | None:
    # Read to the end: some programs write the packet after the pixels.
    stream.seek(8)
    for _ in range(MAX_BLOCKS):
        head = stream.read(8)
        if len(head) < 8:
            break
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind != b"iTXt" or size > MAX_BYTES:
            stream.seek(size + 4, 1)
            continue
        body = stream.read(size)
        stream.seek(4, 1)
        if body.startswith(_PNG_XMP):
            return _png_text(body[len(_PNG_XMP) :])
    return None


def _png_text(body: bytes) -> bytes | None:
    compressed = body[:1] == b"\1"
    text = body[2:].split(b"\0", 2)[-1]  # after language and translated keyword
    if not compressed:
        return text
    try:
        return zlib.decompressobj().decompress(text, MAX_BYTES)
    except zlib.error:
        return None


def _in_webp(stream: BinaryIO) -> bytes | None:
    for _ in range(MAX_BLOCKS):
        head = stream.read(8)
        if len(head) < 8:
            break
        size = int.from_bytes(head[4:], "little")
        if head[:4] == b"XMP " and size <= MAX_BYTES:
            return stream.read(size)
        stream.seek(size + size % 2, 1)
    return None


def _in_tiff(stream: BinaryIO, order: str) -> Embedded:
    """The metadata of the first picture in the file."""
    stream.seek(4)
    blocks: dict[int, bytes] = {}
    try:
        stream.seek(struct.unpack(f"{order}I", stream.read(4))[0])
        n_entries = struct.unpack(f"{order}H", stream.read(2))[0]
        entries = list(struct.iter_unpack(f"{order}HHII", stream.read(12 * n_entries)))
    except struct.error:
        return Embedded()
    for tag, kind, count, offset in entries:
        size = count * _TIFF_TYPE_BYTES.get(kind, 0)
        if tag in (_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP) and 4 < size <= MAX_BYTES:
            stream.seek(offset)
            blocks[tag] = stream.read(size)
    iptc = blocks.get(_TIFF_IPTC) or _iptc_of_photoshop(blocks.get(_TIFF_PHOTOSHOP, b""))
    return Embedded(blocks.get(_TIFF_XMP), iptc)


def _iptc_of_photoshop(resources: bytes) -> bytes | None:
    """The IPTC block among Photoshop's image resources."""
    at = 0
    while resources[at : at + 4] == b"8BIM" and at + 12 <= len(resources):
        kind = int.from_bytes(resources[at + 4 : at + 6], "big")
        name_bytes = 1 + resources[at + 6]
        at += 6 + name_bytes + name_bytes % 2
        size = int.from_bytes(resources[at : at + 4], "big")
        at += 4
        if kind == _PHOTOSHOP_IPTC:
            return resources[at : at + size]
        at += size + size % 2
    return None
