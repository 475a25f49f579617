"""visterm experiment: the papers' settings, published figures and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visterm import research
from visterm.faces.cli.output import JsonOption, command, say, show, table

app = typer.Typer(help="Run the papers' experiments: our figures beside the published ones.", no_args_is_help=True)

FolderOption = Annotated[Path, typer.Option("--folder", help="Where the experiment files are.")]


@app.command("list")
def list_experiments(folder: FolderOption = Path("experiments"), as_json: JsonOption = False) -> None:
    """List the experiments."""
    with command(as_json=as_json):
        found = research.experiments.listed(folder)
        rows = [(item.name, item.title) for item in found.experiments]
        show(found, as_json, lambda _: table(("experiment", "what it is"), rows))


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Names of experiments, or 'all'.")],
    data: Annotated[Path | None, typer.Option(help="The folder of research data (default: VISTERM_DATA).")] = None,
    folder: FolderOption = Path("experiments"),
    results: Annotated[Path, typer.Option(help="Where to write the table.")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Run experiments, and print the published figures beside ours."""
    with command(as_json=as_json):
        report = research.experiments.run_experiments(names, data=data, folder=folder, results=results)
        show(report, as_json, _print_report)


def _print_report(report: research.ExperimentsReport) -> None:
    table(research.experiments.COLUMNS, [found.row for found in report.findings])
    for line in report.not_run:
        say(f"not run: {line}", style="yellow")
    say(f"written to {report.table}")
