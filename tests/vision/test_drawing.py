"""Drawings of what the machine sees: pictures that show something, for any picture that holds something."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.postcards import paint
from visterm.vision import DRAWINGS, BagRecipe, DenseGrid, TrainingPictures, draw_codewords, draw_gist, draw_lbp


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_pictures_that_depend_on_the_picture(name):
    drawings = [DRAWINGS[name](paint(index).pixels) for index in (0, 1)]
    for drawing in drawings:
        assert drawing.dtype == np.uint8
        assert drawing.ndim == 3
        assert drawing.shape[2] == 3
        assert drawing.std() > 5
    assert not np.array_equal(*drawings)


def test_a_rose_points_across_the_stripes():
    """Stripes whose normal points up to the right light the rose up to the right, not down to the right."""
    rows, columns = np.mgrid[:128, :128]
    stripes = np.where((columns - rows) % 8 < 4, 255, 0).astype(np.uint8)
    drawing = draw_gist(np.repeat(stripes[..., None], 3, axis=2))[..., 0]
    block = len(drawing) // 4
    middle, reach = block + block // 2, block // 3
    up_right = drawing[middle - reach, middle + reach].astype(int)
    down_right = drawing[middle + reach, middle + reach].astype(int)
    assert up_right > 2 * down_right


def test_codewords_are_drawn_with_their_patches(tmp_path):
    rgb = paint(3).pixels
    Image.fromarray(rgb).save(tmp_path / "picture.png")
    recipe = BagRecipe("words", "", DenseGrid(("sift",), (12,), (5,)), 12)
    recipe.train(TrainingPictures([tmp_path / "picture.png"], pixel_budget=100_000))
    drawing = draw_codewords(rgb, recipe)
    assert drawing.shape[1] > drawing.shape[0]
    # A tiny picture is drawn as it is described: enlarged.
    tiny = draw_codewords(rgb[:4, :4], recipe)
    assert tiny.shape[0] >= 64
    old = BagRecipe("words", "", DenseGrid(("sift",), (12,), (5,)), 12)
    old.restore({name: value for name, value in recipe.state().items() if name != "least_side"})
    with pytest.raises(InputError, match="too small"):
        draw_codewords(rgb[:4, :4], old)


def test_a_picture_without_a_pattern_is_refused():
    with pytest.raises(InputError, match="too small"):
        draw_lbp(np.zeros((3, 3, 3), np.uint8))
