"""Damaged pictures of every format: each is decoded or refused in words."""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mutations import Trial, main, mutated
from PIL import Image

from visterm.vision.decode import decode_rgb, probe

N_TARGETS = 6
FORMATS = {"JPEG": "RGB", "PNG": "RGBA", "GIF": "P", "BMP": "RGB", "TIFF": "RGB", "WEBP": "RGB"}


def _example(format: str, mode: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(data, format)
    return data.getvalue()


def targets(folder: Path | None = None) -> Mapping[str, Trial]:
    """One target a format."""

    def of(format: str, mode: str) -> Trial:
        example = _example(format, mode)

        def decode(dice: random.Random) -> None:
            damaged = mutated(dice, example)
            probe(damaged)
            rgb = decode_rgb(damaged, pixel_budget=10_000)
            assert rgb.dtype == np.uint8
            assert rgb.ndim == 3
            assert rgb.shape[2] == 3

        return decode

    return {f"picture {format}": of(format, mode) for format, mode in FORMATS.items()}


if __name__ == "__main__":
    sys.exit(main(targets))
