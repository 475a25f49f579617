"""Metadata in the directories of EXIF: of the picture, of the camera and of its position."""

import math
from functools import partial

from visterm.exchange.charsets import decode_undeclared
from visterm.exchange.facts import (
    Facts,
    Gathering,
    camera_name,
    degrees,
    plain_text,
    positive,
    rating,
    whole,
    without_null_island,
)
from visterm.vision.tiff import Value

EXIF_POINTER, GPS_POINTER = 0x8769, 0x8825
_MAKE, _MODEL, _ARTIST, _RATING, _COPYRIGHT = 0x010F, 0x0110, 0x013B, 0x4746, 0x8298
_TIME, _DIGITIZED = 0x9003, 0x9004
#: Of each time: its zone and its parts of a second.
_TIMES = {_TIME: ("DateTimeOriginal", 0x9011, 0x9291), _DIGITIZED: ("CreateDate", 0x9012, 0x9292)}
_EXPOSURE, _APERTURE, _ISO, _FOCAL_LENGTH, _LENS = 0x829A, 0x829D, 0x8827, 0x920A, 0xA434
_LATITUDE_REF, _LATITUDE, _LONGITUDE_REF, _LONGITUDE = 1, 2, 3, 4

#: The fields that :func:`exif_facts` reads, by directory.
MAIN_FIELDS = frozenset((_MAKE, _MODEL, _ARTIST, _RATING, _COPYRIGHT, EXIF_POINTER, GPS_POINTER))
CAMERA_FIELDS = frozenset(
    [
        *_TIMES,
        *(tag for _, *others in _TIMES.values() for tag in others),
        *(_EXPOSURE, _APERTURE, _ISO, _FOCAL_LENGTH, _LENS),
    ]
)
GPS_FIELDS = frozenset((_LATITUDE_REF, _LATITUDE, _LONGITUDE_REF, _LONGITUDE))


def exif_facts(main: dict[int, Value], camera: dict[int, Value], position: dict[int, Value]) -> Facts:
    """The metadata in the directories of the picture, the camera and its position."""
    found = Gathering("EXIF")
    for tag, (what, zone, parts) in _TIMES.items():
        found.take_time(what, _text(camera, tag), parts=_text(camera, parts) or "", zone=_text(camera, zone))
    for name, tag, signs in (("latitude", _LATITUDE, "NS"), ("longitude", _LONGITUDE, "EW")):
        found.take(
            name, f"GPS {name}", position.get(tag), partial(_degrees, side=_text(position, tag - 1), signs=signs)
        )
    make, model = (plain_text(_text(main, tag) or "") for tag in (_MAKE, _MODEL))
    found.take("camera", "Model", camera_name(make, model), plain_text)
    found.take("lens", "LensModel", _text(camera, _LENS), plain_text)
    for name, tag in (("exposure", _EXPOSURE), ("aperture", _APERTURE), ("focal_length", _FOCAL_LENGTH)):
        found.take(name, name.replace("_", " "), camera.get(tag), lambda value: positive(_number(value)))
    found.take("iso", "ISO", camera.get(_ISO), lambda value: whole(_number(value)))
    found.take("rating", "Rating", main.get(_RATING), lambda value: rating(_number(value)))
    found.take("creator", "Artist", _text(main, _ARTIST), plain_text)
    # the copyright of the photographer ends with a mark, and that of an editor may follow
    found.take("copyright", "Copyright", _text(main, _COPYRIGHT), plain_text)
    return without_null_island(found.facts())


def _text(values: dict[int, Value], tag: int) -> str | None:
    """A text in the character set that nobody declared; None if there is none, or a number in its place."""
    raw = values[tag].text if tag in values else None
    return None if raw is None else decode_undeclared([raw]).texts[0]


def _degrees(value: Value, side: str | None, signs: str) -> float | None:
    return degrees(_numbers(value), side or "", signs)


def _numbers(value: Value) -> list[float]:
    """The numbers of a field; a text in their place is a mistake."""
    if not value.numbers:
        raise ValueError(value)
    return value.numbers


def _number(value: Value) -> float | None:
    return None if math.isnan(first := _numbers(value)[0]) else first
