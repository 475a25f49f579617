"""The canvas: the picture, and a map of the object that each pixel shows.

Every stroke goes onto the picture (at twice its size, for smooth edges) and onto the map, with the number of the
current object. At the end, the map shows what is visible: an object hidden behind others or outside the frame vanishes
from the truth exactly as it vanishes from the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from visterm.catalogue import Region
from visterm.postcards.light import RGB

Point = tuple[float, float]

#: The height of every canvas in its own units; the width follows the picture's proportions.
HEIGHT: Final = 192.0
_SUPERSAMPLING: Final = 2
#: An object counts as visible from this area (square units) and this share of its painted area.
_SEEN_AREA, _SEEN_SHARE = 14.0, 0.15


@dataclass(frozen=True, slots=True)
class Sprite:
    """A small picture with a mask, painted once and stamped many times."""

    image: Image.Image
    mask: Image.Image


@dataclass(frozen=True, slots=True)
class Camera:
    """The view of the canvas: turned by ``tilt`` radians, magnified by ``zoom``, perhaps mirrored."""

    tilt: float = 0.0
    zoom: float = 1.0
    mirrored: bool = False


@dataclass(slots=True)
class _Object:
    name: str
    last: int = 0  # parts of an object are numbered right after it, up to ``last``
    painted: int = 0


class Canvas:
    """A sheet of ``width`` x ``height`` pixels, painted in units of 1/192 of its height.

    >>> canvas = Canvas(64, 48)
    >>> with canvas.object("sun"):
    ...     canvas.ellipse((128, 96), (40, 40), (255, 220, 90))
    >>> pixels, regions = canvas.photograph(Camera())
    >>> pixels.shape, [region.name for region in regions]
    ((48, 64, 3), ['sun'])
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = HEIGHT * width / height
        self.grid = (height, width)
        self._scale = height / HEIGHT
        self._fine = self._scale * _SUPERSAMPLING
        self.image = Image.new("RGB", (width * _SUPERSAMPLING, height * _SUPERSAMPLING))
        self._map = Image.new("L", (width, height))
        self._pen, self._map_pen = ImageDraw.Draw(self.image), ImageDraw.Draw(self._map)
        self._objects = [_Object("")]
        self._number = 0
        self._everywhere: list[str] = []

    # -- what is being painted ---------------------------------------------------------------------------------------

    @contextmanager
    def object(self, name: str) -> Iterator[None]:
        """Strokes inside the ``with`` block show an object ``name``; a nested object is a part of the outer one."""
        outer, number = self._number, len(self._objects)
        if number > 255:
            raise AssertionError("a postcard shows at most 255 objects")
        painted = _Object(name)
        self._objects.append(painted)
        self._number = number
        try:
            yield
        finally:
            self._number = outer
            painted.last = len(self._objects) - 1
            painted.painted = sum(self._map.histogram()[number : painted.last + 1])

    def everywhere(self, name: str) -> None:
        """Record something that fills the whole picture, such as rain."""
        self._everywhere.append(name)

    # -- coordinates of the pixel grid, in units ---------------------------------------------------------------------

    @property
    def across(self) -> NDArray[np.float32]:
        """The x of every pixel column."""
        return ((np.arange(self.grid[1]) + 0.5) / self._scale).astype(np.float32)

    def down(self, top: float = 0.0, bottom: float = HEIGHT) -> NDArray[np.float32]:
        """The y of every pixel row from ``top`` to ``bottom``."""
        first, last = self._rows(top, bottom)
        return ((np.arange(first, last) + 0.5) / self._scale).astype(np.float32)

    def _rows(self, top: float, bottom: float) -> tuple[int, int]:
        first = min(max(0, int(top * self._scale)), self.grid[0] - 1)
        return first, min(max(first + 1, round(bottom * self._scale)), self.grid[0])

    # -- strokes -----------------------------------------------------------------------------------------------------

    def polygon(self, points: Sequence[Point], colour: RGB) -> None:
        """Fill a polygon."""
        self._pen.polygon(_scaled(points, self._fine), fill=colour)
        self._map_pen.polygon(_scaled(points, self._scale), fill=self._number)

    def ellipse(self, centre: Point, radii: Point, colour: RGB) -> None:
        """Fill an ellipse."""
        corners = [(centre[0] - radii[0], centre[1] - radii[1]), (centre[0] + radii[0], centre[1] + radii[1])]
        self._pen.ellipse(_scaled(corners, self._fine), fill=colour)
        self._map_pen.ellipse(_scaled(corners, self._scale), fill=self._number)

    def box(self, left: float, top: float, right: float, bottom: float, colour: RGB) -> None:
        """Fill an upright rectangle."""
        left, right = min(left, right), max(left, right)
        top, bottom = min(top, bottom), max(top, bottom)
        self._pen.rectangle(_scaled([(left, top), (right, bottom)], self._fine), fill=colour)
        self._map_pen.rectangle(_scaled([(left, top), (right, bottom)], self._scale), fill=self._number)

    def line(self, points: Sequence[Point], colour: RGB, thickness: float = 0.5) -> None:
        """Draw a line through ``points``."""
        fine = max(1, round(thickness * self._fine))
        self._pen.line(_scaled(points, self._fine), fill=colour, width=fine)
        self._map_pen.line(_scaled(points, self._scale), fill=self._number, width=max(1, fine // _SUPERSAMPLING))

    def touch(self, points: Sequence[Point], colour: RGB, thickness: float = 0.5) -> None:
        """Draw a line that is not on the map: a highlight, a crease, a reflection."""
        self._pen.line(_scaled(points, self._fine), fill=colour, width=max(1, round(thickness * self._fine)))

    # -- textures ----------------------------------------------------------------------------------------------------

    def surface(self, colours: NDArray[np.uint8], top: float = 0.0, outline: Sequence[Point] | None = None) -> None:
        """Paint rows of ``colours``, one per grid pixel, from ``top`` down; only inside ``outline``, if given."""
        first = self._rows(top, HEIGHT)[0]
        fine = _magnified(Image.fromarray(colours))
        corner = (0, first * _SUPERSAMPLING)
        if outline is None:
            self.image.paste(fine, corner)
            self._map.paste(self._number, (0, first, self.grid[1], first + len(colours)))
            return
        mask = Image.new("L", fine.size)
        shifted = [(x * self._fine, y * self._fine - corner[1]) for x, y in outline]
        ImageDraw.Draw(mask).polygon(shifted, fill=255)
        self.image.paste(fine, corner, mask)
        self._map_pen.polygon(_scaled(outline, self._scale), fill=self._number)

    def veil(
        self, colours: NDArray[np.uint8] | RGB, opacity: NDArray[np.floating], top: float = 0.0, left: float = 0.0
    ) -> None:
        """Paint ``colours`` with ``opacity`` (0..1, one value per grid pixel); opaque enough pixels are on the map."""
        coarse = Image.fromarray((np.clip(opacity, 0, 1) * 255).astype(np.uint8))
        column, row = round(left * self._scale), self._rows(top, HEIGHT)[0]
        corner = (column * _SUPERSAMPLING, row * _SUPERSAMPLING)
        mask = coarse.resize((coarse.width * _SUPERSAMPLING, coarse.height * _SUPERSAMPLING), Image.Resampling.BILINEAR)
        if isinstance(colours, tuple):
            self.image.paste(colours, (*corner, corner[0] + mask.width, corner[1] + mask.height), mask)
        else:
            self.image.paste(_magnified(Image.fromarray(colours)), corner, mask)
        if self._number:
            area = (column, row, column + coarse.width, row + coarse.height)
            self._map.paste(self._number, area, _opaque(coarse))

    def shrunk(self, sprite: Sprite, height: float) -> Sprite:
        """``sprite`` shrunk towards ``height``, so that stamping it many times at about that size is cheaper."""
        tall = max(3, round(height * self._fine))
        if tall >= sprite.image.height:
            return sprite
        size = (max(2, round(tall * sprite.image.width / sprite.image.height)), tall)
        return Sprite(*(part.resize(size, Image.Resampling.BOX) for part in (sprite.image, sprite.mask)))

    def stamp(
        self,
        sprite: Sprite,
        foot: Point,
        height: float,
        *,
        mirrored: bool = False,
        veil: tuple[RGB, float] | None = None,
    ) -> None:
        """Stamp ``sprite``, standing on ``foot``, ``height`` tall, faded by ``veil`` (a colour and its share)."""
        tall = max(3, round(height * self._fine))
        wide = max(2, round(tall * sprite.image.width / sprite.image.height))
        image = sprite.image.resize((wide, tall), Image.Resampling.BILINEAR, reducing_gap=1.5)
        mask = sprite.mask.resize((wide, tall), Image.Resampling.BILINEAR, reducing_gap=1.5)
        if mirrored:
            image, mask = (part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for part in (image, mask))
        if veil is not None:
            image = Image.blend(image, Image.new("RGB", image.size, veil[0]), min(1.0, veil[1]))
        left, top = round(foot[0] * self._fine - wide / 2), round(foot[1] * self._fine) - tall
        self.image.paste(image, (left, top), mask)
        if self._number:
            coarse = mask.resize((max(1, wide // _SUPERSAMPLING), max(1, tall // _SUPERSAMPLING)), Image.Resampling.BOX)
            corner = (left // _SUPERSAMPLING, top // _SUPERSAMPLING)
            area = (*corner, corner[0] + coarse.width, corner[1] + coarse.height)
            self._map.paste(self._number, area, _opaque(coarse))

    def shadow(self, centre: Point, radii: Point, strength: float = 0.22) -> None:
        """Darken an ellipse on the ground; the map does not change."""
        wide, tall = (max(2, round(radius * 2 * self._fine)) for radius in radii)
        mask = Image.new("L", (wide, tall))
        ImageDraw.Draw(mask).ellipse((0, 0, wide - 1, tall - 1), fill=round(255 * strength))
        left, top = round(centre[0] * self._fine - wide / 2), round(centre[1] * self._fine - tall / 2)
        self.image.paste((24, 26, 40), (left, top, left + wide, top + tall), mask)

    def glow(self, centre: Point, radius: float, colour: RGB, strength: float = 0.6) -> None:
        """Brighten the surroundings of a light; the map does not change."""
        side = max(4, round(radius * 2 * self._scale))
        axis = np.linspace(-1, 1, side)
        opacity = np.clip(1 - np.hypot(axis[:, None], axis), 0, 1) ** 2 * strength
        mask = Image.fromarray((opacity * 255).astype(np.uint8))
        mask = mask.resize((side * _SUPERSAMPLING, side * _SUPERSAMPLING), Image.Resampling.BILINEAR)
        left, top = (round((value - radius) * self._fine) for value in centre)
        self.image.paste(colour, (left, top, left + mask.width, top + mask.height), mask)

    def mirror_below(
        self,
        waterline: float,
        bottom: float,
        strength: Point,
        ripple: float,
        outline: Sequence[Point] | None = None,
    ) -> None:
        """Reflect the things above ``waterline`` in the water down to ``bottom``, broken by ``ripple`` units.

        The reflection fades from the first to the second ``strength``; it stays inside ``outline``.
        """
        first, last = self._rows(waterline, bottom)
        rows = last - first
        above = self.image.crop((0, max(0, first - rows) * _SUPERSAMPLING, self.image.width, first * _SUPERSAMPLING))
        picture = np.asarray(above.resize((self.grid[1], min(first, rows)), Image.Resampling.BOX))[::-1][:rows]
        rows = len(picture)
        steps = np.arange(rows)
        shift = np.sin(steps * 1.9) + np.sin(steps * 0.83 + 1.0)
        columns = np.arange(self.grid[1]) + (shift * ripple * self._scale * steps / max(1, rows))[:, None]
        wavy = picture[steps[:, None], np.clip(columns, 0, self.grid[1] - 1).astype(np.int32)]
        mask = np.repeat(np.linspace(*strength, last - first)[:rows, None], self.grid[1], axis=1)
        if outline is not None:
            inside = Image.new("L", (self.grid[1], rows))
            ImageDraw.Draw(inside).polygon([(x * self._scale, y * self._scale - first) for x, y in outline], fill=1)
            mask = mask * np.asarray(inside)
        number, self._number = self._number, 0
        self.veil(wavy, mask, top=first / self._scale + 1e-6)
        self._number = number

    # -- the finished picture ----------------------------------------------------------------------------------------

    def photograph(self, camera: Camera) -> tuple[NDArray[np.uint8], tuple[Region, ...]]:
        """The picture as ``camera`` sees it, and the region of every visible object."""
        height, width = self.grid
        image = self.image.transform(
            (width, height),
            Image.Transform.AFFINE,
            _affine(camera, self.grid, _SUPERSAMPLING),
            resample=Image.Resampling.BILINEAR,
        )
        labels = self._map.transform((width, height), Image.Transform.AFFINE, _affine(camera, self.grid, 1))
        return np.asarray(image), tuple(self._regions(np.asarray(labels), camera.zoom))

    def _regions(self, labels: NDArray[np.uint8], zoom: float) -> Iterator[Region]:
        from scipy.ndimage import find_objects

        height, width = self.grid
        areas = np.bincount(labels.ravel(), minlength=len(self._objects))
        boxes = find_objects(labels, max_label=len(self._objects) - 1)
        for number, painted in enumerate(self._objects[1:], start=1):
            family = slice(number, painted.last + 1)
            seen = int(areas[family].sum())
            if seen < _SEEN_AREA * self._scale**2 or seen < _SEEN_SHARE * painted.painted * zoom**2:
                continue
            parts = [box for box in boxes[number - 1 : painted.last] if box is not None]
            yield Region(
                painted.name,
                float(min(columns.start for _, columns in parts)),
                float(min(rows.start for rows, _ in parts)),
                float(max(columns.stop for _, columns in parts)),
                float(max(rows.stop for rows, _ in parts)),
            )
        for name in self._everywhere:
            yield Region(name, 0.0, 0.0, float(width), float(height))


def _scaled(points: Sequence[Point], scale: float) -> list[Point]:
    return [(x * scale, y * scale) for x, y in points]


def _opaque(mask: Image.Image) -> Image.Image:
    return mask.convert("1", dither=Image.Dither.NONE)


def _magnified(image: Image.Image) -> Image.Image:
    return image.resize((image.width * _SUPERSAMPLING, image.height * _SUPERSAMPLING), Image.Resampling.NEAREST)


def _affine(camera: Camera, grid: tuple[int, int], magnification: int) -> tuple[float, ...]:
    """Pillow's coefficients (output to input) for ``camera``, zoomed in enough that no corner is empty."""
    height, width = grid
    sine, cosine = np.sin(camera.tilt), np.cos(camera.tilt)
    cover = max(cosine + abs(sine) * height / width, cosine + abs(sine) * width / height)
    step = magnification / (camera.zoom * cover)
    a, b = step * cosine * (-1 if camera.mirrored else 1), -step * sine
    d, e = step * sine * (-1 if camera.mirrored else 1), step * cosine
    middle_x, middle_y = width / 2, height / 2
    c = magnification * middle_x - a * middle_x - b * middle_y
    f = magnification * middle_y - d * middle_x - e * middle_y
    return tuple(float(value) for value in (a, b, c, d, e, f))
