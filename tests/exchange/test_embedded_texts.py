"""Captions and keywords of every kind inside pictures: EXIF, IPTC, XMP in all containers, undeclared character sets."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import zlib
from hashlib import md5
from pathlib import Path

import pytest
from labelled_pictures import (
    bag,
    dataset,
    iptc_segment,
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

from visterm.exchange.charsets import decode_undeclared
from visterm.exchange.embedded import read_embedded
from visterm.exchange.exif import ExifTexts, is_stock_description
from visterm.exchange.iptc import read_iptc
from visterm.exchange.readers import open_pictures


def pillow_bytes(format: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 8), "navy").save(stream, format, **options)
    return stream.getvalue()


DESCRIPTION, XP_TITLE, XP_COMMENT, XP_KEYWORDS = 0x010E, 0x9C9B, 0x9C9C, 0x9C9E


def windows(text: str) -> bytes:
    return text.encode("utf-16-le") + b"\0\0"


def exif(fields: dict[int, bytes], *, order: str = "<") -> bytes:
    """An EXIF block with a directory of ``fields``, laid out by hand."""
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, len(fields))
    at = len(head) + 12 * len(fields) + 4
    entries, values = b"", b""
    for tag, value in sorted(fields.items()):
        kind = 2 if tag == DESCRIPTION else 1
        if len(value) > 4:
            entries += struct.pack(f"{order}HHII", tag, kind, len(value), at + len(values))
            values += value
        else:
            entries += struct.pack(f"{order}HHI", tag, kind, len(value)) + value.ljust(4, b"\0")
    return head + entries + b"\0\0\0\0" + values


FIELDS = {DESCRIPTION: "Ein Boot über allem".encode() + b"\0", XP_KEYWORDS: windows("sea;дом; tall tree ")}
TEXTS = ExifTexts(("sea", "дом", "tall tree"), "Ein Boot über allem")
SHORT = {XP_KEYWORDS: windows("a"), XP_TITLE: windows("A title"), XP_COMMENT: windows("A comment")}


def raw_profile(name: bytes, content: bytes) -> bytes:
    digits = content.hex().encode()
    lines = b"\n".join(digits[at : at + 72] for at in range(0, len(digits), 72))
    return b"\n%s\n%8d\n%s\n" % (name, len(content), lines)


def chunk(name: bytes, content: bytes) -> tuple[bytes, bytes]:
    return b"zTXt", b"Raw profile type %s\0\0" % name + zlib.compress(raw_profile(name, content))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fields", [FIELDS, SHORT])
def test_exif_texts_in_every_container(tmp_path: Path, order: str, fields: dict[int, bytes]) -> None:
    block = exif(fields, order=order)
    wanted = TEXTS if fields is FIELDS else ExifTexts(("a",), "A comment")
    for name, data in {
        "a.jpg": jpeg_bytes((0xE1, b"Exif\0\0" + block)),
        "a.png": png_bytes((b"eXIf", block)),
        "b.png": png_bytes(chunk(b"exif", b"Exif\0\0" + block)),
        "a.webp": pillow_bytes("WEBP", exif=b"Exif\0\0" + block),
        "a.tif": block,
    }.items():
        (tmp_path / name).write_bytes(data)
        assert read_embedded(tmp_path / name).exif == wanted, name


@pytest.mark.parametrize(
    ("text", "stock"),
    [
        ("OLYMPUS DIGITAL CAMERA         ", True),
        ("KONICA MINOLTA DIGITAL CAMERA", True),
        ("SONY DSC", True),
        ("<Digimax i5, Samsung #1>", True),
        ("oznorWO", True),
        ("Default", True),
        ("A digital camera", True),  # nobody misses it
        ("My new digital camera on the table", False),
        ("SONY", False),
        ("HDR of the cathedral", False),
        ("a", False),
    ],
)
def test_what_cameras_write_is_no_caption(tmp_path: Path, text: str, stock: bool) -> None:
    assert is_stock_description(text) == stock
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes((0xE1, b"Exif\0\0" + exif({DESCRIPTION: text.encode() + b"\0"}))))
    records, _ = read_folder(tmp_path)
    assert ("a.jpg" in records) is not stock


def test_a_comment_counts_where_the_camera_wrote_the_description(tmp_path: Path) -> None:
    block = exif({DESCRIPTION: b"SONY DSC\0", XP_COMMENT: windows("By a person")})
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes((0xE1, b"Exif\0\0" + block)))
    assert read_folder(tmp_path)[0]["a.jpg"].caption == "By a person"


def test_the_first_place_with_a_caption_counts(tmp_path: Path) -> None:
    exif_segment = (0xE1, b"Exif\0\0" + exif({DESCRIPTION: b"by EXIF"}))
    iptc = iptc_segment(dataset(2, 120, b"by IPTC") + keywords(b"sea"))
    stock = xmp_segment(packet("", attributes='dc:description="OLYMPUS DIGITAL CAMERA"'))
    for name, segments, wanted in (
        ("a.jpg", [exif_segment], "by EXIF"),
        ("b.jpg", [exif_segment, iptc], "by IPTC"),
        ("c.jpg", [exif_segment, iptc, xmp_segment(packet("", attributes='dc:description="by XMP"'))], "by XMP"),
        ("d.jpg", [stock, iptc], "by IPTC"),
    ):
        (tmp_path / name).write_bytes(jpeg_bytes(*segments))
        assert read_folder(tmp_path)[0][name].caption == wanted
    (tmp_path / "c.jpg.xmp").write_bytes(packet("", attributes='dc:description="by sidecar"'))
    assert read_folder(tmp_path)[0]["c.jpg"].caption == "by sidecar"


@pytest.mark.parametrize("kind", ["bim", "plain", "text", "international"])
def test_iptc_in_png(tmp_path: Path, kind: str) -> None:
    block = dataset(1, 90, b"\x1b%G") + keywords("Łódź".encode()) + dataset(2, 120, b"A town")
    written = {
        "bim": chunk(b"iptc", photoshop(block)),
        "plain": chunk(b"iptc", block),
        "text": (b"tEXt", b"Raw profile type 8bim\0" + raw_profile(b"8bim", photoshop(block))),
        "international": (b"iTXt", b"Raw profile type iptc\0\0\0\0\0" + raw_profile(b"iptc", photoshop(block))),
    }[kind]
    (tmp_path / "a.png").write_bytes(png_bytes(written))
    record = read_folder(tmp_path)[0]["a.png"]
    assert (record.tags, record.caption) == (("Łódź",), "A town")


@pytest.mark.parametrize("content", [b"", b"zz", b"\niptc\n 3\nxyz", b"\niptc\n", b"\niptc\n 9\n\xff\xff", b"0" * 9])
def test_a_broken_raw_profile_is_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(png_bytes((b"tEXt", b"Raw profile type iptc\0" + content)))
    assert read_embedded(tmp_path / "a.png").iptc is None


def gif_bytes(xmp: bytes | None) -> bytes:
    frames = [Image.effect_noise((60, 50), number) for number in (50, 90)]
    stream = io.BytesIO()
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:], loop=0, comment=b"x" * 600)
    data = stream.getvalue()
    assert data.endswith(b";")
    if xmp is None:
        return data
    return data[:-1] + b"!\xff\x0bXMP DataXMP" + xmp + bytes([1, *range(255, -1, -1), 0]) + b";"


@pytest.mark.parametrize("length", [0, 1, 2, 100, 255, 256, 257, 5000])
def test_xmp_in_gif(tmp_path: Path, length: int) -> None:
    written = subject("inside", "x" * length)
    (tmp_path / "a.gif").write_bytes(gif_bytes(written))
    assert read_embedded(tmp_path / "a.gif").xmp == written
    (tmp_path / "a.gif").write_bytes(gif_bytes(None))
    assert read_embedded(tmp_path / "a.gif").xmp is None


# Packets over 64 KiB


def extended(tags: list[str], *, lose: int | None = None) -> list[tuple[int, bytes]]:
    whole = subject(*tags)
    name = md5(whole, usedforsecurity=False).hexdigest().upper().encode()
    note = f'xmlns:xmpNote="http://ns.adobe.com/xmp/note/" xmpNote:HasExtendedXMP="{name.decode()}"'
    segments = [
        (0xE1, b"http://ns.adobe.com/xmp/extension/\0" + name + struct.pack(">II", len(whole), at) + whole[at:][:65000])
        for at in range(0, len(whole), 65000)
    ]
    if lose is not None:
        del segments[lose]
    stale = (0xE1, b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 32 + struct.pack(">II", 5, 0) + b"other")
    return [xmp_segment(packet(bag("dc:subject", "first"), attributes=note)), *reversed(segments), stale]


def test_four_thousand_tags_are_read(tmp_path: Path) -> None:
    tags = [f"tag number {number}" for number in range(4000)]
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(*extended(tags)))
    records, reading = read_folder(tmp_path)
    assert records["a.jpg"].tags == ("first", *tags)
    assert reading.skips == []


@pytest.mark.parametrize("lose", [0, 1])
def test_a_continuation_with_a_hole_is_reported(tmp_path: Path, lose: int) -> None:
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(*extended([f"tag number {n}" for n in range(4000)], lose=lose)))
    records, reading = read_folder(tmp_path)
    assert records["a.jpg"].tags == ("first",)
    assert [str(line) for line in reading.skips] == ["a.jpg: its XMP continues in segments that are missing or damaged"]


# Character sets


@pytest.mark.parametrize(
    ("encoding", "guess", "words"),
    [
        ("cp1250", "Central European", ["Łódź", "święto", "rzeka"]),
        ("cp1250", "Central European", ["český ráj", "řeka", "žluťoučký kůň"]),
        ("cp1250", "Central European", ["hegyek", "őszi erdő", "tűz"]),
        ("cp1251", "Cyrillic", ["Москва", "река", "зимний лес"]),
        ("cp1251", "Cyrillic", ["Київ", "міст"]),
        ("cp1252", "Western European", ["café", "forêt", "plage"]),
        ("cp1252", "Western European", ["Straße", "Grünanlage"]),
        ("cp1252", "Western European", ["skåne", "sjö"]),
        ("cp1252", "Western European", ["São João", "praça"]),
        ("cp1252", "Western European", ["niño", "corazón", "“olé”"]),
    ],
)
def test_an_undeclared_character_set_is_guessed_and_reported(
    tmp_path: Path, encoding: str, guess: str, words: list[str]
) -> None:
    block = keywords(*(word.encode(encoding) for word in words))
    assert read_iptc(block).guess == guess
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(jpeg_bytes(iptc_segment(block)))
    records, reading = read_folder(tmp_path)
    assert records["b.jpg"].tags == tuple(words)
    (line,) = map(str, reading.notes)
    assert f"a.jpg: its IPTC text names no character set and was read as {guess}, such as {words[0]}" in line
    assert "2 pictures" in line


def test_text_that_needs_no_guess_is_not_reported(tmp_path: Path) -> None:
    blocks = {
        "utf8": keywords("Łódź".encode()),
        "ascii": keywords(b"sea"),
        "latin2": dataset(1, 90, b"\x1b-B") + keywords("Łódź".encode("iso8859-2")),
        "cyrillic": dataset(1, 90, b"\x1b-L") + keywords("Москва".encode("iso8859-5")),
    }
    for name, block in blocks.items():
        (tmp_path / f"{name}.jpg").write_bytes(jpeg_bytes(iptc_segment(block)))
    records, reading = read_folder(tmp_path)
    assert [record.tags[0] for record in records.values()] == ["sea", "Москва", "Łódź", "Łódź"]
    assert reading.skips == reading.notes == []


def test_an_undeclared_description_is_guessed_too(tmp_path: Path) -> None:
    fields = {DESCRIPTION: "Вид на Москву".encode("cp1251")}
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes((0xE1, b"Exif\0\0" + exif(fields))))
    records, reading = read_folder(tmp_path)
    assert records["a.jpg"].caption == "Вид на Москву"
    assert "EXIF text names no character set and was read as Cyrillic" in str(reading.notes[0])
    assert reading.skips == [], "nothing was left out"


def test_bytes_that_no_set_knows_are_still_text() -> None:
    assert decode_undeclared([bytes(range(128, 256))]).guess is not None
    assert decode_undeclared([]) == decode_undeclared(()) != decode_undeclared([b"\xff"])


# Single files


def test_single_pictures_are_read_with_their_sidecars(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    for name in ("one/a.jpg", "one/b.jpg", "one/c.jpg", "two/d.jpg"):
        (tmp_path / name).write_bytes(jpeg_bytes(xmp_segment(subject(name))))
    (tmp_path / "one" / "A.JPG.XMP").write_bytes(subject("sidecar"))
    sources = list(open_pictures([tmp_path / "one" / "a.jpg", tmp_path / "two" / "d.jpg", tmp_path / "one" / "b.jpg"]))
    found = {(base.name, record.path): record.tags for _, base, records in sources for record in records}
    assert found == {
        ("one", "a.jpg"): ("sidecar", "one/a.jpg"),
        ("one", "b.jpg"): ("one/b.jpg",),
        ("two", "d.jpg"): ("two/d.jpg",),
    }
    assert [Path(reading.source).name for reading, _, _ in sources] == ["one", "d.jpg"]
    assert [reading.about for reading, _, _ in sources] == [("a.jpg", "b.jpg"), ("d.jpg",)], "c.jpg was not named"


# Against other programs

EXIFTOOL, EXIV2 = shutil.which("exiftool"), shutil.which("exiv2")


@pytest.mark.skipif(EXIFTOOL is None, reason="exiftool is not installed (Debian: libimage-exiftool-perl)")
def test_what_exiftool_writes_is_read(tmp_path: Path) -> None:
    for format in ("JPEG", "PNG", "TIFF", "GIF", "WEBP"):
        (tmp_path / f"a.{format.lower()}").write_bytes(pillow_bytes(format))
    many = [f"-XMP-dc:Subject=tag number {number} of very many in one picture" for number in range(2000)]
    (tmp_path / "big.jpg").write_bytes(pillow_bytes("JPEG"))
    arguments = tmp_path / "arguments"

    def write(names: list[str], *options: str) -> None:
        files = [str(tmp_path / name) for name in names]
        arguments.write_text("\n".join(["-q", "-overwrite_original", *options, *files]), encoding="utf-8")
        subprocess.run([str(EXIFTOOL), "-charset", "utf8", "-@", str(arguments)], check=True, capture_output=True)

    write(["a.gif", "a.png"], "-XMP-dc:Subject=дом", "-XMP-dc:Description=A house")
    write(
        ["a.jpeg", "a.tiff"],
        "-IPTC:Keywords=дом",
        "-IPTC:Caption-Abstract=A house",
        "-EXIF:ImageDescription=no",
        "-XPKeywords=sea;sky",
        "-IPTC:CodedCharacterSet=UTF8",
    )
    write(["a.webp"], "-EXIF:ImageDescription=A house", "-XPKeywords=дом")
    write(["big.jpg"], *many)
    records, reading = read_folder(tmp_path)
    assert reading.skips == []
    assert {name: (record.tags[:3], record.caption) for name, record in records.items()} == {
        "a.gif": (("дом",), "A house"),
        "a.png": (("дом",), "A house"),
        "a.jpeg": (("дом", "sea", "sky"), "A house"),
        "a.tiff": (("дом", "sea", "sky"), "A house"),
        "a.webp": (("дом",), "A house"),
        "big.jpg": (tuple(f"tag number {number} of very many in one picture" for number in range(3)), None),
    }
    assert len(records["big.jpg"].tags) == 2000


@pytest.mark.skipif(EXIV2 is None, reason="exiv2 is not installed")
def test_what_exiv2_writes_is_read(tmp_path: Path) -> None:
    for format in ("JPEG", "PNG", "TIFF", "WEBP"):
        (tmp_path / f"a.{format.lower()}").write_bytes(pillow_bytes(format))
    exif_commands = ["-Mset Exif.Image.ImageDescription Ascii A house"]
    iptc_commands = [
        "-Mset Iptc.Envelope.CharacterSet \x1b%G",
        "-Madd Iptc.Application2.Keywords String дом",
        "-Mset Iptc.Application2.Caption String A house",
    ]
    for name, commands in {
        "a.jpeg": [*iptc_commands, "-Mset Exif.Image.ImageDescription Ascii no"],
        "a.png": iptc_commands,
        "a.tiff": exif_commands,
        "a.webp": [*exif_commands, "-Mset Xmp.dc.subject XmpBag дом"],
    }.items():
        subprocess.run([str(EXIV2), *commands, str(tmp_path / name)], check=True, capture_output=True)
    records, reading = read_folder(tmp_path)
    assert reading.skips == []
    assert {name: (record.tags, record.caption) for name, record in records.items()} == {
        "a.jpeg": (("дом",), "A house"),
        "a.png": (("дом",), "A house"),
        "a.tiff": ((), "A house"),
        "a.webp": (("дом",), "A house"),
    }
