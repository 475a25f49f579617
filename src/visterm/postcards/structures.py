"""Built things that are not houses: fences, lamps, bridges, piers, cranes, containers, road signs."""

from __future__ import annotations

import numpy as np

from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, to_rgb

METAL: Tone = (86, 90, 96)
WOOD: Tone = (126, 98, 70)


def fence(easel: Easel, y: float, left: float, right: float, *, tone: Tone = WOOD, metres: float = 1.1) -> None:
    """Posts and two rails."""
    canvas, metre = easel.canvas, easel.metre(y)
    depth, tall = easel.depth(y), metres * easel.metre(y)
    thick = max(0.6, metre * 0.1)
    with canvas.object("fence"):
        for rise in (0.4, 0.85):
            canvas.line([(left, y - tall * rise), (right, y - tall * rise)], easel.shade(tone, 0.9, depth), thick)
        x = left
        while x <= right:
            canvas.box(x, y - tall * 1.05, x + thick * 1.2, y, easel.shade(tone, 0.6, depth))
            x += metre * 2.0


def lamp(easel: Easel, x: float, foot: float, metres: float = 5.0, *, arm: float = 0.0) -> None:
    """A street lamp; ``arm`` metres of bracket make it a road lamp."""
    canvas, metre = easel.canvas, easel.metre(foot)
    depth, tall = easel.depth(foot), metres * easel.metre(foot)
    pole = easel.shade((58, 62, 66), 0.6, depth)
    head = (x + arm * metre, foot - tall)
    with canvas.object("street lamp"):
        canvas.line([(x, foot), (x, foot - tall), head], pole, max(0.7, metre * 0.1))
        radius = max(0.9, metre * 0.2)
        canvas.ellipse(
            head, (radius * (1.5 if arm else 1.0), radius), easel.light.lamp((222, 222, 206), flame=(255, 232, 170))
        )
        canvas.box(head[0] - radius, head[1] - radius * 1.3, head[0] + radius, head[1] - radius * 0.7, pole)
    if easel.light.lamps_lit:
        canvas.glow(head, metre * 2.6 + 4, (255, 214, 130), 0.55)


def arch_bridge(easel: Easel, x: float, y: float, span: float, metres: float = 3.0) -> None:
    """A stone bridge with a round arch, its roadway humped."""
    canvas, rise = easel.canvas, max(7.0, metres * easel.metre(y))
    stone, depth = easel.pick(((168, 154, 136), (150, 134, 120))), easel.depth(y) * 0.6
    turns = np.linspace(np.pi, 2 * np.pi, 17)
    arch = [(x + span * 0.33 * float(np.cos(t)), y + rise * 0.72 * float(np.sin(t))) for t in turns]
    deck = [(x + span * share / 2, y - rise * (0.75 + 0.35 * (1 - share**2))) for share in np.linspace(1, -1, 13)]
    with canvas.object("bridge"):
        canvas.polygon([(x - span / 2, y), *arch, (x + span / 2, y), *deck], easel.shade(stone, 0.8, depth))
        canvas.line([(px, py - 0.6) for px, py in deck], easel.shade(stone, 1.15, depth), max(1.0, rise * 0.12))
        canvas.touch(arch, easel.shade(stone, 0.3, depth), max(0.6, rise * 0.07))


def overpass(easel: Easel, y: float, metres: float = 6.0) -> None:
    """A concrete bridge crossing the whole picture on piers."""
    canvas, metre = easel.canvas, easel.metre(y)
    deck, thick, depth = y - metres * metre, 1.4 * metre, easel.depth(y)
    with canvas.object("bridge"):
        for pier in np.arange(-1, 8):
            left = float(pier) * easel.width / 5 + easel.width * 0.06
            canvas.box(left, deck, left + metre * 1.0, y, easel.shade((150, 148, 144), 0.45, depth))
        canvas.box(-2, deck - thick, easel.width + 2, deck, easel.shade((172, 170, 164), 0.8, depth))
        canvas.box(-2, deck - thick * 1.5, easel.width + 2, deck - thick * 1.35, easel.shade(METAL, 0.7, depth))
        canvas.box(-2, deck - thick * 0.25, easel.width + 2, deck, easel.shade((120, 118, 114), 0.3, depth))


def suspension_bridge(easel: Easel, y: float, tall: float) -> None:
    """A long bridge across the water, far away."""
    canvas, depth = easel.canvas, 0.45
    steel = easel.shade(easel.pick(((176, 74, 58), (120, 126, 132))), 0.8, depth)
    left, right = easel.width * easel.between(0.1, 0.3), easel.width * easel.between(0.65, 0.9)
    deck = y - tall * 0.28
    with canvas.object("bridge"):
        for x in (left, right):
            for offset in (-1.6, 1.6):
                canvas.box(x + offset - 0.7, y - tall, x + offset + 0.7, y, steel)
            canvas.box(x - 2, y - tall * 0.8, x + 2, y - tall * 0.76, steel)
        canvas.box(-2, deck, easel.width + 2, deck + 1.8, steel)
        middle, half = (left + right) / 2, (right - left) / 2
        main = [(middle + half * s, y - tall + tall * 0.62 * (1 - s * s)) for s in np.linspace(-1, 1, 21)]
        for cable in (main, [(left, y - tall), (left - half, deck)], [(right, y - tall), (right + half, deck)]):
            canvas.line([(float(px), float(py)) for px, py in cable], steel, 0.8)
        for px, py in main[1:-1]:
            canvas.touch([(float(px), float(py)), (float(px), deck)], steel, 0.3)


