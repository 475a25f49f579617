"""Finds the XMP packet, the IPTC block and the EXIF texts inside a picture file, without decoding any pixels.

It skips from block to block by their lengths, so a picture takes a few small reads. A damaged file gives the blocks
before the damage.
"""

import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from visterm.errors import PictureError
from visterm.exchange.exif import ExifTexts, exif_of_parts, read_exif
from visterm.exchange.xmp_tree import MAX_BYTES
from visterm.storage.opening import open_regular
from visterm.vision.decode import opened_picture
from visterm.vision.tiff import HEADS

#: At most this many blocks of a file are read (a large PNG has about ten thousand).
MAX_BLOCKS = 100_000

_JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_JPEG_EXTENDED_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_JPEG_PHOTOSHOP = b"Photoshop 3.0\0"
_EXIF = b"Exif\0\0"
_APP1, _APP13, _START_OF_SCAN, _END_OF_IMAGE = 0xE1, 0xED, 0xDA, 0xD9
_EXTENSION_NAME = re.compile(rb"HasExtendedXMP\s*(?:=\s*[\"']|>)\s*([0-9A-Fa-f]{32})")
_PNG_XMP = b"XML:com.adobe.xmp"
_PNG_PROFILE = b"Raw profile type "
_PNG_TEXTS = (b"iTXt", b"zTXt", b"tEXt")
_GIF_XMP = b"XMP DataXMP"
_GIF_XMP_END = bytes([1, *range(0xFF, 0xFB, -1)])
_PHOTOSHOP_IPTC = 0x0404
_RAF = b"FUJIFILMCCD-"
#: Canon's raw file has its metadata among the first bytes.
_CR3_HEAD = 2**17
_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP = 700, 33723, 34377


@dataclass(frozen=True, slots=True)
class Embedded:
    """Raw metadata blocks and EXIF texts of a picture file; None or empty if absent.

    A packet over 64 KiB in a JPEG continues in ``extended_xmp``, which is a packet of its own. ``problem`` says what
    could not be read.
    """

    xmp: bytes | None = None
    iptc: bytes | None = None
    exif: ExifTexts = field(default_factory=ExifTexts)
    extended_xmp: bytes | None = None
    problem: str | None = None


def read_embedded(file: Path) -> Embedded:
    """The metadata in a JPEG, PNG, WebP, TIFF, GIF, AVIF, HEIC or raw file, whatever its extension; none in others."""
    with open_regular(file) as stream:
        head = stream.read(12)
        if head.startswith(b"\xff\xd8"):
            return _in_jpeg(stream)
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return _in_png(stream)
        if head.startswith(b"RIFF") and head.endswith(b"WEBP"):
            return _in_webp(stream)
        if head.startswith(HEADS):
            return _in_tiff(stream)
        if head[4:8] == b"ftyp":
            return _in_boxes(stream, head[8:])
        if head.startswith(_RAF):
            return _in_jpeg(_raf_preview(stream))
        if head.startswith((b"GIF87a", b"GIF89a")):
            return Embedded(xmp=_in_gif(stream))
    return Embedded()


def _in_jpeg(stream: BinaryIO) -> Embedded:
    xmp: bytes | None = None
    exif = ExifTexts()
    photoshop = b""
    extensions: list[bytes] = []
    for marker, body in _jpeg_segments(stream):
        if marker == _APP13:
            if body.startswith(_JPEG_PHOTOSHOP) and len(photoshop) < MAX_BYTES:
                photoshop += body[len(_JPEG_PHOTOSHOP) :]
        elif body.startswith(_JPEG_XMP):
            xmp = xmp or body[len(_JPEG_XMP) :]
        elif body.startswith(_JPEG_EXTENDED_XMP):
            if sum(map(len, extensions)) < MAX_BYTES:
                extensions.append(body[len(_JPEG_EXTENDED_XMP) :])
        elif body.startswith(_EXIF) and exif == ExifTexts():
            exif = _exif(body)
    extended, problem = _extended_xmp(xmp, extensions)
    return Embedded(xmp, _iptc_of_photoshop(photoshop), exif, extended, problem)


