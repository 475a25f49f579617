"""Vehicles: cars, trucks and buses along and across the road; boats and ships."""

from __future__ import annotations

from typing import NamedTuple

from visterm.postcards.canvas import Point
from visterm.postcards.easel import Easel
from visterm.postcards.light import RGB, Tone, mix

PAINTS: tuple[Tone, ...] = (
    (192, 52, 46),
    (44, 84, 140),
    (228, 228, 226),
    (52, 54, 60),
    (226, 178, 60),
    (84, 124, 104),
    (150, 156, 162),
)
FUNNELS: tuple[Tone, ...] = ((196, 60, 54), (56, 84, 140), (230, 186, 70))
GLASS: Tone = (70, 84, 98)
TYRE: Tone = (36, 36, 40)
METAL: Tone = (86, 90, 96)
#: Width and height, seen from ahead or behind, and length, in metres.
SIZES: dict[str, tuple[float, float, float]] = {
    "car": (1.8, 1.45, 4.2),
    "truck": (2.5, 3.4, 6.8),
    "bus": (2.5, 3.0, 8.6),
}


def vehicle_along(easel: Easel, kind: str, x: float, foot: float, *, oncoming: bool) -> None:
    """A car, truck or bus driving towards us (``oncoming``) or away from us."""
    canvas, metre = easel.canvas, easel.metre(foot)
    wide, tall, _ = SIZES[kind]
    half, top, depth = wide * metre / 2, foot - tall * metre, easel.depth(foot)
    paint = easel.pick(PAINTS)
    body, glass = easel.shade(paint, 0.9, depth), easel.shade(GLASS, 0.6, depth)
    dark = easel.shade(TYRE, 0.4, depth)
    lift = foot - 0.22 * metre
    canvas.shadow((x, foot), (half * 1.15, max(0.5, metre * 0.12)))
    with canvas.object(kind):
        for side in (-1, 1):
            canvas.box(x + side * half * 0.95, foot, x + side * half * 0.6, foot - 0.4 * metre, dark)
        if kind == "car":
            waist = foot - tall * metre * 0.55
            cabin = [(x - half * 0.92, waist), (x - half * 0.66, top), (x + half * 0.66, top), (x + half * 0.92, waist)]
            canvas.polygon(cabin, easel.shade(paint, 0.6, depth))
            pane = [
                (x - half * 0.8, waist),
                (x - half * 0.6, top + 0.1 * metre),
                (x + half * 0.6, top + 0.1 * metre),
                (x + half * 0.8, waist),
            ]
            canvas.polygon(pane, glass)
            canvas.box(x - half, waist, x + half, lift, body)
        else:
            canvas.box(x - half, top, x + half, lift, body)
            low, high = (0.35, 0.62) if oncoming or kind == "bus" else (0.0, 0.0)
            if high:
                canvas.box(
                    x - half * 0.88,
                    foot - tall * metre * (high + 0.28),
                    x + half * 0.88,
                    foot - tall * metre * low,
                    glass,
                )
            else:
                canvas.touch(
                    [(x, top + 0.2 * metre), (x, lift - 0.3 * metre)],
                    easel.shade(paint, 0.3, depth),
                    max(0.5, metre * 0.06),
                )
                canvas.box(x - half, lift - 0.35 * metre, x + half, lift, easel.shade(METAL, 0.5, depth))
        light = (255, 244, 200) if oncoming else (226, 50, 40)
        for side in (-1, 1):
            spot = (x + side * half * 0.74, foot - 0.62 * metre)
            canvas.ellipse(
                spot,
                (max(0.5, metre * 0.16), max(0.4, metre * 0.11)),
                light if easel.light.lamps_lit else easel.shade(light, 0.8, depth),
            )
            if easel.light.lamps_lit:
                canvas.glow(spot, metre * 0.9 + 2, light, 0.6)


class _Profile(NamedTuple):
    """A vehicle seen from the side: where it stands, how large it is, and its colours."""

    easel: Easel
    x: float
    foot: float
    metre: float
    height: float
    half: float
    side: int
    depth: float
    paint: Tone
    body: RGB
    glass: RGB

    def at(self, share: float, above: float = 0.0) -> tuple[float, float]:
        """A place by its shares of half the length, from the middle, and of the height."""
        return self.x + self.side * share * self.half, self.foot - self.height * above

    @property
    def lift(self) -> float:
        """The lower edge of the body."""
        return self.foot - 0.32 * self.metre


