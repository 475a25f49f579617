"""Natural irregularity: one periodic bank of fractal noise per roughness, sampled at random positions.

Reading a texture from a bank is much cheaper than making it. Every painter (cloud, water, rock, meadow) uses the same
two banks, stretched and bent as needed.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[np.float32]

SMOOTH: Final = 1.7
ROUGH: Final = 0.9
_SIDE: Final = 512


@cache
def bank(falloff: float) -> Array:
    """A square of periodic noise, uniform on 0..1, whose amplitude falls with frequency to the power ``falloff``.

    >>> bank(SMOOTH).shape
    (512, 512)
    """
    spectrum = np.fft.rfft2(np.random.default_rng(round(falloff * 100)).standard_normal((_SIDE, _SIDE)))
    frequency = np.hypot(np.fft.fftfreq(_SIDE)[:, None], np.fft.rfftfreq(_SIDE)[None, :])
    frequency[0, 0] = np.inf  # no constant part
    field = np.fft.irfft2(spectrum * frequency**-falloff, s=(_SIDE, _SIDE))
    order = field.ravel().argsort(kind="stable")
    ranks = np.empty(order.size, np.float32)
    ranks[order] = np.linspace(0.0, 1.0, order.size, dtype=np.float32)
    return ranks.reshape(_SIDE, _SIDE)


def cloth(
    rng: np.random.Generator, shape: tuple[int, int], *, stretch: tuple[float, float] = (1, 1), falloff: float = SMOOTH
) -> Array:
    """Flat noise of ``shape`` (rows, columns), its features magnified by ``stretch`` (down, across)."""
    n_rows, n_columns = (max(2, round(side / by)) for side, by in zip(shape, stretch, strict=True))
    top, left = rng.integers(_SIDE, size=2)
    rows, columns = (np.arange(top, top + n_rows) % _SIDE, np.arange(left, left + n_columns) % _SIDE)
    patch = bank(falloff)[rows[:, None], columns]
    if patch.shape == shape:
        return patch
    resized = Image.fromarray(patch).resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(resized), 0.0, 1.0)


def plane(
    rng: np.random.Generator, below_horizon: Array, across: Array, *, grain: float, along: float, falloff: float = ROUGH
) -> Array:
    """Noise on the ground, seen in perspective.

    ``below_horizon`` holds each row's distance under the horizon (positive), ``across`` each column's distance from the
    vanishing point; ``grain`` and ``along`` set how fine the noise is sideways and into the distance.
    """
    nearness = 1.0 / np.maximum(below_horizon, 0.75)
    top, left = rng.integers(_SIDE, size=2)
    rows = (along * nearness + top).astype(np.int32) % _SIDE
    columns = (np.outer(nearness, across * grain) + left).astype(np.int32) % _SIDE
    # Distant noise is finer than a pixel: it fades to its mean instead of flickering.
    contrast = np.clip(below_horizon / 28.0, 0.25, 1.0)[:, None]
    return ((bank(falloff)[rows[:, None], columns] - 0.5) * contrast + 0.5).astype(np.float32)


def profile(
    rng: np.random.Generator, across: Array, *, wavelength: float, octaves: int = 4, gain: float = 0.5
) -> Array:
    """A rolling line along ``across``, roughly within -1..1."""
    line = np.zeros_like(across)
    for octave in range(octaves):
        cycle = wavelength / 2**octave * rng.uniform(0.8, 1.25)
        line += gain**octave * np.sin(across * (2 * np.pi / cycle) + rng.uniform(0, 2 * np.pi))
    return (line * (1 - gain)).astype(np.float32)
