"""Plants: trees, pines, palms, bushes, flowers, grass and cacti, built from dabs of colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from visterm.postcards.canvas import HEIGHT, Sprite
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone

FOLIAGE: dict[str, tuple[Tone, ...]] = {
    "spring": ((104, 148, 66), (134, 168, 84), (220, 168, 184), (236, 222, 220), (88, 136, 70)),
    "summer": ((66, 106, 50), (84, 122, 58), (56, 92, 56), (98, 128, 66)),
    "autumn": ((204, 122, 46), (184, 78, 44), (214, 166, 62), (146, 112, 56), (120, 116, 60)),
}
NEEDLES: tuple[Tone, ...] = ((44, 78, 62), (56, 88, 58), (40, 70, 70), (66, 92, 66))
BARK: Tone = (92, 74, 58)
BLOSSOMS: tuple[Tone, ...] = (
    (226, 70, 70), (244, 196, 66), (238, 238, 230), (178, 110, 190), (240, 140, 170), (90, 110, 210),
)  # fmt: skip
SNOW: Tone = (238, 242, 250)

_TALL = 132
_FINENESS = 1.8  # pixels of a sprite per unit it is drawn in


class _Dabber:
    """Draws on a sprite's picture and mask at once."""

    def __init__(self, wide: int, ground: tuple[int, int, int]) -> None:
        size = (round(wide * _FINENESS), round(_TALL * _FINENESS))
        self.image, self.mask = Image.new("RGB", size, ground), Image.new("L", size)
        self._pens = (ImageDraw.Draw(self.image), ImageDraw.Draw(self.mask))

    def polygon(self, points: Sequence[tuple[float, float]], colour: tuple[int, int, int]) -> None:
        fine = [(x * _FINENESS, y * _FINENESS) for x, y in points]
        self._pens[0].polygon(fine, fill=colour)
        self._pens[1].polygon(fine, fill=255)

    def line(self, points: Sequence[tuple[float, float]], colour: tuple[int, int, int], width: float) -> None:
        fine, thick = [(x * _FINENESS, y * _FINENESS) for x, y in points], max(1, round(width * _FINENESS))
        self._pens[0].line(fine, fill=colour, width=thick)
        self._pens[1].line(fine, fill=255, width=thick)

    def dab(self, x: float, y: float, wide: float, tall: float, colour: tuple[int, int, int]) -> None:
        box = tuple(side * _FINENESS for side in (x - wide, y - tall, x + wide, y + tall))
        self._pens[0].ellipse(box, fill=colour)
        self._pens[1].ellipse(box, fill=255)

    def sprite(self) -> Sprite:
        return Sprite(self.image, self.mask)


def leafy(easel: Easel, leaf: Tone | None = None) -> Sprite:
    """A broad tree: a crown of dabs, dark within, light towards the upper left."""
    rng = easel.rng
    leaf = easel.pick(FOLIAGE[easel.season]) if leaf is None else leaf
    wide = easel.several(76, 119)
    sheet = _Dabber(wide, easel.shade(leaf, 0.3))
    bark = easel.shade(BARK, 0.5)
    middle, crown = wide / 2, _TALL * easel.between(0.36, 0.44)
    sheet.polygon([(middle - 5, _TALL), (middle - 2.5, crown), (middle + 2.5, crown), (middle + 5, _TALL)], bark)
    for side in (-1, 1):
        reach = side * wide * easel.between(0.16, 0.3)
        sheet.line([(middle, _TALL * 0.68), (middle + reach, _TALL * easel.between(0.3, 0.5))], bark, 3)
    lobes = [(middle + reach * wide, crown + rise * _TALL, size * wide) for reach, rise, size in _lobes(easel)]
    table = [easel.shade(leaf, lit) for lit in np.linspace(0.0, 1.35, 16)]
    count = 150
    lobe = rng.integers(len(lobes), size=count)
    angles, away = rng.uniform(0, 2 * np.pi, count), np.sqrt(rng.random(count))
    sizes, jitter = rng.uniform(2.6, 5.4, count), rng.normal(0, 1.6, count)
    for dab in range(count):
        x, y, radius = lobes[lobe[dab]]
        dx, dy = float(np.cos(angles[dab]) * away[dab]), float(np.sin(angles[dab]) * away[dab])
        # Early dabs are the shadowed inside, late ones the lit outside.
        lit = 7.5 - 4.0 * dx - 5.0 * dy + jitter[dab] - 5.0 * (1 - dab / count)
        size = sizes[dab] * (1.5 - 0.7 * dab / count)
        sheet.dab(x + dx * radius, y + dy * radius * 0.85, size, size * 0.8, table[int(np.clip(lit, 0, 15))])
    return sheet.sprite()


