"""Decoding: whatever the format says of orientation, depth and transparency; and nothing but PictureError."""

from __future__ import annotations

import io
import os
import socket
import struct
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile
from PIL.Image import Transpose

from visterm.errors import PictureError
from visterm.vision import PictureInfo, decode, decode_rgb, probe
from visterm.vision.decode import decode_sizes

#: How a camera that says orientation N has stored the upright picture.
STORED_AS = {
    1: None,
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_90,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_270,
}
LOSSLESS = {"PNG": {}, "TIFF": {}, "WEBP": {"lossless": True}, "JPEG": {"quality": 100, "subsampling": 0}}


def upright(width=40, height=24):
    """A picture without any symmetry: red at the top, green at the left, a blue corner."""
    rgb = np.full((height, width, 3), 90, np.uint8)
    rgb[: height // 3] = [250, 10, 10]
    rgb[:, : width // 4] = [10, 250, 10]
    rgb[-8:, -8:] = [10, 10, 250]
    return rgb


def encoded(image, kind, **options):
    stream = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(stream, kind, **options)
    return stream.getvalue()


def oriented(orientation, kind, rgb=None):
    image = Image.fromarray(upright() if rgb is None else rgb)
    if STORED_AS[orientation] is not None:
        image = image.transpose(STORED_AS[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(image, kind, exif=exif, **LOSSLESS[kind])


NOISE = np.random.default_rng(0).integers(0, 255, (40, 56, 3), dtype=np.uint8)
VALID = {
    "jpeg": oriented(6, "JPEG", NOISE),
    "progressive": encoded(NOISE, "JPEG", progressive=True),
    "png": oriented(3, "PNG", NOISE),
    "gif": encoded(Image.fromarray(NOISE).convert("P"), "GIF"),
    "webp": oriented(8, "WEBP", NOISE),
    "bmp": encoded(NOISE, "BMP"),
    "tiff": oriented(5, "TIFF", NOISE),
}


def verdicts(data):
    """The size that probe and decode_rgb find, None where they refuse; anything but PictureError passes through."""
    found = []
    for measure in (lambda: probe(data), lambda: decode_rgb(data, pixel_budget=None)):
        try:
            result = measure()
        except PictureError:
            found.append(None)
        else:
            found.append((result.width, result.height) if isinstance(result, PictureInfo) else result.shape[1::-1])
    return found


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("orientation", STORED_AS)
def test_every_orientation_gives_the_same_upright_picture(kind, orientation):
    data = oriented(orientation, kind)
    rgb = decode_rgb(data, pixel_budget=None)
    assert rgb.shape == upright().shape
    assert np.abs(rgb.astype(int) - upright()).max() <= (8 if kind == "JPEG" else 0)
    assert probe(data) == PictureInfo(40, 24, orientation)


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("orientation", [1, 6])
def test_orientation_survives_shrinking(kind, orientation):
    rgb = decode_rgb(oriented(orientation, kind, upright(400, 240)), pixel_budget=6000)
    assert rgb.shape == (60, 100, 3)
    assert rgb[5, 60].tolist() == pytest.approx([250, 10, 10], abs=8)
    assert rgb[30, 5].tolist() == pytest.approx([10, 250, 10], abs=8)


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_meaningless_orientations_are_upright(value):
    exif = Image.Exif()
    exif[0x0112] = value
    assert probe(encoded(upright(), "JPEG", exif=exif)) == PictureInfo(40, 24, 1)


def test_malformed_exif_does_not_cost_the_picture(monkeypatch):
    def broken(self):
        raise struct.error("unpack requires a buffer of 4 bytes")

    monkeypatch.setattr(Image.Image, "getexif", broken)
    assert probe(VALID["png"]).orientation == 1
    assert decode_rgb(VALID["png"]).shape == (40, 56, 3)


@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 5000))
@settings(max_examples=60, deadline=None)
def test_the_pixel_budget_is_kept(width, height, budget):
    rgb = decode_rgb(encoded(Image.new("L", (width, height)), "PNG"), pixel_budget=budget)
    rows, columns = rgb.shape[:2]
    assert rows * columns <= budget
    if width * height <= budget:
        assert (columns, rows) == (width, height)


@pytest.mark.parametrize("size", [(1, 300_000), (300_000, 1), (1000, 1000), (30_000, 40)])
def test_large_pictures_keep_their_shape_and_fill_the_budget(size):
    rows, columns, _ = decode_rgb(encoded(Image.new("L", size), "PNG")).shape
    assert 0.9 * decode.PIXEL_BUDGET <= rows * columns <= decode.PIXEL_BUDGET
    assert rows == columns or (rows > columns) == (size[1] > size[0])


def test_shrinking_averages():
    checkers = np.kron(np.indices((200, 200)).sum(axis=0) % 2, np.ones((2, 2))).astype(np.uint8) * 255
    rgb = decode_rgb(encoded(checkers, "PNG"), pixel_budget=100 * 100)
    assert rgb.shape == (100, 100, 3)
    assert np.abs(rgb.astype(int) - 127).max() <= 1


def test_paths_and_bytes_are_the_same(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(VALID["png"])
    np.testing.assert_array_equal(decode_rgb(file), decode_rgb(VALID["png"]))


BUDGETS = [None, 40_000, 5000, 20_000, 300]


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("orientation", [1, 5, 6])
def test_several_sizes_are_those_of_separate_decodings(kind, orientation):
    data = oriented(orientation, kind, np.kron(upright(), np.ones((9, 9, 1), np.uint8)))
    sizes = decode_sizes(data, BUDGETS)
    assert list(sizes) == BUDGETS
    for budget, rgb in sizes.items():
        np.testing.assert_array_equal(rgb, decode_rgb(data, pixel_budget=budget))
    assert len({rgb.shape for rgb in sizes.values()}) == 5


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("L", "JPEG"), ("CMYK", "JPEG"), ("1", "PNG"), ("P", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("F", "TIFF")],
)
def test_several_sizes_of_odd_modes(mode, kind):
    data = encoded(Image.fromarray(np.kron(NOISE, np.ones((8, 8, 1), np.uint8))).convert(mode), kind)
    for budget, rgb in decode_sizes(data, BUDGETS).items():
        np.testing.assert_array_equal(rgb, decode_rgb(data, pixel_budget=budget))


@pytest.mark.parametrize(
    ("kind", "decoded"),
    # Of 800 x 600 pixels: 200,000 need whole sides, 40,000 to 100,000 half of each side, 5,000 an eighth.
    [("JPEG", [(800, 600), (400, 300), (100, 75)]), ("PNG", [(800, 600)]), ("WEBP", [(800, 600)])],
)
def test_sizes_share_what_is_decoded_at_the_same_scale(kind, decoded, monkeypatch):
    seen = []
    prepare = ImageFile.ImageFile.load_prepare
    monkeypatch.setattr(ImageFile.ImageFile, "load_prepare", lambda image: (seen.append(image.size), prepare(image))[1])
    decode_sizes(encoded(upright(800, 600), kind), [None, 200_000, 100_000, 60_000, 40_000, 5000])
    assert seen == decoded


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparent_parts_are_laid_on_white(kind):
    rgba = np.zeros((4, 6, 4), np.uint8)
    rgba[:2] = [200, 0, 0, 255]
    rgba[2] = [0, 0, 200, 128]
    rgb = decode_rgb(encoded(rgba, kind, **LOSSLESS[kind]))
    assert rgb[0, 0].tolist() == [200, 0, 0]
    assert rgb[2, 0].tolist() == pytest.approx([127, 127, 227], abs=2)
    assert rgb[3, 0].tolist() == [255, 255, 255]


def test_transparency_of_palettes_greys_and_single_colours():
    palette = Image.new("P", (4, 2), 1)
    palette.putpalette([0, 0, 0, 10, 200, 30])
    palette.putpixel((0, 0), 0)
    rgb = decode_rgb(encoded(palette, "PNG", transparency=0))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[1, 1].tolist() == [10, 200, 30]
    assert decode_rgb(encoded(palette, "GIF", transparency=0))[0, 0].tolist() == [255, 255, 255]
    grey_alpha = Image.new("LA", (3, 3), (50, 0))
    assert decode_rgb(encoded(grey_alpha, "PNG"))[1, 1].tolist() == [255, 255, 255]
    keyed = Image.new("RGB", (3, 3), (1, 2, 3))
    keyed.putpixel((0, 0), (9, 9, 9))
    rgb = decode_rgb(encoded(keyed, "PNG", transparency=(9, 9, 9)))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[1, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bit_greys_keep_their_shades(kind):
    wide = np.linspace(0, 65535, 64).reshape(8, 8).astype(np.uint16)
    data = encoded(wide, kind)
    assert Image.open(io.BytesIO(data)).mode == "I;16"
    assert np.abs(decode_rgb(data)[..., 1].astype(int) - wide // 257).max() <= 1
    dark = decode_rgb(encoded(np.full((4, 4), 2570, np.uint16), kind))
    assert (dark == 10).all()


def test_sixteen_bit_greys_may_be_transparent():
    wide = np.full((4, 4), 30000, np.uint16)
    wide[0, 0] = 7
    rgb = decode_rgb(encoded(wide, "PNG", transparency=7))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[1, 1].tolist() == [116, 116, 116]


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_thirty_two_bit_greys_reach_from_black_to_their_brightest(dtype):
    values = np.array([[-5, 0, 500, 1000]] * 4).astype(dtype)
    rgb = decode_rgb(encoded(values, "TIFF"))
    assert rgb[0, :, 0].tolist() == [0, 0, 127, 255]
    assert (decode_rgb(encoded(np.zeros((4, 4), dtype), "TIFF")) == 0).all()


def test_values_that_are_no_numbers_are_black():
    values = np.array([[np.nan, np.inf, 1.0, 0.5]] * 4, np.float32)
    assert decode_rgb(encoded(values, "TIFF"))[0, :, 0].tolist() == [0, 0, 255, 127]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "YCbCr", "RGB", "RGBA"])
def test_every_mode_becomes_rgb(mode):
    data = encoded(Image.new("RGB", (8, 6), "white").convert(mode), "TIFF")
    assert (decode_rgb(data) >= 253).all()
    assert decode_rgb(data).dtype == np.uint8
    assert probe(data) == PictureInfo(8, 6, 1)


def test_printers_colours_are_seen_as_on_the_screen():
    data = encoded(Image.new("RGB", (32, 32), (200, 30, 10)).convert("CMYK"), "JPEG", quality=100)
    assert decode_rgb(data)[16, 16].tolist() == pytest.approx([200, 30, 10], abs=6)


def test_of_animations_the_first_frame_counts():
    frames = [Image.new("RGB", (10, 6), colour) for colour in ("red", "lime", "blue")]
    for kind, options in (("GIF", {}), ("WEBP", {"lossless": True})):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        assert (decode_rgb(data) == [255, 0, 0]).all()
        assert probe(data) == PictureInfo(10, 6, 1)


def test_of_pictures_in_one_file_the_first_counts():
    pair = [Image.new("RGB", (16, 8), colour) for colour in ("red", "blue")]
    pages = encoded(pair[0], "TIFF", save_all=True, append_images=pair[1:])
    assert decode_rgb(pages)[4, 8].tolist() == [255, 0, 0]


@pytest.mark.parametrize("name", VALID)
def test_probe_agrees_with_decode_on_good_pictures(name):
    assert verdicts(VALID[name]) == [(56, 40), (56, 40)]


@pytest.mark.parametrize("name", VALID)
def test_truncated_pictures_are_refused_wherever_they_are_cut(name):
    data = VALID[name]
    # The end marks of JPEG, PNG and GIF hold no pixels.
    without_pixels = {"jpeg": 2, "png": 20, "gif": 2}.get(name, 0)
    cuts = {*range(0, len(data) - without_pixels, max(1, len(data) // 60)), len(data) - without_pixels - 1}
    for cut in sorted(cuts):
        assert verdicts(data[:cut]) == [None, None], cut


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"a text named .jpg\n" * 50, b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"\xff\xd8\xff", b"II*\0"],
)
def test_what_is_no_picture_is_refused(data):
    assert verdicts(data) == [None, None]


def test_refusals_say_why():
    with pytest.raises(PictureError, match="empty"):
        probe(b"")
    with pytest.raises(PictureError, match="not a picture of a known format"):
        decode_rgb(b"hello")
    with pytest.raises(PictureError, match=r"damaged picture: .*truncated"):
        decode_rgb(VALID["jpeg"][:1500])


def flipped(data):
    """``data`` with twenty bytes in its middle changed."""
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0x55 for byte in data[middle : middle + 20]) + data[middle + 20 :]


def test_a_png_with_changed_pixels_is_refused():
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    for call in (probe, decode_rgb):
        with pytest.raises(PictureError, match="damaged picture"):
            call(flipped(buffer.getvalue()))


def test_a_png_whose_pixels_cannot_be_unpacked_is_refused():
    """Its checksum is right, so only decoding tells; Pillow looks for EXIF behind the pixels and hides the error."""
    body = flipped(zlib.compress(np.random.default_rng(0).integers(0, 256, 64 * 193, np.uint8).tobytes()))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    assert verdicts(data) == [None, None]


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "long", "zero", "absent"])
def test_only_regular_files_are_read(kind, tmp_path):
    file = tmp_path / "picture.jpg"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(file))
    elif kind == "device":
        file = Path("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    elif kind != "absent":
        file = tmp_path / {"long": "x" * 300, "zero": "a\0b"}[kind]
    reason = {"folder": "directory", "long": "too long", "zero": "null byte", "absent": "No such file"}
    with pytest.raises(PictureError, match=reason.get(kind, "not a regular file")):
        decode_rgb(file)


def test_files_of_too_many_bytes_are_not_read(tmp_path, monkeypatch):
    (tmp_path / "large.png").write_bytes(VALID["png"])
    monkeypatch.setattr("visterm.vision.decode.MAX_FILE_BYTES", 10)
    with pytest.raises(PictureError, match="larger than"):
        decode_rgb(tmp_path / "large.png")


def png_claiming(width, height):
    """A PNG whose header promises a size that its few bytes of data do not hold."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(("width", "height"), [(10_000, 10_000), (80_000_001, 1), (2**31 - 1, 2**31 - 1)])
def test_bombs_are_refused_before_they_are_decoded(width, height, monkeypatch):
    def explode(self):
        raise AssertionError("the bomb was decoded")

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", explode)
    started = time.process_time()
    for measure in (probe, decode_rgb):
        with pytest.raises(PictureError, match="pixels"):
            measure(png_claiming(width, height))
    assert time.process_time() - started < 1


@given(st.binary(max_size=300), st.sampled_from([b"", *(data[:12] for data in VALID.values())]))
@settings(max_examples=150, deadline=None)
def test_random_bytes_raise_nothing_else(data, magic):
    probed, decoded = verdicts(magic + data)
    assert probed == decoded


@given(
    st.sampled_from(sorted(set(VALID) - {"tiff"})),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_damaged_pictures_give_a_picture_or_a_picture_error(name, changes, near_the_start):
    data = bytearray(VALID[name])
    for where, value in changes:
        data[int(where * min(len(data), 200 if near_the_start else len(data)))] = value
    probed, decoded = verdicts(bytes(data))
    assert probed == decoded


def test_whatever_pillow_raises_is_a_picture_error(monkeypatch):
    def stumble(self):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", stumble)
    with pytest.raises(PictureError, match="damaged picture: division by zero"):
        probe(VALID["png"])


def test_pillows_warnings_stay_inside_and_those_of_others_do_not():
    """In a process of its own, as the filters of warnings belong to the process."""
    code = """
import io, warnings
from PIL import Image, PngImagePlugin
from visterm.vision import probe
load = PngImagePlugin.PngImageFile.load
def odd(self):
    warnings.warn_explicit("odd", UserWarning, "PIL/PngImagePlugin.py", 1, module="PIL.PngImagePlugin")
    return load(self)
PngImagePlugin.PngImageFile.load = odd
buffer = io.BytesIO()
Image.new("L", (5, 4)).save(buffer, "PNG")
assert probe(buffer.getvalue()).width == 5
warnings.warn("mine", stacklevel=1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mine" in done.stderr
    assert "odd" not in done.stderr


def test_pillows_log_lines_are_not_printed():
    code = """
import io
from PIL import Image
from visterm.errors import PictureError
from visterm.vision import probe
buffer = io.BytesIO()
Image.new("RGB", (5, 4)).save(buffer, "TIFF")
samples = bytes.fromhex("1501 0300 01000000")  # the tag SamplesPerPixel
damaged = buffer.getvalue().replace(samples + b"\\x03\\0", samples + b"\\0\\x08")
assert damaged != buffer.getvalue()
try:
    probe(damaged)
except PictureError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_many_threads_decode_at_once():
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda _: decode_rgb(VALID["png"]).shape, range(400)))
    assert set(sizes) == {(40, 56, 3)}
