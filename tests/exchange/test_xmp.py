"""Reading XMP sidecars, embedded XMP and IPTC."""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_pictures import (
    bag,
    dataset,
    iptc_segment,
    itxt,
    jpeg_bytes,
    keywords,
    packet,
    photoshop,
    png_bytes,
    read_folder,
    subject,
    xmp_segment,
)
from PIL import Image

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError
from visterm.exchange.embedded import Embedded, read_embedded
from visterm.exchange.iptc import read_iptc
from visterm.exchange.readers import xmp
from visterm.exchange.xmp_packet import PacketLabels, read_packet
from visterm.exchange.xmp_tree import MAX_ELEMENTS

BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


# What a packet says


def keywords_of(block: bytes) -> list[str]:
    return list(read_iptc(block).keywords)


def test_tags_are_the_union_and_items_stay_whole() -> None:
    body = (
        bag("dc:subject", "sun, sea", "a|b/c", " Rome ", "rome")
        + bag("lr:hierarchicalSubject", "Places|Italy|Rome", "Places|Italy|Bari/Porto")
        + bag("digiKam:TagsList", "Places/France", "sun, sea")
    )
    expected = ("sun, sea", "a|b/c", "Rome", "rome", "Places", "Italy", "Bari/Porto", "France")
    assert read_packet(packet(body)).tags == expected


@pytest.mark.parametrize(
    "data",
    [
        packet(bag("dc:subject", "a", "b").replace("rdf:Bag", "rdf:Seq")),
        packet(bag("dc:subject", "a") + bag("dc:subject", "b")),
        packet("<dc:subject>b</dc:subject>", attributes='dc:subject="a"'),
        packet(
            '<dc:subject><rdf:Bag><rdf:li rdf:parseType="Resource"><rdf:value>a</rdf:value><v:note>no</v:note></rdf:li>'
            "<rdf:li><!-- no -->b</rdf:li></rdf:Bag></dc:subject>"
        ),
        b"\0\n  " + subject("a", "b") + b"\n   \0\0",
        subject("a", "b").decode().encode("utf-16"),
        b"\xef\xbb\xbf" + subject("a", "b"),
        subject("a", "b").replace(b"rdf:", b"r:").replace(b"xmlns:rdf", b"xmlns:r"),
        b'<?xpacket begin="\xef\xbb\xbf" id="W5M0"?>' + subject("a", "b") + b'<?xpacket end="w"?>  \n',
    ],
    ids=["seq", "twice", "plain", "qualified", "padded", "utf16", "bom", "prefix", "xpacket"],
)
def test_every_way_of_writing_an_array_is_understood(data: bytes) -> None:
    assert read_packet(data).tags == ("a", "b")


def test_the_default_language_is_the_caption() -> None:
    languages = '<rdf:li xml:lang="fr">Une image</rdf:li><rdf:li xml:lang="x-default">A &lt;picture&gt;</rdf:li>'
    assert (
        read_packet(packet(f"<dc:description><rdf:Alt>{languages}</rdf:Alt></dc:description>")).caption == "A <picture>"
    )
    only = '<dc:description><rdf:Alt><rdf:li xml:lang="fr">Une image</rdf:li></rdf:Alt></dc:description>'
    assert read_packet(packet(only)).caption == "Une image"
    assert read_packet(packet("", attributes='dc:description="plain"')).caption == "plain"
    assert read_packet(packet("<dc:description><rdf:Alt/></dc:description>")) == PacketLabels()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (packet("&b;", prolog=BOMB), "entities"),
        (packet("", prolog='<!DOCTYPE x SYSTEM "file:///etc/passwd">'), "document type"),
        (packet("&e;", prolog='<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'), "document type"),
        (b"", "XML"),
        (b"not XML", "XML"),
        (subject("a")[:-20], "XML"),
        (b'<?xml version="1.0" encoding="utf-7"?>' + subject("a"), "XML"),
        (b'<?xml version="1.0" encoding="nonsense"?>' + subject("a"), "XML"),
        (subject("a").replace(b'xmlns:dc="', b'xmlns:no="'), "XML"),
        (subject("caf\xe9").decode().encode("latin-1"), "XML"),
        (b"<html/>", "rdf:RDF"),
        (packet("<dc:a/>" * MAX_ELEMENTS), "elements"),
        (b" " * (16 * 2**20 + 1), "MiB"),
    ],
)
def test_unusable_packets_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_packet(data)


def test_deep_nesting_is_harmless() -> None:
    deep = "<dc:a>" * 50_000 + "</dc:a>" * 50_000
    assert read_packet(packet(deep + bag("dc:subject", "a"))).tags == ("a",)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_arbitrary_bytes_are_read_or_refused(noise: bytes) -> None:
    keywords_of(noise)
    keywords_of(b"\x1c\x02\x19" + noise)
    for data in (noise, subject("a")[:300] + noise):
        with contextlib.suppress(InputError):  # and nothing else
            read_packet(data)


