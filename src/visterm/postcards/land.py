"""Land and water: hills, peaks, dunes, rocks, fields, sea, lakes, rivers and ways."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from visterm.postcards import noise
from visterm.postcards.canvas import HEIGHT, Point
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix, ramp, to_rgb

MEADOWS: dict[str, tuple[list[Tone], ...]] = {
    "spring": ([(70, 112, 52), (112, 158, 70), (160, 190, 96)], [(84, 118, 60), (130, 160, 80), (176, 186, 110)]),
    "summer": ([(58, 88, 42), (98, 128, 56), (148, 160, 82)], [(110, 104, 56), (158, 146, 82), (196, 180, 110)]),
    "autumn": ([(96, 84, 46), (146, 120, 62), (184, 152, 84)], [(92, 66, 44), (140, 98, 60), (180, 140, 86)]),
}
SANDS: tuple[Tone, ...] = ((232, 206, 160), (214, 180, 138), (226, 214, 190), (202, 158, 118))
STONES: tuple[Tone, ...] = ((128, 122, 116), (142, 124, 106), (104, 108, 116), (156, 144, 128), (140, 104, 84))
WATERS: tuple[Tone, ...] = ((34, 88, 118), (30, 98, 104), (46, 82, 110), (60, 110, 116), (78, 96, 96))


def meadow_tones(easel: Easel) -> list[Tone]:
    """The grass of the season."""
    choices = MEADOWS[easel.season]
    return choices[int(easel.rng.integers(len(choices)))]


def hills(easel: Easel, tones: list[Tone], *, layers: int = 3, rise: float = 26.0) -> None:
    """Rolling ranges behind the horizon, paler the farther they are."""
    for layer in range(layers):
        share = (layer + 1) / layers
        roll = noise.profile(easel.rng, easel.canvas.across, wavelength=easel.between(130, 300), gain=0.42)
        crest = easel.horizon + 3 - np.float32(rise) * (1.15 - share * 0.8 + 0.42 * roll)
        with easel.canvas.object("hill"):
            depth = 1.12 - 0.5 * share
            easel.lay(tones, crest, depth=depth, contrast=0.7, bottom=easel.horizon + 6, fade=0.35, stretch=(0.7, 1.5))


def peaks(
    easel: Easel, *, rise: float, snow: float, stone: Tone, depth: float, count: int, wooded: bool = False
) -> None:
    """A range of ``count`` peaks up to ``rise`` above the horizon; ``snow`` is the share of the rise that is white."""
    canvas, rng = easel.canvas, easel.rng
    across = canvas.across
    summits = np.sort(
        (np.arange(count) + rng.uniform(0.15, 0.85, count)) / count * (easel.width * 1.1) - 0.05 * easel.width
    )
    heights = rise * rng.uniform(0.55, 1.0, count)
    heights[int(rng.integers(count))] = rise
    tents = heights[:, None] - np.abs(across - summits[:, None]) * rng.uniform(0.45, 0.95, (count, 1))
    jag = noise.profile(rng, across, wavelength=46, octaves=5, gain=0.6) * rise * 0.1
    crest = (easel.horizon + 2 - np.maximum(tents.max(axis=0), rise * 0.12) - jag).astype(np.float32)
    top = float(max(0.0, crest.min()))
    down = canvas.down(top, easel.horizon + 4)
    shape = (len(down), len(across))
    folds = noise.cloth(rng, shape, stretch=(1.4, 0.8))
    relief = (np.roll(folds, -2, axis=1) - np.roll(folds, 2, axis=1)) * 3.2
    # Each summit has a lit and a shaded flank; the ridge between them wanders as it descends.
    wander = (noise.cloth(rng, shape, stretch=(1.2, 3.0)) - 0.5) * 44
    weights = np.exp((tents - tents.max(axis=0)) / 3.0)
    weights /= weights.sum(axis=0)
    flank = np.zeros(shape, np.float32)
    for summit, weight in zip(summits, weights, strict=True):
        flank += weight * np.tanh((across[None, :] - summit + wander) / 6.0)
    bright = np.clip(0.5 - 0.34 * flank + relief * 0.55, 0, 1)
    green: Tone = (74, 94, 62)
    foot = np.clip((down - easel.horizon + rise * 0.5) / (rise * 0.6), 0, 1)[:, None, None] * (0.85 if wooded else 0.0)
    rock = _lit_table(easel, stone, depth)[(bright * 255).astype(np.uint8)].astype(np.float32)
    wood = _lit_table(easel, green, depth)[(bright * 255).astype(np.uint8)].astype(np.float32)
    colours = rock + (wood - rock) * foot
    mist = (np.clip((down - top) / max(1.0, easel.horizon - top), 0, 1) ** 3 * 0.4 * easel.light.air)[:, None, None]
    colours += (np.array(easel.light.haze, np.float32) - colours) * mist
    with canvas.object("mountain"):
        canvas.surface(colours.astype(np.uint8), top, easel.under(crest, easel.horizon + 4))
        if snow > 0:
            altitude = (easel.horizon - down[:, None]) / rise + (folds - 0.5) * 0.5 + relief * 0.12
            white = np.clip((altitude - (1 - snow)) / 0.05, 0, 1) * np.clip(down[:, None] - crest[None, :] + 0.6, 0, 1)
            table = _lit_table(easel, (238, 242, 250), depth * 0.7, shadow=0.3)
            with canvas.object("snow"):
                canvas.veil(table[(bright * 255).astype(np.uint8)], white, top=top)


def _lit_table(easel: Easel, albedo: Tone, depth: float, *, shadow: float = 0.1) -> NDArray[np.uint8]:
    """Colours of ``albedo`` from its shaded to its lit side, for a brightness of 0 to 255."""
    return ramp([easel.shade(albedo, lit, depth) for lit in (shadow, (shadow + 1.15) / 2, 1.15)])


def dunes(easel: Easel, sand: Tone, *, layers: int) -> None:
    """Wind-shaped ridges: one flank in light, one in shadow, with ripples on the near ones."""
    canvas, rng = easel.canvas, easel.rng
    across = canvas.across
    for layer in range(layers):
        share = (layer + 1) / layers
        base = easel.horizon - 10 + (HEIGHT * 0.86 - easel.horizon) * (layer / layers) ** 1.3
        swell = easel.between(14, 30) * (0.5 + 0.7 * share)
        wave = noise.profile(rng, across, wavelength=easel.between(150, 320), octaves=2, gain=0.35)
        crest = (base - swell * (1 - np.abs(wave)) ** 1.4).astype(np.float32)
        depth, slant = 0.95 * (1 - share) ** 1.2, easel.between(0.5, 1.4) * easel.side()
        top = float(max(0.0, crest.min()))
        down = canvas.down(top)
        slope = np.tanh(np.gradient(crest) * 5)
        fall = np.maximum(down[:, None] - crest[None, :], 0)
        # The sharp edge runs down the dune aslant, swaying, and fades out at its foot.
        sway = noise.cloth(rng, fall.shape, stretch=(1.5, 6)) * 24 - 12
        column = np.clip(across[None, :] + fall * slant + sway * np.minimum(fall / 20, 1), 0, easel.width - 1)
        lean = slope[(column * (len(across) / easel.width)).astype(np.int32)] * np.exp(-fall / (20 + 44 * share))
        ripple = np.sin(down[:, None] * 1.1 + 45 * wave[None, :] + across[None, :] * 0.12) * 0.07 * share
        soft = (noise.cloth(rng, lean.shape, stretch=(1.2, 3), falloff=noise.ROUGH) - 0.5) * 0.16
        bright = np.clip(0.62 - 0.42 * lean + ripple + soft, 0, 1)
        table = ramp([easel.shade(sand, lit, depth) for lit in (0.02, 0.5, 0.9, 1.25)])
        with canvas.object("dune"):
            canvas.surface(table[(bright * 255).astype(np.uint8)], top, easel.under(crest))


def water(easel: Easel, *, top: float, tone: Tone, swell: float = 1.0, glitter: float | None = None) -> None:
    """Open water from ``top`` to the lower edge: reflected sky, crests and troughs, the sun's path at ``glitter``."""
    canvas, light = easel.canvas, easel.light
    down, across = canvas.down(top), canvas.across
    waves = noise.plane(easel.rng, down - top + 1.5, across - easel.width / 2, grain=52, along=13000, falloff=1.2)
    near = np.clip((down - top) / (HEIGHT - top), 0, 1)[:, None, None]
    deep = np.array(easel.shade(tone, 0.7), np.float32)
    mirror = np.array(mix(light.sky[-1], light.sky[1], 0.5), np.float32)
    base = mirror + (deep - mirror) * (0.3 + 0.7 * near**0.6)
    lift = (waves - 0.5)[:, :, None] * (0.35 + 0.5 * near) * swell
    colours = base + np.where(lift > 0, (mirror * 1.15 - base) * lift * 1.7, base * lift * 0.8)
    if glitter is not None:
        spread = 7 + 30 * near[:, :, 0]
        path = np.exp(-(((across[None, :] - glitter) / spread) ** 2)) * np.clip((waves - 0.5) * 5, 0, 1)
        colours += (np.array(light.glow, np.float32) - colours) * (path * 0.85)[:, :, None]
    canvas.surface(colours.clip(0, 255).astype(np.uint8), top)


