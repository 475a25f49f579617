"""visterm demo: everything, on an embedded collection, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.app.cli.output import JsonOption, command, emit, say, table

if TYPE_CHECKING:
    from rich.console import Console


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to make the demo collection.")] = Path("visterm-demo"),
    n_pictures: Annotated[int, typer.Option("--pictures", help="How many postcards to paint.", min=50)] = 400,
    as_json: JsonOption = False,
) -> None:
    """See everything at work on an embedded collection: paint, add, train, measure, classify, tag and search."""
    with command(as_json=as_json):
        from visterm.app.demo import run_demo

        done = run_demo(folder, n_pictures=n_pictures)
        tables = {
            task.value: [{"method": outcome.method, **outcome.values[task]} for outcome in outcomes]
            for task, outcomes in done.outcomes.items()
        }
        value = {
            "folder": str(done.folder),
            "pictures": done.n_pictures,
            "held_out": tables,
            "not_measured": list(done.not_measured),
            "unlabelled_accuracy": done.unlabelled_accuracy,
            "unlabelled_tag_precision": done.unlabelled_tag_precision,
            "sheets": {name: str(file) for name, file in done.pictures.items()},
            "seconds": done.seconds,
        }

        def show(console: Console) -> None:
            say(
                console,
                f"{done.n_pictures} synthetic postcards in {done.folder}: two fifths train with class and tags, "
                "a fifth with a class only, a fifth has no labels, a fifth is held out to measure on.",
            )
            for task, rows in tables.items():
                table(console, list(rows[0]), [list(row.values()) for row in rows], title=f"held-out pictures: {task}")
            say(
                console,
                f"Of the pictures nobody labelled, {done.unlabelled_accuracy:.0%} got the right class and "
                f"{done.unlabelled_tag_precision:.0%} of the suggested tags are right.",
            )
            for name, file in done.pictures.items():
                say(console, f"  {name}: {file}")
            spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
            say(console, f"Time: {spent}")
            if done.not_measured:
                say(console, f"Not measured here, for the time it takes: {', '.join(done.not_measured)}")
                say(console, f"All methods: visterm evaluate -w {done.folder}")
            say(console, f"Look around: visterm status -w {done.folder}")

        emit(value, as_json, show)
