"""visterm words: word vectors, with which a search understands words that are unknown in the collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm import upkeep
from visterm.faces.cli.output import JsonOption, command, say, show

app = typer.Typer(
    help="Word vectors: with them, search replaces an unknown word by known words that are near in meaning.",
    invoke_without_command=True,
)


@app.callback()
def show_installed(context: typer.Context, as_json: JsonOption = False) -> None:
    """Say which word vectors are installed."""
    if context.invoked_subcommand is not None:
        return
    with command(as_json=as_json):
        show(upkeep.words.show(), as_json, _print_installed)


@app.command()
def install(
    file: Annotated[Path, typer.Argument(help="A text file, or one packed by gzip, such as glove.6B.100d.txt.")],
    as_json: JsonOption = False,
) -> None:
    """Install word vectors for all your collections. They replace those installed before.

    Supported formats: the text files of GloVe, word2vec and fastText, with one word and its numbers on each line. A
    million words of 100 numbers take about 100 MB.
    """
    with command(as_json=as_json):
        show(upkeep.words.install(file), as_json, _print_installed)


@app.command()
def remove(as_json: JsonOption = False) -> None:
    """Delete the word vectors that are installed."""
    with command(as_json=as_json):
        done = upkeep.words.remove()
        said = "the word vectors were removed" if done.removed else "no word vectors were installed"
        show(done, as_json, lambda _: say(said))


def _print_installed(found: upkeep.words.InstalledWords) -> None:
    vectors = found.installed
    if vectors is None:
        say("no word vectors are installed, so only spelling is compared: see 'visterm words install --help'")
        return
    say(f"{vectors.source}: {vectors.n_words} words of {vectors.n_dims} numbers")
    say(f"installed {vectors.installed}, {vectors.megabytes} MB in {vectors.file}")