def breakers(easel: Easel, shore: Callable[[float], float], top: float) -> None:
    """Lines of foam rolling in between ``top`` and the ``shore`` (y for x)."""
    canvas, rng = easel.canvas, easel.rng
    foam = easel.shade((244, 248, 250), 0.9)
    columns = np.linspace(-4, easel.width + 4, 40)
    for _ in range(easel.several(3, 5)):
        share = easel.between(0.45, 0.97)
        wobble = noise.profile(rng, columns.astype(np.float32), wavelength=70, octaves=3)
        start, stop = sorted(rng.uniform(-10, easel.width + 10, 2))
        line = [
            (float(x), top + (shore(float(x)) - top) * share + float(bend) * 1.8)
            for x, bend in zip(columns, wobble, strict=True)
            if start <= x <= stop
        ]
        if len(line) > 4:
            thick = 0.5 + 2.2 * share**2
            lower = [
                (x, y + thick * max(0.12, float(np.sin(x * 0.11 + y) + 0.5 * np.sin(x * 0.43))))
                for x, y in reversed(line)
            ]
            with canvas.object("wave"):
                canvas.polygon(line + lower, foam)


def rocks(easel: Easel, x: float, foot: float, size: float, stone: Tone, *, snowy: bool = False) -> None:
    """A boulder or a group of them, faceted, lit from the upper left."""
    canvas, rng = easel.canvas, easel.rng
    depth = easel.depth(foot)
    with canvas.object("rock"):
        for _ in range(easel.several(1, 3)):
            at, tall = x + easel.between(-0.8, 0.8) * size, size * easel.between(0.45, 0.9)
            wide = tall * easel.between(0.7, 1.2)
            turns = np.sort(rng.uniform(np.pi, 2 * np.pi, 5))
            outline: list[Point] = [(at - wide, foot)]
            outline += [(at + wide * float(np.cos(turn)), foot + tall * float(np.sin(turn))) for turn in turns]
            outline.append((at + wide, foot))
            canvas.polygon(outline, easel.shade(stone, 0.3, depth))
            peak = min(outline, key=lambda point: point[1])
            lit = [point for point in outline if point[0] <= peak[0] + 0.01]
            ridge = (peak[0] + wide * 0.12, foot - tall * 0.3)
            canvas.polygon([*lit, ridge, (at - wide * 0.1, foot)], easel.shade(stone, 0.95, depth))
            if snowy:
                cap = [(px, py) for px, py in outline if py < foot - tall * 0.4]
                if len(cap) > 2:
                    canvas.polygon(cap, easel.shade((238, 242, 250), 0.9, depth))


