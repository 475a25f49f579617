"""Compiles published text files of word vectors into one file for fast lookup."""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from visterm.compute import progress
from visterm.compute.eigenvectors import principal_axes
from visterm.errors import InputError
from visterm.language.word_vectors import FORMAT, word_hash
from visterm.language.words import word_key
from visterm.storage import replacing, write_error

Floats = NDArray[np.float32]

MIN_DIMS, MAX_DIMS = 2, 4096
#: Files of more numbers (words times dimensions) are refused: no published file is that large.
MAX_NUMBERS = 2_000_000_000
#: The most bytes for a number and for a word; published files need fewer.
_MAX_NUMBER, _MAX_WORD = 40, 1_000
#: The vector lengths that are allowed; a shorter vector has no usable direction.
_LONGEST, _SHORTEST = 1e30, 1e-30
_BLOCK = 2_000
#: The shared directions are learned from at most this many of the first words, which are the most frequent.
_N_HEAD, _MAX_HEAD_NUMBERS = 50_000, 25_000_000
#: Shared directions are taken out only if there are at least this many words per dimension.
_ENOUGH = 100


def compile_vectors(source: Path, file: Path) -> Path:
    """Make ``file`` from word vectors in the text formats of GloVe, word2vec and fastText, plain or gzipped.

    Returns ``file``.

    A line holds a word and its numbers. The first line may hold two whole numbers instead: the number of words and of
    dimensions. Words are converted to lower case; if several become the same, the first, most frequent one counts.

    Published vectors all lean one way, which makes any two words seem alike. Therefore the mean and the directions of
    most variance, one for every 100 dimensions, are taken out (J. Mu and P. Viswanath, All-but-the-top: simple and
    effective postprocessing for word representations, 2018). Only the direction of the rest is stored, one byte per
    number.

    Errors name the line: a wrong number of columns, text instead of a number, NaN, infinity, invalid UTF-8, a line that
    is too long. ``file`` is written whole or not at all.
    """
    try:
        size = source.stat().st_size
        with _opened(source) as (packed, stream), TemporaryFile(dir=file.parent) as rows:
            lines = _Lines(stream, source.name)
            hashes, n_read = array("Q"), 0
            with progress.task(f"Reading {source.name}", total=size) as bar:
                for some, directions in _directions(_blocks(lines), lines):
                    hashes.extend(some)
                    rows.write(directions.tobytes())
                    n_before, n_read = n_read, packed.tell()
                    bar.advance(n_read - n_before)
            _write(file, source.name, np.frombuffer(hashes, np.uint64), rows, lines.n_dims)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{source} is damaged or ends early: {error}") from error
    except OSError as error:
        if error.filename is not None and Path(error.filename) == source:
            raise InputError(f"cannot read {source}: {error.strerror or error}") from error
        raise write_error(file, error) from error
    return file


def _blocks(lines: _Lines) -> Iterator[tuple[list[int], Floats]]:
    """The hashes of words and their vectors, 2000 at a time."""
    hashes: list[int] = []
    vectors: list[list[float]] = []
    for word, numbers in lines:
        if name := word_key(word.replace("_", " ")):  # phrases are often written with underscores
            hashes.append(word_hash(name))
            vectors.append(numbers)
        if len(hashes) == _BLOCK:
            yield hashes, np.array(vectors, np.float32)
            hashes, vectors = [], []
    if hashes:
        yield hashes, np.array(vectors, np.float32)


