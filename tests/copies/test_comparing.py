"""Hashes and pixels: what is a copy, what is not, and that new pictures cost only their own comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from visterm.copies import _kernels, comparing
from visterm.copies.comparing import copies
from visterm.vision.recipes import recipe

SIDE = 96


def scene(seed: int) -> Image.Image:
    """A picture of random blobs of several sizes."""
    rng = np.random.default_rng(seed)
    picture = sum(
        np.asarray(Image.fromarray(rng.random((n, n), np.float32)).resize((SIDE, SIDE), Image.Resampling.BICUBIC))
        for n in (3, 6, 12, 24)
    )
    low, high = np.min(picture), np.max(picture)
    return Image.fromarray((255 * (picture - low) / (high - low)).astype(np.uint8)).convert("RGB")


def described(pictures):
    small = recipe("small-grey")
    rows = [small.compute(np.asarray(picture)) for picture in pictures]
    return (np.array([row[name] for row in rows], np.float16) for name in ("wave-hash", "small-grey"))


def pairs_of(pictures, n_known=0):
    hashes, small = described(pictures)
    found = copies(hashes, n_known, lambda rows: small[rows])
    return set(zip(found.first.tolist(), found.second.tolist(), strict=True))


MADE = {
    "smaller": lambda one: one.resize((40, 60)),
    "cropped": lambda one: one.crop((6, 2, SIDE - 2, SIDE - 7)),
    "mirrored": lambda one: one.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "turned": lambda one: one.transpose(Image.Transpose.ROTATE_90),
    "transverse": lambda one: one.transpose(Image.Transpose.TRANSVERSE),
    "darker": lambda one: one.point(lambda value: 0.6 * value + 20),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_copy_is_found_and_another_picture_is_not(kind):
    assert pairs_of([scene(0), scene(1), MADE[kind](scene(0)), scene(2)]) == {(0, 2)}


def test_blank_pictures_are_no_copies_of_each_other():
    blank = Image.new("RGB", (60, 40), "white")
    assert pairs_of([blank, scene(0), blank]) == set()


def test_new_pictures_are_compared_with_all_and_known_ones_not_again():
    pictures = [scene(0), MADE["cropped"](scene(0)), scene(1), MADE["cropped"](scene(1)), scene(2)]
    pictures += [MADE["smaller"](scene(2))]
    everything = pairs_of(pictures)
    assert everything == {(0, 1), (2, 3), (4, 5)}
    for n_known in range(len(pictures) + 1):
        assert pairs_of(pictures, n_known) == {pair for pair in everything if pair[1] >= n_known}


def test_the_cost_grows_with_the_new_pictures():
    def compared(n, n_known):
        blocks = comparing._blocks(n, n_known)
        return sum((rows.stop - rows.start) * (n - begin) for rows, begin, _ in blocks)

    assert compared(50_000, 49_900) < 0.005 * compared(50_000, 0)
    assert compared(50_000, 50_000) == 0


def test_of_each_picture_only_the_likest_candidates_are_verified(monkeypatch):
    monkeypatch.setattr(comparing, "MOST", 2)
    hashes, _ = described([scene(0)] * 9)
    found = comparing._likest(hashes, slice(0, 9), 0, True)
    assert max(np.bincount(found.first)) == 2


def plain_turned(hashes, turn):
    """Position ``turn`` of square pictures, seen in their cosine waves."""
    signs = np.where(np.arange(hashes.shape[1]) % 2, -1, 1)
    hashes = hashes * (signs[:, None] if turn & 2 else 1) * (signs if turn & 1 else 1)
    return hashes.transpose(0, 2, 1) if turn & 4 else hashes


def test_turns_of_hashes_are_those_of_pictures():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 20, 6, 6)).astype(np.float32)
    turns, likeness = np.empty(20, np.int8), np.empty(20, np.float32)
    _kernels.likest_turns(one, other, turns, likeness)
    plain = np.array([(one * plain_turned(other, turn)).sum((1, 2)) for turn in range(8)])
    assert turns.tolist() == plain.argmax(axis=0).tolist()
    np.testing.assert_allclose(likeness, plain.max(axis=0), rtol=1e-4)

    picture = np.asarray(scene(3).convert("L").resize((48, 48)), np.float32)
    for turn in range(8):
        turned = np.empty_like(picture)
        _kernels._turn(picture, turn, turned)
        from visterm.vision.recipes.small_grey import wave_hash

        seen, expected = (wave_hash(each)[:36].reshape(1, 6, 6) for each in (turned, picture))
        np.testing.assert_allclose(seen, plain_turned(expected, turn), atol=1e-4)


def test_agreement_of_a_window_is_its_correlation():
    one, other = np.random.default_rng(0).normal(100, 30, (2, 48, 48)).astype(np.float32)
    n, variance, other_variance, both = _kernels._window(one, other, np.array([1.0, 0, 1, 0, 1, 0]), 8, 16, 8)
    a, b = (each[8:16, 16:24].astype(float) for each in (one, other))
    expected = [64, a.var(), b.var(), (a * b).mean() - a.mean() * b.mean()]
    np.testing.assert_allclose([n, variance, other_variance, both], expected, rtol=1e-3)
