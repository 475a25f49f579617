"""What fits into memory is learned; too little is refused in words."""

import numpy as np
import pytest

from visterm.compute import memory
from visterm.learn.engine import affordable
from visterm.vision.recipes import recipe


def test_pictures_are_drawn_if_not_all_fit_and_refused_if_hardly_any_does(monkeypatch):
    deep, rows = recipe("deep"), np.arange(10, 5010)
    of_row = 4 * 4 * 1280
    monkeypatch.setattr(memory, "left", lambda: 5000 * of_row)
    assert affordable.affordable_rows(rows, deep) is rows
    monkeypatch.setattr(memory, "left", lambda: 300 * of_row)
    some = affordable.affordable_rows(rows, deep)
    assert len(some) == len(set(some.tolist())) == 300
    assert set(some.tolist()) <= set(rows.tolist())
    np.testing.assert_array_equal(some, affordable.affordable_rows(rows, deep))
    monkeypatch.setattr(memory, "left", lambda: 199 * of_row)
    with pytest.raises(memory.TooLittleMemoryError, match="5000 pictures with deep features would need about 102 MB"):
        affordable.affordable_rows(rows, deep)


def test_held_out_pictures_are_as_many_as_their_scores_allow(monkeypatch):
    monkeypatch.setattr(memory, "left", lambda: 2 * 48 * 1000 * 700)
    assert affordable.most_measured(1000) == 700
    assert affordable.most_measured(100_000) == 500
    assert affordable.most_measured(10) == 10_000
