"""Word vectors: compiled from text, found again, near in meaning; hostile files leave nothing behind."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.errors import InputError, VistermError
from visterm.find.rank.searcher import Searcher
from visterm.language import NEAR, Thesaurus, WordVectors, compile_vectors, vector_files
from visterm.language.word_vectors import word_hash

TINY = """\
dog 1 0 0 0
cat 0.8 0.6 0 0
puppy 0.97 0.24 0 0
car 0 0 1 0
automobile 0 0 0.9 0.1
air 0 0 0 1
"""


@pytest.fixture
def compiled(tmp_path):
    def make(text: str | bytes = TINY, name: str = "tiny.txt") -> WordVectors:
        source = tmp_path / name
        source.write_bytes(text.encode() if isinstance(text, str) else text)
        return WordVectors(compile_vectors(source, tmp_path / "words.safetensors"))

    return make


def direction(vectors, phrase):
    (unit,), (known,) = vectors.units([phrase])
    return unit if known else None


def test_directions_are_those_of_the_file(compiled):
    vectors = compiled()
    assert (vectors.n_words, vectors.n_dims) == (6, 4)
    assert vectors.about["source"] == "tiny.txt"
    assert direction(vectors, "cat") == pytest.approx([0.8, 0.6, 0, 0], abs=0.005)
    assert direction(vectors, "xylophone") is None


def test_the_file_is_a_safetensors_file(compiled):
    tensors = load_file(compiled().file)
    assert tensors["vectors"].shape == (6, 4)
    assert tensors["hashes"].tolist() == sorted(word_hash(line.split()[0]) for line in TINY.splitlines())


def test_plurals_and_phrases(compiled):
    vectors = compiled(TINY + "polar_bear 0 1 0 0\n")
    assert np.array_equal(direction(vectors, "dogs"), direction(vectors, "dog"))
    assert direction(vectors, "polar bear") == pytest.approx([0, 1, 0, 0])
    assert direction(vectors, "dog car") == pytest.approx([0.5**0.5, 0, 0.5**0.5, 0], abs=0.005)
    assert np.array_equal(direction(vectors, "dog in the car"), direction(vectors, "dog car"))
    assert direction(vectors, "dog xylophone") is None
    assert direction(vectors, "the") is None


def test_of_words_written_alike_the_first_counts(compiled):
    vectors = compiled("Dog 1 0\ndog 0 1\nDOG -1 0\n")
    assert vectors.n_words == 1
    assert direction(vectors, "dog").tolist() == [1, 0]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "2 3\ndog 1 0 0\ncar 0 1 0\n",  # word2vec and fastText
        "2 3\ndog 1 0 0 \ncar 0 1 0 \n",  # with the space that fastText leaves at the end
        "dog\t1\t0\t0\r\ncar\t0\t1\t0\r\n",
        "dog 1e0 0 -0.0\ncar 0 1.0 0",  # without the last line end
    ],
)
def test_formats(compiled, text, packed):
    vectors = compiled(gzip.compress(text.encode()) if packed else text)
    assert vectors.n_words == 2
    assert direction(vectors, "dog").tolist() == [1, 0, 0]
    assert direction(vectors, "car").tolist() == [0, 1, 0]


def test_words_may_hold_spaces_and_any_script(compiled):
    vectors = compiled(TINY + "new york 0 0 1 1\nСобака 1 0 0 1\n... 1 1 1 1\n! . 1 1 1 1\nzero 0 0 0 0\n")
    assert direction(vectors, "new york") == pytest.approx([0, 0, 0.5**0.5, 0.5**0.5], abs=0.005)
    assert direction(vectors, "собака") is not None
    assert direction(vectors, "zero") is None  # it points nowhere


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_cosines_are_kept_to_a_hundredth(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    given_vectors = rng.standard_normal((20, 50)) * 10.0 ** rng.integers(-3, 4)
    text = "\n".join(f"w{i} {' '.join(map(str, row))}" for i, row in enumerate(given_vectors))
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "v.txt").write_text(text)
    vectors = WordVectors(compile_vectors(folder / "v.txt", folder / "v.safetensors"))
    units, known = vectors.units([f"w{i}" for i in range(20)])
    exact = given_vectors / np.linalg.norm(given_vectors, axis=1, keepdims=True)
    assert known.all()
    assert np.abs(units @ units.T - exact @ exact.T).max() < 0.01


def test_what_all_words_share_is_taken_out(compiled):
    rng = np.random.default_rng(0)
    own = rng.standard_normal((2000, 8))
    leaning = own + 5 * np.eye(8)[0] + 6 * rng.standard_normal((2000, 1)) * np.eye(8)[1]
    vectors = compiled("\n".join(f"w{i} {' '.join(map(str, row))}" for i, row in enumerate(leaning)))
    units, _ = vectors.units([f"w{i}" for i in range(300)])
    alike = (units @ units.T)[np.triu_indices(300, 1)]
    assert abs(alike.mean()) < 0.02
    exact = own[:300] - own.mean(axis=0)
    exact[:, 1] = 0
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    assert np.corrcoef(alike, (exact @ exact.T)[np.triu_indices(300, 1)])[0, 1] > 0.98


def test_blocks_and_the_learned_head_make_no_difference(compiled, monkeypatch):
    text = "\n".join(f"w{i} {i % 7 + 1} {i % 5} {i % 3}" for i in range(700))
    words = [f"w{i}" for i in range(700)]
    whole, _ = compiled(text).units(words)
    monkeypatch.setattr(vector_files, "_BLOCK", 7)
    in_blocks, _ = compiled(text).units(words)
    assert np.array_equal(whole, in_blocks)


# Near in meaning


def test_the_nearest_known_words(compiled):
    thesaurus = Thesaurus(compiled(), ["dog", "cat", "car", "xylophone"])
    (dog, cat) = thesaurus.nearest("puppy")
    assert (dog.name, cat.name, dog.weight) == ("dog", "cat", 1.0)
    assert dog.likeness == pytest.approx(0.97, abs=0.01)
    assert cat.weight == pytest.approx((cat.likeness - NEAR) / (dog.likeness - NEAR))
    assert [near.name for near in thesaurus.nearest("automobiles")] == ["car"]
    assert thesaurus.nearest("air") == []
    assert thesaurus.nearest("unheard of") == []
    assert Thesaurus(compiled(), []).nearest("puppy") == []
    assert [near.name for near in thesaurus.nearest("puppy", 1)] == ["dog"]


def search(vectors, text, captions=()):
    evidence = Evidence(
        ["a.jpg", "b.jpg", "c.jpg", "d.jpg"],
        tag_names=["dog", "cat", "car", "polar bear"],
        tags=sparse.csr_array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
        classes=["kennel", None, None, None],
        captions=captions,
    )
    hits = Searcher(evidence, vectors=vectors).search(text)
    return [hit.row for hit in hits.hits], [str(note) for note in hits.notes]


def test_an_unknown_word_is_answered_by_what_is_near_in_meaning(compiled):
    vectors = compiled()
    assert search(vectors, "automobile") == (
        [2],
        ["no picture has the word 'automobile': searched for 'car' (0.99) instead, which is close in meaning"],
    )
    rows, notes = search(vectors, "puppy -cat")
    assert rows == [0]
    assert notes == [
        "no picture has the word 'puppy': searched for 'dog' (0.97) or 'cat' (0.92) instead, which are close in meaning"
    ]
    assert search(vectors, "puppy")[0] == [0, 1]
    assert search(vectors, "tag:automobile")[0] == [2]
    assert search(vectors, "class:automobile")[0] == []


def test_spelling_is_asked_where_meaning_does_not_help(compiled):
    vectors = compiled(TINY + "cab 0 0 0.9 0.2\nbat 0 1 0 -1\ncaat 0 1 0 -1\n")
    assert search(vectors, "dgo")[1] == ["no picture has the word 'dgo': searched for 'dog' instead"]
    assert search(vectors, "cab")[0] == [2]  # by spelling it would be as near the cat
    assert search(vectors, "caat")[1] == ["no picture has the word 'caat': searched for 'cat' instead"]
    assert search(vectors, "bat")[1] == ["no picture has the word 'bat', so it was ignored; did you mean cat?"]
    assert search(vectors, "xylophone")[1] == ["no picture has the word 'xylophone', so it was ignored"]
    assert search(vectors, '"polarbear"')[1] == [
        "no picture has the word 'polarbear': searched for 'polar bear' instead"
    ]
    assert search(vectors, '"dog automobile"')[0] == [0, 2]  # no word, but the mean of two
    assert search(vectors, "caption:cta", captions=["a cat", None, None, None])[0] == [0]
    assert search(vectors, "caption:cta", captions=["a dog", None, None, None])[0] == []
    assert search(None, "puppy")[1] == ["no picture has the word 'puppy', so it was ignored"]


def test_known_words_are_never_replaced(compiled):
    assert search(compiled(), "cat") == ([1], [])
    assert search(compiled(), "puppy", captions=[None, None, None, "a puppy"]) == ([3], [])
    rows, notes = search(compiled(), "dog", captions=[None, None, None, "two puppies"])
    assert (rows, notes) == ([0], [])


def test_words_of_captions_are_near_too(compiled):
    rows, notes = search(compiled("hound 1 0\nwhippet 0.9 0.1\n"), "whippet", captions=[None, None, None, "old hound"])
    assert rows == [3]
    assert "'hound'" in notes[0]


# Hostile files

LONG = b"word " + b"1 " * 3_000_000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "has no word vectors"),
        (b"\n", "line 1: a word has 0 numbers"),
        (b"dog\n", "line 1: a word has 0 numbers"),
        (b"dog 1\n", "line 1: a word has 1 numbers"),
        (b"5 100000\n", "line 1: a word has 100000 numbers"),
        (b"9" * 5000 + b" 3\ndog 1\n", "line 1: a word has 1 numbers"),
        (b"dog 1 0\ncat 1\n", "line 2: it has 1 numbers instead of 2: it may be cut off"),
        (b"dog 1 0\n\ncat 1 0\n", "line 2: it has 0 numbers"),
        (b"dog 1 0\ncat 1 zero\n", "line 2: it does not end with 2 numbers"),
        (b"dog 1 0\ncat nan 1\n", "line 2: its numbers are infinite, NaN or too large"),
        (b"dog 1 0\ncat 1 -inf\n", "line 2: its numbers are infinite, NaN or too large"),
        (b"dog 1 0\ncat 1 1e999\n", "line 2: its numbers are infinite, NaN or too large"),
        (b"dog 1 0\ncat 1 1e39\n", "line 2: its numbers are infinite, NaN or too large"),
        (b"dog 1 0\nc\xffat 1 0\n", "line 2: its word is not valid UTF-8"),
        (b"2 2\ndog 1 0\n", "announces 2 words but has 1"),
        (b"1 2\ndog 1 0\ncat 0 1\n", "announces 1 words but has 2"),
        (b"3 4\ndog \x00\x00\x80?\x01\x02\n", "line 2"),  # the binary format of word2vec
        (b"... 1 0\n!! 0 1\n", "no word with a letter"),
        (LONG, "line 1: it has more than"),
        (b"dog 1 0\n" + LONG, "line 2: it has more than 1080 bytes"),
        (b"dog 1 0\n" + b"x" * 2000 + b" 1 0\n", "line 2: it has more than"),
        (b"PK\x03\x04....", "zip archive: unpack it"),
        (gzip.compress(TINY.encode() * 9, mtime=0)[:-20], "damaged or ends early"),
        (gzip.compress(TINY.encode(), mtime=0)[:-4] + b"\0\0\0\0", "damaged or ends early"),
        (b"\x1f\x8b" + b"\0" * 40, "damaged or ends early"),
        (gzip.compress(b"dog 1 0\n" + b"\n" * 5_000_000, mtime=0), "line 2: it has 0 numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",  # some have megabytes
)
def test_bad_files_are_refused_by_line_and_leave_nothing_behind(tmp_path, data, said):
    (tmp_path / "bad.txt").write_bytes(data)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "words.safetensors").write_bytes(b"as it was")
    with pytest.raises(InputError) as error:
        compile_vectors(tmp_path / "bad.txt", tmp_path / "kept" / "words.safetensors")
    assert said in str(error.value)
    assert len(str(error.value)) < 300
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["words.safetensors"]
    assert (tmp_path / "kept" / "words.safetensors").read_bytes() == b"as it was"


def test_endless_files_come_to_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "MAX_NUMBERS", 1000)
    (tmp_path / "much.txt").write_text("dog 1 0\n" * 501)
    with pytest.raises(InputError, match="line 501: the file has more than 1,000 numbers"):
        compile_vectors(tmp_path / "much.txt", tmp_path / "words.safetensors")


def test_files_that_are_not_there(tmp_path, compiled):
    with pytest.raises(InputError, match="cannot read"):
        compile_vectors(tmp_path / "nowhere.txt", tmp_path / "words.safetensors")
    with pytest.raises(InputError, match="cannot read"):
        compile_vectors(tmp_path, tmp_path / "words.safetensors")
    (tmp_path / "tiny.txt").write_text(TINY)
    with pytest.raises(VistermError, match="cannot write"):
        compile_vectors(tmp_path / "tiny.txt", tmp_path / "nowhere" / "words.safetensors")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:40],
        lambda data: data[:-5],
        lambda data: data.replace(b"visterm word", b"another word"),
        lambda data: data.replace(b'"I8"', b'"F4"'),
        lambda data: data.replace(b'"hashes"', b'"hushes"'),
        lambda data: b"\xff" * len(data),
        lambda data: (2).to_bytes(8, "little") + b"[]" + data,
    ],
)
def test_a_damaged_file_is_said_to_be(compiled, spoil):
    vectors = compiled()
    vectors.file.write_bytes(spoil(vectors.file.read_bytes()))
    with pytest.raises(InputError, match="install them again"):
        WordVectors(vectors.file).units(["dog"])


def test_progress_is_told_by_bytes_of_the_file(tmp_path, compiled):
    import json

    from visterm.compute import progress

    stream = io.StringIO()
    with progress.use(progress.JsonLines(stream)):
        compiled(gzip.compress(TINY.encode()))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert events[-1]["event"] == "end"
    assert events[-1]["done"] == events[-1]["total"] == (tmp_path / "tiny.txt").stat().st_size
