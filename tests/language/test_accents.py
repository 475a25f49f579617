"""Words without their accents, and the forms by which they are looked up."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from visterm.language import lookup_forms, stop_words, unaccented

WORDS = st.text("aceinosuyàéèêïñöûçřşα̃ё", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Café", "Cafe"),
        ("Cafe\u0301", "Cafe"),
        ("Ångström façade año řeka", "Angstrom facade ano reka"),
        ("όνομα ёлка", "ονομα елка"),
        ("tall building!", "tall building!"),
        ("が किताब ตี้", "が किताब ตี้"),  # the marks belong to the letters
        ("한국", "한국"),
    ],
)
def test_accents_go_and_other_letters_stay(text, plain):
    assert unaccented(text) == plain
    assert unaccented(unicodedata.normalize("NFD", text)) == plain


@settings(deadline=None)
@given(word=WORDS, language=st.sampled_from(["en", "de", "fr", "es"]))
def test_a_word_meets_itself_without_accents(word, language):
    plain = unaccented(word)
    assume(plain and plain not in stop_words(language))
    assert set(lookup_forms(word, language)) & set(lookup_forms(plain, language))


def test_words_that_would_become_stop_words_keep_their_accents():
    assert lookup_forms("thé") == ("thé",)
    assert lookup_forms("the") == ("the",)
    assert lookup_forms("thé glacé") == ("thé glace",)
    assert lookup_forms("thé", "de") == ("the",)


def test_numbers_meet_whatever_the_accents():
    assert set(lookup_forms("études", "fr")) & set(lookup_forms("etude", "fr"))
    assert set(lookup_forms("häuser", "de")) & set(lookup_forms("hauser", "de"))
    assert set(lookup_forms("häuser", "de")) & set(lookup_forms("haus", "de"))
