"""visterm encoder: image-text pairs, with which search finds pictures by any words from the first day on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm import upkeep
from visterm.faces.cli.output import JsonOption, command, say, show

app = typer.Typer(
    help="Image-text pairs such as CLIP: with one, search finds pictures by any words, labelled or not.",
    no_args_is_help=True,
)


@app.command()
def install(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of an exported pair, or a zip of it.")],
    name: Annotated[str | None, typer.Option("--name", help="Its name (default: that of the folder).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Install an image-text pair for all your collections. Search by any words uses it from then on.

    FOLDER is what optimum writes or transformers.js uses for CLIP, SigLIP or MobileCLIP: vision_model.onnx and
    text_model.onnx (or one model.onnx with both), tokenizer.json, preprocessor_config.json and config.json. Nothing is
    downloaded. The pair is copied and tried; if it cannot be used, nothing is installed.
    """
    with command(as_json=as_json):
        show(upkeep.encoders.install(source, name), as_json, _print_new)


@app.command("list")
def show_list(as_json: JsonOption = False) -> None:
    """List the installed pairs, the one in use first."""
    with command(as_json=as_json):
        show(upkeep.encoders.show(), as_json, _print_list)


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="Its name, as 'visterm encoder list' shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Delete a pair. Models that learned with it cannot be used until it is installed again."""
    with command(as_json=as_json):
        show(upkeep.encoders.remove(name), as_json, _print_removed)


def _print_new(found: upkeep.encoders.Encoders) -> None:
    pair = found.pairs[0]
    say(f"installed {pair.name}: pictures and texts as {pair.n_dims} numbers, {pair.megabytes:.3g} MB in {pair.folder}")
    say(
        f"a picture takes {_milliseconds(pair.seconds_per_picture)}; texts are cut after {pair.text_length} tokens; "
        "search by any words uses this pair from now on; next, in each collection: visterm train"
    )
    _print_damaged(found)


def _print_list(found: upkeep.encoders.Encoders) -> None:
    for pair in found.pairs:
        say(
            f"{pair.name}{' (in use)' if pair.in_use else ''}: {pair.n_dims} numbers, "
            f"{_milliseconds(pair.seconds_per_picture)} a picture, {pair.megabytes:.3g} MB, "
            f"installed {pair.installed[:10]} from {pair.source}"
        )
    if not found.pairs and not found.damaged:
        say(f"no image-text pair is installed: texts are compared by {found.in_use}. See 'visterm encoder --help'")
    _print_damaged(found)


def _print_removed(done: upkeep.encoders.RemovedEncoder) -> None:
    what = "the pair was removed" if done.removed else "there is no such pair"
    say(f"{what}; search by any words uses {done.in_use}")


def _print_damaged(found: upkeep.encoders.Encoders) -> None:
    for name in found.damaged:
        say(f"{name} is damaged and not used: remove it with 'visterm encoder remove {name}' and install it again")


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "less than 1 ms"
