"""Skies and weather: the dome, sun, moon, stars, clouds, birds, balloons, rain, snowfall and mist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from visterm.postcards import noise
from visterm.postcards.canvas import HEIGHT
from visterm.postcards.easel import Easel
from visterm.postcards.light import Tone, mix, to_rgb

BALLOONS: tuple[Tone, ...] = ((214, 70, 60), (240, 176, 60), (70, 120, 180), (120, 90, 160), (90, 160, 120))


def sky(easel: Easel, *, room: float = 1.0) -> float:
    """Paint the sky to just below the horizon, and the things in it; return the x of the brightest point.

    ``room`` is the share of the sky's height (from the top) for sun, moon and balloons.
    """
    bottom = easel.horizon + 8
    light, canvas = easel.light, easel.canvas
    low = light.hour in ("dawn", "dusk")
    x = easel.width * easel.between(0.12, 0.88)
    y = bottom * room * (easel.between(0.55, 0.92) if low else easel.between(0.12, 0.5))
    with canvas.object("sky"):  # with everything that counts as part of it
        canvas.surface(_dome(easel, bottom, (x, y)))
        if light.hour == "night" and light.weather != "fog":
            _stars(easel, bottom)
            if easel.chance(0.65):
                _moon(easel, x, y)
        elif light.has_sun and easel.chance(0.72):
            _sun(easel, x, y)
        _clouds(easel, bottom)
    if light.hour != "night" and light.weather != "rain":
        if easel.chance(0.09):
            for _ in range(easel.several(1, 3)):
                balloon(easel, easel.between(0.1, 0.9) * easel.width, easel.between(0.25, 0.6) * bottom * room)
        if easel.chance(0.24):
            birds(easel, bottom * room)
    return x


def _dome(easel: Easel, bottom: float, bright: tuple[float, float]) -> NDArray[np.uint8]:
    """The gradient of the sky with the glow around ``bright``, computed coarsely since it is smooth."""
    light, canvas = easel.light, easel.canvas
    across, down = canvas.across[::4], canvas.down(0, bottom)[::4]
    wander = noise.cloth(easel.rng, (len(down), len(across)), stretch=(0.5, 0.9)) - 0.5
    height = np.clip(down[:, None] / bottom + wander * 0.16, 0, 1)
    stops = np.linspace(0, 1, len(light.sky))
    colours = np.stack([np.interp(height, stops, channel) for channel in np.array(light.sky, float).T], axis=2)
    if light.hour != "overcast":
        distance = np.hypot((across - bright[0]) / 1.25, (down - bright[1])[:, None])
        halo = np.exp(-distance / (26 if light.hour == "night" else 44))[:, :, None]
        colours += (np.array(light.glow) - colours) * halo * (0.3 if light.hour == "night" else 0.7)
    rows = len(canvas.down(0, bottom))
    image = Image.fromarray(colours.clip(0, 255).astype(np.uint8))
    return np.asarray(image.resize((canvas.grid[1], rows), Image.Resampling.BICUBIC))


def _sun(easel: Easel, x: float, y: float) -> None:
    radius = easel.between(6, 11) * (1.25 if easel.light.hour in ("dawn", "dusk") else 1.0)
    easel.canvas.glow((x, y), radius * 4, easel.light.glow, 0.75)
    with easel.canvas.object("sun"):
        easel.canvas.ellipse((x, y), (radius, radius), to_rgb(mix(easel.light.glow, (255, 255, 240), 0.55)))


def _moon(easel: Easel, x: float, y: float) -> None:
    radius = easel.between(6, 10)
    canvas = easel.canvas
    canvas.glow((x, y), radius * 4, (190, 205, 240), 0.5)
    with canvas.object("moon"):
        if easel.chance(0.4):
            _crescent(easel, x, y, radius)
            return
        canvas.ellipse((x, y), (radius, radius), (238, 238, 222))
        for _ in range(5):
            angle, away = easel.between(0, 6.3), easel.between(0, 0.6) * radius
            size = easel.between(0.1, 0.24) * radius
            canvas.ellipse((x + away * np.cos(angle), y + away * np.sin(angle)), (size, size), (216, 216, 204))


def _crescent(easel: Easel, x: float, y: float, radius: float) -> None:
    """The outer arc of the disc, and an inner one that bulges less."""
    turn, bulge = easel.between(-0.6, 0.6), easel.between(0.1, 0.6)
    rim = np.linspace(-np.pi / 2, np.pi / 2, 16)
    outer, inner = np.exp(1j * rim), np.sin(rim[::-1]) * 1j + np.cos(rim[::-1]) * bulge
    points = np.concatenate([outer, inner]) * np.exp(1j * turn) * radius
    easel.canvas.polygon([(x + float(point.real), y + float(point.imag)) for point in points], (240, 238, 220))


def _stars(easel: Easel, bottom: float) -> None:
    with easel.canvas.object("star"):
        for _ in range(easel.several(45, 89)):
            x, y = easel.between(0, easel.width), easel.between(0, 0.85) * bottom
            size = min(1.1, 0.35 + easel.rng.exponential(0.22))
            tint = to_rgb(mix((200, 215, 255), (255, 240, 210), easel.between(0, 1)))
            easel.canvas.ellipse((x, y), (size, size), tint)


def _clouds(easel: Easel, bottom: float) -> None:
    """Veils and heaps of cloud, depending on the weather."""
    weather = easel.light.weather
    if weather in ("rain", "fog") or (weather == "cloudy" and easel.chance(0.4)):
        _layer(easel, bottom, cover=0.75 if weather == "rain" else easel.between(0.35, 0.6))
    if weather == "cloudy" or (weather == "clear" and easel.chance(0.15)):
        for _ in range(easel.several(1, 4)):
            _heap(easel, bottom)


def _tints(easel: Easel) -> tuple[Tone, Tone]:
    """The shaded and the lit side of a cloud."""
    light = easel.light
    dark = mix(light.sky[1], light.sky[0], 0.35) if light.weather == "rain" else mix(light.sky[1], light.haze, 0.3)
    lit = mix(light.haze, light.glow, 0.75 if light.hour != "night" else 0.16)
    return dark, lit


def _layer(easel: Easel, bottom: float, cover: float) -> None:
    """A sheet of stratus, ragged and streaky, thinner towards the horizon."""
    canvas = easel.canvas
    down = canvas.down(0, bottom * easel.between(0.6, 0.9))
    shape = (len(down), canvas.grid[1])
    density = noise.cloth(easel.rng, shape, stretch=(0.9, 3.2))
    opacity = np.clip((density - (1 - cover)) / 0.28, 0, 1) * np.linspace(0.95, 0.1, len(down))[:, None]
    dark, lit = (np.array(tint) for tint in _tints(easel))
    side = np.clip(0.5 + (density - np.roll(density, -3, axis=0)) * 5, 0, 1)[:, :, None]
    with canvas.object("cloud"):
        canvas.veil((dark + (lit - dark) * side).clip(0, 255).astype(np.uint8), opacity)


def _heap(easel: Easel, bottom: float) -> None:
    """A cumulus: rounded above, flat below, lit from above."""
    canvas = easel.canvas
    scale = canvas.grid[0] / HEIGHT
    wide, tall = easel.between(34, 84), easel.between(14, 26)
    rows, columns = max(4, round(tall * scale)), max(6, round(wide * scale))
    x, y = np.linspace(-1, 1, columns), np.linspace(0, 1, rows)[:, None]
    body = np.zeros((rows, columns))
    for _ in range(6):
        at, size = easel.between(-0.6, 0.6), easel.between(0.25, 0.45)
        centre = 0.72 - 0.3 * (1 - abs(at)) * easel.between(0.5, 1.4)
        body = np.maximum(body, 1 - np.hypot((x - at) / size, (y - centre) / (size * 1.15)))
    body += (noise.cloth(easel.rng, body.shape, stretch=(0.25, 0.3)) - 0.5) * 0.5
    opacity = (
        np.clip((body - 0.06) / 0.28, 0, 1)
        * np.clip((1 - np.abs(x)) / 0.2, 0, 1)
        * np.clip((0.97 - y) / 0.2, 0, 1)
        * np.clip(y / 0.2, 0, 1)
    )
    dark, lit = (np.array(tint) for tint in _tints(easel))
    bright = np.clip(1.1 - y * 1.05 + (body - np.roll(body, -2, axis=0)) * 1.2, 0, 1)[:, :, None]
    top = easel.between(0.02, 0.62) * bottom
    left = easel.between(-0.1, 0.85) * easel.width
    fade = 0.94 if easel.light.hour != "night" else 0.7
    with canvas.object("cloud"):
        _veil_clipped(easel, (dark + (lit - dark) * bright).clip(0, 255).astype(np.uint8), opacity * fade, top, left)


def _veil_clipped(
    easel: Easel, colours: NDArray[np.uint8], opacity: NDArray[np.floating], top: float, left: float
) -> None:
    """Paint a patch that may extend beyond the left edge."""
    cut = max(0, round(-left * easel.canvas.grid[0] / HEIGHT))
    easel.canvas.veil(np.ascontiguousarray(colours[:, cut:]), opacity[:, cut:], top=top, left=max(0.0, left))


def birds(easel: Easel, bottom: float) -> None:
    """A loose flock."""
    x, y = easel.between(0.15, 0.8) * easel.width, easel.between(0.2, 0.7) * bottom
    ink = to_rgb(mix(easel.shade((60, 62, 72)), easel.light.haze, 0.12))
    size = easel.between(3.2, 6.5)
    for _ in range(easel.several(3, 8)):
        bird_x, bird_y = x + easel.rng.normal(0, 20), max(6, y + easel.rng.normal(0, 8))
        span, lift = size * easel.between(0.75, 1.25), easel.between(0.2, 0.6)
        with easel.canvas.object("bird"):
            for side in (-1, 1):
                wing = [
                    (bird_x, bird_y),
                    (bird_x + side * span * 0.5, bird_y - span * lift),
                    (bird_x + side * span, bird_y - span * lift * 0.4),
                    (bird_x + side * span * 0.5, bird_y - span * lift * 0.55),
                    (bird_x, bird_y + span * 0.2),
                ]
                easel.canvas.polygon(wing, ink)


def balloon(easel: Easel, x: float, y: float) -> None:
    """A hot-air balloon with gores in two colours and a basket."""
    canvas, radius = easel.canvas, easel.between(6, 14)
    first, second = easel.pick(BALLOONS), easel.pick(((244, 236, 214), (250, 214, 120), (60, 70, 110)))
    depth = 0.55 - radius * 0.03
    with canvas.object("balloon"):
        for step, share in enumerate((1.0, 0.8, 0.56, 0.3, 0.1)):
            colour = easel.shade(first if step % 2 == 0 else second, 1.05 - step * 0.04, depth)
            canvas.ellipse((x, y), (radius * share, radius * 1.05), colour)
            skirt = [(x - radius * 0.86 * share, y + radius * 0.55), (x + radius * 0.86 * share, y + radius * 0.55)]
            skirt += [(x + radius * 0.24 * share, y + radius * 1.45), (x - radius * 0.24 * share, y + radius * 1.45)]
            canvas.polygon(skirt, colour)
        for side in (-0.2, 0.2):
            canvas.touch(
                [(x + side * radius, y + radius * 1.4), (x + side * radius * 0.8, y + radius * 1.8)], (70, 60, 50)
            )
        basket = (x - radius * 0.2, y + radius * 1.75, x + radius * 0.2, y + radius * 2.08)
        canvas.box(*basket, easel.shade((120, 84, 50), 0.8, depth))


def rainfall(easel: Easel) -> None:
    """Slanting streaks in front of everything."""
    canvas = easel.canvas
    slant, colour = easel.between(-0.3, 0.3), to_rgb(mix(easel.light.haze, (255, 255, 255), 0.3))
    shape = canvas.grid
    drops = easel.rng.random(shape) > 0.988
    streaks = np.zeros(shape, np.float32)
    length = max(4, shape[0] // 18)
    for step in range(length):
        streaks += np.roll(np.roll(drops, step, axis=0), round(step * slant), axis=1)
    easel.canvas.veil(colour, np.minimum(streaks, 1) * 0.3)
    canvas.everywhere("rain")


def snowfall(easel: Easel) -> None:
    """Flakes near and far; they lie in front of things but are not the snow that is tagged."""
    for count, size in ((150, 0.5), (60, 0.9), (16, 1.5)):
        for x, y in easel.rng.random((count, 2)):
            spot = (x * easel.width, y * HEIGHT)
            easel.canvas.touch([spot, (spot[0] + size * 0.6, spot[1])], (246, 248, 252), size)


def mist(easel: Easel, middle: float, thickness: float, strength: float) -> None:
    """A bank of mist around y = ``middle``."""
    canvas = easel.canvas
    down = canvas.down()
    band = np.exp(-(((down - middle) / thickness) ** 2))[:, None]
    wisps = noise.cloth(easel.rng, canvas.grid, stretch=(1.0, 3.5)) * 0.7 + 0.5
    easel.canvas.veil(easel.light.haze, band * wisps * strength)
