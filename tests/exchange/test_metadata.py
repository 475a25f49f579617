"""Metadata in files and sidecars: round trips through ExifTool and another encoder, and what cannot be right."""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from labelled_pictures import dataset, iptc_segment, jpeg_bytes, packet, xmp_segment
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from visterm.catalogue.metadata import NOTHING, Metadata
from visterm.catalogue.records import Reading, Region
from visterm.exchange.readers import xmp

ZONES = (-720, -570, -210, 0, 60, 345, 525, 840, None)
SUFFIXES = ("jpg", "tif", "png", "webp")


def read(folder: Path) -> tuple[dict[str, Metadata], dict[str, tuple[Region, ...]], Reading]:
    reading = Reading(str(folder), "xmp")
    records = list(xmp.read(folder, reading))
    return (
        {record.path: record.metadata for record in records},
        {record.path: record.parts for record in records},
        reading,
    )


def drawn(rng: np.random.Generator, number: int) -> Metadata:
    """Metadata with every field, all different."""
    second, part = number % 60, ".25" if number % 3 == 0 else ""
    return Metadata(
        taken=f"{1990 + number}-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:07:{second:02}{part}",
        zone=ZONES[number % len(ZONES)],
        latitude=round(float(rng.uniform(-90, 90)), 4),
        longitude=round(float(rng.uniform(-180, 180)), 4),
        camera=f"Maker Model {number}",
        lens=f"{number + 10}-200mm f/4",
        exposure=[1 / 4000, 1 / 250, 0.5, 30.0][number % 4],
        aperture=[1.4, 2.8, 22.0][number % 3],
        iso=100 + number,
        focal_length=24.0 + number,
        rating=[-1, 1, 2, 3, 4, 5][number % 6],
        colour=["Red", "Grün", "Blue"][number % 3],
        pick=[1, -1][number % 2],
        title=f"Title {number}: «Œuvre»",
        creator=f"Zoë {number}; B. Second",
        copyright=f"© {number}",
    )


def zone_text(minutes: int | None) -> str:
    return "" if minutes is None else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def arguments(said: Metadata, name: str) -> list[str]:
    """What ExifTool is told to write it."""
    taken, _, part = (said.taken or "").partition(".")
    written = {
        "ExifIFD:DateTimeOriginal": taken.replace("-", ":").replace("T", " "),
        "ExifIFD:SubSecTimeOriginal": part,
        "ExifIFD:OffsetTimeOriginal": zone_text(said.zone),
        "GPS:GPSLatitude": abs(said.latitude or 0),
        "GPS:GPSLatitudeRef": "N" if (said.latitude or 0) >= 0 else "S",
        "GPS:GPSLongitude": abs(said.longitude or 0),
        "GPS:GPSLongitudeRef": "E" if (said.longitude or 0) >= 0 else "W",
        "IFD0:Make": "Maker",
        "IFD0:Model": (said.camera or "").removeprefix("Maker "),
        "ExifIFD:LensModel": said.lens,
        "ExifIFD:ExposureTime": said.exposure,
        "ExifIFD:FNumber": said.aperture,
        "ExifIFD:ISO": said.iso,
        "ExifIFD:FocalLength": said.focal_length,
        "XMP-xmp:Rating": said.rating,
        "XMP-xmp:Label": said.colour,
        "XMP-digiKam:PickLabel": {1: 3, -1: 1}[said.pick or 1],
        "XMP-dc:Title": said.title,
        "XMP-dc:Rights": said.copyright,
    }
    creators = [f"-XMP-dc:Creator={creator}" for creator in (said.creator or "").split("; ")]
    region = (
        "-RegionInfo={AppliedToDimensions={W=60,H=40,Unit=pixel},RegionList=[{"
        "Area={X=0.5,Y=0.25,W=0.2,H=0.5,Unit=normalized},Name=Anna,Type=Face},"
        "{Area={X=0.1,Y=0.1,W=0.1,H=0.1,Unit=normalized},Type=Focus}]}"
    )
    texts = [f"-{key}={value}" for key, value in written.items() if value not in (None, "")]
    return ["-overwrite_original", "-q", "-n", *texts, *creators, region, name, "-execute"]


@pytest.fixture(scope="module")
def by_exiftool(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Metadata]]:
    """Forty files of four formats, and what ExifTool was told to write into each, in one call."""
    if shutil.which("exiftool") is None:
        pytest.skip("ExifTool is not installed")
    folder, rng = tmp_path_factory.mktemp("exiftool"), np.random.default_rng(0)
    wanted = {}
    lines = []
    for number, suffix in product(range(10), SUFFIXES):
        name = f"{number}.{suffix}"
        Image.new("RGB", (60, 40), (number, 99, 99)).save(folder / name)
        wanted[name] = drawn(rng, len(wanted))
        lines += arguments(wanted[name], name)
    (folder / "arguments").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["exiftool", "-@", "arguments"], cwd=folder, check=True, capture_output=True)
    return folder, wanted


