"""Which words are spelled right, and which only ask for pictures."""

from __future__ import annotations

import pytest

from visterm.language import filler_words, is_ordinary, stop_words


@pytest.mark.parametrize("word", ["sand", "cost", "boats", "xylophone", "sand dune"])
def test_ordinary_words(word):
    assert is_ordinary(word)


@pytest.mark.parametrize("word", ["baot", "sandd", "mountian", "sand dnue", ""])
def test_misspelt_words(word):
    assert not is_ordinary(word)


def test_other_languages():
    assert is_ordinary("haus", "de")  # a noun, in the dictionary with a capital
    assert not is_ordinary("hasu", "de")
    assert is_ordinary("maison", "fr")
    assert not is_ordinary("anything", "xx")


def test_fillers_are_no_stop_words():
    for language in ("en", "de", "fr", "es", "it"):
        assert len(filler_words(language)) > 10
        assert not filler_words(language) & stop_words(language)
    assert filler_words("fi") == frozenset()
