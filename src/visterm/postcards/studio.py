"""The studio: paints postcard number ``index`` of a series, with the truth about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from visterm.catalogue import Region
from visterm.errors import InputError
from visterm.postcards import captions, noise, shore_scenes, skies, town_scenes, wild_scenes
from visterm.postcards.canvas import Camera, Canvas
from visterm.postcards.easel import Easel
from visterm.postcards.light import SEASONS, choose_light, temperature

SCENES: Final[dict[str, Callable[[Easel], None]]] = {
    "coast": shore_scenes.coast,
    "desert": wild_scenes.desert,
    "forest": wild_scenes.forest,
    "harbour": shore_scenes.harbour,
    "highway": town_scenes.highway,
    "mountain": wild_scenes.mountain,
    "open country": wild_scenes.open_country,
    "street": town_scenes.street,
    "village": town_scenes.village,
    "winter": wild_scenes.winter,
}
CLASSES: Final = tuple(SCENES)
TAGS: Final = (
    "balloon", "beach", "bird", "boat", "bridge", "bus", "bush", "cactus", "camel", "car", "cloud", "container", "cow",
    "crane", "dune", "fence", "field", "flower", "grass", "hill", "house", "lake", "lighthouse", "moon", "mountain",
    "palm", "path", "person", "pier", "pine", "rain", "river", "road", "rock", "sail", "sea", "sheep", "ship", "sky",
    "snow", "snowman", "star", "street lamp", "sun", "tower", "tree", "truck", "umbrella", "wave", "windmill", "window",
)  # fmt: skip

_DRY: Final = frozenset({"desert", "winter"})
_CLASS_STREAM: Final = 7919  # separates the draw of classes from the draws of pictures


@dataclass(frozen=True, slots=True)
class Postcard:
    """One picture and the truth about it."""

    name: str
    pixels: NDArray[np.uint8]
    class_name: str
    tags: tuple[str, ...]
    caption: str
    regions: tuple[Region, ...]


def class_of(index: int, seed: int = 0) -> str:
    """The class of picture ``index``: every run of ``len(CLASSES)`` pictures has each class once, shuffled.

    >>> sorted(class_of(index) for index in range(10)) == list(CLASSES)
    True
    """
    block, place = divmod(index, len(CLASSES))
    return CLASSES[np.random.default_rng([seed, block, _CLASS_STREAM]).permutation(len(CLASSES))[place]]


def paint(index: int, *, seed: int = 0, width: int = 256, height: int = 192) -> Postcard:
    """Paint postcard ``index`` of series ``seed``; the same numbers always give the same picture.

    >>> card = paint(3)
    >>> card.name, card.pixels.shape, "sky" in card.tags
    ('0003.jpg', (192, 256, 3), True)
    """
    if index < 0 or seed < 0:
        raise InputError(f"postcards are numbered from 0: index {index} and seed {seed} must not be negative")
    if not (48 <= height <= 4096 and height <= 3 * width <= 9 * height):
        raise InputError(f"a postcard must be 48 to 4096 pixels high and at most 3 : 1 long, not {width} x {height}")
    rng = np.random.default_rng([seed, index])
    class_name = class_of(index, seed)
    season = SEASONS[int(rng.integers(len(SEASONS)))]
    easel = Easel(Canvas(width, height), rng, choose_light(rng, rain=class_name not in _DRY), season)
    SCENES[class_name](easel)
    if easel.light.weather == "fog":
        skies.mist(easel, easel.horizon, 30, 0.45)
    if easel.light.weather == "rain":
        skies.rainfall(easel)
    camera = Camera(float(rng.normal(0, 0.022)), float(rng.uniform(1.0, 1.12)), bool(rng.random() < 0.5))
    pixels, regions = easel.canvas.photograph(camera)
    return Postcard(
        name=f"{index:04d}.jpg",
        pixels=_print(pixels, rng),
        class_name=class_name,
        tags=tuple(sorted({region.name for region in regions})),
        caption=captions.write(class_name, easel.light, regions, rng),
        regions=regions,
    )


def _print(pixels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Develop the picture: exposure, the tint of its paper, a vignette and the grain of the print."""
    height, width = pixels.shape[:2]
    tint = temperature(rng, 0.06) * rng.normal(1.04, 0.07)
    picture: NDArray[np.float32] = pixels.astype(np.float32) * tint.astype(np.float32)
    if rng.random() < 0.3:  # an old print: faded towards a warm or cool monochrome
        tone = np.array([(1.12, 1.0, 0.82), (0.92, 1.0, 1.08)][int(rng.integers(2))], np.float32)
        grey = picture.mean(axis=2, keepdims=True) * tone
        picture += (grey * 0.88 + 20 - picture) * np.float32(rng.uniform(0.2, 0.6))
    y, x = np.linspace(-1, 1, height, dtype=np.float32)[:, None], np.linspace(-1, 1, width, dtype=np.float32)
    vignette = 1.03 - 0.13 * (x * x + y * y) ** 1.2
    paper = (noise.cloth(rng, (height, width), falloff=noise.ROUGH) - 0.5) * 7
    grain = rng.standard_normal((height, width), dtype=np.float32) * np.float32(rng.uniform(1.2, 4.0))
    printed = picture * vignette[:, :, None] + (paper + grain)[:, :, None]
    return printed.clip(0, 255).astype(np.uint8)