def _jpeg_segments(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The segments APP1 and APP13 before the pixels."""
    stream.seek(2)
    for _ in range(MAX_BLOCKS):
        head = stream.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (_START_OF_SCAN, _END_OF_IMAGE):
            return
        if head[1] == 0xFF:  # padding before a marker
            stream.seek(-3, 1)
            continue
        size = int.from_bytes(head[2:], "big") - 2
        if size < 0:
            return
        if head[1] in (_APP1, _APP13):
            yield head[1], stream.read(size)
        else:
            stream.seek(size, 1)


def _extended_xmp(xmp: bytes | None, segments: list[bytes]) -> tuple[bytes | None, str | None]:
    """The continuation that the packet names, put together from its segments; or why there is none.

    Each segment holds the name of the continuation, its whole length, its own place in it, and its part.
    """
    named = _EXTENSION_NAME.search(xmp or b"")
    if named is None:
        return None, None
    ours = [segment for segment in segments if segment[:32].upper() == named[1].upper()]
    length = max((int.from_bytes(segment[32:36], "big") for segment in ours), default=0)
    parts = {int.from_bytes(segment[36:40], "big"): segment[40:] for segment in ours}
    whole = b""
    while len(whole) < length and (part := parts.get(len(whole))):
        whole += part
    if not whole or len(whole) != length:
        return None, "its XMP continues in segments that are missing or damaged"
    return whole, None


def _in_png(stream: BinaryIO) -> Embedded:
    # Read to the end: some programs write the packet after the pixels.
    xmp = iptc = None
    exif = ExifTexts()
    stream.seek(8)
    for _ in range(MAX_BLOCKS):
        head = stream.read(8)
        if len(head) < 8:
            break
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if kind not in (*_PNG_TEXTS, b"eXIf") or size > MAX_BYTES:
            stream.seek(size + 4, 1)
            continue
        body = stream.read(size)
        stream.seek(4, 1)
        if kind == b"eXIf":
            exif = _exif(body) if exif == ExifTexts() else exif
            continue
        name, _, text = body.partition(b"\0")
        if name == _PNG_XMP and kind == b"iTXt":
            xmp = xmp or _png_text(kind, text)
        elif name.startswith(_PNG_PROFILE):
            profile = name.removeprefix(_PNG_PROFILE).lower()
            content = _unhex(_png_text(kind, text))
            if profile in (b"iptc", b"8bim"):
                iptc = iptc or _iptc_of_photoshop(content) or (content if content.startswith(b"\x1c") else None)
            elif profile in (b"exif", b"app1") and content.startswith(_EXIF) and exif == ExifTexts():
                exif = _exif(content)
            elif profile in (b"xmp", b"app1") and not content.startswith(_EXIF):
                xmp = xmp or content.removeprefix(_JPEG_XMP) or None
    return Embedded(xmp, iptc, exif)


def _png_text(kind: bytes, body: bytes) -> bytes | None:
    """The text of a PNG chunk after its name; None if it cannot be decompressed."""
    if kind == b"tEXt":
        return body
    if kind == b"iTXt":
        compressed, body = body[:1] == b"\1", body[2:].split(b"\0", 2)[-1]  # after language and translated name
        if not compressed:
            return body
    else:
        body = body[1:]  # after the method of compression
    try:
        return zlib.decompressobj().decompress(body, MAX_BYTES)
    except zlib.error:
        return None


def _unhex(text: bytes | None) -> bytes:
    """The content of ImageMagick's raw profile: its name and length on lines of their own, then hexadecimal digits."""
    lines = (text or b"").strip().split(b"\n", 2)
    try:
        return bytes.fromhex(lines[2].decode("ascii")) if len(lines) == 3 else b""
    except ValueError:
        return b""


def _in_webp(stream: BinaryIO) -> Embedded:
    xmp = None
    exif = ExifTexts()
    for _ in range(MAX_BLOCKS):
        head = stream.read(8)
        if len(head) < 8:
            break
        size = int.from_bytes(head[4:], "little")
        if head[:4] not in (b"XMP ", b"EXIF") or size > MAX_BYTES:
            stream.seek(size + size % 2, 1)
            continue
        body = stream.read(size)
        stream.seek(size % 2, 1)
        if head[:4] == b"EXIF":
            exif = _exif(body) if exif == ExifTexts() else exif
        else:
            xmp = xmp or body
    return Embedded(xmp, exif=exif)


def _in_gif(stream: BinaryIO) -> bytes | None:
    """The packet in an application extension; it is not divided into blocks, but its end makes it look so."""
    stream.seek(10)
    flags = stream.read(3)[:1]
    stream.seek(_colours(flags), 1)
    for _ in range(MAX_BLOCKS):
        kind = stream.read(1)
        if kind == b"!":
            name = stream.read(1) == b"\xff" and _gif_block(stream)
            blocks = _gif_blocks(stream)
            if name and name[1:] == _GIF_XMP:
                packet = b""
                for block in blocks:
                    packet += block
                    if len(packet) > MAX_BYTES:
                        return None
                return packet[: packet.rfind(_GIF_XMP_END)] if _GIF_XMP_END in packet else packet
        elif kind == b",":
            stream.seek(_colours(stream.read(9)[8:]), 1)
            stream.seek(1, 1)
            blocks = _gif_blocks(stream)
        else:
            break
        for _ in blocks:
            pass
    return None


def _colours(flags: bytes) -> int:
    """The bytes of the colour table that follows, if any."""
    return 3 * 2 ** ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _gif_block(stream: BinaryIO) -> bytes:
    """The next block with its length in front; empty at the end."""
    size = stream.read(1)
    return size + stream.read(size[0]) if size and size[0] else b""


def _gif_blocks(stream: BinaryIO) -> Iterator[bytes]:
    while block := _gif_block(stream):
        yield block


def _in_tiff(stream: BinaryIO) -> Embedded:
    """The metadata of the first picture in the file."""
    exif, blocks = read_exif(stream, (_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP))
    iptc = blocks.get(_TIFF_IPTC) or _iptc_of_photoshop(blocks.get(_TIFF_PHOTOSHOP, b""))
    return Embedded(blocks.get(_TIFF_XMP), iptc, exif)


def _box(data: bytes, name: bytes) -> bytes:
    """The content of the first box of this name."""
    at = data.find(name)
    return b"" if at < 4 else data[at + 4 : at - 4 + int.from_bytes(data[at - 4 : at], "big")]


def _raf_preview(stream: BinaryIO) -> BinaryIO:
    """The JPEG in Fujifilm's raw file, which has all its metadata."""
    stream.seek(84)
    start, size = int.from_bytes(stream.read(4), "big"), int.from_bytes(stream.read(4), "big")
    stream.seek(start)
    return io.BytesIO(stream.read(min(size, MAX_BYTES)))


def _in_boxes(stream: BinaryIO, brand: bytes) -> Embedded:
    """The metadata of AVIF and HEIC, which their decoders find; Canon's raw file has directories in boxes."""
    stream.seek(0)
    if brand == b"crx ":
        head = stream.read(_CR3_HEAD)
        main, camera, position = (_box(head, name) for name in (b"CMT1", b"CMT2", b"CMT4"))
        return Embedded(exif=exif_of_parts(main, camera, position))
    try:
        with opened_picture(stream.read()) as image:
            xmp, exif = image.info.get("xmp"), image.info.get("exif")
    except PictureError:
        return Embedded()
    return Embedded(xmp or None, exif=_exif(exif) if exif else ExifTexts())


def _exif(block: bytes) -> ExifTexts:
    return read_exif(io.BytesIO(block.removeprefix(_EXIF)))[0]


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
