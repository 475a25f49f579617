"""Raw files of cameras: the largest JPEG that the camera put into them, which is what it would have shown itself.

DNG, NEF, CR2, ARW, PEF and the like are TIFF structures, whose directories say where their JPEGs are. ORF and RW2 have
heads of their own, and hide the JPEG in notes of the maker; RAF and CR3 are no TIFF. There the JPEGs are looked for by
how they begin. The sensor's own data are never decoded.
"""

import io
from collections.abc import Iterable, Iterator

from visterm.errors import PictureError
from visterm.vision.tiff import HEADS, Tiff, Value

#: Files with these endings may be raw.
SUFFIXES = frozenset(
    {".dng", ".nef", ".nrw", ".cr2", ".cr3", ".arw", ".srf", ".sr2", ".raf", ".orf", ".rw2", ".pef", ".srw"}
)
_RAF, _CR3, _CR2 = b"FUJIFILMCCD-RAW", b"ftypcrx ", b"CR"
_JPEG_BEGINS = b"\xff\xd8\xff"
#: The directories of a file and the JPEGs that are looked at: a hostile file may name millions.
_MAX_DIRECTORIES, _MAX_CANDIDATES, _MAX_SEGMENTS = 64, 256, 200
_KIND, _STRIPS, _LENGTHS, _ORIENTATION, _BELOW = 0x0106, 0x0111, 0x0117, 0x0112, 0x014A
_JPEG_AT, _JPEG_LENGTH = 0x0201, 0x0202
_WANTED = frozenset((_KIND, _STRIPS, _LENGTHS, _ORIENTATION, _BELOW, _JPEG_AT, _JPEG_LENGTH))
#: What the pixels of a sensor are called: each has one colour, or they are linear.
_OF_SENSORS = (32803, 34892)
#: Frames of a JPEG that can be shown: baseline, extended, progressive. Lossless ones hold data of sensors.
_SHOWN, _FRAMES = (0xC0, 0xC1, 0xC2), frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def raw_preview(data: bytes) -> tuple[bytes, int] | None:
    """The largest JPEG in a raw file and the orientation that the file gives; None if this is no raw file.

    Raises :class:`PictureError` if a raw file has no JPEG.
    """
    tiff = Tiff(io.BytesIO(data))
    directories = list(_directories(tiff))
    is_cr2 = tiff.first is not None and data[8:10] == _CR2
    is_raw = is_cr2 or any(_first(fields, _KIND) in _OF_SENSORS for fields in directories)
    if not (is_raw or _has_own_head(data)):
        return None
    named = dict(place for fields in directories for place in _named(fields))
    if any(at + size > len(data) for at, size in named.items()):
        raise PictureError("damaged picture: the raw file ends before what it says it holds")
    best = _largest(data, named) or _largest(data, _sought(data))
    if best is None:
        raise PictureError("a raw file without a picture that can be shown: export it as JPEG, or add one beside it")
    orientation = next((int(o) for fields in directories if (o := _first(fields, _ORIENTATION)) is not None), 1)
    return data[best:], orientation


def _has_own_head(data: bytes) -> bool:
    is_other_tiff = data[:4] in HEADS and data[:4] not in (b"II*\0", b"MM\0*")
    return is_other_tiff or data.startswith(_RAF) or data[4:12] == _CR3


def _directories(tiff: Tiff) -> Iterator[dict[int, Value]]:
    """The directories of a file, each once, with those below them."""
    todo, seen = [tiff.first or 0], set[int]()
    while todo and len(seen) < _MAX_DIRECTORIES:
        at = todo.pop(0)
        if at and at not in seen:
            seen.add(at)
            fields, after = tiff.directory(at, _WANTED)
            yield fields
            todo += [after, *(int(below) for below in _numbers(fields, _BELOW)[:_MAX_DIRECTORIES])]


def _named(fields: dict[int, Value]) -> Iterator[tuple[int, int]]:
    """Where a directory says that a JPEG may begin, and its length."""
    for place, length in ((_JPEG_AT, _JPEG_LENGTH), (_STRIPS, _LENGTHS)):
        numbers = _numbers(fields, place)
        if len(numbers) == 1:  # several strips are no whole file
            yield int(numbers[0]), max(1, int(_first(fields, length) or 1))


def _sought(data: bytes) -> Iterator[int]:
    """Where the bytes of a file look like the beginning of a JPEG."""
    at = data.find(_JPEG_BEGINS)
    for _ in range(_MAX_CANDIDATES):
        if at < 0:
            return
        yield at
        at = data.find(_JPEG_BEGINS, at + 1)


def _largest(data: bytes, places: Iterable[int]) -> int | None:
    """Where the JPEG with the most pixels begins."""
    sizes = {place: _pixels(data, place) for place in places}
    best = max(sizes, key=lambda place: sizes[place], default=None)
    return best if best is not None and sizes[best] else None


def _pixels(data: bytes, at: int) -> int:
    """The pixels of the JPEG at ``at``, by its head; 0 if there is none, or it cannot be shown."""
    if data[at : at + 3] != _JPEG_BEGINS:
        return 0
    at += 2
    for _ in range(_MAX_SEGMENTS):
        head = data[at : at + 9]
        if len(head) < 9 or head[0] != 0xFF:
            return 0
        if head[1] in _FRAMES:
            height, width = int.from_bytes(head[5:7], "big"), int.from_bytes(head[7:9], "big")
            return height * width if head[1] in _SHOWN else 0
        at += 2 + int.from_bytes(head[2:4], "big")
    return 0


def _numbers(fields: dict[int, Value], tag: int) -> list[float]:
    """The whole numbers of a field, none if it is absent."""
    return [n for n in fields[tag].numbers if n == int(n)] if tag in fields and fields[tag].is_whole else []


def _first(fields: dict[int, Value], tag: int) -> float | None:
    return next(iter(_numbers(fields, tag)), None)