def vehicle_across(easel: Easel, kind: str, x: float, foot: float) -> None:
    """A car, truck or bus passing by, in profile."""
    canvas, metre = easel.canvas, easel.metre(foot)
    _, tall, long = SIZES[kind]
    depth, side, half, paint = easel.depth(foot), easel.side(), long * metre / 2, easel.pick(PAINTS)
    body, glass = easel.shade(paint, 0.95, depth), easel.shade(GLASS, 0.7, depth)
    profile = _Profile(
        easel=easel,
        x=x,
        foot=foot,
        metre=metre,
        height=tall * metre,
        half=half,
        side=side,
        depth=depth,
        paint=paint,
        body=body,
        glass=glass,
    )
    canvas.shadow((x, foot), (half * 1.03, max(0.6, metre * 0.16)))
    with canvas.object(kind):
        {"car": _car, "bus": _bus, "truck": _truck}[kind](profile)
        for wheel in (-0.62, 0.62) if kind != "truck" else (-0.8, -0.55, 0.75):
            radius = metre * (0.34 if kind == "car" else 0.48)
            hub = profile.at(wheel)[0], foot - radius
            canvas.ellipse(hub, (radius, radius), easel.shade(TYRE, 0.5, depth))
            canvas.ellipse(hub, (radius * 0.5, radius * 0.5), easel.shade((176, 178, 182), 0.8, depth))
        if easel.light.lamps_lit:
            canvas.glow(profile.at(1.05, 0.3), metre * 1.6, (255, 236, 180), 0.6)


def _car(seen: _Profile) -> None:
    at, canvas, easel = seen.at, seen.easel.canvas, seen.easel
    cabin = [at(-0.75, 0.58), at(-0.5, 1), at(0.2, 1), at(0.5, 0.56)]
    canvas.polygon(cabin, easel.shade(seen.paint, 0.75, seen.depth))
    canvas.polygon([at(-0.62, 0.6), at(-0.45, 0.92), at(0.16, 0.92), at(0.4, 0.6)], seen.glass)
    canvas.line([at(-0.1, 1), at(-0.1, 0.58)], seen.body, max(0.5, seen.metre * 0.08))
    ends = [(at(share)[0], seen.lift) for share in (-1, 1)]
    canvas.polygon([ends[0], at(-0.97, 0.6), at(0.5, 0.6), at(0.95, 0.5), ends[1]], seen.body)


def _bus(seen: _Profile) -> None:
    at, canvas, metre = seen.at, seen.easel.canvas, seen.metre
    canvas.box(*at(-1, 1), at(1)[0], seen.lift, seen.body)
    canvas.box(*at(-0.95, 0.86), *at(0.97, 0.5), seen.glass)
    for post in range(-4, 5):
        canvas.touch([at(post * 0.2, 0.86), at(post * 0.2, 0.5)], seen.body, max(0.5, metre * 0.12))
    stripe = seen.easel.shade(mix(seen.paint, (245, 240, 225), 0.7), 0.95, seen.depth)
    canvas.box(*at(-1, 0.4), *at(1, 0.33), stripe)


def _truck(seen: _Profile) -> None:
    at, canvas, easel = seen.at, seen.easel.canvas, seen.easel
    low = seen.foot - 0.7 * seen.metre
    load = easel.pick(((230, 226, 216), (120, 140, 160), (196, 150, 96)))
    canvas.box(*at(-1, 1), at(0.5)[0], low, easel.shade(load, 0.9, seen.depth))
    back, front = (at(share)[0] for share in (0.56, 1))
    canvas.polygon([(back, seen.lift), at(0.56, 0.8), at(0.85, 0.8), at(1, 0.45), (front, seen.lift)], seen.body)
    canvas.polygon([at(0.66, 0.48), at(0.66, 0.74), at(0.84, 0.74), at(0.94, 0.48)], seen.glass)
    canvas.box(at(-1)[0], low, front, seen.lift, easel.shade(METAL, 0.5, seen.depth))


def sailing_boat(easel: Easel, x: float, foot: float, size: float) -> None:
    """A boat under sail."""
    canvas, depth, side = easel.canvas, easel.depth(foot) * 0.7, easel.side()
    hull = easel.pick(((240, 236, 228), (150, 70, 54), (52, 76, 116), (96, 66, 48)))
    cloth = easel.pick(((246, 242, 232), (236, 214, 176), (204, 84, 62), (226, 170, 80)))
    _reflection(easel, x, foot, size * 0.5, size, cloth, depth)
    with canvas.object("boat"):
        shape = [(-0.55, -0.16), (0.62, -0.19), (0.42, 0.02), (-0.42, 0.02)]
        canvas.polygon([(x + side * a * size, foot + b * size) for a, b in shape], easel.shade(hull, 0.75, depth))
        canvas.line(
            [(x, foot - size * 0.16), (x, foot - size * 1.5)],
            easel.shade((96, 74, 54), 0.7, depth),
            max(0.5, size * 0.03),
        )
        with canvas.object("sail"):
            main = [(-0.03, -1.45), (-0.5, -0.28), (-0.03, -0.24)]
            jib = [(0.05, -1.3), (0.56, -0.26), (0.05, -0.28)]
            canvas.polygon([(x + side * a * size, foot + b * size) for a, b in main], easel.shade(cloth, 1.0, depth))
            canvas.polygon([(x + side * a * size, foot + b * size) for a, b in jib], easel.shade(cloth, 0.6, depth))