def _lobes(easel: Easel) -> list[tuple[float, float, float]]:
    shape = easel.rng.integers(3)
    if shape == 0:  # round
        return [(0, -0.08, 0.3), (-0.2, 0.04, 0.22), (0.2, 0.04, 0.22), (0, 0.1, 0.26)]
    if shape == 1:  # tall
        return [(0, -0.2, 0.18), (-0.08, 0, 0.22), (0.1, 0.02, 0.22), (0, 0.16, 0.24)]
    return [(-0.26, 0, 0.2), (0.24, -0.04, 0.22), (0, -0.14, 0.24), (0.02, 0.08, 0.28), (-0.12, 0.08, 0.22)]


def bare(easel: Easel) -> Sprite:
    """A leafless tree, its branches dividing, with snow along them."""
    sheet = _Dabber(150, easel.shade(BARK, 0.3))
    bark, white = easel.shade((78, 68, 64), 0.55), easel.shade(SNOW, 0.95)

    def branch(x: float, y: float, angle: float, length: float, width: float) -> None:
        tip = (x + length * float(np.cos(angle)), y + length * float(np.sin(angle)))
        sheet.line([(x, y), tip], bark, width)
        if width < 4:
            sheet.line([(x, y - width * 0.6), (tip[0], tip[1] - width * 0.6)], white, 1)
        if width > 1.1:
            for _ in range(3 if width > 2 else 2):
                turn = angle + easel.rng.normal(0, 0.5)
                branch(tip[0], tip[1], turn, length * easel.between(0.6, 0.82), width * 0.62)

    branch(75, _TALL, -np.pi / 2 + easel.rng.normal(0, 0.05), _TALL * 0.27, 6.0)
    return sheet.sprite()


def conifer(easel: Easel, *, snowy: bool = False) -> Sprite:
    """A pine: tiers of drooping boughs, with snow on them if ``snowy``."""
    rng = easel.rng
    needle = easel.pick(NEEDLES)
    wide = easel.several(50, 75)
    sheet = _Dabber(wide, easel.shade(needle, 0.3))
    middle = wide / 2
    sheet.polygon([(middle - 3, _TALL), (middle, 20), (middle + 3, _TALL)], easel.shade(BARK, 0.4))
    tiers = easel.several(7, 10)
    for tier in range(tiers):
        top = 2 + (_TALL * 0.86) * tier / tiers
        tall, reach = _TALL * 0.22, middle * (0.16 + 0.84 * (tier + 1) / tiers) * easel.between(0.88, 1.0)
        for side in (-1, 1):
            lit = 0.95 if side < 0 else 0.2
            teeth: list[tuple[float, float]] = [(middle, top)]
            for tooth in range(5):
                share = 1 - tooth / 5
                droop = top + tall * (0.62 + 0.3 * share) + rng.normal(0, 1.6)
                teeth += [(middle + side * reach * share, droop), (middle + side * reach * (share - 0.1), droop - 5)]
            teeth.append((middle, top + tall * 0.8))
            sheet.polygon(teeth, easel.shade(needle, lit * (0.7 + 0.4 * tier / tiers)))
            if snowy:
                load = [(middle, top), (middle + side * reach * 0.95, top + tall * 0.84)]
                load += [(middle + side * reach * 0.5, top + tall * 0.62), (middle, top + tall * 0.42)]
                sheet.polygon(load, easel.shade(SNOW, 1.0 if side < 0 else 0.45))
    return sheet.sprite()


def palm(easel: Easel) -> Sprite:
    """A palm with a leaning trunk and arched fronds."""
    sheet = _Dabber(110, easel.shade((70, 100, 56), 0.4))
    bark = easel.shade((140, 112, 80), 0.7)
    lean = easel.between(8, 22)
    spine = [(55 + lean * (share - 0.5) ** 2 * 4 - lean, _TALL * (1 - 0.68 * share)) for share in np.linspace(0, 1, 8)]
    for start, stop in pairwise(spine):
        sheet.line([start, stop], bark, 5)
    x, y = spine[-1]
    for frond in range(11):
        angle = -np.pi / 2 + (frond - 5) * 0.42 + easel.rng.normal(0, 0.08)
        reach, lit = easel.between(34, 46), 0.35 + 0.07 * frond if frond < 6 else 0.25
        points = []
        for share in np.linspace(0, 1, 6):
            droop = 26 * share**2
            points.append(
                (x + reach * share * float(np.cos(angle)), y + reach * share * float(np.sin(angle)) * 0.8 + droop)
            )
        lower = [
            (px, py + 6 * float(np.sin(np.pi * share)) + 1)
            for (px, py), share in zip(points, np.linspace(0, 1, 6), strict=True)
        ]
        sheet.polygon(points + lower[::-1], easel.shade((84, 128, 62), lit * 1.5))
    return sheet.sprite()