# IPTC


def test_iptc_character_sets() -> None:
    utf8, latin1 = "skåne, 東京".encode(), "skåne".encode("latin-1")
    declared = dataset(1, 90, b"\x1b%G")
    assert keywords_of(declared + keywords(utf8)) == ["skåne, 東京"]
    assert keywords_of(keywords(utf8)) == ["skåne, 東京"], "undeclared, but nothing else could be meant"
    assert keywords_of(keywords(latin1)) == ["skåne"]
    assert keywords_of(dataset(1, 90, b"\x1b.A") + keywords("Ã©".encode("latin-1"))) == ["Ã©"]
    assert keywords_of(declared + keywords(("é" * 40).encode()[:63])) == ["é" * 31], "cut inside a letter"
    assert keywords_of(keywords(b"caf\xe9 " + b"x" * 58)) == ["café " + "x" * 58]


def test_iptc_extended_lengths_other_datasets_and_damage() -> None:
    extended = struct.pack(">BBBHI", 0x1C, 2, 25, 0x8004, 3) + b"sea"
    assert keywords_of(dataset(2, 120, b"a caption") + extended + keywords(b"sky")) == ["sea", "sky"]
    assert keywords_of(keywords(b"sea", b"sky")[:-1]) == ["sea"]
    assert keywords_of(keywords(b"sea") + struct.pack(">BBBH", 0x1C, 2, 25, 0xFFFF) + b"\xff" * 9) == ["sea"]
    assert keywords_of(b"") == []


# Blocks inside picture files

PACKET = subject("inside")


def pillow_bytes(format: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 8), "navy").save(stream, format, **options)
    return stream.getvalue()


def tiff_bytes() -> bytes:
    return pillow_bytes("TIFF", tiffinfo={700: PACKET, 33723: keywords(b"sea")})


def big_endian_tiff() -> bytes:
    entries = struct.pack(">HHII", 700, 7, len(PACKET), 38) + struct.pack(">HHII", 34377, 7, 0, 0)
    return b"MM\0*" + struct.pack(">IH", 8, 2) + entries + b"\0" * 4 + PACKET


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (jpeg_bytes(xmp_segment(PACKET)), Embedded(xmp=PACKET)),
        (jpeg_bytes((0xE1, b"Exif\0\0"), xmp_segment(PACKET), xmp_segment(b"second")), Embedded(xmp=PACKET)),
        (jpeg_bytes(iptc_segment(keywords(b"sea"))), Embedded(iptc=keywords(b"sea"))),
        (jpeg_bytes().replace(b"\xff\xdb", b"\xff\xff\xff\xdb", 1), Embedded()),
        (png_bytes(itxt(PACKET)), Embedded(xmp=PACKET)),
        (png_bytes((b"iTXt", b"Title\0\0\0\0\0no"), itxt(PACKET, compressed=True)), Embedded(xmp=PACKET)),
        (png_bytes(itxt(PACKET), behind_pixels=True), Embedded(xmp=PACKET)),
        (pillow_bytes("WEBP", xmp=PACKET), Embedded(xmp=PACKET)),
        (tiff_bytes(), Embedded(xmp=PACKET, iptc=keywords(b"sea"))),
        (big_endian_tiff(), Embedded(xmp=PACKET)),
        (pillow_bytes("GIF"), Embedded()),
        (b"", Embedded()),
        (b"text named .jpg", Embedded()),
    ],
)
def test_blocks_are_found(tmp_path: Path, data: bytes, expected: Embedded) -> None:
    file = tmp_path / "picture"
    file.write_bytes(data)
    assert read_embedded(file) == expected


def test_a_photoshop_block_over_several_segments(tmp_path: Path) -> None:
    resources = photoshop(keywords(*[b"word%d" % number for number in range(20)]))
    halves = [(0xED, b"Photoshop 3.0\0" + part) for part in (resources[:60], resources[60:])]
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(*halves))
    iptc = read_embedded(tmp_path / "a.jpg").iptc
    assert iptc is not None
    assert keywords_of(iptc)[-1] == "word19"


