"""Measuring questions among those that teach."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from visterm.review.asking import mixed


def asked(*, measured=0, answers=0, sample=0, limit=20, teaching=range(100), to_measure=range(100, 200)):
    return list(mixed(teaching, to_measure, measured=measured, answers=answers, sample=sample, limit=limit))


def test_one_question_in_five_measures_and_later_one_in_ten():
    assert [place for place, (_, measures) in enumerate(asked()) if measures] == [4, 9, 14, 19]
    settled = asked(measured=12, answers=120, sample=60)
    assert [place for place, (_, measures) in enumerate(settled) if measures] == [9, 19]


def test_questions_come_in_the_order_of_their_queue():
    found = asked()
    assert [row for row, measures in found if measures] == [100, 101, 102, 103]
    assert [row for row, measures in found if not measures] == list(range(16))


@given(st.integers(0, 60), st.integers(0, 12))
def test_small_batches_ask_as_one_large_one_does(answers, limit):
    whole = [measures for _, measures in asked(limit=answers + limit)]
    before = whole[:answers]
    later = asked(measured=sum(before), answers=answers, limit=limit)
    assert [measures for _, measures in later] == whole[answers:]


def test_a_picture_is_asked_about_once_and_the_rest_is_asked_if_one_queue_ends():
    found = asked(teaching=[1, 2, 3], to_measure=[3, 2, 9], limit=10)
    assert sorted(row for row, _ in found) == [1, 2, 3, 9]
    assert asked(teaching=[], to_measure=[]) == []
