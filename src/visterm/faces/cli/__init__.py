"""The command line; modules that take long to import are imported by the commands that need them."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from visterm.errors import OUT_OF_MEMORY, is_out_of_memory
from visterm.faces.cli import (
    care,
    collection,
    duplicates,
    encoder,
    experiment,
    exporting,
    finding,
    history,
    labelling,
    learning,
    vocabulary,
    words,
)
from visterm.faces.cli.demo import demo
from visterm.faces.cli.serve import serve
from visterm.version import __version__

app = typer.Typer(
    name="visterm",
    help="Learns what your own pictures mean: classify, tag and search a collection from the labels you have.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COLLECTION, _LEARNING, _FINDING, _CARE = "Your pictures", "Learning", "Finding", "Care"
app.command(rich_help_panel=_COLLECTION)(demo)
app.command(rich_help_panel=_COLLECTION)(collection.init)
app.command(rich_help_panel=_COLLECTION)(collection.add)
app.command(rich_help_panel=_COLLECTION)(collection.status)
app.command(rich_help_panel=_COLLECTION)(labelling.label)
app.add_typer(vocabulary.app, name="vocabulary", rich_help_panel=_COLLECTION)
app.add_typer(duplicates.app, name="duplicates", rich_help_panel=_COLLECTION)
app.command(rich_help_panel=_COLLECTION)(history.history)
app.command(rich_help_panel=_COLLECTION)(history.undo)
app.command(rich_help_panel=_COLLECTION)(history.redo)
app.command(rich_help_panel=_COLLECTION)(collection.attach)
app.command(rich_help_panel=_COLLECTION)(collection.remove)
app.command(rich_help_panel=_COLLECTION)(exporting.export)
app.command(rich_help_panel=_LEARNING)(learning.methods)
app.command(rich_help_panel=_LEARNING)(learning.features)
app.command(rich_help_panel=_LEARNING)(learning.train)
app.command(rich_help_panel=_LEARNING)(learning.models)
app.command(rich_help_panel=_LEARNING)(learning.quality)
app.command(rich_help_panel=_LEARNING)(learning.evaluate)
app.add_typer(experiment.app, name="experiment", rich_help_panel=_LEARNING)
app.command(rich_help_panel=_FINDING)(finding.classify)
app.command(rich_help_panel=_FINDING)(finding.tag)
app.command(cls=finding.QueryCommand, rich_help_panel=_FINDING)(finding.search)
app.command(rich_help_panel=_FINDING)(finding.similar)
app.command("show", rich_help_panel=_FINDING)(finding.show_picture)
app.command(rich_help_panel=_FINDING)(serve)
app.add_typer(encoder.app, name="encoder", rich_help_panel=_FINDING)
app.add_typer(words.app, name="words", rich_help_panel=_FINDING)
app.command(rich_help_panel=_CARE)(care.doctor)
app.command(rich_help_panel=_CARE)(care.backup)
app.command(rich_help_panel=_CARE)(care.restore)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"visterm {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except SystemExit:  # a command has said what there is to say
        raise
    except BaseException as error:  # before a command runs, while its modules are imported
        if not is_out_of_memory(error):
            raise
        told = json.dumps({"error": OUT_OF_MEMORY}) if "--json" in sys.argv else f"visterm: {OUT_OF_MEMORY}"
        typer.echo(told, err=True)
        sys.exit(1)
