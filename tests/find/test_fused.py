"""What is known of the words of a text, and how the pictures look, are put together."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from visterm.find.rank.beliefs import Every, Fused, Leaf, Without, believe, heard, judged, leaves, uncertain_rows


def rows(*numbers):
    return np.array(numbers, np.intp)


def looks(*probabilities):
    with np.errstate(divide="ignore"):
        return Leaf("look", len(probabilities), likeness=np.log(np.array(probabilities, np.float32)))


def known(told, denied, *probabilities):
    """A word that people said of some pictures, and a model has an opinion of all."""
    leaf = looks(*probabilities)
    return Leaf("boat", leaf.n_rows, {"tag": rows(*told)}, rows(*denied), likeness=leaf.likeness)


def belief(fused, dependence=0.5):
    return believe(fused, heard(fused), dependence)


def half(odds):
    return 0.5 * np.clip(odds, -2, 2)


def test_the_log_odds_of_both_add_up():
    fused = Fused(looks(0.2, 0.6, 0.6), known([], [], 0.5, 0.7, 0.999), (), half, complete=False)
    wanted = [0.2, expit(logit(0.6) + 0.5 * logit(0.7)), expit(logit(0.6) + 1.0)]
    np.testing.assert_allclose(np.exp(belief(fused).log_p), wanted, atol=1e-5)


def test_what_people_said_is_certain_where_they_said_all_words():
    boat = known([0], [1], 0.3, 0.3, 0.3)
    for complete in (True, False):
        fused = Fused(looks(0.9, 0.9, 0.9), boat, (), half, complete=complete)
        found = belief(fused)
        assert found.told.tolist() == [complete, False, False]
        assert (found.log_p[0] == 0) == complete
        assert found.log_p[1] == -np.inf, "people denied it, however it looks"
        assert -np.inf < found.log_p[2] < 0


def test_words_without_a_model_tell_only_where_people_said_them():
    yacht = Leaf("yacht", 2, {"caption": rows(0)})
    fused = Fused(looks(0.4, 0.4), None, (yacht,), half, complete=True)
    found = belief(fused)
    assert found.told.tolist() == [True, False]
    np.testing.assert_allclose(np.exp(found.log_p), [1, 0.4], atol=1e-6)
    both = Fused(looks(0.4, 0.4), known([0, 1], [], 0.5, 0.5), (yacht,), half, complete=True)
    assert belief(both).told.tolist() == [True, False]


def test_where_nobody_looked_the_words_answer_alone():
    fused = Fused(looks(0.0, 0.5), known([], [], 0.7, 0.5), (), half, complete=True)
    np.testing.assert_allclose(np.exp(belief(fused).log_p), [0.7, 0.5], atol=1e-6)
    alone = Fused(looks(0.0, 0.5), None, (), half, complete=False)
    assert np.exp(belief(alone).log_p[0]) == 0


def test_a_text_is_a_part_like_others():
    boat, sea = known([0], [], 0.3, 0.3), Leaf("sea", 2, {"tag": rows(0)}, closed=True)
    fused = Fused(looks(0.5, 0.5), boat, (), half, complete=True)
    assert leaves(fused) == [boat, fused.look]
    whole = Every((fused, Without(sea)), (1.0, 1.0))
    found = believe(whole, heard(whole), 0.5)
    assert found.log_p[0] == -np.inf
    assert found.log_p[1] > -np.inf
    assert judged(fused, heard(fused)) is None, "the look of every picture is judged"
    assert uncertain_rows(fused).tolist() == []
    assert uncertain_rows(whole) is None
