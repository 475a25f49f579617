"""Raw files by their preview, AVIF, HEIC without its reader, and the colours of profiles."""

from __future__ import annotations

import base64
import io
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, features

from visterm.errors import PictureError
from visterm.exchange.embedded import read_embedded
from visterm.vision import decode
from visterm.vision.decode import decode_rgb, pictures_among, probe
from visterm.vision.raw import raw_preview

RED, BLUE = (200, 30, 30), (30, 30, 200)


def jpeg(width: int, height: int, colour: tuple[int, int, int], **options: object) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(stream, "JPEG", quality=95, **options)
    return stream.getvalue()


def entry(order: str, tag: int, value: int) -> bytes:
    return struct.pack(f"{order}HHII", tag, 4, 1, value)


def tiff(
    directories: list[list[tuple[int, int]]], files: list[bytes], *, head: bytes = b"II*\0", below: bool = True
) -> bytes:
    """A TIFF of directories of whole numbers; a value ``-n`` is where file ``n`` (from 1) begins.

    The directories after the first are below it, or follow it in the chain.
    """
    order = "<" if head.startswith(b"II") else ">"
    at = [16]
    for fields in directories:
        at.append(at[-1] + 2 + 12 * (len(fields) + (below and len(at) == 1 and len(directories) > 1)) + 4)
    starts = [at[-1]]
    for data in files:
        starts.append(starts[-1] + len(data))
    body = b""
    for number, fields in enumerate(directories):
        known = [(tag, starts[-value - 1] if value < 0 else value) for tag, value in fields]
        if below and number == 0 and len(directories) > 1:
            known.append((0x014A, at[1]))
        after = at[number + 1] if number + 1 < len(directories) and (number or not below) else 0
        body += struct.pack(f"{order}H", len(known)) + b"".join(entry(order, *field) for field in sorted(known))
        body += struct.pack(f"{order}I", after)
    marks = head + struct.pack(f"{order}I", 16) + (b"CR\x02\0" if head == b"II*\0" else b"\0" * 4) + b"\0" * 4
    return marks + body + b"".join(files)


LOSSLESS = b"\xff\xd8\xff\xc3" + struct.pack(">HBHH", 11, 14, 4000, 6000) + b"\0" * 40
SMALL, LARGE = jpeg(16, 8, BLUE), jpeg(60, 40, RED)
CFA, AT, STRIPS, TURN = (0x0106, 32803), 0x0201, 0x0111, (0x0112, 6)
SIZE = (0x0117, len(LARGE))
RAWS = {
    "nef": tiff([[TURN], [CFA], [(AT, -1)]], [LARGE], head=b"MM\0*"),
    "arw": tiff([[TURN, (AT, -2)], [CFA]], [SMALL, LARGE]),
    "dng": tiff([[TURN, (STRIPS, -1)], [CFA, (STRIPS, -3)], [(STRIPS, -2)]], [SMALL, LARGE, LOSSLESS]),
    "cr2": tiff(
        [[TURN, (STRIPS, -2), (0x0117, len(LARGE))], [(AT, -1)], [(STRIPS, -3)]], [SMALL, LARGE, LOSSLESS], below=False
    ),
    "orf": tiff([[TURN]], [b"\xff\xd8\xff\x00notes", SMALL, LARGE], head=b"IIRO"),
    "rw2": tiff([[TURN]], [SMALL, LARGE], head=b"IIU\0"),
    "raf": b"FUJIFILMCCD-RAW 0201".ljust(84, b"\0") + struct.pack(">II", 92, len(LARGE)) + LARGE,
    "cr3": struct.pack(">I", 16) + b"ftypcrx \0\0\0\0" + SMALL + b"\0" * 9 + LARGE,
}


@pytest.mark.parametrize("ending", RAWS)
def test_a_raw_file_is_its_largest_preview_turned_upright(ending: str) -> None:
    data = RAWS[ending]
    info = probe(data)
    turned = ending not in ("raf", "cr3")  # their previews say how they are turned
    assert (info.width, info.height) == ((40, 60) if turned else (60, 40))
    assert np.abs(decode_rgb(data).reshape(-1, 3).astype(int) - RED).max() <= 3
    assert f"a.{ending}" in pictures_among([f"a.{ending}"])


def test_a_preview_that_says_how_it_is_turned_is_believed() -> None:
    exif = Image.Exif()
    exif[0x0112] = 1
    data = tiff([[TURN], [CFA], [(AT, -1)]], [jpeg(60, 40, RED, exif=exif)])
    assert (probe(data).width, probe(data).orientation) == (60, 1)


