"""Documents about pictures, as a notebook shows them: thumbnails with a line of text."""

import base64
import io
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Self

from visterm.documents.document import Document
from visterm.errors import PictureError

#: Pictures shown; more would make a notebook slow.
_MAX_SHOWN = 60
_TILE = (160, 120)


class PictureDocument(Document):
    """A document about pictures of a workspace; :meth:`captions` says what stands under each."""

    _folder: Path = Path()

    def captions(self) -> Iterable[tuple[str, str]]:
        """The path of every picture, and a line about it."""
        raise NotImplementedError

    def located(self, folder: Path) -> Self:
        """The same document; ``folder`` is where its paths begin."""
        object.__setattr__(self, "_folder", folder)
        return self

    def _repr_html_(self) -> str:
        listed = list(self.captions())
        tiles = [_tile(self._folder / path, path, caption) for path, caption in listed[:_MAX_SHOWN]]
        more = f"<p>and {len(listed) - _MAX_SHOWN} more</p>" if len(listed) > _MAX_SHOWN else ""
        shown = "".join(tiles) or "<p>nothing found</p>"
        return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{shown}</div>{more}'


def _tile(file: Path, path: str, caption: str) -> str:
    text = f"{escape(caption)}<br><small>{escape(path)}</small>"
    return f'<figure style="margin:0;width:{_TILE[0]}px">{_thumbnail(file)}<figcaption>{text}</figcaption></figure>'


def _thumbnail(file: Path) -> str:
    """A small JPEG inside the page; nothing where the picture cannot be read."""
    from PIL import Image

    from visterm.vision import decode_rgb

    try:
        picture = Image.fromarray(decode_rgb(file, pixel_budget=4 * _TILE[0] * _TILE[1]))
    except (OSError, PictureError):
        return "<p>cannot be shown</p>"
    picture.thumbnail(_TILE)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    return f'<img src="data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}">'
