"""Drawings of the features of a picture, for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError
from visterm.vision.colour import to_grey

if TYPE_CHECKING:
    from visterm.vision.recipes.encodings import BagRecipe

RGB = NDArray[np.uint8]

#: Small pictures are enlarged to at least this many pixels on their longer side before anything is drawn on them.
_SIDE = 768
_INK = (255, 220, 60)


def draw_sift(rgb: RGB) -> RGB:
    """The gradients of SIFT: patches of 32 pixels side by side, with eight strokes in each of their 4 x 4 cells.

    A stroke lies along the edge, not across it. Its length is the share of the gradients in its direction.
    """
    from PIL import Image, ImageDraw

    from visterm.vision.local.sift import dense_sift

    frames, descriptors = dense_sift(to_grey(rgb), step=32, bin_sizes=(8,))
    scale = _enlargement(rgb)
    faded = Image.fromarray(_enlarged(rgb // 3, scale))
    draw = ImageDraw.Draw(faded)
    strongest = descriptors.max(initial=0) or 1
    for (x, y, size), descriptor in zip(frames, descriptors.reshape(-1, 4, 4, 8), strict=True):
        cell = size / 4
        for row, column, direction in np.argwhere(descriptor > 0.1 * strongest):
            angle = direction * math.pi / 4 + math.pi / 2
            length = 0.5 * cell * descriptor[row, column, direction] / strongest
            cx, cy = x + (column - 1.5) * cell, y + (row - 1.5) * cell
            dx, dy = length * math.cos(angle), length * math.sin(angle)
            ends = [(cx - dx) * scale, (cy - dy) * scale, (cx + dx) * scale, (cy + dy) * scale]
            draw.line(ends, fill=_INK, width=max(1, round(scale / 2)))
    return np.asarray(faded)


def draw_codewords(rgb: RGB, recipe: BagRecipe) -> RGB:
    """The codeword of every position as a colour over the picture; on the right, patches of the commonest codewords.

    Each codeword has a row with up to six patches of this picture that it represents.
    """
    from PIL import Image, ImageDraw

    frames, words = recipe.codewords(rgb)
    if not len(words):
        raise InputError("the picture is too small to hold a single patch")
    rgb = recipe.seen(rgb)
    scale = _enlargement(rgb)
    base = Image.fromarray(_enlarged(rgb, scale))
    overlay = base.copy()
    draw = ImageDraw.Draw(overlay)
    palette = _palette(recipe.n_words)
    # The largest patches first, so that the small ones stay visible.
    for i in np.argsort(-frames[:, 2], kind="stable"):
        x, y, size = frames[i] * scale
        half = size / 8 if len(words) > 500 else size / 4
        draw.rectangle((x - half, y - half, x + half, y + half), fill=tuple(palette[words[i]]))
    mixed = np.asarray(Image.blend(base, overlay, 0.55))
    return np.concatenate([mixed, _word_patches(rgb, frames, words, palette, height=len(mixed))], axis=1)


def draw_region_map(rgb: RGB) -> RGB:
    """The regions of the segmentation, with their borders."""
    from visterm.vision.local.regions import draw_regions, segment

    return draw_regions(rgb, segment(rgb))


def draw_lbp(rgb: RGB) -> RGB:
    """The uniform local binary pattern of every pixel, in 59 shades."""
    from visterm.vision.local.lbp import N_PATTERNS, lbp_codes

    codes = lbp_codes(to_grey(rgb))
    if not codes.size:
        raise InputError("the picture is too small to hold a single pattern")
    return _enlarged(_palette(N_PATTERNS)[codes], _enlargement(rgb))


def draw_gist(rgb: RGB) -> RGB:
    """GIST as one rose per block: how much the picture varies in each direction, with fine scales outside."""
    from PIL import Image, ImageDraw

    from visterm.vision.whole.structure import gist

    n_scales, n_orientations, n_blocks = 4, 8, 4
    energy = gist(rgb).reshape(n_scales, n_orientations, n_blocks, n_blocks)
    energy = energy / (energy.max() or 1)
    scale = _enlargement(rgb)
    faded = Image.fromarray(_enlarged(rgb // 3, scale))
    draw = ImageDraw.Draw(faded)
    width, height = faded.size[0] / n_blocks, faded.size[1] / n_blocks
    radius = 0.48 * min(width, height)
    for row, column in np.ndindex(n_blocks, n_blocks):
        cx, cy = (column + 0.5) * width, (row + 0.5) * height
        for s, orientation in np.ndindex(n_scales, n_orientations):
            outer = radius * (n_scales - s) / n_scales
            shade = round(255 * float(energy[s, orientation, row, column]) ** 0.5)
            box = (cx - outer, cy - outer, cx + outer, cy + outer)
            for turn in (0, 180):
                # GIST counts angles from right towards up, a slice of a pie from right towards down.
                start = turn - (orientation + 0.5) * 180 / n_orientations
                draw.pieslice(box, start, start + 180 / n_orientations, fill=(shade, round(shade * 0.8), shade // 4))
    return np.asarray(faded)


#: What can be drawn without a trained recipe.
DRAWINGS: dict[str, Callable[[RGB], RGB]] = {
    "sift": draw_sift,
    "regions": draw_region_map,
    "lbp": draw_lbp,
    "gist": draw_gist,
}


def _enlargement(rgb: RGB) -> int:
    return max(1, -(-_SIDE // max(rgb.shape[:2])))


def _enlarged(rgb: RGB, scale: int) -> RGB:
    return rgb.repeat(scale, axis=0).repeat(scale, axis=1)


def _palette(n_colours: int) -> RGB:
    """``n_colours`` colours that are easy to tell apart: hues a golden angle apart, in three brightnesses."""
    number = np.arange(n_colours)
    hue = number * 0.618034 % 1
    value = np.array([1.0, 0.8, 0.6])[number % 3]
    offsets = np.array([5, 3, 1])
    k = (offsets + hue[:, None] * 6) % 6
    channels = value[:, None] * (1 - 0.65 * np.clip(np.minimum(k, 4 - k), 0, 1))
    return np.round(255 * channels).astype(np.uint8)


def _word_patches(rgb: RGB, frames: NDArray[np.float32], words: NDArray[np.int32], palette: RGB, *, height: int) -> RGB:
    """Patches of the commonest codewords: one row each, after the codeword's colour."""
    from PIL import Image

    n_columns, side, gap = 6, 48, 4
    n_rows = max(1, height // (side + gap))
    panel = np.full((height, (n_columns + 1) * (side + gap) + gap, 3), 250, np.uint8)
    found, counts = np.unique(words, return_counts=True)
    for row, word in enumerate(found[np.argsort(-counts, kind="stable")][:n_rows]):
        top = row * (side + gap)
        panel[top : top + side, gap : gap + side] = palette[word]
        for column, i in enumerate(np.flatnonzero(words == word)[:n_columns]):
            x, y, size = frames[i]
            left, upper = max(0, round(x - size / 2)), max(0, round(y - size / 2))
            patch = rgb[upper : round(y + size / 2) + 1, left : round(x + size / 2) + 1]
            start = gap + (column + 1) * (side + gap)
            panel[top : top + side, start : start + side] = np.asarray(Image.fromarray(patch).resize((side, side)))
    return panel