@pytest.mark.parametrize(
    "data",
    [
        tiff([[TURN], [CFA, (STRIPS, -1)]], [LOSSLESS]),  # only what the sensor saw
        tiff([[(0x014A, 16)], [CFA]], [b""]),  # a directory below itself
        tiff([[TURN]], [b"\xff\xd8\xff" * 5000], head=b"IIRO"),  # nothing but beginnings
    ],
)
def test_a_raw_file_without_a_preview_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(PictureError, match="raw file without a picture"):
        probe(data)


@pytest.mark.parametrize("ending", ["nef", "cr2", "raf"])
def test_a_raw_file_cut_anywhere_is_a_picture_or_a_named_error(ending: str) -> None:
    data = RAWS[ending]
    whole = data.index(LARGE) + len(LARGE)
    for end in range(0, whole, 41):
        with pytest.raises(PictureError):
            probe(data[:end])


def test_a_raw_file_that_names_what_is_beyond_its_end_is_damaged() -> None:
    with pytest.raises(PictureError, match="ends before what it says it holds"):
        probe(tiff([[TURN], [CFA, (AT, 4_000_000_000)], [(AT, -1)]], [LARGE]))


def test_a_large_jpeg_is_decoded_at_a_part_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_PIXELS", 100_000)
    monkeypatch.setattr(decode, "MAX_SCALED_PIXELS", 200_000)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 50_000)  # Pillow alone would refuse twice as many
    large = jpeg(400, 300, RED)
    assert (probe(large).width, probe(large).height) == (400, 300)
    assert decode_rgb(large, pixel_budget=10_000).shape == (86, 115, 3)
    with pytest.raises(PictureError, match="at the size that is asked for"):
        decode_rgb(large, pixel_budget=None)
    with pytest.raises(PictureError, match="are more than"):
        probe(jpeg(400, 300, RED, progressive=True))
    with pytest.raises(PictureError, match="are more than"):
        probe(jpeg(500, 500, RED))


def test_an_ordinary_tiff_is_no_raw_file() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (12, 8), RED).save(stream, "TIFF")
    assert raw_preview(stream.getvalue()) is None
    assert probe(stream.getvalue()).width == 12


def test_a_raw_file_beside_the_same_shot_is_left_out() -> None:
    names = ["a.jpg", "a.cr2", "b.NEF", "c.tif", "c.dng", "d.txt", "d.arw"]
    assert pictures_among(names) == {"a.jpg", "b.NEF", "c.tif", "d.arw"}


def test_metadata_of_raw_files_are_read(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0110] = "X100"
    own = jpeg(60, 40, RED, exif=exif)
    raf = b"FUJIFILMCCD-RAW 0201".ljust(84, b"\0") + struct.pack(">II", 92, len(own)) + own
    parts = exif.tobytes().removeprefix(b"Exif\0\0")
    cr3 = struct.pack(">I", 16) + b"ftypcrx \0\0\0\0" + struct.pack(">I", 8 + len(parts)) + b"CMT1" + parts + LARGE
    for name, data in (("a.raf", raf), ("a.cr3", cr3)):
        (tmp_path / name).write_bytes(data)
        assert read_embedded(tmp_path / name).exif.facts.metadata.camera == "X100"


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow has no AVIF")
def test_avif_is_read_with_its_metadata(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.update({0x0110: "Pixel", 0x0112: 6})
    file = tmp_path / "a.avif"
    Image.new("RGB", (64, 48), RED).save(file, exif=exif.tobytes(), quality=95)
    info = probe(file.read_bytes())
    assert (info.width, info.height) == (48, 64)
    assert np.abs(decode_rgb(file).reshape(-1, 3).astype(int) - RED).max() <= 6
    assert read_embedded(file).exif.facts.metadata.camera == "Pixel"


#: 64 x 48 pixels, green on the left and red on the right, to be turned right; made by libheif's encoder.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAchtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAADRpbG9j"
    "AAAAAERAAAIAAQAAAAAB7AABAAAAAAAAAIoAAgAAAAACdgABAAAAAAAAAH4AAAA4aWluZgAAAAAAAgAAABVpbmZlAgAAAAABAABodmMxAAAA"
    "ABVpbmZlAgAAAQACAABFeGlmAAAAAA5waXRtAAAAAAABAAABB2lwcnAAAADmaXBjbwAAAHZodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNg"
    "AAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQAqQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbq5Ka5uAhoMCAAAAMDIAAAAwAhYgABAAZE"
    "AcFzwIkAAAATY29scm5jbHgAAQANAAaAAAAAFGlzcGUAAAAAAAAAQAAAAEAAAAAoY2xhcAAAAEAAAAABAAAAMAAAAAEAAAAAAAAAAv////AA"
    "AAACAAAAEHBpeGkAAAAAAwgICAAAAAlpcm90AwAAABlpcG1hAAAAAAAAAAEAAQaBAgMFhIYAAAAaaXJlZgAAAAAAAAAOY2RzYwACAAEAAQAA"
    "ARBtZGF0AAAAhigBrwa4kYnSddr///KPv//+YNnV8T+kyVUv2Zd2/+4L8en36O4W6DpKubImUSTT+fM4NLjuNFbJAAvu5t3dQAfPvfmjQSnE"
    "dpckN5ETBHPuCT3oZ4gkZvyRvRGoL99BffA67RJ/+1rKwQjK5Nz1uylXNsV/JefPrdRfyVdH0mCA10DyV8FuAAAABkV4aWYAAE1NACoAAAAI"
    "AAQBDwACAAAABgAAAD4BEAACAAAACQAAAEQBEgADAAAAAQAGAACHaQAEAAAAAQAAAE4AAAAAQXBwbGUAaVBob25lIDgAAAABkAMAAgAAABQA"
    "AABgAAAAADIwMTk6MDc6MTQgMTI6MzA6MDUA"
)


