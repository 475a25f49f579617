"""The curve of a review: one point for each portion, all on the same pictures, no drop by chance."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from visterm.review.curve import Curve, Portion, _without_chance, is_drop


def collection(classes, aliases=()):
    """What a curve reads of a collection."""
    names = dict(aliases)
    return SimpleNamespace(
        truth=SimpleNamespace(classes=classes, ids=np.arange(100, 100 + len(classes))),
        frame=SimpleNamespace(current_names=lambda kind, given: [names.get(name, name) for name in given]),
    )


def said(labels, numbers, names=("sea", "wood")):
    found = {str(100 + row): [number] for row, number in enumerate(numbers) if number is not None}
    return Portion("class", labels, float(labels), list(names), found)


def test_earlier_portions_are_measured_on_what_is_answered_now(tmp_path):
    curve = Curve(tmp_path / "review.json")
    curve.add(said(10, [0, 0, 1, 1]))
    curve.add(said(20, [0, 0, 0, 1]))
    seas = collection(["sea", "sea", "sea", None])
    assert [(p.labels, p.quality) for p in curve.points(seas, "class", np.array([0, 1]))] == [(10, 1.0), (20, 1.0)]
    later = [(p.labels, p.quality) for p in curve.points(seas, "class", np.array([0, 1, 2]))]
    assert later == [(10, pytest.approx(2 / 3, abs=1e-4)), (20, 1.0)]
    assert Curve(tmp_path / "review.json").portions == curve.portions
    assert curve.points(seas, "tag", np.array([0, 1])) == []


def test_only_pictures_that_were_watched_all_along_count(tmp_path):
    curve = Curve(tmp_path / "review.json")
    curve.add(said(10, [0, 1, None]))
    curve.add(said(20, [0, 0, 0]))
    points = curve.points(collection(["sea", "sea", "wood"]), "class", np.arange(3))
    assert [p.quality for p in points] == [0.5, 1.0]


def test_renamed_classes_stay_right(tmp_path):
    curve = Curve(tmp_path / "review.json")
    curve.add(said(10, [0, 1]))
    now = collection(["ocean", "wood"], aliases=[("sea", "ocean")])
    assert curve.points(now, "class", np.arange(2))[0].quality == 1.0


def test_a_portion_has_ten_labels_and_the_newest_is_always_there(tmp_path):
    curve = Curve(tmp_path / "review.json")
    for labels in range(8, 64):
        curve.add(said(labels, [0]))
        assert curve.portions[-1].labels == labels
    kept = [each.labels for each in curve.portions]
    assert kept[0] == 8
    assert (np.diff(kept)[:-1] == 10).all()


@pytest.mark.parametrize("text", ["[[3, 0.5, 1.0]]", "{", "[]", '[{"kind": "class"}]'])
def test_a_file_of_an_earlier_version_is_no_obstacle(tmp_path, text):
    (tmp_path / "review.json").write_text(text, encoding="utf-8")
    assert Curve(tmp_path / "review.json").portions == []


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_a_drop_is_what_the_sign_test_finds(pairs):
    before, after = np.array(pairs, float).T
    worse, better = int((after < before).sum()), int((after > before).sum())
    found = worse > better and binomtest(better, worse + better, 0.5, alternative="less").pvalue < 0.1
    assert is_drop(before, after) == found


@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=8))
def test_the_curve_falls_only_by_more_than_chance(portions):
    each = [np.array(one, float) for one in portions]
    values = _without_chance(each)
    assert values[0] == each[0].mean()
    shown = each[0]
    for value, right in zip(values[1:], each[1:], strict=True):
        if right.mean() >= shown.mean() or is_drop(shown, right):
            shown = right
        assert value == shown.mean()