def pier(easel: Easel, x: float, far: float, near: float, metres: float, lean: float) -> None:
    """A wooden jetty running out over the water on posts."""
    canvas = easel.canvas
    depth = easel.depth((far + near) / 2) * 0.5
    half_near, half_far = metres * easel.metre(near) / 2, metres * easel.metre(far) / 2
    far_x = x + lean
    drop = 0.9 * easel.metre(near)
    with canvas.object("pier"):
        for step in range(7):
            share = (step / 6) ** 1.5
            y, half = far + (near - far) * share, half_far + (half_near - half_far) * share
            at = far_x + (x - far_x) * share
            for side in (-1, 1):
                post = at + side * half
                thick = max(0.8, half * 0.1)
                canvas.box(
                    post - thick,
                    y - drop * share * 0.5,
                    post + thick,
                    y + 1 + drop * share,
                    easel.shade((86, 68, 54), 0.4, depth),
                )
        deck = [(far_x - half_far, far), (far_x + half_far, far), (x + half_near, near), (x - half_near, near)]
        canvas.polygon(deck, easel.shade((166, 138, 106), 0.9, depth))
        for step in range(16):
            share = ((step + 0.5) / 16) ** 1.7
            y, half = far + (near - far) * share, half_far + (half_near - half_far) * share
            at = far_x + (x - far_x) * share
            canvas.touch([(at - half, y), (at + half, y)], easel.shade((112, 90, 68), 0.5, depth), 0.4 + share * 0.6)


def crane(easel: Easel, x: float, foot: float, tall: float) -> None:
    """A gantry crane of a port, its boom over the water."""
    canvas = easel.canvas
    steel = easel.shade(easel.pick(((206, 84, 56), (232, 170, 60), (70, 110, 160), (120, 130, 140))), 0.85, 0.22)
    thick, side = max(1.0, tall * 0.035), easel.side()
    legs, deck = tall * 0.14, foot - tall * 0.62
    with canvas.object("crane"):
        for at in (-legs, legs):
            canvas.box(x + at - thick / 2, deck, x + at + thick / 2, foot, steel)
        canvas.box(x - legs, foot - tall * 0.3, x + legs, foot - tall * 0.3 + thick * 0.8, steel)
        canvas.line([(x - legs, foot - tall * 0.3), (x + legs, deck)], steel, thick * 0.6)
        boom = sorted((x - side * tall * 0.28, x + side * tall * 0.62))
        canvas.box(boom[0], deck - thick, boom[1], deck + thick * 0.4, steel)
        apex = (x, foot - tall)
        canvas.line([(x - legs, deck), apex, (x + legs, deck)], steel, thick * 0.8)
        for end in (x + side * tall * 0.58, x + side * tall * 0.3, x - side * tall * 0.26):
            canvas.line([apex, (end, deck)], steel, max(0.5, thick * 0.3))
        hook = x + side * tall * easel.between(0.3, 0.55)
        canvas.line([(hook, deck), (hook, deck + tall * 0.18)], easel.shade((50, 50, 54), 0.5), 0.5)
        canvas.box(
            x - thick * 1.4,
            deck + thick * 0.4,
            x + thick * 1.4,
            deck + thick * 2.6,
            easel.shade((226, 226, 220), 0.8, 0.2),
        )


def containers(easel: Easel, x: float, foot: float, size: float, columns: int, rows: int) -> None:
    """A stack of shipping containers in strong colours."""
    canvas, wide, tall = easel.canvas, size * 2.4, size
    tones: tuple[Tone, ...] = (
        (190, 70, 56),
        (60, 104, 150),
        (214, 150, 60),
        (84, 130, 96),
        (150, 156, 160),
        (124, 74, 60),
    )
    with canvas.object("container"):
        for row in range(rows):
            for column in range(columns):
                if row and easel.chance(0.22 * row):
                    continue
                left, bottom = x + column * wide, foot - row * tall
                tone = easel.pick(tones)
                canvas.box(left, bottom - tall, left + wide - 0.5, bottom - 0.4, easel.shade(tone, 0.85, 0.12))
                for rib in range(1, 7):
                    at = left + wide * rib / 7
                    canvas.touch([(at, bottom - tall + 0.6), (at, bottom - 0.9)], easel.shade(tone, 0.35, 0.12), 0.35)


def sign(easel: Easel, x: float, foot: float) -> None:
    """A road sign: a plain board on two posts."""
    metre = easel.metre(foot)
    board = easel.shade(easel.pick(((40, 100, 80), (44, 84, 150))), 0.9, 0.1)
    for shift in (-1.4, 1.4):
        easel.canvas.box(
            x + shift * metre - 0.4, foot - 4 * metre, x + shift * metre + 0.4, foot, easel.shade((140, 142, 146), 0.6)
        )
    easel.canvas.box(x - 2.2 * metre, foot - 6 * metre, x + 2.2 * metre, foot - 3.4 * metre, to_rgb((230, 232, 230)))
    easel.canvas.box(x - 2.0 * metre, foot - 5.8 * metre, x + 2.0 * metre, foot - 3.6 * metre, board)
    for row in (5.2, 4.4):
        easel.canvas.touch(
            [(x - 1.4 * metre, foot - row * metre), (x + 1.0 * metre, foot - row * metre)],
            (236, 238, 236),
            max(0.5, 0.25 * metre),
        )
