"""Pictures with labels inside, laid out by hand: XMP packets, IPTC data sets, JPEG segments, PNG chunks."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

from PIL import Image

from visterm.catalogue.records import Reading, Record
from visterm.exchange.readers import xmp
from visterm.exchange.xmp_packet import DIGIKAM, LIGHTROOM, VISTERM
from visterm.exchange.xmp_tree import DC, RDF

NAMESPACES = f'xmlns:rdf="{RDF}" xmlns:dc="{DC}" xmlns:lr="{LIGHTROOM}" xmlns:digiKam="{DIGIKAM}" xmlns:v="{VISTERM}"'


def packet(body: str, *, attributes: str = "", prolog: str = "") -> bytes:
    return (
        f'{prolog}<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {NAMESPACES}>'
        f'<rdf:Description rdf:about="" {attributes}>{body}</rdf:Description></rdf:RDF></x:xmpmeta>'
    ).encode()


def bag(name: str, *items: str) -> str:
    return f"<{name}><rdf:Bag>{''.join(f'<rdf:li>{item}</rdf:li>' for item in items)}</rdf:Bag></{name}>"


def subject(*tags: str) -> bytes:
    return packet(bag("dc:subject", *tags))


def dataset(record: int, number: int, value: bytes) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def keywords(*words: bytes) -> bytes:
    return b"".join(dataset(2, 25, word) for word in words)


def jpeg_bytes(*segments: tuple[int, bytes]) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 8), "navy").save(stream, "JPEG")
    added = b"".join(struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body for marker, body in segments)
    return b"\xff\xd8" + added + stream.getvalue()[2:]


def xmp_segment(xmp_packet: bytes) -> tuple[int, bytes]:
    return 0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp_packet


def photoshop(iptc: bytes) -> bytes:
    def resource(kind: int, name: bytes, body: bytes) -> bytes:
        name = bytes([len(name)]) + name
        name += b"\0" * (len(name) % 2)
        return b"8BIM" + struct.pack(">H", kind) + name + struct.pack(">I", len(body)) + body + b"\0" * (len(body) % 2)

    return resource(0x0421, b"odd", b"xyz") + resource(0x0404, b"", iptc) + resource(0x040F, b"", b"icc")


def iptc_segment(iptc: bytes) -> tuple[int, bytes]:
    return 0xED, b"Photoshop 3.0\0" + photoshop(iptc)


def png_bytes(*chunks: tuple[bytes, bytes], behind_pixels: bool = False) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 8), "navy").save(stream, "PNG")
    data = stream.getvalue()
    added = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    at = data.index(b"IEND") - 4 if behind_pixels else data.index(b"IDAT") - 4
    return data[:at] + added + data[at:]


def itxt(xmp_packet: bytes, *, compressed: bool = False) -> tuple[bytes, bytes]:
    text = zlib.compress(xmp_packet) if compressed else xmp_packet
    return b"iTXt", b"XML:com.adobe.xmp\0" + bytes([compressed, 0]) + b"\0\0" + text


def read_folder(folder: Path) -> tuple[dict[str, Record], Reading]:
    reading = Reading(str(folder), "xmp")
    return {record.path: record for record in xmp.read(folder, reading) if record.labels_something}, reading
