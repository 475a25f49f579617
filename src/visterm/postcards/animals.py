"""People, animals and a snowman."""

from __future__ import annotations

import numpy as np

from visterm.postcards.canvas import Point
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix

COATS: tuple[Tone, ...] = (
    (196, 60, 54),
    (56, 84, 140),
    (230, 186, 70),
    (70, 70, 78),
    (92, 130, 96),
    (180, 110, 150),
    (232, 228, 220),
)
SKINS: tuple[Tone, ...] = ((236, 196, 164), (198, 146, 108), (140, 96, 68), (100, 68, 50))


def person(easel: Easel, x: float, foot: float, *, umbrella: bool = False) -> None:
    """Someone standing or walking, perhaps under an umbrella."""
    canvas, metre = easel.canvas, max(easel.metre(foot), 3.4)  # never too small to recognise
    depth, tall = easel.depth(foot), metre * easel.between(1.62, 1.85)
    coat, trousers = easel.pick(COATS), easel.pick(((52, 56, 72), (90, 78, 66), (60, 60, 64)))
    stride = tall * easel.between(0.05, 0.13)
    with canvas.object("person"):
        for side in (-1, 1):
            leg = [
                (x - tall * 0.06, foot - tall * 0.46),
                (x + tall * 0.06, foot - tall * 0.46),
                (x + side * stride, foot),
            ]
            canvas.polygon([*leg, (x + side * stride - tall * 0.05, foot)], easel.shade(trousers, 0.5, depth))
        body = [(x - tall * 0.09, foot - tall * 0.82), (x + tall * 0.09, foot - tall * 0.82)]
        body += [(x + tall * 0.12, foot - tall * 0.38), (x - tall * 0.12, foot - tall * 0.38)]
        canvas.polygon(body, easel.shade(coat, 0.9, depth))
        for side in (-1, 1):
            arm = [(x + side * tall * 0.09, foot - tall * 0.8), (x + side * tall * 0.15, foot - tall * 0.48)]
            canvas.line(arm, easel.shade(coat, 0.6, depth), max(0.6, tall * 0.05))
        canvas.ellipse((x, foot - tall * 0.91), (tall * 0.065, tall * 0.08), easel.shade(easel.pick(SKINS), 0.9, depth))
        canvas.ellipse((x, foot - tall * 0.955), (tall * 0.07, tall * 0.05), easel.shade((62, 46, 38), 0.6, depth))
        if umbrella:
            _canopy(easel, x + tall * 0.1, foot - tall * 0.98, tall * 0.38, foot - tall * 0.55, depth)


def _canopy(easel: Easel, x: float, rim: float, reach: float, handle: float, depth: float) -> None:
    canvas, tone = easel.canvas, easel.pick(COATS[:6])
    with canvas.object("umbrella"):
        canvas.line(
            [(x, rim - reach * 0.7), (x, handle)], easel.shade((70, 60, 52), 0.6, depth), max(0.5, reach * 0.06)
        )
        turns = np.linspace(np.pi, 2 * np.pi, 11)
        dome: list[Point] = [(x + reach * float(np.cos(t)), rim + reach * 0.72 * float(np.sin(t))) for t in turns]
        canvas.polygon(dome, easel.shade(tone, 0.95, depth))
        for share in (-0.45, 0.25):
            gore = [(x, rim - reach * 0.72), (x + reach * share, rim), (x + reach * (share + 0.35), rim)]
            canvas.polygon(gore, easel.shade(mix(tone, (250, 246, 236), 0.75), 0.9, depth))


def parasol(easel: Easel, x: float, foot: float) -> None:
    """A beach umbrella over a towel."""
    metre, depth = max(easel.metre(foot), 4.0), easel.depth(foot)
    easel.canvas.shadow((x + metre * 0.5, foot), (metre * 1.2, metre * 0.18))
    towel = [
        (x - metre, foot + metre * 0.2),
        (x + metre * 0.6, foot + metre * 0.2),
        (x + metre * 0.9, foot),
        (x - metre * 0.6, foot),
    ]
    easel.canvas.polygon(towel, easel.shade(easel.pick(COATS), 0.9, depth))
    _canopy(easel, x, foot - metre * 1.75, metre * 1.35, foot, depth)


def sheep(easel: Easel, x: float, foot: float) -> None:
    """A woolly sheep, grazing."""
    canvas, metre = easel.canvas, max(easel.metre(foot) * 1.25, 3.0)
    depth, side = easel.depth(foot), easel.side()
    wool, dark = (232, 226, 212), easel.shade((60, 54, 52), 0.5, depth)
    with canvas.object("sheep"):
        for at in (-0.42, -0.25, 0.25, 0.42):
            canvas.line([(x + at * metre, foot - metre * 0.4), (x + at * metre, foot)], dark, max(0.5, metre * 0.07))
        canvas.ellipse((x, foot - metre * 0.55), (metre * 0.56, metre * 0.32), easel.shade(wool, 0.45, depth))
        for _ in range(9):
            spot = (x + easel.between(-0.42, 0.42) * metre, foot - metre * easel.between(0.52, 0.82))
            canvas.ellipse(spot, (metre * 0.16, metre * 0.13), easel.shade(wool, easel.between(0.8, 1.1), depth))
        canvas.ellipse((x + side * metre * 0.62, foot - metre * 0.5), (metre * 0.15, metre * 0.19), dark)


