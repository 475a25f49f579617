"""Copies: precision and recall of each level, and the time to find them, on pictures with eight kinds of copies.

    VISTERM_DATA=DATA python benchmarks/duplicates.py [FOLDER] [--sheet FILE] [--every N]
    VISTERM_DATA=DATA python benchmarks/duplicates.py --series

FOLDER is a scratch folder for the features (default: a temporary one). The originals are the pictures of Corel5K and
flickr1500; every N-th gets all eight copies. All are compared, which takes the time that is printed. Thresholds were
chosen on the originals in even places; the figures are those of the others. ``--sheet`` draws the pairs of different
originals that are called the same picture: what they show decides whether they are errors.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFont, ImageOps
from PIL.Image import Resampling, Transpose

from visterm.copies import comparing, finding
from visterm.documents.figure import interval
from visterm.features import FeatureStore
from visterm.vision import decode_rgb, recipe

SHOTS = 3


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sheet", type=Path)
    parser.add_argument("--series", action="store_true")
    asked = parser.parse_args()
    data = Path(os.environ["VISTERM_DATA"])
    originals = sorted((data / "corel5k" / "images").glob("*/*.jpeg"), key=lambda file: int(file.stem))
    originals += sorted((data / "flickr1500" / "pictures").rglob("*.jpg"))
    if asked.series:
        series(originals[1::8])
        return
    with TemporaryDirectory() as temporary:
        pictures = Collection(asked.folder or Path(temporary))
        pictures.add_copies(originals, asked.every)
        same_picture(pictures, asked.sheet)


class Collection:
    """The features of many pictures in a store, and which original each comes from."""

    def __init__(self, folder: Path) -> None:
        self.recipe = recipe("small-grey")
        outputs = self.recipe.outputs
        self.stores = {name: FeatureStore(folder / name, outputs[name]) for name in ("small-grey", "wave-hash")}
        #: What an earlier run has left in the folder.
        self.known = set.intersection(*(set(store.keys()) for store in self.stores.values()))
        self.keys: list[str] = []
        self.original: list[int] = []
        self.kind: list[str] = []
        self.files: list[Path] = []
        self._waiting: list[tuple[str, dict[str, np.ndarray]]] = []

    def add_copies(self, originals: list[Path], every: int) -> None:
        """Add the originals, and of every N-th one eight copies."""
        for number, file in enumerate(originals):
            self.files.append(file)
            self._add(number, "original", file.read_bytes)
            if number // 2 % every == 0:
                for kind in KINDS:
                    self._add(number, kind, partial(copy_of, file, kind))
        self._write()

    def _add(self, number: int, kind: str, make: Callable[[], bytes]) -> None:
        key = hashlib.sha256(f"{number} {kind}".encode()).hexdigest()
        if key not in self.known:
            self._waiting.append((key, self.recipe.compute(decode_rgb(make()))))
        if len(self._waiting) == 500:
            self._write()
        self.keys.append(key)
        self.original.append(number)
        self.kind.append(kind)

    def _write(self) -> None:
        for name, store in self.stores.items() if self._waiting else ():
            store.append([key for key, _ in self._waiting], np.array([row[name] for _, row in self._waiting]))
        self._waiting = []


def encoded(picture: Image.Image, form: str = "JPEG", **options: object) -> bytes:
    """A picture as a file."""
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def copy_of(file: Path, kind: str) -> bytes:
    """A copy of a picture as a file."""
    with Image.open(file) as opened:
        return KINDS[kind](opened.convert("RGB"), random.Random(f"{file.name} {kind}"))


def resized(picture, chance):
    """To 40 to 200 % of each side."""
    share = chance.choice([0.4, 0.6, 0.8, 1.5, 2.0])
    width, height = (max(1, int(share * side)) for side in picture.size)
    return encoded(picture.resize((width, height), Resampling.LANCZOS), quality=90)


def recompressed(picture, chance):
    """As a JPEG of quality 20 to 70."""
    return encoded(picture, quality=chance.choice([20, 35, 50, 70]))


def cropped(picture, chance):
    """Up to a tenth of each side is cut off, anywhere."""
    width, height = picture.size
    across, down = chance.uniform(0.02, 0.1), chance.uniform(0.02, 0.1)
    left, top = chance.uniform(0, across) * width, chance.uniform(0, down) * height
    box = (int(left), int(top), int(left + (1 - across) * width), int(top + (1 - down) * height))
    return encoded(picture.crop(box), quality=90)


def mirrored(picture, _):
    """Left becomes right."""
    return encoded(ImageOps.mirror(picture), quality=90)


def watermarked(picture, chance):
    """White letters of a tenth of the width, half transparent, anywhere."""
    width, height = picture.size
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    font = ImageFont.load_default(size=max(10, int(width * chance.uniform(0.08, 0.14))))
    place = (width * chance.uniform(0.02, 0.3), height * chance.uniform(0.1, 0.75))
    ImageDraw.Draw(layer).text(place, "(c) Example", fill=(255, 255, 255, chance.randint(110, 200)), font=font)
    return encoded(Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB"), quality=90)


def converted(picture, chance):
    """As a file of another format."""
    form = chance.choice(["PNG", "WEBP", "GIF", "BMP", "TIFF"])
    return encoded(picture, form, **({"quality": 75} if form == "WEBP" else {}))


def toned(picture, chance):
    """Brighter or darker, with more or less contrast."""
    brighter = ImageEnhance.Brightness(picture).enhance(chance.uniform(0.7, 1.35))
    return encoded(ImageEnhance.Contrast(brighter).enhance(chance.uniform(0.75, 1.3)), quality=90)


def turned(picture, chance):
    """A quarter or half turn, of the pixels, or of what EXIF says of them."""
    orientation = chance.choice([3, 6, 8])
    stored = {3: Transpose.ROTATE_180, 6: Transpose.ROTATE_90, 8: Transpose.ROTATE_270}[orientation]
    if chance.random() < 0.5:
        return encoded(picture.transpose(stored), quality=90)
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(picture.transpose(stored), quality=90, exif=exif)


KINDS = {
    make.__name__: make for make in (resized, recompressed, cropped, mirrored, watermarked, converted, toned, turned)
}


def share(n: int, of: int) -> str:
    """A share with its interval."""
    low, high = interval(n, of)
    return f"{n / max(of, 1):.4f} ({low:.4f} to {high:.4f}, {n} of {of})"


def same_picture(pictures: Collection, sheet: Path | None) -> None:
    """Level two: pairs of a copy and its original that are found, pairs that are wrong, and the time."""
    hashes = pictures.stores["wave-hash"].rows(pictures.keys)

    def small(rows):
        return pictures.stores["small-grey"].rows([pictures.keys[row] for row in rows.tolist()])

    comparing.copies(hashes[:50], 0, small)  # compiles
    for n_known in (len(hashes) - 1000, 0):
        began, worked = time.perf_counter(), time.process_time()
        pairs = comparing.copies(hashes, n_known, small)
        seconds, work = time.perf_counter() - began, time.process_time() - worked
        new = f"{len(hashes) - n_known:,} new of {len(hashes):,} pictures"
        print(f"{new}: {seconds:.1f} s, {work:.1f} s of processor time", flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MB")

    original, kind = np.array(pictures.original), np.array(pictures.kind)
    pairs = pairs.select((original[pairs.first] % 2 == 1) | (original[pairs.second] % 2 == 1))
    right = original[pairs.first] == original[pairs.second]
    print("precision of pairs     ", share(int(right.sum()), len(right)))
    wrong = {frozenset((int(original[pairs.first[p]]), int(original[pairs.second[p]]))) for p in np.flatnonzero(~right)}
    whole = (kind[pairs.first] == "original") & (kind[pairs.second] == "original")
    print(f"different originals joined by any pair: {len(wrong)}; by a pair of themselves: {int(whole.sum())}")
    found = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    row_of = {number: row for row, number in enumerate(original.tolist()) if kind[row] == "original"}
    n_found = n_copies = 0
    for name in KINDS:
        rows = np.flatnonzero((kind == name) & (original % 2 == 1)).tolist()
        n = sum((row_of[int(original[row])], row) in found for row in rows)
        n_found, n_copies = n_found + n, n_copies + len(rows)
        print(f"recall of {name:13}", share(n, len(rows)))
    print("recall of all kinds    ", share(n_found, n_copies))
    if sheet is not None:
        contact_sheet([[pictures.files[number] for number in pair] for pair in sorted(map(sorted, wrong))], sheet)


def contact_sheet(pairs: list[list[Path]], file: Path) -> None:
    """Pairs of pictures side by side."""
    columns = 5
    page = Image.new("RGB", (columns * 280, -(-len(pairs) // columns) * 120), "white")
    for place, pair in enumerate(pairs):
        left, top = place % columns * 280, place // columns * 120
        for half, each in enumerate(pair):
            with Image.open(each) as picture:
                small = picture.convert("RGB")
            small.thumbnail((134, 100))
            page.paste(small, (left + 137 * half, top + 14))
        ImageDraw.Draw(page).text((left, top), " ".join(each.stem for each in pair), fill="black")
    page.save(file)


def series(originals: list[Path]) -> None:
    """Level three: three made-up shots of each original, among shots of others taken within the same seconds.

    A shot shows 72 to 90 % of each side of the picture, tilted by up to 3 degrees, up to a fifth brighter or darker.
    """
    deep, small = recipe("deep"), recipe("small-grey")
    (output,) = deep.outputs
    rows: dict[str, list[np.ndarray]] = {"network features": [], "hashes": []}
    for file in originals:
        with Image.open(file) as opened:
            picture = opened.convert("RGB")
        shots = [decode_rgb(shot_of(picture, random.Random(f"{file.name} {number}"))) for number in range(SHOTS)]
        rows["network features"] += [row[output] for row in deep.compute_many(shots)]
        rows["hashes"] += [small.compute(shot)["wave-hash"][: small.outputs["wave-hash"].n_dims // 6] for shot in shots]
    limits = {"network features": finding.ALIKE, "hashes": finding.ALIKE_BY_HASH}
    scene = np.repeat(np.arange(len(originals)), SHOTS)
    following = np.random.default_rng(0).permutation(len(originals))
    for name, features in rows.items():
        unit = np.array(features, np.float32)
        unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-9)
        same = [(one, one + 1) for one in range(len(unit) - 1) if scene[one] == scene[one + 1]]
        # the last shot of a scene, and the first of another one, taken right after it
        other = [(SHOTS * one + SHOTS - 1, SHOTS * next_) for one, next_ in enumerate(following) if one != next_]
        found, wrong = (
            sum(float(unit[one] @ unit[next_]) > limits[name] for one, next_ in pairs) for pairs in (same, other)
        )
        print(f"series by {name}: recall {share(found, len(same))}")
        print(f"series by {name}: precision {share(found, found + wrong)}, {wrong} of {len(other)} wrong")


def shot_of(picture: Image.Image, chance: random.Random) -> bytes:
    """One made-up shot of a series."""
    width, height = picture.size
    shown = chance.uniform(0.72, 0.9)
    left, top = chance.uniform(0, 1 - shown) * width, chance.uniform(0, 1 - shown) * height
    tilted = picture.rotate(chance.uniform(-3, 3), Resampling.BICUBIC)
    box = (int(left), int(top), int(left + shown * width), int(top + shown * height))
    return encoded(ImageEnhance.Brightness(tilted.crop(box)).enhance(chance.uniform(0.85, 1.2)), quality=88)


if __name__ == "__main__":
    main()
