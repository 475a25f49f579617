"""Contact sheets: many pictures at a glance, each with a line of text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont, ImageOps

from visterm.collection.holdings import Holdings
from visterm.collection.reasons import Regions
from visterm.documents.wording import percent
from visterm.errors import InputError, PictureError
from visterm.find.searching import Findings
from visterm.find.similar import Lookalikes
from visterm.storage import write_bytes_atomically
from visterm.vision.decode import decode_rgb
from visterm.vision.own import drawn

_PAPER, _INK, _FADED = "#faf8f4", "#222222", "#888888"
_MARGIN, _LINE = 8, 16
#: Fonts with letters of many languages, as Linux, Windows and macOS have them.
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "arial.ttf", "Arial.ttf")
#: The colour of what counts, and how much of the picture it covers at most.
_HEAT, _COVER = (255, 96, 0), 0.55


def contact_sheet(
    files: Sequence[Path],
    captions: Sequence[str] | None = None,
    *,
    regions: Sequence[Regions | None] | None = None,
    title: str = "",
    columns: int = 6,
    tile: tuple[int, int] = (192, 144),
) -> Image.Image:
    """The pictures in rows, each fitted into a tile, with its caption (up to two lines) beneath.

    A file that is not a readable picture gets an empty tile that says so. If ``regions`` of a picture are given and
    count, they are shown in warm colours and the rest in grey.
    """
    captions = list(captions or [""] * len(files))
    (title, *captions), found = _lettering([title, *captions])
    font, heading = (ImageFont.truetype(found, size) if found else ImageFont.load_default(size) for size in (12, 18))
    width, height = tile
    text_height = 2 * _LINE if any(captions) else 0
    top = (_MARGIN + 24) if title else 0
    columns = max(1, min(columns, len(files)))
    n_rows = -(-len(files) // columns)
    size = (_MARGIN + columns * (width + _MARGIN), top + _MARGIN + n_rows * (height + text_height + _MARGIN))
    sheet = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        draw.text((_MARGIN, _MARGIN), title, fill=_INK, font=heading)
    for i, (file, caption) in enumerate(zip(files, captions, strict=True)):
        left = _MARGIN + i % columns * (width + _MARGIN)
        upper = top + _MARGIN + i // columns * (height + text_height + _MARGIN)
        try:
            picture = Image.fromarray(decode_rgb(file))
            picture.thumbnail(tile)
            if regions is not None and (counting := regions[i]) is not None and counting.any_counts:
                picture = heated(picture, counting)
            offset = ((width - picture.width) // 2, (height - picture.height) // 2)
            sheet.paste(picture, (left + offset[0], upper + offset[1]))
        except (PictureError, OSError):
            draw.rectangle((left, upper, left + width - 1, upper + height - 1), outline=_FADED)
            draw.text((left + 8, upper + height // 2), "cannot be shown", fill=_FADED, font=font)
        for n_line, line in enumerate(_two_lines(caption, width, draw, font)):
            draw.text((left, upper + height + 1 + n_line * _LINE), line, fill=_INK, font=font)
    return sheet


def findings_sheet(holdings: Holdings, findings: Findings | Lookalikes, file: Path) -> Path:
    """Write found pictures as a contact sheet; the extension of ``file`` decides between PNG and JPEG."""
    title = f"like {Path(findings.picture).name}" if isinstance(findings, Lookalikes) else findings.query
    captions = [f"{'people say so' if row.told else percent(row.score or 0.0)}: {row.path}" for row in findings.found]
    files = [holdings.folder / row.path for row in findings.found]
    regions = [row.regions for row in findings.found]
    save_sheet(contact_sheet(files, captions, regions=regions, title=title), file)
    return file


def heated(picture: Image.Image, regions: Regions) -> Image.Image:
    """The picture in grey, with the regions that count in warm colours."""
    shares = np.array(regions.shares, np.float32)
    coarse = Image.fromarray(shares / max(float(shares.max()), 1e-12))
    heat = np.clip(np.asarray(coarse.resize(picture.size, Image.Resampling.BICUBIC)), 0.0, 1.0)
    grey = ImageOps.grayscale(picture).convert("RGB")
    shown = Image.composite(picture, grey, _mask(heat**0.5))
    return Image.composite(Image.new("RGB", picture.size, _HEAT), shown, _mask(_COVER * heat))


def _mask(opacity: NDArray[np.float32]) -> Image.Image:
    return Image.fromarray(np.rint(255 * opacity).astype(np.uint8))


def save_sheet(sheet: Image.Image, file: Path) -> None:
    """Write a sheet as PNG or JPEG, by the extension of ``file``, whole or not at all; ``add`` leaves it out."""
    if file.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise InputError(f"a contact sheet is a .png or .jpg file, not {file.name}")
    write_bytes_atomically(file, drawn(sheet, "JPEG" if file.suffix.lower() in (".jpg", ".jpeg") else "PNG"))


def _lettering(texts: list[str]) -> tuple[list[str], str | None]:
    """The texts, and a font of this computer that has their letters; without one, the texts lose their accents.

    The font that comes with Pillow (None) has plain letters only.
    """
    if all(text.isascii() for text in texts):
        return texts, None
    for name in _FONTS:
        with suppress(OSError):
            ImageFont.truetype(name, 12)
            return [unicodedata.normalize("NFC", text) for text in texts], name
    return [unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() for text in texts], None


def _two_lines(
    text: str, width: int, draw: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont
) -> list[str]:
    """``text`` in at most two lines. Of a longer one the middle is left out: the end of a path tells files apart."""
    lines = _wrapped(text, width, draw, font)
    if len(lines) <= 2:
        return lines
    end = " ".join(lines[1:])
    while end and draw.textlength(f"...{end}", font=font) > width:
        end = end[1:]
    return [lines[0], f"...{end}"]


def _wrapped(
    text: str, width: int, draw: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont | ImageFont.ImageFont
) -> list[str]:
    """``text`` in lines of at most ``width``; a wider word gets a line of its own and is cut off by the tile."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and draw.textlength(longer, font=font) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
