"""Buildings: houses, town houses, towers, lighthouses and windmills."""

from __future__ import annotations

import numpy as np

from visterm.postcards.canvas import Point
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix, to_rgb

WALLS: tuple[Tone, ...] = (
    (232, 220, 200), (218, 190, 150), (206, 150, 120), (196, 204, 200), (176, 188, 200), (226, 200, 130),
    (200, 128, 110), (158, 96, 76), (170, 180, 150),
)  # fmt: skip
ROOFS: tuple[Tone, ...] = ((168, 84, 60), (140, 70, 56), (96, 92, 98), (120, 84, 66), (84, 90, 104))
METAL: Tone = (86, 90, 96)
SNOW: Tone = (238, 242, 250)
GLASS: Tone = (84, 98, 112)


def house(easel: Easel, x: float, foot: float, metres: float = 6.0, *, snowy: bool = False) -> None:
    """A gabled house seen from a corner: a front with windows, a side, a roof, perhaps a smoking chimney."""
    canvas, tall = easel.canvas, metres * easel.metre(foot)
    depth = easel.depth(foot)
    wall, roof = easel.pick(WALLS), SNOW if snowy else easel.pick(ROOFS)
    front, side = tall * easel.between(0.7, 1.0), tall * easel.between(0.6, 1.3)
    eaves, ridge = foot - tall * 0.58, foot - tall
    lean = tall * 0.06
    left, corner, right = x - (front + side) / 2, x - (front + side) / 2 + front, x + (front + side) / 2
    peak = (left + front / 2, ridge)
    with canvas.object("house"):
        canvas.polygon([(corner, eaves), (right, eaves + lean), (right, foot - lean), (corner, foot)],
                       easel.shade(wall, 0.35, depth))  # fmt: skip
        canvas.polygon(
            [(left, foot), (left, eaves), peak, (corner, eaves), (corner, foot)], easel.shade(wall, 1.0, depth)
        )
        if easel.chance(0.6):
            at = corner + side * 0.45
            chimney = (at, ridge - tall * 0.1, at + tall * 0.09, ridge + tall * 0.2)
            canvas.box(*chimney, easel.shade((150, 96, 80), 0.7, depth))
            if easel.chance(0.6):
                _smoke(easel, at, chimney[1], tall)
        over = tall * 0.05
        slope: list[Point] = [peak, (right - side * 0.12, ridge + lean * 0.5), (right + over, eaves + lean + over)]
        canvas.polygon([*slope, (corner - over * 0.2, eaves + over)], easel.shade(roof, 0.62, depth))
        thick = max(0.7, tall * 0.045)
        for start, stop in (((left - over, eaves + over), peak), (peak, (corner + over * 0.3, eaves + over))):
            canvas.line([start, stop], easel.shade(roof, 1.0, depth), thick)
        door = tall * 0.13
        at = left + front * easel.between(0.35, 0.6)
        canvas.box(at, foot - tall * 0.3, at + door, foot, easel.shade(mix(wall, (70, 50, 40), 0.75), 0.6, depth))
        with canvas.object("window"):
            glass = tall * 0.11
            spots = [(left + front * 0.14, 0.5), (left + front * 0.72, 0.5), (left + front * 0.43, 0.68)]
            spots += [(corner + side * share, 0.46) for share in (0.2, 0.6)]
            for spot, rise in spots:
                top = foot - tall * rise
                canvas.box(spot, top, spot + glass, top + glass * 1.25, pane(easel, depth))
                if glass > 3:
                    canvas.touch(
                        [(spot + glass / 2, top), (spot + glass / 2, top + glass * 1.25)],
                        easel.shade((240, 236, 226)),
                        0.4,
                    )


