"""Baselines look at no picture."""

from __future__ import annotations

import numpy as np

from visterm.neighbours import MajorityClass, TagFrequency


def test_baselines_take_several_features_as_they_look_at_none():
    several = {"colour": np.zeros((3, 2)), "texture": np.zeros((3, 5))}
    assert MajorityClass().fit(several, [1, 1, 0]).predict(several).tolist() == [1, 1, 1]
    assert TagFrequency().fit(several, np.eye(3, 2)).score_tags(several).shape == (3, 2)
