"""Word vectors: with them a search understands words that are unknown in the collection."""

from dataclasses import dataclass
from pathlib import Path

from visterm.documents.document import Document
from visterm.language import installed
from visterm.language.word_vectors import WordVectors


@dataclass(frozen=True)
class Vectors:
    """Installed word vectors: where they came from, how many there are, and what they take."""

    source: str | None
    n_words: int
    n_dims: int
    installed: str | None
    file: str
    megabytes: float


@dataclass(frozen=True)
class InstalledWords(Document):
    """The word vectors of this user; None if none are installed."""

    installed: Vectors | None


@dataclass(frozen=True)
class RemovedWords(Document):
    """Whether there were word vectors to remove."""

    removed: bool


def show() -> InstalledWords:
    """Which word vectors are installed."""
    vectors = installed.installed()
    return InstalledWords(None if vectors is None else _described(vectors))


def install(file: Path) -> InstalledWords:
    """Install the word vectors in a text file; they replace those installed before."""
    return InstalledWords(_described(installed.install(file)))


def remove() -> RemovedWords:
    """Delete the word vectors of this user."""
    return RemovedWords(installed.remove())


def _described(vectors: WordVectors) -> Vectors:
    megabytes = round(vectors.file.stat().st_size / 2**20, 1)
    about = vectors.about
    return Vectors(
        about.get("source"), vectors.n_words, vectors.n_dims, about.get("installed"), str(vectors.file), megabytes
    )
