"""Words brought to one form, and the nearest known ones."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.language import Speller, file_key, folded, rows_by_word, word_key

WORDS = st.text(alphabet="abcé", max_size=7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  BEACH,sea!! ", "beach sea"),
        ("tall-building", "tall building"),
        ("CAFÉ", "café"),
        ("cafe\u0301", "café"),
        ("🌞 Sea", "🌞 sea"),
        ("C3PO_x", "c3po_x"),
        ("Straße", "strasse"),
        ("ﬁn", "fin"),
        ("हिन्दी", "हिन्दी"),
        ("日本", "日本"),
        (" ?!... ", ""),
        ("a\x00b", "a b"),
    ],
)
def test_keys(text, expected):
    assert word_key(text) == expected


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_a_key_is_its_own_key(text):
    assert word_key(word_key(text)) == word_key(text)
    assert "  " not in word_key(text)


def test_names_of_files():
    assert file_key("Norway 2019/IMG_0042-Red.boat.JPG") == "norway 2019 img 0042 red boat"
    assert file_key("noending") == "noending"
    assert file_key(".hidden") == "hidden"
    assert folded("tall buildings") == "tall building"
    assert folded("hohe Häuser".lower(), language="de") == "hoch haus"


def reference_distance(a: str, b: str) -> int:
    """Optimal string alignment, by its recursion."""
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = range(len(a) + 1), range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return int(table[-1, -1])


@given(st.lists(WORDS, max_size=12), WORDS)
@settings(max_examples=200, deadline=None)
def test_spelling_finds_what_comparing_with_all_finds(known, word):
    at_most = 1 if len(word) <= 5 else 2
    expected = sorted({w for w in known if len(w) > 2 and reference_distance(w, word) <= at_most})
    found = Speller(dict.fromkeys(known, 1)).nearest(word, n_best=100)
    assert sorted(found) == (expected if len(word) > 2 else [])


def test_the_nearest_then_the_frequent_come_first():
    speller = Speller({"bench": 1, "beach": 5, "beaches": 50, "be": 9})
    assert speller.nearest("bech") == ["beach", "bench"]
    assert speller.nearest("beachs") == ["beaches", "beach", "bench"]
    assert speller.nearest("xylophone") == []
    assert speller.nearest("b") == []


def test_many_words_are_compared_quickly():
    speller = Speller({f"word{i:06d}": 1 for i in range(100_000)} | {"beach": 1})
    started = time.process_time()
    assert speller.nearest("baech") == ["beach"]
    assert time.process_time() - started < 2


def test_rows_of_words():
    assert rows_by_word(["a b a", None, "", "b"]) == {"a": [0], "b": [0, 3]}