def test_a_compressed_packet_cannot_grow_without_bound(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_bytes(itxt(b"<a>" + b" " * 2**25, compressed=True)))
    found = read_embedded(tmp_path / "a.png").xmp
    assert found is not None
    assert len(found) == 2**24
    (tmp_path / "b.png").write_bytes(png_bytes((b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0not zlib")))
    assert read_embedded(tmp_path / "b.png") == Embedded()


@pytest.mark.parametrize(
    "data", [jpeg_bytes(xmp_segment(PACKET), iptc_segment(keywords(b"sea"))), png_bytes(itxt(PACKET)), tiff_bytes()]
)
def test_cut_files_yield_what_stands_before_the_cut(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "picture"
    for length in range(0, len(data), 7):
        file.write_bytes(data[:length])
        read_embedded(file)


# The reader


def test_sidecars_and_embedded_metadata_are_united(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    data = jpeg_bytes(xmp_segment(subject("embedded", "shared")), iptc_segment(keywords(b"iptc", b"shared")))
    (tmp_path / "sub" / "IMG.JPG").write_bytes(data)
    (tmp_path / "sub" / "IMG.JPG.xmp").write_bytes(
        packet(bag("dc:subject", "full", "shared") + "<v:class>coast</v:class>")
    )
    (tmp_path / "sub" / "IMG.XMP").write_bytes(packet(bag("dc:subject", "stem"), attributes='dc:description="words"'))
    (tmp_path / "other.jpg").write_bytes(jpeg_bytes())
    (tmp_path / ".visterm").mkdir()
    (tmp_path / ".visterm" / "hidden.jpg").write_bytes(data)
    records, reading = read_folder(tmp_path)
    tags = ("full", "shared", "stem", "embedded", "iptc")
    assert records == {"sub/IMG.JPG": Record("sub/IMG.JPG", class_name="coast", tags=tags, caption="words")}
    assert reading.skips == []
    assert xmp.base(tmp_path) == tmp_path


def test_a_keyword_cut_by_iptc_is_no_second_tag(tmp_path: Path) -> None:
    long = "a place with a very long name, longer than sixty-four bytes, é and all that"
    iptc = dataset(1, 90, b"\x1b%G") + keywords(long.encode()[:64], b"a place")
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(xmp_segment(subject(long)), iptc_segment(iptc)))
    assert read_folder(tmp_path)[0]["a.jpg"].tags == (long, "a place")


def test_what_is_broken_costs_one_line_and_nothing_else(tmp_path: Path) -> None:
    good = jpeg_bytes(xmp_segment(subject("good")))
    (tmp_path / "a.jpg").write_bytes(good)
    (tmp_path / "a.jpg.xmp").write_bytes(packet("&b;", prolog=BOMB))
    (tmp_path / "b.jpg").write_bytes(jpeg_bytes(xmp_segment(b"<broken"), iptc_segment(keywords(b"iptc", b"x" * 1001))))
    (tmp_path / "c.jpg").write_bytes(good)
    (tmp_path / "c.xmp").write_bytes(b" " * (2**24 + 1))
    (tmp_path / "d.jpg").write_bytes(b"")
    (tmp_path / "e.jpg").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "f.jpg")
    (tmp_path / "g.jpg").write_bytes(good)
    os.mkfifo(tmp_path / "g.jpg.xmp")
    records, reading = read_folder(tmp_path)
    assert {path: record.tags for path, record in records.items()} == {
        "a.jpg": ("good",),
        "b.jpg": ("iptc",),
        "c.jpg": ("good",),
        "g.jpg": ("good",),
    }
    lines = [str(skipped) for skipped in reading.skips]
    assert [line.split(":")[0] for line in lines] == [
        "a.jpg, a.jpg.xmp", "b.jpg", "b.jpg", "c.jpg, c.xmp", "e.jpg", "f.jpg", "g.jpg, g.jpg.xmp",
    ]  # fmt: skip
    assert all("\n" not in line for line in lines)


def test_control_characters_do_not_reach_tags(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(iptc_segment(keywords(b"se\0a\x07", b"New\r\nYork", b" \0 "))))
    assert read_folder(tmp_path)[0]["a.jpg"].tags == ("sea", "New York")


def test_reading_is_lazy(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(xmp_segment(subject("a"))))
    records = xmp.read(tmp_path, Reading("", "xmp"))
    assert isinstance(records, Iterator)
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(xmp_segment(subject("b"))))
    assert next(records).tags == ("b",)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"")
    with pytest.raises(InputError, match="not a folder"):
        list(xmp.read(tmp_path / "a.jpg", Reading("", "xmp")))


def test_detection(tmp_path: Path) -> None:
    assert not xmp.detect(tmp_path)
    assert not xmp.detect(tmp_path / "absent")
    for number in range(60):
        (tmp_path / f"{number:03}.jpg").write_bytes(jpeg_bytes())
    (tmp_path / "lonely.xmp").write_bytes(subject("a"))
    assert not xmp.detect(tmp_path), "a sidecar without its picture"
    (tmp_path / "059.jpg.xmp").write_bytes(subject("a"))
    assert xmp.detect(tmp_path), "a sidecar anywhere"
    (tmp_path / "059.jpg.xmp").unlink()
    (tmp_path / "019.jpg").write_bytes(jpeg_bytes(xmp_segment(packet(""))))
    assert not xmp.detect(tmp_path), "a packet that says nothing"
    (tmp_path / "019.jpg").write_bytes(jpeg_bytes(xmp_segment(subject("a"))))
    assert xmp.detect(tmp_path), "labels inside one of the first pictures"


def test_detection_looks_beyond_the_first_pictures(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.jpg").write_bytes(jpeg_bytes(*[xmp_segment(subject("a"))] * (number >= 150)))
    assert xmp.detect(tmp_path)
