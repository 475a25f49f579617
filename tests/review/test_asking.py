"""Measuring questions among those that teach."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from visterm.review.asking import mixed


def asked(*, measured=0, answers=0, limit=20, teaching=range(1000), to_measure=range(1000, 2000)):
    return list(mixed(teaching, to_measure, measured=measured, answers=answers, limit=limit))


def test_few_of_the_first_questions_measure_and_later_one_in_ten():
    places = [place + 1 for place, (_, measures) in enumerate(asked(limit=300)) if measures]
    assert places[0] == 39
    assert [sum(place <= n for place in places) for n in (50, 100, 150, 300)] == [1, 6, 15, 30]
    settled = asked(measured=20, answers=200)
    assert [place for place, (_, measures) in enumerate(settled) if measures] == [9, 19]


def test_questions_come_in_the_order_of_their_queue():
    found = asked(limit=70)
    assert [row for row, measures in found if measures] == [1000, 1001, 1002]
    assert [row for row, measures in found if not measures] == list(range(67))


@given(st.integers(0, 200), st.integers(0, 12))
def test_small_batches_ask_as_one_large_one_does(answers, limit):
    whole = [measures for _, measures in asked(limit=answers + limit)]
    before = whole[:answers]
    later = asked(measured=sum(before), answers=answers, limit=limit)
    assert [measures for _, measures in later] == whole[answers:]


def test_a_picture_is_asked_about_once_and_the_rest_is_asked_if_one_queue_ends():
    found = asked(teaching=[1, 2, 3], to_measure=[3, 2, 9], limit=10)
    assert sorted(row for row, _ in found) == [1, 2, 3, 9]
    assert asked(teaching=[], to_measure=[]) == []
