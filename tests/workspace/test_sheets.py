"""Contact sheets say which picture is which, in any language."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from visterm.errors import InputError
from visterm.find import sheets
from visterm.find.sheets import contact_sheet, save_sheet


@pytest.fixture
def picture(tmp_path):
    file = tmp_path / "one.png"
    Image.new("RGB", (40, 30), "green").save(file)
    return file


def written(file, caption):
    return np.asarray(contact_sheet([file], [caption]))[-40:]  # the two lines beneath the picture


def test_long_captions_keep_their_end(picture):
    one, other = (f"holidays/with the whole family/at the sea {number}.jpg" for number in (1, 2))
    assert (written(picture, one) != written(picture, other)).any()
    draw = ImageDraw.Draw(Image.new("RGB", (1, 1)))
    first, second = sheets._two_lines("a b " * 40 + "end.jpg", 100, draw, ImageFont.load_default(12))
    assert first.startswith("a b")
    assert second.startswith("...")
    assert second.endswith("end.jpg")
    assert sheets._two_lines("a b", 100, draw, ImageFont.load_default(12)) == ["a b"]


def test_accents_are_drawn_or_left_out_and_never_a_box(picture, monkeypatch):
    decomposed = "Mu\u0308ller"
    assert (written(picture, "Müller") == written(picture, decomposed)).all()
    monkeypatch.setattr(sheets, "_FONTS", ())  # a computer without fonts
    assert (written(picture, "Müller") == written(picture, "Muller")).all()


def test_a_sheet_is_a_picture(picture, tmp_path):
    sheet = contact_sheet([picture])
    for name in ("sheet.png", "sheet.JPG"):
        save_sheet(sheet, tmp_path / name)
        with Image.open(tmp_path / name) as written:
            assert written.size == sheet.size
    with pytest.raises(InputError, match=r"a \.png or \.jpg file, not sheet\.pdf"):
        save_sheet(sheet, tmp_path / "sheet.pdf")
    assert not (tmp_path / "sheet.pdf").exists()
