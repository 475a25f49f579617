"""visterm demo: everything, on an embedded collection, in about a minute."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.faces.cli.outcomes import print_training
from visterm.faces.cli.output import JsonOption, command, say, show
from visterm.faces.cli.serve import serve

if TYPE_CHECKING:
    from visterm.faces.demo import Demo


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to make the demo collection.")] = Path("visterm-demo"),
    n_pictures: Annotated[int, typer.Option("--pictures", help="How many postcards to paint.", min=50)] = 400,
    page: Annotated[
        bool, typer.Option("--serve/--no-serve", help="At the end, open the page (only at a terminal).")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Try everything on a demo collection: paint, add, train, measure, classify, tag and search."""
    with command(as_json=as_json):
        from visterm.faces.demo import run_demo

        show(run_demo(folder, n_pictures=n_pictures), as_json, _print_demo)
    if page and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        serve(workspace=folder)


def _print_demo(done: Demo) -> None:
    say(
        f"{done.pictures} synthetic postcards in {done.folder}: two fifths have a class and tags, "
        "a fifth has only a class, a fifth has no labels, and a fifth is held out to measure on."
    )
    print_training(done.training)
    say(
        f"Of the {done.unlabelled} pictures nobody labelled, {done.unlabelled_accuracy:.0%} got the right class and "
        f"{done.unlabelled_tag_precision:.0%} of the suggested tags are right."
    )
    for name, file in done.sheets.items():
        say(f"  {name}: {file}")
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
    say(f"Time: {spent}")
    program = "visterm" if shutil.which("visterm") else sys.argv[0]
    say(f"Compare all methods: {program} evaluate -w {done.folder}")
    say(f"Look around: {program} serve -w {done.folder}")
