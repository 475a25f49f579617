"""Which classes and tags are confused: their order, their nearest, and the drawing."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.margin import similarity_plot
from visterm.margin.similarity_plot import nearest_tasks, save_similarity, similarity_order


def on_a_line(places):
    """The similarity of tasks at places on a line, from 1 down to -1."""
    places = np.asarray(places, dtype=float)
    return 1.0 - 2 * np.abs(places[:, None] - places) / np.ptp(places)


@pytest.mark.parametrize("places", [[3, 0, 1], [0, 9, 1, 8, 2], [0.9, 0.1, 0.5, 0.0, 0.45, 1.0]])
def test_tasks_on_a_line_keep_their_order(places):
    order = similarity_order(on_a_line(places)).tolist()
    assert order in (np.argsort(places).tolist(), np.argsort(places)[::-1].tolist())


def test_fewer_than_three_tasks_stay_as_they_are():
    assert similarity_order(np.eye(2)).tolist() == [0, 1]
    assert similarity_order(np.eye(1)).tolist() == [0]


def test_rounding_does_no_harm():
    similarity = on_a_line([3, 0, 1])
    similarity[0, 1] += 1e-12
    np.fill_diagonal(similarity, 1 + 1e-15)
    assert similarity_order(np.maximum(similarity, similarity.T + 1e-13)).tolist() in ([0, 2, 1], [1, 2, 0])


def test_a_task_is_not_its_own_neighbour():
    similarity = np.array([[1.0, 0.12345678, -0.5], [0.12345678, 1.0, 0.3], [-0.5, 0.3, 1.0]])
    assert nearest_tasks(similarity, ["a", "b", "c"], k=9) == {
        "a": [("b", 0.123457), ("c", -0.5)],
        "b": [("c", 0.3), ("a", 0.123457)],
        "c": [("b", 0.3), ("a", -0.5)],
    }
    with pytest.raises(InputError, match=r"2 names were given for a similarity of shape \(3, 3\): one per task"):
        nearest_tasks(similarity, ["a", "b"])


@pytest.mark.parametrize(("n_shown", "names"), [(3, ["c", "b", "a"]), (2, [])])
def test_the_drawing_shows_similar_tasks_side_by_side(n_shown, names, tmp_path, monkeypatch):
    figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is the extra 'plots' and is not installed")
    kept = []
    monkeypatch.setattr(figures.Figure, "savefig", lambda figure, *_, **__: kept.append(figure))
    monkeypatch.setattr(similarity_plot, "_NAMES_SHOWN", n_shown)
    monkeypatch.setattr(similarity_plot, "similarity_order", lambda _: np.array([2, 1, 0]))
    similarity = on_a_line([0, 1, 3])
    save_similarity(similarity, ["a", "b", "c"], tmp_path / "similarity.png")
    axes = kept[0].axes[0]
    (image,) = axes.get_images()
    np.testing.assert_array_equal(image.get_array(), similarity[::-1, ::-1])
    assert image.get_clim() == (-1, 1)
    assert axes.get_title() == "Classes and tags that are confused with each other"
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [label.get_text() for label in labels if label.get_text() in ("a", "b", "c")] == names