def cow(easel: Easel, x: float, foot: float) -> None:
    """A patched cow in profile."""
    canvas, metre = easel.canvas, max(easel.metre(foot) * 1.1, 2.6)
    depth, side = easel.depth(foot), easel.side()
    hide, patch = [((236, 230, 220), (70, 54, 46)), ((150, 92, 60), (226, 212, 196)), ((90, 66, 54), (236, 230, 220))][
        int(easel.rng.integers(3))
    ]
    body, shade = easel.shade(hide, 0.95, depth), easel.shade(hide, 0.4, depth)
    with canvas.object("cow"):
        for at in (-0.85, -0.65, 0.6, 0.8):
            canvas.box(x + at * metre - metre * 0.08, foot - metre * 0.75, x + at * metre + metre * 0.08, foot, shade)
        trunk = [(-1.0, -0.62), (-1.0, -1.3), (-0.8, -1.42), (0.85, -1.42), (1.0, -1.2), (0.95, -0.65), (0, -0.52)]
        canvas.polygon([(x + side * a * metre, foot + b * metre) for a, b in trunk], body)
        head = [(0.85, -1.35), (1.1, -1.55), (1.5, -1.2), (1.4, -0.98), (1.05, -1.0)]
        canvas.polygon([(x + side * a * metre, foot + b * metre) for a, b in head], easel.shade(hide, 0.75, depth))
        for at, rise in ((-0.5, -1.15), (0.25, -1.0), (0.6, -1.25)):
            size = metre * easel.between(0.16, 0.3)
            canvas.ellipse(
                (x + side * at * metre, foot + rise * metre), (size, size * 0.7), easel.shade(patch, 0.85, depth)
            )
        canvas.line(
            [(x - side * metre, foot - metre * 1.25), (x - side * metre * 1.12, foot - metre * 0.6)], shade, 0.6
        )


def camel(easel: Easel, x: float, foot: float, side: int) -> None:
    """A one-humped camel walking."""
    canvas, metre = easel.canvas, max(easel.metre(foot) * 1.15, 3.6)
    depth = easel.depth(foot)
    coat, dark = easel.shade((182, 136, 88), 0.9, depth), easel.shade((140, 100, 64), 0.4, depth)
    with canvas.object("camel"):
        for at, stride in ((-0.7, -0.2), (-0.55, 0.16), (0.55, -0.16), (0.7, 0.2)):
            leg = [(x + side * at * metre, foot - metre * 1.2), (x + side * (at + stride) * metre, foot)]
            canvas.line(leg, dark, max(0.8, metre * 0.15))
        back = [(-0.95, -1.1), (-0.9, -1.5), (-0.4, -1.7), (-0.1, -2.15), (0.15, -2.15), (0.45, -1.65), (0.85, -1.5)]
        neck = [(1.2, -1.45), (1.4, -1.8), (1.45, -2.3), (1.6, -2.4), (1.95, -2.25), (1.9, -2.1), (1.65, -2.05)]
        belly = [(1.6, -1.5), (1.3, -1.15), (0.8, -1.0), (-0.6, -1.0)]
        canvas.polygon([(x + side * a * metre, foot + b * metre) for a, b in back + neck + belly], coat)
        saddle = [(-0.35, -1.72), (-0.12, -2.16), (0.16, -2.16), (0.4, -1.72), (0.35, -1.25), (-0.3, -1.25)]
        canvas.polygon(
            [(x + side * a * metre, foot + b * metre) for a, b in saddle], easel.shade((176, 54, 52), 0.9, depth)
        )


def snowman(easel: Easel, x: float, foot: float) -> None:
    """Three balls of snow with a carrot, a hat and a scarf."""
    canvas, metre = easel.canvas, max(easel.metre(foot) * 1.1, 6.0)
    lit, shaded = easel.shade((244, 247, 252), 1.05), easel.shade((206, 216, 234), 0.55)
    with canvas.object("snowman"):
        for rise, radius in ((0.42, 0.5), (1.1, 0.37), (1.62, 0.26)):
            centre = (x, foot - rise * metre)
            canvas.ellipse(centre, (radius * metre, radius * metre), shaded)
            canvas.ellipse(
                (x - 0.06 * metre, centre[1] - 0.05 * metre), (radius * metre * 0.84, radius * metre * 0.84), lit
            )
        scarf = easel.shade(easel.pick(COATS[:3]), 0.95)
        canvas.box(x - 0.26 * metre, foot - 1.45 * metre, x + 0.26 * metre, foot - 1.35 * metre, scarf)
        canvas.box(x + 0.08 * metre, foot - 1.4 * metre, x + 0.2 * metre, foot - 1.05 * metre, scarf)
        nose = [(x, foot - 1.66 * metre), (x, foot - 1.57 * metre), (x + 0.34 * metre, foot - 1.6 * metre)]
        canvas.polygon(nose, easel.shade((232, 128, 44), 1.0))
        ink = easel.shade((34, 34, 40), 0.6)
        for eye in (-0.09, 0.1):
            canvas.ellipse((x + eye * metre, foot - 1.71 * metre), (metre * 0.035, metre * 0.035), ink)
        canvas.box(x - 0.3 * metre, foot - 1.9 * metre, x + 0.3 * metre, foot - 1.84 * metre, ink)
        canvas.box(x - 0.19 * metre, foot - 2.24 * metre, x + 0.19 * metre, foot - 1.85 * metre, ink)
        for side in (-1, 1):
            twig = [(x + side * 0.34 * metre, foot - 1.15 * metre), (x + side * 0.85 * metre, foot - 1.45 * metre)]
            canvas.line(twig, easel.shade((92, 70, 52), 0.6), max(0.5, metre * 0.05))
