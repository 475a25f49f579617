"""How good a model is, in words: no figure sounds surer than what was counted allows."""

from __future__ import annotations

import math
import re

import pytest

from visterm.documents.wording import how_good


def points(said):
    """The points that a sentence gives or takes; None if it says nothing of them."""
    found = re.search(r"give or take (\d+) points", said)
    return None if found is None else int(found[1])


def tags(right, held_out, suggestions):
    measures = {"suggestions right": right, "tags found": 0.02}
    return how_good("tags", measures, 0.4, 0.2, held_out, suggestions)


def test_two_suggestions_say_nothing_however_many_pictures_were_held_out():
    for held_out in (27, 1000):
        assert tags(1.0, held_out, 2) == (
            f"100% of 2 suggestions right on {held_out} held-out pictures, too few to say how good it is; "
            "they cover 2% of the tags"
        )


def test_a_few_right_suggestions_are_not_sure():
    # Seven of nine are right when two right and two wrong ones are added to five right ones.
    assert points(tags(1.0, 100, 5)) == round(100 * math.sqrt(7 / 9 * 2 / 9 / 9)) == 14


def test_more_suggestions_than_pictures_do_not_make_a_figure_surer():
    assert points(tags(0.8, 20, 15)) > points(tags(0.8, 20, 20)) == points(tags(0.8, 20, 500))
    assert tags(0.8, 20, 500) == tags(0.8, 20, None)
    assert tags(0.8, 20, 500).startswith("80% of suggestions right on 20 held-out pictures, give or take")


@pytest.mark.parametrize(("held_out", "said"), [(4, False), (5, True), (49, True), (50, False)])
def test_a_figure_of_many_pictures_needs_no_word_and_one_of_a_handful_has_none(held_out, said):
    sentence = how_good("classes", {}, 0.85, 0.1, held_out)
    assert (points(sentence) is not None) == said
    assert ("too few to say" in sentence) == (held_out == 4)


def test_the_uncertainty_is_that_of_the_share_that_is_said():
    said = how_good("search", {"P@1": 0.5}, 0.99, 0.1, 20)
    assert "for 50% of queries" in said
    assert points(said) == round(100 * math.sqrt(0.25 / 24)) == 10
