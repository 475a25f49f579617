"""visterm experiment: the papers' settings, published figures and ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.app.cli.output import JsonOption, command, emit, say, table
from visterm.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(help="Run the papers' experiments: our figures beside the published ones.", no_args_is_help=True)

FolderOption = Annotated[Path, typer.Option("--folder", help="Where the experiment files are.")]


@app.command("list")
def list_experiments(folder: FolderOption = Path("experiments"), as_json: JsonOption = False) -> None:
    """List the experiments."""
    from visterm.evaluate import experiments

    with command(as_json=as_json):
        known = [experiments.read(path) for path in experiments.find(folder).values()]
        rows = [(item.name, item.title) for item in known]
        value = {"experiments": [{"name": item.name, "title": item.title} for item in known]}
        emit(value, as_json, lambda console: table(console, ("experiment", "what it is"), rows))


@app.command()
def run(
    names: Annotated[list[str], typer.Argument(help="Names of experiments, or 'all'.")],
    data: Annotated[Path | None, typer.Option(help="The folder of research data; else VISTERM_DATA.")] = None,
    folder: FolderOption = Path("experiments"),
    results: Annotated[Path, typer.Option(help="Where to write the table.")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Run experiments: published | ours ± sd | same protocol? | seconds."""
    from visterm.evaluate import experiments, research_data
    from visterm.storage.atomic import write_text_atomically

    with command(as_json=as_json):
        known = experiments.find(folder)
        if not known:
            raise InputError(f"there are no experiments in {folder}")
        unknown = [name for name in names if name != "all" and name not in known]
        if unknown:
            raise InputError(f"there is no experiment {unknown[0]!r}: the experiments are {', '.join(known)}")
        source = research_data.data_folder(data)
        if source is None:
            raise InputError("say where the research data are: --data FOLDER, or set VISTERM_DATA")
        chosen = list(known) if "all" in names else names
        findings, absent = [], []
        for name in chosen:
            try:
                findings += experiments.carry_out(experiments.read(known[name]), source, cache=results / "features")
            except InputError as error:
                if len(chosen) == 1:
                    raise
                absent.append(f"{name}: {error}")
        if not findings:
            raise InputError(f"no experiment could be run; {absent[0]}")
        results.mkdir(parents=True, exist_ok=True)
        file = results / "experiments.md"
        write_text_atomically(file, experiments.markdown(findings))
        value = {
            "findings": [asdict(f) | {"mean": f.mean, "deviation": f.deviation} for f in findings],
            "not_run": absent,
            "table": str(file),
        }

        def show(console: Console) -> None:
            table(console, experiments.COLUMNS, [experiments.row(finding) for finding in findings])
            for line in absent:
                say(console, f"not run: {line}", style="yellow")
            say(console, f"written to {file}")

        emit(value, as_json, show)