def shrub(easel: Easel, leaf: Tone | None = None) -> Sprite:
    """A bush: a low mound of dabs."""
    rng = easel.rng
    leaf = easel.pick(FOLIAGE[easel.season]) if leaf is None else leaf
    sheet = _Dabber(190, easel.shade(leaf, 0.3))
    table = [easel.shade(leaf, lit) for lit in np.linspace(0.05, 1.3, 12)]
    count = 90
    for dab in range(count):
        x = 95 + float(rng.normal(0, 36))
        mound = 88 * max(0.0, 1 - ((x - 95) / 92) ** 2)
        y = _TALL - float(rng.random()) ** 0.7 * mound
        lit = 11 * (_TALL - y) / 92 + rng.normal(0, 1.5) - 3 * (1 - dab / count)
        size = 11 - 5 * dab / count
        sheet.dab(x, y, size, size * 0.8, table[int(np.clip(lit, 0, 11))])
    return sheet.sprite()


def plant(easel: Easel, sprites: Sequence[Sprite], x: float, foot: float, metres: float, name: str) -> None:
    """Stand one of ``sprites``, ``metres`` tall, with its shadow on the ground."""
    metre, depth = easel.metre(foot), easel.depth(foot)
    sprite = sprites[int(easel.rng.integers(len(sprites)))]
    tall = metres * metre
    if easel.light.hour not in ("night", "overcast") and easel.light.weather in ("clear", "cloudy") and tall > 8:
        easel.canvas.shadow((x + tall * 0.12, foot), (tall * 0.3, tall * 0.035))
    with easel.canvas.object(name):
        easel.stamp(sprite, (x, foot), tall, depth)


def thicket(
    easel: Easel, sprites: Sequence[Sprite], line: float, metres: float, name: str, *, spacing: float, depth: float
) -> None:
    """A distant row of plants along y = ``line``, seen as one thing."""
    metre = easel.metre(line)
    sprites = [easel.canvas.shrunk(sprite, max(4.0, metres * metre)) for sprite in sprites]
    with easel.canvas.object(name):
        x = -4.0
        while x < easel.width + 4:
            tall = metres * metre * easel.between(0.65, 1.15)
            sprite = sprites[int(easel.rng.integers(len(sprites)))]
            easel.stamp(sprite, (x, line + easel.between(-1, 1.5)), max(4.0, tall), depth)
            x += spacing * metre * easel.between(0.4, 1.4) + 0.6


def flowers(easel: Easel, *, top: float, count: int = 150) -> None:
    """Flowers in the grass of the foreground, in two or three colours."""
    rng, canvas = easel.rng, easel.canvas
    tones = [easel.pick(BLOSSOMS) for _ in range(easel.several(1, 3))]
    stalk = easel.shade((70, 110, 56), 0.6)
    with canvas.object("flower"):
        for y in np.sort(top + (HEIGHT - top) * rng.random(count) ** 0.8):
            x, size = easel.between(0, easel.width), 0.35 + 0.022 * (float(y) - easel.horizon)
            canvas.touch([(x, float(y)), (x, float(y) + size * 3)], stalk, 0.4)
            canvas.ellipse((x, float(y)), (size, size * 0.8), easel.shade(easel.pick(tones), 1.05))


def tufts(easel: Easel, tones: Sequence[Tone], *, top: float) -> None:
    """Blades of grass along the foreground."""
    rng = easel.rng
    for y in np.sort(top + (HEIGHT + 4 - top) * rng.random(170) ** 0.7):
        near = (float(y) - easel.horizon) / (HEIGHT - easel.horizon)
        x, reach = easel.between(0, easel.width), 9.0 * near * easel.between(0.5, 1.1)
        tone = tones[int(rng.integers(len(tones)))]
        colour = easel.shade(tone, easel.between(0.5, 1.15), easel.depth(float(y)))
        easel.canvas.line([(x, float(y)), (x + reach * easel.between(-0.4, 0.4), float(y) - reach)], colour, 0.5)


def cactus(easel: Easel, x: float, foot: float, metres: float) -> None:
    """A saguaro with ribs and raised arms."""
    canvas, tall = easel.canvas, metres * easel.metre(foot)
    depth, thick = easel.depth(foot), metres * easel.metre(foot) * 0.09
    body, lit = easel.shade((76, 110, 72), 0.35, depth), easel.shade((98, 136, 84), 1.0, depth)

    def limb(left: float, top: float, bottom: float, radius: float) -> None:
        canvas.box(left - radius, top, left + radius, bottom, body)
        canvas.ellipse((left, top), (radius, radius), body)
        for rib in (-0.55, -0.1):
            canvas.touch([(left + radius * rib, top), (left + radius * rib, bottom)], lit, max(0.5, radius * 0.22))

    with canvas.object("cactus"):
        limb(x, foot - tall, foot, thick)
        for side in (-1, 1):
            if easel.chance(0.85):
                joint, reach = foot - tall * easel.between(0.4, 0.6), side * thick * easel.between(2.6, 3.6)
                canvas.box(x, joint - thick * 0.7, x + reach, joint + thick * 0.7, body)
                canvas.ellipse((x + reach, joint), (thick * 0.75, thick * 0.75), body)
                limb(x + reach, joint - tall * easel.between(0.18, 0.32), joint, thick * 0.75)
