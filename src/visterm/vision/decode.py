"""Decodes pictures from bytes, safely: applies the orientation, rejects truncated files, limits the pixels first."""

from __future__ import annotations

import io
import logging
import os
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import InputError, PictureError
from visterm.storage import opening
from visterm.vision.raw import SUFFIXES as RAW_SUFFIXES
from visterm.vision.raw import raw_preview

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image, ImageCms

#: A picture with more pixels is rejected before it is decoded (a decompression bomb).
MAX_PIXELS = 80_000_000
#: A JPEG may have this many, since it is decoded at a part of its size; not a progressive one, which is held whole.
MAX_SCALED_PIXELS = 300_000_000
#: Features are computed from at most this many pixels.
PIXEL_BUDGET = 100_000
_AVIF, _HEIF = frozenset({".avif", ".avifs"}), frozenset({".heic", ".heif", ".hif"})
#: What reads pictures of telephones, where it is installed: the extra ``heif``.
_HEIF_READER = "pi_heif"
#: Files with these endings are read when a folder is added; AVIF and HEIC where this machine can.
SUFFIXES = (
    frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})
    | RAW_SUFFIXES
    | (_AVIF if find_spec("PIL._avif") else frozenset())
    | (_HEIF if find_spec(_HEIF_READER) else frozenset())
)

#: Larger files are not read.
MAX_FILE_BYTES = 512 * 2**20
_PNG = b"\x89PNG\r\n\x1a\n"
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
#: How files begin that are read only where this machine can: AVIF, and pictures of telephones.
_OF_TELEPHONES = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"hevc")
_ORIENTATION_TAG = 0x0112
#: What turns a picture of orientation 2 to 8 upright, as Pillow calls it.
_UPRIGHT_BY = ["FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_270", "TRANSVERSE", "ROTATE_90"]
#: Smaller pictures are checked at full size: this costs little, and an eighth of the size would be too coarse.
_PROBED_WHOLE = 250_000


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """Width and height as a person sees the picture (after orientation), and the EXIF orientation 1..8.

    ``pixels`` is a hash of the pixels alone: it stays the same when a program writes keywords into the file.
    """

    width: int
    height: int
    orientation: int
    pixels: str = field(default="", compare=False)


def read_regular(file: Path) -> tuple[bytes, os.stat_result]:
    """The bytes of ``file``, and its status before they were read.

    A pipe, a socket, a device, a folder and a file over 512 MiB are refused unread.
    """
    try:
        return opening.read_regular(file, MAX_FILE_BYTES)
    except InputError as error:
        raise PictureError(str(error)) from error


def pictures_among(names: Iterable[str]) -> set[str]:
    """Those names of files in one folder that are pictures; a raw file is none where the same shot is one.

    >>> sorted(pictures_among(["a.jpg", "a.CR2", "b.cr2", "notes.txt"]))
    ['a.jpg', 'b.cr2']
    """
    ending = {name: name[name.rfind(".") :].lower() for name in names}
    pictures = {name for name in ending if ending[name] in SUFFIXES}
    raw = {name for name in pictures if ending[name] in RAW_SUFFIXES}
    shots = {name[: name.rfind(".")] for name in pictures - raw} if raw else set()
    return {name for name in pictures if name not in raw or name[: name.rfind(".")] not in shots}


def check_regular(status: os.stat_result) -> None:
    """Refuse what is not a regular file, or is too large to be read."""
    try:
        opening.check_regular(status, MAX_FILE_BYTES)
    except InputError as error:
        raise PictureError(str(error)) from error


def _check_png(data: bytes) -> None:
    """Refuse a PNG whose pixels fail their checksums, which Pillow does not look at."""
    if not data.startswith(_PNG):
        return
    view, place = memoryview(data), len(_PNG)
    while (end := place + 12 + int.from_bytes(data[place : place + 4])) <= len(data):
        is_right = zlib.crc32(view[place + 4 : end - 4]) == int.from_bytes(data[end - 4 : end])
        if data[place + 4 : place + 8] == b"IDAT" and not is_right:
            raise PictureError("damaged picture: its pixels fail their checksum")
        place = end


