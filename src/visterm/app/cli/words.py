"""visterm words: word vectors, by which a search understands words that are unknown in the collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.app.cli.output import JsonOption, command, emit, say

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.language.word_vectors import WordVectors

app = typer.Typer(
    help="Word vectors, by which search takes unknown words for known ones that are near in meaning.",
    invoke_without_command=True,
)


@app.callback()
def show(context: typer.Context, as_json: JsonOption = False) -> None:
    """Say which word vectors are installed."""
    if context.invoked_subcommand is not None:
        return
    from visterm.language.installed import installed

    with command(as_json=as_json):
        vectors = installed()
        if vectors is None:
            said = "none are installed: unknown words are compared by spelling only; see 'visterm words install --help'"
            emit({"installed": None}, as_json, lambda console: say(console, said))
        else:
            _emit(vectors, as_json)


@app.command()
def install(
    file: Annotated[Path, typer.Argument(help="A text file, or one packed by gzip, such as glove.6B.100d.txt.")],
    as_json: JsonOption = False,
) -> None:
    """Install word vectors for all your collections, instead of those there are.

    Read are the text formats of GloVe, word2vec and fastText: a line for each word, with its numbers. About 100 MB for
    each million words of 100 numbers are kept.
    """
    from visterm.language import installed as meanings

    with command(as_json=as_json):
        _emit(meanings.install(file), as_json)


@app.command()
def remove(as_json: JsonOption = False) -> None:
    """Delete the word vectors that are installed."""
    from visterm.language import installed as meanings

    with command(as_json=as_json):
        removed = meanings.remove()
        said = "the word vectors are removed" if removed else "none were installed"
        emit({"removed": removed}, as_json, lambda console: say(console, said))


def _emit(vectors: WordVectors, as_json: bool) -> None:
    value: dict[str, Any] = {
        "source": vectors.about.get("source"),
        "n_words": vectors.n_words,
        "n_dims": vectors.n_dims,
        "installed": vectors.about.get("installed"),
        "file": str(vectors.file),
        "megabytes": round(vectors.file.stat().st_size / 2**20, 1),
    }

    def print_all(console: Console) -> None:
        say(console, f"{value['source']}: {value['n_words']} words of {value['n_dims']} numbers")
        say(console, f"installed {value['installed']}, {value['megabytes']} MB in {value['file']}")

    emit({"installed": value}, as_json, print_all)
