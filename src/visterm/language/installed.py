"""A user's word vectors: installed once from a file, used by every search in all collections."""

from __future__ import annotations

from pathlib import Path

from visterm.errors import InputError
from visterm.language.word_vectors import WordVectors
from visterm.storage import is_there, user_folder, write_error

_FILE = "words.safetensors"


def vectors_file() -> Path:
    """Where they are stored."""
    return user_folder() / _FILE


def installed() -> WordVectors | None:
    """The word vectors of this user, if any; the file is opened when first needed."""
    file = vectors_file()
    return WordVectors(file) if is_there(file) else None


def install(source: Path) -> WordVectors:
    """Compile the word vectors in the text file ``source``, and replace the installed ones."""
    from visterm.language.vector_files import compile_vectors

    if not source.is_file():
        raise InputError(
            f"there is no file {source}: download word vectors, such as GloVe's glove.6B.zip, and unpack it"
        )
    file = vectors_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(file, error) from error
    return WordVectors(compile_vectors(source, file))


def remove() -> bool:
    """Delete the word vectors of this user; returns whether there were any."""
    file = vectors_file()
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise write_error(file, error) from error
    return True
