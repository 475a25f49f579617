"""The easel: a canvas with the light, the season and the point of view of one postcard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.postcards import noise
from visterm.postcards.canvas import HEIGHT, Canvas, Point, Sprite
from visterm.postcards.light import RGB, Light, Tone, ramp


@dataclass(slots=True)
class Easel:
    """The tools that every painter of things needs.

    The ground is a plane seen from ``eye`` metres above it. Something that stands at y = ``foot`` is drawn with
    ``metre(foot)`` units per metre, so that people, cars and trees keep their proportions everywhere.
    """

    canvas: Canvas
    rng: np.random.Generator
    light: Light
    season: str
    horizon: float = 96.0
    eye: float = 3.0

    @property
    def width(self) -> float:
        """The width of the canvas in units."""
        return self.canvas.width

    def chance(self, probability: float) -> bool:
        """Toss a coin."""
        return bool(self.rng.random() < probability)

    def side(self) -> int:
        """Left (-1) or right (1)."""
        return 1 if self.chance(0.5) else -1

    def several(self, low: int, high: int) -> int:
        """A number of things, ``low`` to ``high``."""
        return int(self.rng.integers(low, high + 1))

    def feet(self, top: float, bottom: float, count: int) -> list[float]:
        """The positions of ``count`` things between ``top`` and ``bottom``, farthest first, as they are painted."""
        return sorted(self.rng.uniform(top, bottom, count).tolist())

    def between(self, low: float, high: float) -> float:
        """A number between ``low`` and ``high``."""
        return float(self.rng.uniform(low, high))

    def pick(self, tones: list[Tone] | tuple[Tone, ...]) -> Tone:
        """One of ``tones``, slightly varied, since no two walls look alike."""
        tone = tones[int(self.rng.integers(len(tones)))]
        shift = self.rng.normal(0, 5, 3)
        return tone[0] + shift[0], tone[1] + shift[1], tone[2] + shift[2]

    def metre(self, foot: float) -> float:
        """Units per metre for something standing at y = ``foot``."""
        return max(foot - self.horizon, 0.5) / self.eye

    def foot(self, metre: float) -> float:
        """The y at which things are drawn with ``metre`` units per metre."""
        return self.horizon + metre * self.eye

    @contextmanager
    def at_scale(self, foot: float, metre: float) -> Iterator[None]:
        """Inside the ``with`` block, things at y = ``foot`` are drawn with ``metre`` units per metre."""
        eye, self.eye = self.eye, max(0.5, foot - self.horizon) / metre
        try:
            yield
        finally:
            self.eye = eye

    def depth(self, foot: float) -> float:
        """The distance of something at y = ``foot``, from 0 (here) to 1 (the horizon)."""
        return max(0.0, 1.0 - (foot - self.horizon) / (HEIGHT - self.horizon)) ** 2.2 * 0.9

    def shade(self, albedo: Tone, lit: float = 1.0, depth: float = 0.0) -> RGB:
        """The colour of ``albedo`` in this picture's light."""
        return self.light.shade(albedo, lit, depth)

    def stamp(self, sprite: Sprite, foot: Point, height: float, depth: float = 0.0) -> None:
        """Stamp a sprite, veiled by the air in front of it, and mirrored at random."""
        veil = (self.light.haze, depth * self.light.air) if depth > 0.02 else None
        self.canvas.stamp(sprite, foot, height, mirrored=self.chance(0.5), veil=veil)

    def lay(
        self,
        tones: list[Tone],
        crest: NDArray[np.float32],
        *,
        depth: float = 0.0,
        stretch: tuple[float, float] = (1.0, 1.6),
        bottom: float = HEIGHT,
        contrast: float = 1.0,
        fade: float = 0.0,
    ) -> None:
        """Cover everything under the line ``crest`` (one y per pixel column) with mottled ``tones``, dark to light.

        ``fade`` lets mist collect at the foot of the slope.
        """
        canvas = self.canvas
        top = float(np.clip(crest.min(), 0, HEIGHT - 1))
        down = canvas.down(top, bottom)
        mottle = noise.cloth(self.rng, (len(down), len(crest)), stretch=stretch, falloff=noise.ROUGH)
        table = ramp([self.shade(tone, 0.55 + 0.5 * step / len(tones), depth) for step, tone in enumerate(tones)])
        colours = table[((mottle - 0.5) * contrast * 255 + 127.5).clip(0, 255).astype(np.uint8)]
        if fade:
            mist = (np.clip((down - top) / max(1.0, bottom - top), 0, 1) * fade * self.light.air)[:, None, None]
            colours = (colours * (1 - mist) + np.array(self.light.haze) * mist).astype(np.uint8)
        canvas.surface(colours, top, self.under(crest, bottom))

    def under(self, crest: NDArray[np.float32], bottom: float = HEIGHT) -> list[Point]:
        """The outline of the area between the line ``crest`` and ``bottom``."""
        line = [(float(x), float(y)) for x, y in zip(self.canvas.across, crest, strict=True)]
        return [(0.0, line[0][1]), *line, (self.width, line[-1][1]), (self.width, bottom), (0.0, bottom)]

    def ground(
        self,
        tones: list[Tone],
        *,
        top: float | None = None,
        grain: float = 60.0,
        along: float = 9000.0,
        lit: float = 1.0,
    ) -> None:
        """Cover the plane from ``top`` (the horizon) down with ``tones``, dark to light, in perspective."""
        top = self.horizon if top is None else top
        down = self.canvas.down(top)
        texture = noise.plane(
            self.rng, down - self.horizon, self.canvas.across - self.width / 2, grain=grain, along=along
        )
        texture += (noise.cloth(self.rng, texture.shape, stretch=(1.5, 5.0)) - 0.5) * 0.5
        table = ramp([self.shade(tone, lit) for tone in tones])
        colours = table[(texture * 255).clip(0, 255).astype(np.uint8)].astype(np.float32)
        veil = np.array([self.depth(float(y)) * self.light.air for y in down], np.float32).clip(0, 1)[:, None, None]
        colours += (np.array(self.light.haze, np.float32) - colours) * veil
        self.canvas.surface(colours.astype(np.uint8), top)

    def ribbon(
        self, centre: Callable[[float], float], metres: float, *, near: float = HEIGHT, far: float | None = None
    ) -> list[Point]:
        """The outline of a strip ``metres`` wide lying on the ground along ``centre`` (x for y)."""
        far = self.horizon + 1 if far is None else far
        steps = [far + (near - far) * (step / 18) ** 1.6 for step in range(19)]
        left = [(centre(y) - metres * self.metre(y) / 2, y) for y in steps]
        right = [(centre(y) + metres * self.metre(y) / 2, y) for y in reversed(steps)]
        return left + right

    def winding(self, vanishing: float, bend: float) -> Callable[[float], float]:
        """The centre line of a way that comes from the lower middle and winds to ``vanishing`` at the horizon."""
        start = self.width * self.between(0.3, 0.7)
        turns = self.between(0.8, 1.7)
        depth = HEIGHT - self.horizon

        def centre(y: float) -> float:
            nearness = max(0.0, (y - self.horizon) / depth)
            sway = bend * np.sin(np.sqrt(nearness) * turns * 2 * np.pi) * nearness**0.7
            return float(vanishing + (start - vanishing) * nearness + sway)

        return centre