def fields(easel: Easel, *, crops: tuple[Tone, ...]) -> None:
    """A patchwork of fields in perspective, each with its own crop and its rows running to the distance."""
    rng = easel.rng
    reach = HEIGHT - easel.horizon
    bands = [easel.horizon + reach * share for share in (0.05, 0.12, 0.24, easel.between(0.42, 0.6), 1.02)]
    vanishing = easel.width * easel.between(0.2, 0.8)
    for far, near in pairwise(bands):
        spread = (near - easel.horizon) / reach
        edges = np.cumsum(rng.uniform(0.5, 1.1, 5)) * easel.width * 0.55
        edges = np.concatenate([[-easel.width], edges - edges.mean()])
        tilt = easel.between(-1.5, 1.5) * spread * 3
        for left, right in pairwise(edges):
            corners = [
                (vanishing + (edge * share), y + (tilt if edge == right else 0.0))
                for edge, y, share in (
                    (left, far, (far - easel.horizon) / reach * 2.4),
                    (right, far, (far - easel.horizon) / reach * 2.4),
                    (right, near, spread * 2.4),
                    (left, near, spread * 2.4),
                )
            ]
            if corners[2][0] < 0 or corners[3][0] > easel.width:
                continue
            _field(easel, corners, easel.pick(crops))


