"""Small pictures of the pictures, and their own pixels: WebP in three sizes, made when asked for.

They are kept by content in ``.visterm/thumbnails``, and derived: the folder can be deleted. The mean colours of each
picture are kept with them, so that a page can show a place for a picture before its thumbnail has come.
"""

from __future__ import annotations

import io
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from visterm.catalogue.healing import ChangedFileError, read_picture
from visterm.errors import InputError, PictureError
from visterm.storage import make_folder, open_new, write_bytes_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PIL.Image import Image


Size = Literal["small", "large", "full"]
#: The largest width and height of each size; ``full`` has the pixels of the picture, as far as WebP takes them.
BOXES: dict[Size, tuple[int, int]] = {"small": (480, 320), "large": (1600, 1600), "full": (16383, 16383)}
#: The quality of each size, and how hard its encoder works: who zooms in waits for it.
_QUALITY: dict[Size, int] = {"small": 75, "large": 85, "full": 92}
_EFFORT: dict[Size, int] = {"small": 2, "large": 2, "full": 0}
#: Of a larger picture, this many pixels are shown: decoded, they take three times as many bytes.
_MOST_PIXELS = 40_000_000
#: The mean colours are those of this many columns and rows.
_GRID = 2


class Thumbnails:
    """Makes and keeps thumbnails; any number of threads and processes may ask for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._guard, self._writing = threading.Lock(), threading.Lock()
        self._known: dict[str, str] | None = None

    def file(self, sha256: str, size: Size, original: Path) -> Path:
        """The thumbnail of the picture with this content, which is made from ``original`` if it is new."""
        place = self.place(sha256, size)
        if not place.exists():
            self._make(sha256, size, original)
        return place

    def place(self, sha256: str, size: Size) -> Path:
        """Where the thumbnail is kept."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise InputError("a thumbnail is named by the content hash of its picture")
        return self.folder / size / sha256[:2] / f"{sha256}.webp"

    def colours(self, keys: Iterable[str]) -> list[str]:
        """The mean colours of four parts of each picture as 24 hexadecimal digits; empty if not yet known."""
        known = self._colours()
        return [known.get(key, "") for key in keys]

    def _colours(self) -> dict[str, str]:
        """The colours of all pictures, read once."""
        with self._guard:
            if self._known is None:
                self._known = self._read_colours()
            return self._known

    def _make(self, sha256: str, size: Size, original: Path) -> None:
        try:
            data, picture = render(read_picture(original, sha256), size)
        except ChangedFileError:
            raise
        except PictureError as error:
            raise InputError(f"{original}: {error}") from error
        place = self.place(sha256, size)
        make_folder(place.parent)
        write_bytes_atomically(place, data)
        if size == "small":
            self._keep_colours(sha256, mean_colours(np.asarray(picture)))

    def _keep_colours(self, sha256: str, colours: str) -> None:
        self._colours()[sha256] = colours
        # No reader waits for the disk. They are only derived, so a failure does no harm.
        with self._writing, suppress(sqlite3.Error, OSError), _database(self.folder) as database:
            database.execute("INSERT OR REPLACE INTO colour VALUES (?, ?)", (sha256, colours))
            database.commit()

    def _read_colours(self) -> dict[str, str]:
        if not (self.folder / _COLOURS).exists():
            return {}
        try:
            with _database(self.folder) as database:
                return dict(database.execute("SELECT sha256, colours FROM colour"))
        except sqlite3.OperationalError:  # it cannot be read at this moment
            return {}
        except sqlite3.DatabaseError:  # damaged: they are derived, so begin again
            (self.folder / _COLOURS).unlink(missing_ok=True)
            return {}


def render(data: bytes, size: Size) -> tuple[bytes, Image]:
    """The thumbnail of the picture in ``data``, as a file and as pixels."""
    from PIL import Image

    from visterm.vision import decode_rgb

    width, height = BOXES[size]
    picture = Image.fromarray(decode_rgb(data, pixel_budget=min(4 * width * height, _MOST_PIXELS)))
    picture.thumbnail((width, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=_QUALITY[size], method=_EFFORT[size])
    return buffer.getvalue(), picture


_COLOURS = "colours.sqlite"


@contextmanager
def _database(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the colours, closed at the end of the ``with`` block."""
    make_folder(folder)
    open_new(folder / _COLOURS, "ab").close()  # SQLite would ask the umask
    with closing(sqlite3.connect(folder / _COLOURS, timeout=10.0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # they are derived: a power cut may take them
        connection.execute(
            "CREATE TABLE IF NOT EXISTS colour (sha256 TEXT PRIMARY KEY, colours TEXT NOT NULL) WITHOUT ROWID"
        )
        yield connection


def mean_colours(rgb: np.ndarray) -> str:
    """The mean colours of a picture's quarters, row by row, as hexadecimal digits.

    >>> mean_colours(np.full((4, 4, 3), 255, np.uint8))
    'ffffffffffffffffffffffff'
    """
    rows = np.array_split(rgb, _GRID, axis=0) if rgb.shape[0] >= _GRID else [rgb] * _GRID
    cells = [
        cell
        for row in rows
        for cell in (np.array_split(row, _GRID, axis=1) if row.shape[1] >= _GRID else [row] * _GRID)
    ]
    return "".join(bytes(cell.reshape(-1, 3).mean(axis=0).round().astype(np.uint8).tolist()).hex() for cell in cells)
