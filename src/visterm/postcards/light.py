"""Light: the hour, the weather and the season a postcard is painted in.

Every colour of a picture passes through its :class:`Light`, so that a red roof at dusk and the hills behind it have the
same light and haze.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

RGB = tuple[int, int, int]
Tone = tuple[float, float, float]

SEASONS: Final = ("spring", "summer", "autumn")


@dataclass(frozen=True, slots=True)
class Light:
    """How a scene is lit: the sky from zenith to horizon, the key and ambient light, and the air in between."""

    hour: str
    sky: tuple[RGB, ...]
    key: Tone
    ambient: Tone
    glow: RGB
    weather: str = "clear"
    air: float = 0.55
    lamps_lit: bool = False

    @property
    def haze(self) -> RGB:
        """The colour of distance: the sky at the horizon."""
        return self.sky[-1]

    @property
    def has_sun(self) -> bool:
        """Whether the sun can be in the picture."""
        return self.hour not in ("night", "overcast") and self.weather in ("clear", "cloudy")

    def shade(self, albedo: Tone, lit: float = 1.0, depth: float = 0.0) -> RGB:
        """The colour of a surface of ``albedo`` (0..255), ``lit`` by the key light, at ``depth`` 0 (near) to 1 (far).

        >>> LIGHTS["noon"].shade((100, 100, 100), lit=0.0) < LIGHTS["noon"].shade((100, 100, 100))
        True
        """
        veil = min(1.0, depth * self.air)
        red, green, blue = (
            round(min(255.0, colour * (ambient + lit * key)) * (1 - veil) + haze * veil)
            for colour, ambient, key, haze in zip(albedo, self.ambient, self.key, self.haze, strict=True)
        )
        return red, green, blue

    def lamp(self, albedo: Tone, *, flame: RGB = (255, 214, 130)) -> RGB:
        """The colour of a window or lamp of ``albedo``: glowing when lamps are lit."""
        return flame if self.lamps_lit else self.shade(albedo)


LIGHTS: Final = {
    light.hour: light
    for light in (
        Light(
            "dawn",
            ((104, 128, 178), (176, 172, 200), (246, 200, 178), (255, 226, 190)),
            (0.72, 0.58, 0.48),
            (0.42, 0.42, 0.5),
            (255, 236, 200),
            air=0.8,
        ),
        Light(
            "noon",
            ((52, 112, 192), (104, 166, 224), (176, 212, 236), (214, 232, 240)),
            (0.62, 0.61, 0.56),
            (0.46, 0.49, 0.54),
            (255, 250, 226),
        ),
        Light(
            "afternoon",
            ((84, 132, 186), (150, 182, 200), (236, 214, 168), (252, 222, 158)),
            (0.78, 0.6, 0.38),
            (0.4, 0.39, 0.43),
            (255, 236, 170),
            air=0.62,
        ),
        Light(
            "dusk",
            ((44, 46, 98), (122, 78, 132), (226, 122, 104), (252, 176, 112)),
            (0.52, 0.34, 0.28),
            (0.34, 0.3, 0.4),
            (255, 196, 120),
            air=0.62,
            lamps_lit=True,
        ),
        Light(
            "night",
            ((9, 15, 40), (18, 31, 68), (36, 54, 98), (62, 80, 124)),
            (0.22, 0.27, 0.38),
            (0.23, 0.27, 0.38),
            (226, 232, 250),
            air=0.5,
            lamps_lit=True,
        ),
        Light(
            "overcast",
            ((142, 152, 166), (172, 180, 190), (198, 203, 206), (212, 214, 212)),
            (0.3, 0.3, 0.3),
            (0.52, 0.54, 0.57),
            (240, 240, 236),
            air=0.75,
        ),
    )
}

_HOUR_SHARES: Final = {"dawn": 0.16, "noon": 0.22, "afternoon": 0.18, "dusk": 0.16, "night": 0.12, "overcast": 0.16}


def choose_light(rng: np.random.Generator, *, rain: bool = True) -> Light:
    """An hour and its weather; ``rain`` says whether it may rain here."""
    light = LIGHTS[str(rng.choice(list(_HOUR_SHARES), p=list(_HOUR_SHARES.values())))]
    if light.hour == "overcast":
        weather = str(rng.choice(["rain", "fog", "cloudy"], p=[0.45, 0.25, 0.3])) if rain else "cloudy"
    else:
        weather = str(rng.choice(["clear", "cloudy", "fog"], p=[0.36, 0.52, 0.12]))
    # No two evenings have the same sky.
    sky = np.clip(np.array(light.sky) * temperature(rng, 0.06) * rng.normal(1.0, 0.025, (4, 1)), 0, 255)
    return replace(
        light,
        weather=weather,
        sky=tuple(to_rgb(colour) for colour in sky),
        air=light.air * (1.55 if weather == "fog" else 1.2 if weather == "rain" else rng.uniform(0.75, 1.15)),
    )


def temperature(rng: np.random.Generator, spread: float) -> NDArray[np.float64]:
    """Gains of red, green and blue that make a picture warmer or cooler, and slightly more or less green."""
    warm, green = rng.normal(0, spread), rng.normal(0, spread / 3)
    return np.array([1 + warm, 1 + green, 1 - warm])


def to_rgb(colour: NDArray[np.floating] | Tone) -> RGB:
    """``colour`` rounded into 0..255.

    >>> to_rgb((12.4, 300.0, -5.0))
    (12, 255, 0)
    """
    red, green, blue = (round(min(255.0, max(0.0, float(channel)))) for channel in colour)
    return red, green, blue


def mix(first: Tone, second: Tone, share: float) -> Tone:
    """``first`` with ``share`` of ``second``.

    >>> mix((0, 0, 0), (100, 200, 50), 0.5)
    (50.0, 100.0, 25.0)
    """
    return (
        first[0] + (second[0] - first[0]) * share,
        first[1] + (second[1] - first[1]) * share,
        first[2] + (second[2] - first[2]) * share,
    )


def ramp(colours: tuple[RGB, ...] | list[RGB]) -> NDArray[np.uint8]:
    """A table of 256 colours running through ``colours`` in even steps.

    >>> ramp([(0, 0, 0), (255, 255, 255)])[128].tolist()
    [128, 128, 128]
    """
    stops = np.linspace(0, 255, len(colours))
    channels = [np.interp(np.arange(256), stops, channel) for channel in np.array(colours, np.float64).T]
    return np.stack(channels, axis=1).round().astype(np.uint8)