def _field(easel: Easel, corners: list[Point], crop: Tone) -> None:
    canvas = easel.canvas
    (a, b, c, d) = corners
    depth = easel.depth((a[1] + c[1]) / 2)
    lit = easel.between(0.7, 1.05)
    rows = easel.several(6, 15)
    contrast = easel.between(0.75, 0.92)
    with canvas.object("field"):
        canvas.polygon(corners, easel.shade(crop, lit, depth))
        for row in range(rows):
            share, thick = (row + 0.5) / rows, 0.24 / rows
            furrow = [
                _along(a, b, share - thick),
                _along(a, b, share + thick),
                _along(d, c, share + thick),
                _along(d, c, share - thick),
            ]
            dark = (crop[0] * contrast, crop[1] * contrast, crop[2] * contrast)
            canvas.polygon(furrow, easel.shade(dark, lit * 0.85, depth))


def _along(start: Point, stop: Point, share: float) -> Point:
    return start[0] + (stop[0] - start[0]) * share, start[1] + (stop[1] - start[1]) * share


def way(easel: Easel, centre: Callable[[float], float], metres: float, tone: Tone, name: str, *, far: float) -> None:
    """A path, road or river ``metres`` wide along ``centre``."""
    canvas = easel.canvas
    outline = easel.ribbon(centre, metres, far=far)
    half = len(outline) // 2
    with canvas.object(name):
        for step in range(half - 1):  # in slices, so that it pales with distance
            piece = [outline[step], outline[step + 1], outline[-2 - step], outline[-1 - step]]
            canvas.polygon(piece, easel.shade(tone, 0.9, easel.depth(outline[step][1])))


def river(easel: Easel, centre: Callable[[float], float], metres: float, *, far: float) -> None:
    """A river that reflects the sky's colours, with pale banks and glints."""
    canvas, light = easel.canvas, easel.light
    bank = easel.ribbon(centre, metres * 1.12, far=far)
    canvas.polygon(bank, easel.shade((120, 106, 80), 0.6, 0.3))
    outline = easel.ribbon(centre, metres, far=far)
    half = len(outline) // 2
    with canvas.object("river"):
        for step in range(half - 1):
            share = step / half
            tint = mix(mix(light.haze, light.sky[1], share), easel.shade((40, 88, 108)), 0.25 + 0.3 * share)
            canvas.polygon([outline[step], outline[step + 1], outline[-2 - step], outline[-1 - step]], to_rgb(tint))
        for _ in range(26):
            y = easel.between(far + 2, HEIGHT)
            x = centre(y) + easel.between(-0.42, 0.42) * metres * easel.metre(y)
            reach = 1 + 0.05 * (y - easel.horizon)
            canvas.touch([(x - reach, y), (x + reach, y)], to_rgb(mix(light.haze, (255, 255, 255), 0.35)), 0.6)


def lake(easel: Easel, *, far: float, near: float, left: float, right: float, frozen: bool = False) -> None:
    """A sheet of still water (or ice) mirroring what stands behind it."""
    canvas, light = easel.canvas, easel.light
    columns = np.linspace(left, right, 30)
    middle, half = (left + right) / 2, (right - left) / 2
    arch = np.sqrt(np.clip(1 - ((columns - middle) / half) ** 2, 0, 1))
    wobble = noise.profile(easel.rng, columns.astype(np.float32), wavelength=60, octaves=3) * 1.5
    lower = [
        (float(x), far + (near - far) * float(a) + float(w) * (near - far) * 0.06)
        for x, a, w in zip(columns, arch, wobble, strict=True)
    ]
    upper = [(float(x), far - min(3.0, (near - far) * 0.08) * float(a)) for x, a in zip(columns, arch, strict=True)]
    outline = upper + lower[::-1]
    top, bottom = far - 3, min(HEIGHT, near + 4)
    base = mix(light.sky[1], light.haze, 0.5)
    rows = canvas.down(top, bottom)
    tone = mix(base, (226, 236, 244), 0.35) if frozen else mix(base, easel.shade((36, 78, 96)), 0.35)
    fill = np.broadcast_to(np.array(tone, np.uint8), (len(rows), canvas.grid[1], 3))
    with canvas.object("lake"):
        canvas.surface(np.ascontiguousarray(fill), top, outline)
    canvas.mirror_below(far - 1, bottom, (0.26, 0.12) if frozen else (0.75, 0.35), 2.2, outline)
    for _ in range(10):
        y = easel.between(far + 1, near - 1)
        span = half * float(np.sqrt(max(0.0, (y - far) / (near - far)))) * 0.2
        x = middle + easel.between(-0.5, 0.5) * half
        canvas.touch([(x - span, y), (x + span, y)], to_rgb(mix(tone, (255, 255, 255), 0.4)), 0.5)
