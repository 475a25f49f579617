"""What is said of unknown words, and parts that ask for the same."""

from __future__ import annotations

import pytest

from visterm.find.rank.beliefs import Every, Leaf, Some, Without
from visterm.find.words.reading import Note, Part, Reading, distinct
from visterm.language import Near


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (Note("yacht"), "no picture has the word 'yacht'"),
        (Note("yacht", ignored=True), "no picture has the word 'yacht', so it was ignored"),
        (Note("baot", "boat"), "no picture has the word 'baot': searched for 'boat' instead"),
        (
            Note("baot", "boat", ("boot", "bat")),
            "no picture has the word 'baot': searched for 'boat' instead; or did you mean boot, bat?",
        ),
        (
            Note("yacht", near=(Near("boat", 0.714, 1.0),), field="tag"),
            "no picture has the tag 'yacht': searched for 'boat' (0.71) instead, which is close in meaning",
        ),
        (
            Note("yacht", near=(Near("boat", 0.7, 1.0), Near("ship", 0.6, 1.0))),
            "no picture has the word 'yacht': searched for 'boat' (0.70) or 'ship' (0.60) instead, "
            "which are close in meaning",
        ),
        (
            Note("cost", others=("coast", "street"), field="class", alike=("coast",)),
            "no picture has the class 'cost'; the known ones are coast, street; did you mean coast?",
        ),
    ],
)
def test_what_is_said_of_an_unknown_word(note, said):
    assert str(note) == said


def test_words_that_were_replaced_or_ignored_are_counted():
    notes = [Note("a", meant="b"), Note("c", ignored=True), Note("d")]
    assert Reading(notes=notes).n_looked_up == 2


def test_of_parts_that_ask_for_the_same_the_first_has_the_largest_weight():
    a, b = Leaf("a", 1), Leaf("b", 1)
    asked = [a, Without(a), Every((a, b), (1.0, 1.0)), Some((a, b), (1.0, 1.0)), Every((a, b), (1.0, 2.0))]
    again = [a, Without(a), Every((a, b), (1.0, 1.0)), Some((a, b), (1.0, 1.0))]
    parts = [Part(one, 2.0, f"first {i}") for i, one in enumerate(asked)]
    parts += [Part(one, weight, "again") for one, weight in zip(again, (1.0, 3.0, 1.0, 3.0), strict=True)]
    found = distinct(parts)
    assert [part.asked for part in found] == asked
    assert [part.weight for part in found] == [2.0, 3.0, 2.0, 3.0, 2.0]
    assert [part.word for part in found] == [f"first {i}" for i in range(5)]
