"""Pictures from bytes, safely: orientation applied, truncated files refused, pixels capped before decoding."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.errors import PictureError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

#: A picture of more pixels is refused before it is decoded (a decompression bomb).
MAX_PIXELS = 80_000_000
#: Pictures are described from at most this many pixels.
PIXEL_BUDGET = 100_000
#: File name endings that are looked at when a folder is added.
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"})

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "MPO")
_ORIENTATION_TAG = 0x0112


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """Width and height as a person sees the picture (after orientation), and the EXIF orientation 1..8."""

    width: int
    height: int
    orientation: int


def probe(data: bytes) -> PictureInfo:
    """Check that ``data`` decodes from the first to the last byte, and measure it.

    JPEGs are decoded at an eighth of their size, which reads every byte at a fraction of the cost.
    """
    with _opened(data) as image:
        orientation = _orientation(image)
        width, height = image.size
        image.draft("L", (max(1, width // 8), max(1, height // 8)))
        image.load()
    if orientation >= 5:
        width, height = height, width
    return PictureInfo(width, height, orientation)


def decode_rgb(data: bytes | Path, *, pixel_budget: int | None = PIXEL_BUDGET) -> NDArray[np.uint8]:
    """The picture as an upright (height, width, 3) array of at most ``pixel_budget`` pixels (None: full size).

    Transparent parts are laid on white.
    """
    import numpy as np

    if isinstance(data, Path):
        data = data.read_bytes()
    with _opened(data) as image:
        orientation = _orientation(image)
        width, height = image.size
        scale = 1.0 if pixel_budget is None else min(1.0, (pixel_budget / (width * height)) ** 0.5)
        target = (max(1, round(width * scale)), max(1, round(height * scale)))
        if scale < 1.0:
            image.draft("RGB", target)
        upright = _transpose(_to_rgb(image, target), orientation)
    return np.asarray(upright)


def _to_rgb(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    elif image.mode != "RGB":
        image = image.convert("RGB")
    else:
        image.load()
    return image if image.size == size else image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # malformed EXIF of any kind: the pixels are still good
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _transpose(image: Image.Image, orientation: int) -> Image.Image:
    from PIL.Image import Transpose

    operation = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if operation is None else image.transpose(operation)


@contextmanager
def _opened(data: bytes) -> Iterator[Image.Image]:
    """The lazily opened picture; everything Pillow can object to becomes a :class:`PictureError`."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        raise PictureError("the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large and odd files; we decide below
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise PictureError(
                        f"{width} x {height} pixels are more than the {MAX_PIXELS // 10**6} million allowed"
                    )
                yield image
    except PictureError:
        raise
    except UnidentifiedImageError as error:
        raise PictureError("not a picture of a known format") from error
    except Image.DecompressionBombError as error:
        raise PictureError("far more pixels than the file could honestly hold (decompression bomb)") from error
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, KeyError, MemoryError) as error:
        raise PictureError(f"damaged picture: {error}") from error