def test_heic_is_read_with_its_metadata(tmp_path: Path) -> None:
    pytest.importorskip("pi_heif", reason="the extra heif is not installed")
    (tmp_path / "a.heic").write_bytes(HEIC)
    upright = decode_rgb(tmp_path / "a.heic").astype(int)
    assert upright.shape == (64, 48, 3)
    assert np.abs(upright[:28] - (20, 200, 30)).mean() < 3
    assert np.abs(upright[36:] - (200, 30, 30)).mean() < 3
    assert read_embedded(tmp_path / "a.heic").exif.facts.metadata.camera == "Apple iPhone 8"


def test_a_picture_of_a_telephone_names_what_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "find_spec", lambda _: None)
    with pytest.raises(PictureError, match=r"HEIC, which needs one more package: pip install 'visterm\[heif\]'"):
        probe(struct.pack(">I", 24) + b"ftypheic\0\0\0\0mif1heic" + b"\0" * 100)


def swapped() -> bytes:
    """A profile of screens with red and green exchanged, made of the one of sRGB."""
    own = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for before, after in ((b"rXYZ", b"swap"), (b"gXYZ", b"rXYZ"), (b"swap", b"gXYZ")):
        own = own.replace(before, after, 1)
    return own.replace("sRGB".encode("utf-16-be"), "else".encode("utf-16-be"))


@pytest.mark.parametrize("format", ["PNG", "TIFF", "JPEG"])
def test_colours_of_a_profile_become_those_of_screens(format: str) -> None:
    colours = np.repeat(np.repeat(np.random.default_rng(0).integers(20, 235, (4, 4, 3), dtype=np.uint8), 16, 0), 16, 1)
    as_named, as_swapped = (io.BytesIO() for _ in range(2))
    options = {"quality": 100, "subsampling": 0} if format == "JPEG" else {}
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(colours).save(as_named, format, icc_profile=srgb, **options)
    Image.fromarray(colours).save(as_swapped, format, icc_profile=swapped(), **options)
    plain = decode_rgb(as_named.getvalue()).astype(int)
    assert np.abs(plain - colours).mean() < 1.5  # sRGB, by its name: not touched
    assert np.abs(decode_rgb(as_swapped.getvalue())[..., [1, 0, 2]].astype(int) - plain).mean() < 1.0


def test_a_damaged_profile_changes_nothing() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), RED).save(stream, "PNG", icc_profile=swapped()[:200])
    assert decode_rgb(stream.getvalue())[0, 0].tolist() == list(RED)


def test_sixteen_bits_and_inks_are_shown_as_they_are_meant() -> None:
    deep, inks = io.BytesIO(), io.BytesIO()
    Image.fromarray(np.array([[0, 32768, 65535]], np.uint16)).save(deep, "TIFF")
    assert decode_rgb(deep.getvalue())[0].tolist() == [[0, 0, 0], [127, 127, 127], [255, 255, 255]]
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(inks, "TIFF")
    assert decode_rgb(inks.getvalue())[0, 0].tolist() == [255, 0, 0]