def facade(easel: Easel, left: float, right: float, foot: float, tall: float, *, depth: float) -> None:
    """A town house seen from the front: storeys of windows, a gable or a flat top."""
    canvas, wall = easel.canvas, easel.pick(WALLS)
    top, wide = foot - tall, right - left
    with canvas.object("house"):
        canvas.box(left, top, right - 0.4, foot, easel.shade(wall, 0.9, depth))
        style = easel.rng.integers(3)
        roof = easel.shade(easel.pick(ROOFS), 0.75, depth)
        if style == 0:
            canvas.polygon([(left - 0.5, top), ((left + right) / 2, top - wide * 0.42), (right, top)], roof)
        elif style == 1:
            rise = wide * 0.3
            canvas.polygon(
                [(left - 0.5, top), (left + wide * 0.14, top - rise), (right - wide * 0.14, top - rise), (right, top)],
                roof,
            )
        else:
            canvas.box(left - 0.6, top - 1.6, right + 0.2, top, easel.shade(wall, 0.45, depth))
        columns, storeys = max(2, int(wide / 8)), max(2, int(tall / 13))
        cell, storey = wide / columns, tall / (storeys + 0.25)
        frame = easel.shade(mix(wall, (250, 248, 240), 0.6), 1.0, depth)
        with canvas.object("window"):
            for row in range(storeys):
                for column in range(columns):
                    x, y = left + cell * (column + 0.26), top + storey * (row + 0.28)
                    if row == storeys - 1 and column == columns // 2:
                        continue
                    canvas.box(x - 0.5, y - 0.5, x + cell * 0.48 + 0.5, y + storey * 0.56 + 0.5, frame)
                    canvas.box(x, y, x + cell * 0.48, y + storey * 0.56, pane(easel, depth))
        door = left + cell * (columns // 2 + 0.22)
        canvas.box(
            door, foot - storey * 0.85, door + cell * 0.56, foot, easel.shade(mix(wall, (60, 44, 36), 0.8), 0.6, depth)
        )


def pane(easel: Easel, depth: float) -> tuple[int, int, int]:
    """A window pane: dark by day, mostly lit after sunset."""
    if easel.light.lamps_lit and easel.chance(0.75):
        return to_rgb(mix((255, 206, 116), (255, 236, 180), easel.between(0, 1)))
    return easel.shade(GLASS, easel.between(0.4, 1.1), depth)


def _smoke(easel: Easel, x: float, y: float, tall: float) -> None:
    drift = easel.between(-0.6, 0.6)
    puff = to_rgb(mix(easel.light.haze, (235, 235, 235), 0.4))
    for step in range(5):
        radius = tall * (0.05 + 0.025 * step)
        easel.canvas.glow((x + drift * step * tall * 0.12, y - step * tall * 0.13), radius * 2, puff, 0.5 - 0.07 * step)


def tower(easel: Easel, x: float, foot: float, metres: float, *, kind: str) -> None:
    """A church tower, a castle keep or an office tower."""
    canvas, tall = easel.canvas, metres * easel.metre(foot)
    depth = easel.depth(foot)
    with canvas.object("tower"):
        if kind == "office":
            _office(easel, x, foot, tall, depth)
        elif kind == "church":
            _church(easel, x, foot, tall, depth)
        else:
            _keep(easel, x, foot, tall, depth)


def _office(easel: Easel, x: float, foot: float, tall: float, depth: float) -> None:
    canvas, wide = easel.canvas, tall * easel.between(0.2, 0.32)
    wall = easel.pick(((150, 162, 176), (176, 170, 160), (110, 124, 140), (186, 160, 138)))
    canvas.box(x - wide / 2, foot - tall, x + wide * 0.25, foot, easel.shade(wall, 0.95, depth))
    canvas.box(x + wide * 0.25, foot - tall, x + wide / 2, foot, easel.shade(wall, 0.3, depth))
    if easel.chance(0.4):
        canvas.line([(x, foot - tall), (x, foot - tall * 1.14)], easel.shade(METAL, 0.6, depth), 0.6)
    with canvas.object("window"):
        storeys, panes = max(4, int(tall / 5)), 4
        for storey in range(storeys - 1):
            for column in range(panes):
                left = x - wide * 0.45 + column * wide * 0.165
                top = foot - tall * 0.97 + storey * tall / storeys
                canvas.box(left, top, left + wide * 0.1, top + tall / storeys * 0.55, pane(easel, depth))


def _church(easel: Easel, x: float, foot: float, tall: float, depth: float) -> None:
    canvas, wide = easel.canvas, tall * 0.2
    wall, roof = easel.pick(WALLS[:4]), easel.pick(ROOFS)
    shoulder = foot - tall * 0.62
    canvas.polygon([(x - wide / 2, foot), (x - wide / 2, shoulder), (x + wide * 0.2, shoulder), (x + wide * 0.2, foot)],
                   easel.shade(wall, 1.0, depth))  # fmt: skip
    canvas.box(x + wide * 0.2, shoulder, x + wide / 2, foot, easel.shade(wall, 0.35, depth))
    canvas.polygon(
        [(x - wide * 0.6, shoulder), (x, foot - tall), (x + wide * 0.15, shoulder)], easel.shade(roof, 1.0, depth)
    )
    canvas.polygon(
        [(x + wide * 0.15, shoulder), (x, foot - tall), (x + wide * 0.6, shoulder)], easel.shade(roof, 0.4, depth)
    )
    canvas.line([(x, foot - tall), (x, foot - tall * 1.07)], easel.shade(METAL, 0.5, depth), 0.5)
    canvas.ellipse(
        (x - wide * 0.15, shoulder + wide * 0.45), (wide * 0.16, wide * 0.16), easel.shade((240, 234, 210), 1.0, depth)
    )
    with canvas.object("window"):
        for rise in (0.45, 0.28):
            canvas.box(
                x - wide * 0.22, foot - tall * rise, x - wide * 0.06, foot - tall * (rise - 0.09), pane(easel, depth)
            )


def _keep(easel: Easel, x: float, foot: float, tall: float, depth: float) -> None:
    canvas, wide = easel.canvas, tall * 0.4
    stone = easel.pick(((150, 142, 130), (136, 120, 104)))
    canvas.box(x - wide / 2, foot - tall * 0.85, x + wide * 0.1, foot, easel.shade(stone, 0.9, depth))
    canvas.box(x + wide * 0.1, foot - tall * 0.85, x + wide / 2, foot, easel.shade(stone, 0.35, depth))
    for merlon in range(4):
        left = x - wide * 0.58 + merlon * wide * 0.32
        canvas.box(left, foot - tall, left + wide * 0.2, foot - tall * 0.82, easel.shade(stone, 0.7, depth))
    canvas.box(x - wide * 0.58, foot - tall * 0.88, x + wide * 0.58, foot - tall * 0.8, easel.shade(stone, 0.75, depth))
    with canvas.object("window"):
        for rise in (0.6, 0.35):
            canvas.box(
                x - wide * 0.2, foot - tall * rise, x - wide * 0.1, foot - tall * (rise - 0.12), pane(easel, depth)
            )


def lighthouse(easel: Easel, x: float, foot: float, tall: float) -> None:
    """A banded lighthouse; its beam is visible after sunset."""
    canvas = easel.canvas
    band = easel.pick(((196, 62, 54), (60, 70, 96), (206, 96, 60)))
    wide, body = tall * 0.2, tall * 0.8
    with canvas.object("lighthouse"):
        for stripe in range(6):
            low, high = stripe / 6, (stripe + 1) / 6
            left, right = [wide / 2 * (1 - 0.38 * share) for share in (low, high)]
            tone = band if stripe % 2 else (240, 236, 228)
            ring = [(x - left, foot - body * low), (x - right, foot - body * high)]
            for lit, start, stop in ((1.0, -1.0, 0.2), (0.4, 0.2, 1.0)):
                canvas.polygon(
                    [(x + start * left, ring[0][1]), (x + start * right, ring[1][1]),
                     (x + stop * right, ring[1][1]), (x + stop * left, ring[0][1])],
                    easel.shade(tone, lit, 0.08),
                )  # fmt: skip
        canvas.box(x - wide * 0.42, foot - body - tall * 0.03, x + wide * 0.42, foot - body, easel.shade(METAL, 0.4))
        lamp = (x - wide * 0.22, foot - tall * 0.95, x + wide * 0.22, foot - body - tall * 0.03)
        canvas.box(*lamp, easel.light.lamp((190, 206, 214), flame=(255, 240, 190)))
        canvas.polygon(
            [(x - wide * 0.32, lamp[1]), (x, foot - tall * 1.04), (x + wide * 0.32, lamp[1])], easel.shade(band, 0.7)
        )
    if easel.light.lamps_lit:
        centre = (x, foot - tall * 0.9)
        canvas.glow(centre, tall * 0.8, (255, 240, 190), 0.7)


def windmill(easel: Easel, x: float, foot: float, metres: float) -> None:
    """A tower mill with four lattice sails."""
    canvas, tall = easel.canvas, metres * easel.metre(foot)
    depth, wall = easel.depth(foot), easel.pick(WALLS[:5])
    hub = (x, foot - tall * 0.78)
    with canvas.object("windmill"):
        for start, stop, lit in ((-1.0, 0.15, 1.0), (0.15, 1.0, 0.4)):
            canvas.polygon(
                [(x + start * tall * 0.2, foot), (x + start * tall * 0.12, foot - tall * 0.76),
                 (x + stop * tall * 0.12, foot - tall * 0.76), (x + stop * tall * 0.2, foot)],
                easel.shade(wall, lit, depth),
            )  # fmt: skip
        cap = easel.shade(easel.pick(ROOFS), 0.7, depth)
        canvas.polygon(
            [(x - tall * 0.15, foot - tall * 0.75), (x, foot - tall * 0.95), (x + tall * 0.15, foot - tall * 0.75)], cap
        )
        turn, vane = easel.between(0, np.pi / 2), easel.shade((226, 216, 196), 0.9, depth)
        spar = easel.shade((84, 66, 52), 0.6, depth)
        for arm in range(4):
            angle = turn + arm * np.pi / 2
            ux, uy = float(np.cos(angle)), float(np.sin(angle))
            near, far, broad = tall * 0.1, tall * 0.52, tall * 0.09
            canvas.polygon(
                [(hub[0] + ux * near, hub[1] + uy * near), (hub[0] + ux * far, hub[1] + uy * far),
                 (hub[0] + ux * far - uy * broad, hub[1] + uy * far + ux * broad),
                 (hub[0] + ux * near - uy * broad, hub[1] + uy * near + ux * broad)],
                vane,
            )  # fmt: skip
            canvas.line([hub, (hub[0] + ux * far, hub[1] + uy * far)], spar, max(0.6, tall * 0.016))
