"""When pictures were taken, and how they are rated."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visterm.collection.opened import Opened

_EXIF_IFD, _ORIGINAL, _SUBSECONDS = 0x8769, 0x9003, 0x9291


def time_taken(file: Path) -> float:
    """When the picture in ``file`` was taken, in seconds by the camera's clock; NaN where EXIF does not say."""
    from PIL import Image

    with suppress(Exception), Image.open(file) as image:  # malformed EXIF of any kind says nothing
        exif = image.getexif().get_ifd(_EXIF_IFD)
        taken = datetime.strptime(str(exif[_ORIGINAL]).strip("\0 "), "%Y:%m:%d %H:%M:%S")
        fraction = str(exif.get(_SUBSECONDS, "0")).strip("\0 ")
        return (taken - datetime(1970, 1, 1)).total_seconds() + float(f"0.{fraction}")
    return math.nan


def ratings(opened: Opened, ids: Iterable[int]) -> dict[int, int]:  # noqa: ARG001 - nobody knows them yet
    """The stars of pictures, by id; the catalogue does not know them yet."""
    return {}