def probe(data: bytes) -> PictureInfo:
    """Check that ``data`` can be decoded from the first to the last byte, and measure its size.

    Large JPEGs are decoded at an eighth of their size, which reads every byte at a fraction of the cost. A JPEG whose
    end is missing is refused, even if all rows could be shown; one with other numbers in its middle is not noticed,
    since the format has no checksum.
    """
    _check_png(data)
    with opened_picture(data) as image:
        if image.format == "PNG":
            image.load()  # Pillow looks for EXIF behind the pixels: _orientation would hide that they are damaged
        orientation = _orientation(image)
        width, height = image.size
        if width * height > _PROBED_WHOLE:
            image.draft("L", (max(1, width // 8), max(1, height // 8)))
        image.load()
        if _orientation(image) != orientation:  # Pillow has already turned it upright, as it does with TIFF
            width, height = image.size
        elif orientation >= 5:
            width, height = height, width
        pixels = blake2b(image.tobytes(), digest_size=16).hexdigest()
    return PictureInfo(width, height, orientation, pixels)


def decode_rgb(data: bytes | Path, *, pixel_budget: int | None = PIXEL_BUDGET) -> NDArray[np.uint8]:
    """The picture as an upright (height, width, 3) array of at most ``pixel_budget`` pixels (None: full size).

    Transparent parts become white.
    """
    return decode_sizes(data, [pixel_budget])[pixel_budget]


def decode_sizes(data: bytes | Path, pixel_budgets: Iterable[int | None]) -> dict[int | None, NDArray[np.uint8]]:
    """For each budget exactly the array that :func:`decode_rgb` returns, from as few decodings as possible.

    A JPEG is decoded at a scale of 1, 1/2, 1/4 or 1/8, the smallest that fills the budget. Budgets that lead to the
    same scale share one decoding. Other formats are decoded once.
    """
    import numpy as np

    if isinstance(data, Path):
        data, _ = read_regular(data)
    _check_png(data)
    decoded: dict[tuple[int, int], tuple[Image.Image, int]] = {}
    arrays: dict[int | None, NDArray[np.uint8]] = {}
    for budget in pixel_budgets:
        with opened_picture(data) as image:
            if budget is not None:
                image.draft("RGB", _fitted(image.size, budget))
            if image.size[0] * image.size[1] > MAX_PIXELS:
                raise PictureError(
                    f"it has more than {MAX_PIXELS // 10**6} million pixels at the size that is asked for"
                )
            scaled = image.size
            if scaled not in decoded:
                image.load()
                # The orientation that is left: Pillow turns TIFF upright while loading, and then reports it so.
                decoded[scaled] = _to_rgb(image), _orientation(image)
            rgb, orientation = decoded[scaled]
            size = rgb.size if budget is None else _fitted(rgb.size, budget)
            arrays[budget] = np.asarray(_transpose(_resized(rgb, size), orientation))
    return arrays


def _fitted(size: tuple[int, int], pixel_budget: int) -> tuple[int, int]:
    """The largest size of the same shape with at most ``pixel_budget`` pixels; each side keeps at least one pixel."""
    width, height = size
    if width * height <= pixel_budget:
        return size
    scale = (pixel_budget / (width * height)) ** 0.5
    width, height = max(1, int(width * scale)), max(1, int(height * scale))
    return min(width, max(1, pixel_budget // height)), min(height, max(1, pixel_budget // width))


def shrink(rgb: NDArray[np.uint8], pixel_budget: int) -> NDArray[np.uint8]:
    """A decoded picture shrunk to at most ``pixel_budget`` pixels, or unchanged if it is small enough."""
    import numpy as np
    from PIL import Image

    height, width = rgb.shape[:2]
    size = _fitted((width, height), pixel_budget)
    if size == (width, height):
        return rgb
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.BOX))


def enlarge(rgb: NDArray[np.uint8], least_side: int) -> NDArray[np.uint8]:
    """A decoded picture enlarged until both sides have ``least_side`` pixels, or unchanged if it is large enough.

    Its shape is kept, but a thin picture becomes no longer than four times ``least_side`` (or than it was).

    >>> import numpy as np
    >>> enlarge(np.zeros((32, 48, 3), np.uint8), 64).shape
    (64, 96, 3)
    """
    import numpy as np
    from PIL import Image

    height, width = rgb.shape[:2]
    scale = least_side / max(1, min(height, width))
    if scale <= 1 or not rgb.size:
        return rgb
    width, height = (max(side, min(round(side * scale), 4 * least_side)) for side in (width, height))
    return np.asarray(Image.fromarray(rgb).resize((width, height), Image.Resampling.BICUBIC))


def _to_rgb(image: Image.Image) -> Image.Image:
    from PIL import Image

    image = _in_srgb(image)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image).convert("RGB")
    elif image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    elif image.mode != "RGB":
        image = image.convert("RGB")
    return image


def _in_srgb(image: Image.Image) -> Image.Image:
    """The picture in the colours of screens, if it says by a profile that its own are others."""
    profile = image.info.get("icc_profile")
    if not isinstance(profile, bytes) or image.mode not in ("RGB", "RGBA", "CMYK", "L") or "transparency" in image.info:
        return image
    transform = _to_srgb(profile, image.mode)
    if transform is None:
        return image
    from PIL import ImageCms

    converted = ImageCms.applyTransform(image, transform)
    return image if converted is None else converted


@lru_cache(maxsize=16)
def _to_srgb(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """What turns the colours of a profile into those of screens; None if they are the same, or nobody can tell."""
    try:
        from PIL import ImageCms

        own = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if "srgb" in (ImageCms.getProfileDescription(own) or "").casefold():
            return None
        wanted = "RGBA" if mode == "RGBA" else "RGB"
        return ImageCms.buildTransform(own, ImageCms.createProfile("sRGB"), mode, wanted)
    except Exception:  # a damaged profile, or one of other colours than the picture has
        return None


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    from PIL import Image

    return image if image.size == size else image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def _eight_bits(image: Image.Image) -> Image.Image:
    """A grey picture with a wide range of values, scaled to 0..255: Pillow would clip everything above 255.

    In 16 bits the largest number is white. In 32 bits, integer or float, there is no standard: the brightest value is.
    """
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    known = np.nan_to_num(values.astype(np.float32), posinf=0.0, neginf=0.0)
    white = 65535.0 if image.mode.startswith("I;16") else max(float(known.max()), float(np.finfo(np.float32).tiny))
    grey = (np.clip(known / white, 0.0, 1.0) * 255).astype(np.uint8)
    if "transparency" in image.info:
        grey[values == image.info["transparency"]] = 255
    return Image.fromarray(grey)


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # malformed EXIF of any kind: the pixels are still good
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _transpose(image: Image.Image, orientation: int) -> Image.Image:
    from PIL.Image import Transpose

    return image if orientation == 1 else image.transpose(Transpose[_UPRIGHT_BY[orientation - 2]])


@contextmanager
def opened_picture(data: bytes) -> Iterator[Image.Image]:
    """The lazily opened picture, of a raw file its preview; every error of Pillow becomes a :class:`PictureError`."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        raise PictureError("the file is empty")
    _silence_pillow()
    preview, turned = raw_preview(data) or (data, None)
    try:
        with _open_image(preview) as image:
            if turned is not None:  # most cameras say it of the whole file, and not again in the preview
                image.getexif().setdefault(_ORIENTATION_TAG, turned)
            width, height = image.size
            is_scaled = image.format in ("JPEG", "MPO") and not image.info.get("progressive")
            most = MAX_SCALED_PIXELS if is_scaled else MAX_PIXELS
            if width * height > most:
                raise PictureError(f"{width} x {height} pixels are more than the {most // 10**6} million allowed")
            yield image
    except (PictureError, MemoryError):  # too little memory says nothing about the picture
        raise
    except UnidentifiedImageError as error:
        raise PictureError("not a picture of a known format") from error
    except Image.DecompressionBombError as error:
        raise PictureError(f"it has far more pixels than the {MAX_PIXELS // 10**6} million allowed") from error
    except Exception as error:  # Pillow's parsers raise any kind of error for a damaged file
        raise PictureError(f"damaged picture: {error}") from error


def _open_image(data: bytes) -> Image.Image:
    """The lazily opened image; of a large JPEG, Pillow would ask nobody and refuse it."""
    from PIL import Image
    from PIL.JpegImagePlugin import JpegImageFile

    try:
        return Image.open(io.BytesIO(data), formats=_formats(data))
    except Image.DecompressionBombError:
        if not data.startswith(b"\xff\xd8"):
            raise
        return JpegImageFile(io.BytesIO(data))


def _formats(data: bytes) -> tuple[str, ...]:
    """The formats that a file may have; what this machine cannot read is refused with what to do."""
    if data[4:8] != b"ftyp":
        return _FORMATS
    if data[8:12] in (b"avif", b"avis"):
        if not find_spec("PIL._avif"):
            raise PictureError("AVIF, which this Pillow cannot read: install a newer one")
        return ("AVIF",)
    if data[8:12] not in _OF_TELEPHONES:
        return _FORMATS
    if not find_spec(_HEIF_READER):
        raise PictureError("HEIC, which needs one more package: pip install 'visterm[heif]' before it is added")
    _know_heif()
    return ("HEIF",)


@cache
def _know_heif() -> None:
    """Tell Pillow how pictures of telephones are read."""
    import_module(_HEIF_READER).register_heif_opener(thumbnails=False)


@cache
def _silence_pillow() -> None:
    """Hide Pillow's warnings and log lines about large and odd files: the important ones become errors.

    The filters of ``warnings`` belong to the whole process, and many threads decode pictures. Setting and resetting
    them around each picture would undo the settings of others, so they are set once.
    """
    warnings.filterwarnings("ignore", module=r"PIL\b")
    logging.getLogger("PIL").addHandler(logging.NullHandler())  # else Python prints them where nobody set up logging
