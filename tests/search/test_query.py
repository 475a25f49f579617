"""What a person typed: known tags as phrases, unknown words with the nearest known ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.search.query import MAX_CHARACTERS, MAX_CORRECTED_WORDS, Query, parse

TAGS = ["beach", "tall building", "building", "café", "🌞", "sea", "new york city", "new york"]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("beach", ["beach"]),
        ("  BEACH,sea!! ", ["beach", "sea"]),
        ("sea beach sea", ["sea", "beach"]),
        ("tall building", ["tall building"]),
        ("tall-building", ["tall building"]),
        ("building", ["building"]),
        ("new york city new york", ["new york city", "new york"]),
        ("CAFÉ", ["café"]),
        ("cafe\u0301", ["café"]),
        ("🌞 sea", ["🌞", "sea"]),
        ("", []),
        (" ?!... ", []),
    ],
)
def test_known_tags_are_found(text, tags):
    assert parse(text, TAGS) == Query(text, tuple(TAGS.index(tag) for tag in tags), {})


def test_unknown_words_come_with_the_nearest_known_ones():
    query = parse("bech see tall qqqq bech", TAGS)
    assert query.tags == ()
    assert query.unknown["bech"] == ("beach",)
    assert query.unknown["see"] == ("sea",)
    assert query.unknown["qqqq"] == ()
    assert list(query.unknown) == ["bech", "see", "tall", "qqqq"]


def test_suggestions_are_spelt_as_the_tags_are():
    assert parse("parris", ["Paris"]).unknown == {"parris": ("Paris",)}


def test_of_tags_that_read_the_same_the_first_is_meant():
    assert parse("tall building", ["Tall-Building", "tall building"]).tags == (0,)


@pytest.mark.parametrize("tag", ["हिन्दी", "שָׁלוֹם", "naïve art", "Straße", "C3PO_x", "日本", "ﬁn"])
def test_words_of_every_script_find_themselves(tag):
    assert parse(tag, ["x", tag]).tags == (1,)
    assert parse(tag.upper(), ["x", tag]).tags == (1,)


def test_no_tags_at_all():
    assert parse("beach", []) == Query("beach", (), {"beach": ()})


def test_long_queries_are_refused():
    assert parse("a" * MAX_CHARACTERS, TAGS).tags == ()
    with pytest.raises(InputError, match=r"1001 characters; at most 1000"):
        parse("a" * (MAX_CHARACTERS + 1), TAGS)


def test_many_unknown_words_are_not_all_looked_up():
    words = [f"bea{i}ch" for i in range(100)]
    started = time.process_time()
    query = parse(" ".join(words), ["beach", *(f"tag{i:05d}" for i in range(3000))])
    assert time.process_time() - started < 3
    assert list(query.unknown) == words
    assert sum(bool(near) for near in query.unknown.values()) == MAX_CORRECTED_WORDS


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_text_is_understood_as_something(text, tags):
    query = parse(text, tags)
    assert all(0 <= tag < len(tags) for tag in query.tags)
    assert len(set(query.tags)) == len(query.tags)
    assert all(near in tags for nearest in query.unknown.values() for near in nearest)
