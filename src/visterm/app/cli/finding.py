"""Verbs that find pictures: search, similar."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm.app.cli.learning import ModelOption
from visterm.app.cli.output import JsonOption, WorkspaceOption, command, emit, open_workspace, say

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.answering import Findings
    from visterm.app.workspace import Workspace

SheetOption = Annotated[Path | None, typer.Option(help="Also write the results as a contact sheet, PNG or JPEG.")]
NumberOption = Annotated[int, typer.Option("--number", "-n", help="How many pictures to find.", min=1)]


def search(
    words: Annotated[list[str], typer.Argument(help="What to look for, such as: boat sunset.")],
    model: ModelOption = None,
    number: NumberOption = 20,
    sheet: SheetOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find pictures from a few words, tagged or not."""
    from visterm.app import answering
    from visterm.contracts import Task

    with command(as_json=as_json), open_workspace(workspace) as opened:
        text = " ".join(words)
        findings = answering.search(opened, opened.model(Task.RANK, model), text, n_best=number)
        unknown = findings.unknown
        value = {
            "query": text,
            "unknown": {word: list(near) for word, near in unknown.items()},
            "found": [asdict(found) for found in findings.found],
        }

        def show(console: Console) -> None:
            for word, near in unknown.items():
                hint = f"; did you mean {', '.join(near)}?" if near else ""
                say(console, f"no picture was ever tagged {word!r}{hint}", style="yellow")
            _show_found(console, findings)

        _write_sheet(opened, findings, sheet, title=text)
        emit(value, as_json, show)


def similar(
    picture: Annotated[Path, typer.Argument(help="A picture of the collection or any other.")],
    recipe: Annotated[str, typer.Option("--recipe", "-r", help="The features to compare by.")] = "colour",
    number: NumberOption = 20,
    sheet: SheetOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pictures that look most like a given one."""
    from visterm.app import answering

    with command(as_json=as_json), open_workspace(workspace) as opened:
        findings = answering.similar(opened, picture, recipe, n_best=number)
        value = {"picture": str(picture), "found": [asdict(found) for found in findings.found]}
        _write_sheet(opened, findings, sheet, title=f"like {picture.name}")
        emit(value, as_json, lambda console: _show_found(console, findings))


def show(
    picture: Annotated[Path, typer.Argument(help="A picture of the collection or any other.")],
    feature: Annotated[
        str, typer.Option("--feature", "-f", help="sift, regions, lbp, gist, codewords, or a recipe of codewords.")
    ] = "sift",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The picture to write; else NAME.FEATURE.png.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a picture of what the machine sees in a picture."""
    from visterm.app.sheets import save_sheet
    from visterm.app.showing import draw

    with command(as_json=as_json):
        drawn = draw(picture, feature, workspace)
        file = output or Path(f"{picture.stem}.{feature}.png")
        save_sheet(drawn, file)
        emit({"written": str(file)}, as_json, lambda console: say(console, f"written to {file}"))


def _show_found(console: Console, findings: Findings) -> None:
    if not findings.found:
        say(console, "nothing found")
    for found in findings.found:
        say(console, f"{found.score:8.3f}  {found.path}")


def _write_sheet(workspace: Workspace, findings: Findings, file: Path | None, *, title: str) -> None:
    if file is None:
        return
    from visterm.app.sheets import contact_sheet, save_sheet

    files = [workspace.folder / found.path for found in findings.found]
    captions = [f"{found.score:.2f} {found.path}" for found in findings.found]
    save_sheet(contact_sheet(files, captions, title=title), file)