def _directions(
    blocks: Iterator[tuple[list[int], Floats]], lines: _Lines
) -> Iterator[tuple[list[int], NDArray[np.int8]]]:
    """The blocks without what all words share; each vector is scaled so that its largest number is 127."""
    head: list[tuple[list[int], Floats]] = []
    n_head = 0
    for block in blocks:
        head.append(block)
        n_head += len(block[1])
        if n_head >= min(_N_HEAD, _MAX_HEAD_NUMBERS // lines.n_dims):
            break
    if not head:
        return
    mean, shared = _shared(np.concatenate([vectors for _, vectors in head]))
    for hashes, vectors in chain(head, blocks):
        own = vectors - mean
        own -= (own @ shared.T) @ shared
        longest = np.abs(own).max(axis=1, keepdims=True)
        yield hashes, np.rint(127 * (own / np.maximum(longest, _SHORTEST))).astype(np.int8)


def _shared(vectors: Floats) -> tuple[Floats, Floats]:
    """The mean, and the unit directions (rows) of most variance; zero and none if there are too few vectors."""
    n_words, n_dims = vectors.shape
    if n_words < _ENOUGH * n_dims:
        return np.zeros(n_dims, np.float32), np.zeros((0, n_dims), np.float32)
    mean, directions = principal_axes(vectors, max(1, round(n_dims / 100)))
    return mean, np.ascontiguousarray(directions.T, np.float32)


def _write(file: Path, source: str, hashes: NDArray[np.uint64], rows: IO[bytes], n_dims: int) -> None:
    """Write the file, words in the order of their hashes; of equal words the first."""
    ordered, first = np.unique(hashes, return_index=True)
    if not len(ordered):
        raise InputError(f"{source} has no word with a letter or a digit")
    n_words, split = len(ordered), ordered.nbytes
    about = {"format": FORMAT, "source": source, "installed": datetime.now(UTC).isoformat(timespec="seconds")}
    about["crc32"] = f"{0:08x}"  # of the numbers; known when they are written
    header = {
        "__metadata__": about,
        "hashes": {"dtype": "U64", "shape": [n_words], "data_offsets": [0, split]},
        "vectors": {"dtype": "I8", "shape": [n_words, n_dims], "data_offsets": [split, split + n_words * n_dims]},
    }
    text = json.dumps(header).encode()
    padding = b" " * (-len(text) % 8)  # aligns the numbers to 8 bytes
    rows.flush()
    spooled = np.memmap(rows, np.int8, "r", shape=(len(hashes), n_dims))
    with replacing(file) as temporary, temporary.open("wb") as out:
        out.write((len(text) + len(padding)).to_bytes(8, "little") + text + padding)
        blocks = (spooled[first[start : start + _BLOCK]].tobytes() for start in range(0, n_words, _BLOCK))
        crc = 0
        for data in chain([ordered.tobytes()], blocks):
            out.write(data)
            crc = zlib.crc32(data, crc)
        about["crc32"] = f"{crc:08x}"
        out.seek(8)
        out.write(json.dumps(header).encode())


@contextmanager
def _opened(source: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The file, and its contents, unpacked if they are gzipped."""
    with source.open("rb", buffering=1 << 20) as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(b"PK"):
            raise InputError(f"{source} is a zip archive: unpack it, and install the text file inside")
        if magic.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield file, io.BufferedReader(unpacked, 1 << 20)
        else:
            yield file, file


class _Lines:
    """Checked words and numbers, line by line; ``n_dims`` is known after the first line."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self.n_dims = 0
        self._n_lines = 0
        self._n_told: int | None = None

    def __iter__(self) -> Iterator[tuple[str, list[float]]]:
        n_words = 0
        while line := self._stream.readline(self._most_bytes() + 1):
            self._n_lines += 1
            if len(line) > self._most_bytes():
                raise self._refused(f"it has more than {self._most_bytes()} bytes, too many for word vectors")
            fields = line.split()
            if not self.n_dims:
                self._begin(fields)
                if self._n_told is not None:
                    continue
            n_words += 1
            if n_words * self.n_dims > MAX_NUMBERS:
                raise self._refused(f"the file has more than {MAX_NUMBERS:,} numbers: install one with fewer words")
            yield self._word(fields[: -self.n_dims]), self._numbers(fields)
        if not n_words:
            raise InputError(f"{self._name} has no word vectors")
        if self._n_told is not None and n_words != self._n_told:
            raise InputError(
                f"{self._name} announces {self._n_told} words but has {n_words}: it was cut off or changed"
            )

    def _most_bytes(self) -> int:
        return _MAX_WORD + _MAX_NUMBER * (self.n_dims or MAX_DIMS)

    def _begin(self, fields: list[bytes]) -> None:
        """Learn the number of dimensions from the first line."""
        if len(fields) == 2 and all(field.isdigit() and len(field) < 12 for field in fields):
            self._n_told, self.n_dims = int(fields[0]), int(fields[1])
        else:
            self.n_dims = len(fields) - 1
        if not MIN_DIMS <= self.n_dims <= MAX_DIMS:
            raise self._refused(f"a word has {max(0, self.n_dims)} numbers; word vectors have {MIN_DIMS} to {MAX_DIMS}")

    def _word(self, parts: list[bytes]) -> str:
        try:
            return b" ".join(parts).decode()
        except UnicodeDecodeError as error:
            raise self._refused("its word is not valid UTF-8") from error

    def _numbers(self, fields: list[bytes]) -> list[float]:
        if len(fields) <= self.n_dims:
            found = max(0, len(fields) - 1)
            raise self._refused(f"it has {found} numbers instead of {self.n_dims}: it may be cut off")
        try:
            numbers = [float(field) for field in fields[-self.n_dims :]]
        except ValueError as error:
            raise self._refused(f"it does not end with {self.n_dims} numbers; only text files are read") from error
        if not math.hypot(*numbers) < _LONGEST:
            raise self._refused("its numbers are infinite, NaN or too large")
        return numbers

    def _refused(self, reason: str) -> InputError:
        return InputError(f"{self._name}, line {self._n_lines}: {reason}")