def motor_boat(easel: Easel, x: float, foot: float, size: float) -> None:
    """A fishing boat with a wheelhouse and a mast."""
    canvas, depth, side = easel.canvas, easel.depth(foot) * 0.6, easel.side()
    hull, cabin = easel.pick(PAINTS), easel.pick(((240, 236, 226), (226, 206, 170), (170, 190, 200)))
    _reflection(easel, x, foot, size * 0.6, size * 0.7, hull, depth)

    def put(points: list[Point]) -> list[Point]:
        return [(x + side * a * size, foot + b * size) for a, b in points]

    with canvas.object("boat"):
        canvas.polygon(
            put([(-0.62, -0.24), (0.4, -0.24), (0.75, -0.34), (0.5, 0.03), (-0.55, 0.03)]),
            easel.shade(hull, 0.8, depth),
        )
        canvas.polygon(
            put([(-0.62, -0.28), (0.76, -0.38), (0.74, -0.3), (-0.62, -0.22)]), easel.shade((240, 236, 226), 0.8, depth)
        )
        canvas.polygon(
            put([(-0.38, -0.24), (-0.38, -0.62), (0.05, -0.62), (0.12, -0.26)]), easel.shade(cabin, 0.95, depth)
        )
        pane = easel.light.lamp(GLASS)
        canvas.polygon(put([(-0.3, -0.42), (-0.3, -0.56), (0.0, -0.56), (0.03, -0.42)]), pane)
        canvas.line(put([(0.22, -0.28), (0.22, -1.0)]), easel.shade((90, 76, 62), 0.6, depth), max(0.5, size * 0.03))
        canvas.line(put([(0.22, -0.95), (-0.3, -0.62)]), easel.shade((70, 66, 62), 0.6, depth), 0.4)


def ship(easel: Easel, x: float, foot: float, size: float) -> None:
    """A freighter or ferry, far out or at the quay."""
    canvas, depth, side = easel.canvas, 0.35, easel.side()
    hull = easel.pick(((146, 56, 50), (44, 62, 92), (60, 62, 66), (226, 226, 222)))
    _reflection(easel, x, foot, size, size * 0.4, hull, depth)

    def put(points: list[Point]) -> list[Point]:
        return [(x + side * a * size, foot + b * size) for a, b in points]

    with canvas.object("ship"):
        canvas.polygon(
            put([(-1.0, -0.2), (0.8, -0.2), (1.08, -0.27), (0.92, 0.02), (-0.94, 0.02)]), easel.shade(hull, 0.8, depth)
        )
        canvas.polygon(
            put([(-0.95, -0.03), (0.94, -0.03), (0.92, 0.03), (-0.94, 0.03)]), easel.shade((120, 50, 44), 0.5, depth)
        )
        white = easel.shade((238, 236, 230), 0.95, depth)
        canvas.polygon(put([(-0.9, -0.2), (-0.9, -0.52), (-0.5, -0.52), (-0.45, -0.2)]), white)
        canvas.polygon(
            put([(-0.76, -0.52), (-0.76, -0.7), (-0.62, -0.7), (-0.62, -0.52)]),
            easel.shade(easel.pick(FUNNELS), 0.9, depth),
        )
        for deck in (-0.45, -0.34):
            canvas.touch(put([(-0.86, deck), (-0.54, deck)]), easel.light.lamp(GLASS), max(0.5, size * 0.035))
        for stack in range(6):
            left, tall = -0.36 + stack * 0.19, 0.06 * easel.several(1, 3)
            tone = easel.shade(easel.pick(PAINTS), 0.8, depth)
            canvas.polygon(
                put([(left, -0.2), (left, -0.2 - tall), (left + 0.17, -0.2 - tall), (left + 0.17, -0.2)]), tone
            )


def _reflection(easel: Easel, x: float, foot: float, half: float, reach: float, tone: Tone, depth: float) -> None:
    """Broken strokes of a hull's colour on the water under it."""
    colour = easel.shade(mix(tone, (50, 70, 86), 0.6), 0.6, depth)
    for step in range(7):
        y = foot + reach * 0.09 * (step + 0.4)
        span, drift = half * easel.between(0.4, 1.0) * (1 - step / 9), easel.between(-0.15, 0.15) * half
        easel.canvas.touch([(x - span + drift, y), (x + span + drift, y)], colour, 0.7)