def test_every_field_that_exiftool_writes_comes_back(by_exiftool: tuple[Path, dict[str, Metadata]]) -> None:
    folder, wanted = by_exiftool
    found, regions, reading = read(folder)
    assert found == wanted
    assert set(regions.values()) == {(Region("Anna", 0.4, 0.0, 0.6, 0.5),)}
    assert (reading.notes, reading.skips) == ([], [])


def rational(value: float) -> IFDRational:
    return IFDRational(round(value * 1_000_000), 1_000_000)


def sides(value: float) -> tuple[IFDRational, ...]:
    """Degrees, minutes and seconds."""
    minutes = (abs(value) % 1) * 60
    return rational(int(abs(value))), rational(int(minutes)), rational((minutes % 1) * 60)


def by_pillow(said: Metadata) -> Image.Exif:
    """EXIF with what is said, as Pillow's encoder writes it."""
    exif = Image.Exif()
    taken, _, part = (said.taken or "").partition(".")
    exif.update(
        {0x010F: "Maker", 0x0110: said.camera, 0x013B: said.creator, 0x8298: said.copyright, 0x4746: said.rating}
    )
    camera, position = exif.get_ifd(0x8769), exif.get_ifd(0x8825)
    camera.update(
        {0x9003: taken.replace("-", ":").replace("T", " "), 0x9291: part, 0xA434: said.lens, 0x8827: said.iso}
    )
    camera.update(
        {
            0x829A: rational(said.exposure or 0),
            0x829D: rational(said.aperture or 0),
            0x920A: rational(said.focal_length or 0),
        }
    )
    if said.zone is not None:
        camera[0x9011] = zone_text(said.zone)
    for tag, value, signs in ((1, said.latitude or 0, "NS"), (3, said.longitude or 0, "EW")):
        position.update({tag: signs[value < 0], tag + 1: sides(value)})
    return exif


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])  # Pillow writes no directories below a TIFF's first one
def test_what_another_encoder_writes_comes_back_without_exiftool(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(1)
    wanted = {}
    for number in range(6):
        said = replace(drawn(rng, number), colour=None, pick=None, title=None, rating=1 + number % 5)
        said = replace(said, creator=f"Bob {number}", copyright=f"me {number}")  # EXIF says ASCII
        name = f"{number}.{suffix}"
        Image.new("RGB", (60, 40)).save(tmp_path / name, exif=by_pillow(said))
        wanted[name] = said
    found, _, reading = read(tmp_path)
    for name, said in wanted.items():
        assert found[name].latitude == pytest.approx(said.latitude, abs=2e-6)
        assert found[name].longitude == pytest.approx(said.longitude, abs=2e-6)
        assert replace(found[name], latitude=said.latitude, longitude=said.longitude) == said
    assert reading.notes == []


Fields = dict[int, tuple[int, int, bytes]]


def n_bytes(fields: Fields) -> int:
    return 2 + 12 * len(fields) + 4 + sum(len(data) for _, _, data in fields.values() if len(data) > 4)


def exif_block(main: Fields, camera: Fields, gps: Fields) -> bytes:
    """Three directories of (type, count, bytes), laid out by hand, so that they may be wrong."""
    main = dict(main)
    blocks = {0x8769: camera, 0x8825: gps}
    at, tail = 8, b""
    for pointer in blocks:
        main[pointer] = (4, 1, b"\0\0\0\0")
    start_of = {}
    place = at + n_bytes(main)
    for pointer, fields in blocks.items():
        start_of[pointer] = place
        main[pointer] = (4, 1, struct.pack("<I", place))
        place += n_bytes(fields)
    for start, fields in ((at, main), *((start_of[pointer], fields) for pointer, fields in blocks.items())):
        head, values = struct.pack("<H", len(fields)), b""
        behind = start + 2 + 12 * len(fields) + 4
        for tag, (kind, count, data) in sorted(fields.items()):
            inline = data.ljust(4, b"\0") if len(data) <= 4 else struct.pack("<I", behind + len(values))
            values += data if len(data) > 4 else b""
            head += struct.pack("<HHI", tag, kind, count) + inline
        tail += head + b"\0\0\0\0" + values
    return b"Exif\0\0II*\0" + struct.pack("<I", 8) + tail


def ascii_field(text: str) -> tuple[int, int, bytes]:
    return 2, len(text) + 1, text.encode() + b"\0"


def fractions(*pairs: tuple[int, int]) -> tuple[int, int, bytes]:
    return 5, len(pairs), b"".join(struct.pack("<II", *pair) for pair in pairs)


OSLO = {
    1: ascii_field("N"),
    2: fractions((59, 1), (54, 1), (0, 1)),
    3: ascii_field("E"),
    4: fractions((10, 1), (45, 1), (0, 1)),
}


def one(tmp_path: Path, *segments: tuple[int, bytes]) -> tuple[Metadata, list[str]]:
    (tmp_path / "a.jpg").write_bytes(jpeg_bytes(*segments))
    found, _, reading = read(tmp_path)
    return found["a.jpg"], [note.reason for note in reading.notes]


@pytest.mark.parametrize(
    ("camera", "gps", "expected", "noted"),
    [
        ({}, OSLO, {"latitude": 59.9, "longitude": 10.75}, []),
        ({}, {k: v for k, v in OSLO.items() if k != 3}, {}, ["EXIF GPS longitude"]),  # east or west?
        ({}, {**OSLO, 1: ascii_field("Q")}, {}, ["EXIF GPS latitude"]),
        ({}, {**OSLO, 2: fractions((59, 0), (54, 1), (0, 1))}, {}, ["EXIF GPS latitude"]),
        ({}, {**OSLO, 2: fractions((0, 0), (0, 0), (0, 0))}, {}, []),  # the standard's way to say: unknown
        ({}, {**OSLO, 2: fractions((91, 1), (0, 1), (0, 1))}, {}, ["EXIF GPS latitude"]),
        ({}, {**OSLO, 2: ascii_field("fifty-nine")}, {}, ["EXIF GPS latitude"]),
        ({}, {**OSLO, 2: fractions((0, 1)), 4: fractions((0, 1))}, {}, ["position"]),
        ({0x9003: ascii_field("2019:07:14 12:30")}, {}, {"taken": "2019-07-14T12:30"}, []),
        ({0x9003: ascii_field("2019:07:14   :  :  ")}, {}, {"taken": "2019-07-14"}, []),
        ({0x9003: ascii_field("2019:00:00 00:00:00")}, {}, {"taken": "2019"}, []),
        ({0x9003: ascii_field("    :  :     :  :  ")}, {}, {}, []),
        ({0x9003: ascii_field("0000:00:00 00:00:00")}, {}, {}, []),
        ({0x9003: ascii_field("2019:13:14 12:30:05")}, {}, {}, ["EXIF DateTimeOriginal"]),
        ({0x9003: ascii_field("2019:02:30 12:30:05")}, {}, {}, ["EXIF DateTimeOriginal"]),
        ({0x9003: ascii_field("2019:07:14 25:30:05")}, {}, {}, ["EXIF DateTimeOriginal"]),
        ({0x9003: ascii_field("last summer")}, {}, {}, ["EXIF DateTimeOriginal"]),
        ({0x9003: (3, 1, b"\x07\0")}, {}, {}, []),  # a number in place of the text: nothing is said
        (
            {0x9003: ascii_field("2019:07:14 12:30:05"), 0x9011: ascii_field("+25:00")},
            {},
            {"taken": "2019-07-14T12:30:05"},
            ["EXIF DateTimeOriginal zone"],
        ),
        (
            {0x9003: ascii_field("2019:07:14 12:30:05"), 0x9011: ascii_field("   :  ")},
            {},
            {"taken": "2019-07-14T12:30:05"},
            [],
        ),
        (
            {0x9003: ascii_field("2019:07:14 12:30:05"), 0x9011: ascii_field("+14:30")},  # no zone is so far ahead
            {},
            {"taken": "2019-07-14T12:30:05"},
            ["EXIF DateTimeOriginal zone"],
        ),
        ({}, {**OSLO, 2: (10, 3, struct.pack("<6i", -59, 1, 54, 1, 0, 1))}, {}, ["EXIF GPS latitude"]),
        ({0x829A: fractions((1, 0))}, {}, {}, ["EXIF exposure"]),
        ({0x829A: fractions((0, 1))}, {}, {}, []),
        ({0x829A: ascii_field("1/250")}, {}, {}, ["EXIF exposure"]),
        ({0x829A: fractions((1, 250))}, {}, {"exposure": 0.004}, []),
        ({0x8827: (3, 1, struct.pack("<H", 65535))}, {}, {}, []),  # larger than its field
        ({0x8827: fractions((3, 2))}, {}, {}, ["EXIF ISO"]),
        ({0x829D: (99, 1, b"\x07\0\0\0")}, {}, {}, []),  # an unknown type
    ],
)
def test_what_exif_cannot_mean_is_left_out_and_said(tmp_path, camera, gps, expected, noted):  # type: ignore[no-untyped-def]
    found, notes = one(tmp_path, (0xE1, exif_block({}, camera, gps)))
    assert found == Metadata(**expected)
    assert len(notes) == len(noted)
    assert all(note.startswith(f"its {what} ") for note, what in zip(notes, noted, strict=True))


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_exif_that_is_cut_anywhere_is_no_error(tmp_path: Path, cut: int) -> None:
    whole = exif_block({0x0110: ascii_field("Model One")}, {0x829A: fractions((1, 250))}, OSLO)
    found, _ = one(tmp_path, (0xE1, whole[:cut]))
    assert found.camera in (None, "Model One")
    assert found.exposure in (None, 0.004)


def test_blocks_agree_by_a_fixed_order(tmp_path: Path) -> None:
    """What the camera knows comes from EXIF first, what people write from XMP, then IPTC, then EXIF; sidecars win."""
    texts = {0x013B: ascii_field("by exif"), 0x8298: ascii_field("exif's")}
    block = exif_block(texts, {0x9003: ascii_field("2019:07:14 12:30:05")}, {})
    inside = packet(
        "<dc:creator><rdf:Seq><rdf:li>by xmp</rdf:li></rdf:Seq></dc:creator>",
        attributes='xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:DateTimeOriginal="2019-07-14T12:30:05+02:00"',
    )
    iptc = dataset(2, 80, b"by iptc") + dataset(2, 116, b"iptc's") + dataset(2, 55, b"20180101")
    found, _ = one(tmp_path, (0xE1, block), xmp_segment(inside), iptc_segment(iptc))
    assert (found.taken, found.zone) == ("2019-07-14T12:30:05", 120)  # the same time, with its zone, stands in XMP
    assert (found.creator, found.copyright) == ("by xmp", "iptc's")
    other = inside.replace(b"2019-07-14", b"2001-02-03")
    found, _ = one(tmp_path, (0xE1, block), xmp_segment(other))
    assert (found.taken, found.zone) == ("2019-07-14T12:30:05", None)  # another time has another zone
    beside = packet("", attributes='xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:DateTimeOriginal="2001-02"')
    (tmp_path / "a.jpg.xmp").write_bytes(beside)
    assert read(tmp_path)[0]["a.jpg"].taken == "2001-02"


@pytest.mark.parametrize(
    ("attributes", "expected", "noted"),
    [
        ('exif:GPSLatitude="60,23,30N" exif:GPSLongitude="5,19.5E"', {"latitude": 60.391667, "longitude": 5.325}, 0),
        ('exif:GPSLatitude="60.39" exif:GPSLongitude="5.3"', {}, 2),  # which side of the equator?
        ('exif:ExposureTime="1/0"', {}, 1),
        ('exif:ExposureTime="1/8" exif:FNumber="0/0"', {"exposure": 0.125}, 0),
        ('xmp:Rating="3.0"', {"rating": 3}, 0),
        ('xmp:Rating="0"', {}, 0),
        ('xmp:Rating="99"', {}, 1),
        ('xmp:Rating="many"', {}, 1),
        ('d:ColorLabel="4" d:PickLabel="1"', {"colour": "Green", "pick": -1}, 0),
        ('d:ColorLabel="40" d:PickLabel="x"', {}, 2),
        ('photoshop:DateCreated="2019-07-14T12:30Z"', {"taken": "2019-07-14T12:30", "zone": 0}, 0),
    ],
)
def test_what_xmp_says(tmp_path, attributes, expected, noted):  # type: ignore[no-untyped-def]
    names = (
        'xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
        'xmlns:d="http://www.digikam.org/ns/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"'
    )
    found, notes = one(tmp_path, xmp_segment(packet("", attributes=f"{names} {attributes}")))
    assert (found, len(notes)) == (Metadata(**expected), noted)


def test_iptc_times_and_an_unreadable_one(tmp_path: Path) -> None:
    good = dataset(2, 55, b"20190714") + dataset(2, 60, b"123005-0330") + dataset(2, 5, b"A title")
    found, notes = one(tmp_path, iptc_segment(good))
    assert (found.taken, found.zone, found.title, notes) == ("2019-07-14T12:30:05", -210, "A title", [])
    found, notes = one(tmp_path, iptc_segment(dataset(2, 55, b"20190000") + dataset(2, 60, b"noon")))
    assert found.taken == "2019"
    assert len(notes) == 1


def test_a_file_without_metadata_says_nothing(tmp_path: Path) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (4, 4)).save(stream, "PNG")
    (tmp_path / "a.png").write_bytes(stream.getvalue())
    assert read(tmp_path)[0] == {"a.png": NOTHING}
    assert json.dumps({name: getattr(NOTHING, name) for name in NOTHING.__slots__})
