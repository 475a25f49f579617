"""Verbs that find pictures: search, similar, show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from visterm.app.cli.learning import ModelOption
from visterm.app.cli.output import JsonOption, WorkspaceOption, command, emit, open_workspace, say

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.finding import Findings, Found
    from visterm.app.workspace import Workspace
    from visterm.models import Model

_FAINT = "bright_black"
SheetOption = Annotated[Path | None, typer.Option(help="Also write the results as a contact sheet, PNG or JPEG.")]
LimitOption = Annotated[int, typer.Option("--limit", "--number", "-n", help="How many pictures to find.", min=1)]


class QueryCommand(TyperCommand):
    """A command whose arguments may begin with "-", as in ``boat -people``: they are words, not options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, excluded words written out."""
        return super().parse_args(ctx, [_OPTION_LIKE.sub("NOT ", arg) for arg in args])


#: What begins a word that is excluded: "-people", but neither "--why", "-w", "-n5" nor "-5".
_OPTION_LIKE = re.compile(r"^-(?=[^-\d\W][^\d\W]|[(\"])")


def search(
    words: Annotated[
        list[str], typer.Argument(help="What to look for, such as: boat sunset -people.", metavar="QUERY")
    ],
    model: ModelOption = None,
    limit: LimitOption = 20,
    why: Annotated[
        bool, typer.Option("--why", help="Say what made each picture fit, and where in it; drawn with --sheet.")
    ] = False,
    unlikely: Annotated[bool, typer.Option("--all", help="Also show pictures that are less likely to fit.")] = False,
    sheet: SheetOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find pictures from a few words, tagged or not.

    \b
    beach sunset              both, as a tag, class, caption or file name
    "tall building"           the words together
    beach -people             without
    (boat OR ship) sea^2      either; the sea matters twice as much
    tag:boat class:coast      only as a tag, only as a class
    filename:norway           in the path; also caption:harbour
    like:photos/0042.jpg      looks like this one

    What people wrote comes first; then what the model believes, with the probability that a picture fits.
    """
    from visterm.app import finding

    with command(as_json=as_json), open_workspace(workspace) as opened:
        text = " ".join(words)
        searching = _searching_model(opened, model)
        findings = finding.search(opened, searching, text, n_best=limit, unlikely=unlikely, why=why)
        notes = [str(note) for note in findings.notes]
        if searching is None:
            notes.append("no model can search yet, so only what people wrote was searched: see 'visterm train'")
        elif not findings.measured:
            notes.append(f"how sure {searching.info.name} may be was never measured: train it again to know")
        value = {
            "query": text,
            "model": None if searching is None else f"{searching.info.name}@{searching.info.version}",
            "notes": notes,
            "unknown": [note.word for note in findings.notes if note.meant is None],
            "taken_as": {note.word: note.meant for note in findings.notes if note.meant is not None},
            "near_in_meaning": {
                note.word: {near.name: round(near.likeness, 3) for near in note.near}
                for note in findings.notes
                if note.near
            },
            "cut_off": findings.cut_off,
            "n_likely": findings.n_likely,
            "found": [asdict(found) for found in findings.found],
        }
        _write_sheet(opened, findings, sheet, title=text)

        def show(console: Console) -> None:
            for note in notes:
                say(console, note, style="yellow")
            _show_hits(console, findings, why=why, unlikely=unlikely)

        emit(value, as_json, show)


def similar(
    picture: Annotated[Path, typer.Argument(help="A picture of the collection or any other.")],
    recipe: Annotated[str, typer.Option("--recipe", "-r", help="The features to compare by.")] = "colour",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Compare by the codes of this model instead, such as ccd2.")
    ] = None,
    limit: LimitOption = 20,
    sheet: SheetOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pictures that look most like a given one."""
    from visterm.app import finding
    from visterm.contracts import Task

    with command(as_json=as_json), open_workspace(workspace) as opened:
        coding = None if model is None else opened.model(Task.RANK, model)
        findings = finding.similar(opened, picture, recipe, model=coding, n_best=limit)
        value = {
            "picture": str(picture),
            "found": [{"path": found.path, "score": found.score} for found in findings.found],
        }
        _write_sheet(opened, findings, sheet, title=f"like {picture.name}")
        emit(value, as_json, lambda console: _show_similar(console, findings))


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


def _searching_model(workspace: Workspace, reference: str | None) -> Model | None:
    """The model named, else the newest that can search, if any."""
    from visterm.contracts import Task

    if reference is None and not any(info.does(Task.RANK) for info in workspace.models()):
        return None
    return workspace.model(Task.RANK, reference)


def _show_hits(console: Console, findings: Findings, *, why: bool, unlikely: bool) -> None:
    told = [found for found in findings.found if found.told]
    likely = [found for found in findings.found if found.likely and not found.told]
    _show_group(console, "people say", told, why=why)
    _show_group(console, "the model believes", likely, why=why)
    n_shown = len(told) + len(likely)
    if not n_shown:
        guess = f": the best guess has a chance of {_percent(findings.best)}" if findings.best > 0 else ""
        hint = ", shown with --all" if guess and not unlikely else ""
        say(console, f"nothing found{guess}{hint}", style="bold")
    elif findings.n_likely is None or findings.n_likely > n_shown:
        more = "more" if findings.n_likely is None else f"{findings.n_likely - n_shown} more"
        say(console, f"and {more} (--limit)", style=_FAINT)
    others = [found for found in findings.found if not found.likely]
    _show_group(console, "less likely", others, why=why, style=_FAINT)


def _show_group(console: Console, title: str, group: Sequence[Found], *, why: bool, style: str | None = None) -> None:
    if group:
        say(console, title, style=style or "bold")
    for found in group:
        chance = "" if found.told else _percent(found.score)
        say(console, f"{chance:>8}  {found.path}", style=style)
        if why:
            for line in (_because(found), *found.evidence):
                say(console, f"          {line}", style=_FAINT)


def _because(found: Found) -> str:
    """The reasons in one line, such as: boat (tag, caption), sea (model 93%), not people (model 2%)."""
    by_word: dict[str, list[str]] = {}
    for reason in found.reasons:
        word = f"{'not ' if reason.excluded else ''}{reason.word}"
        chance = f" {_percent(reason.probability)}" if reason.by in ("model", "look") else ""
        by_word.setdefault(word, []).append(reason.by + chance)
    return ", ".join(f"{word} ({', '.join(by)})" for word, by in by_word.items())


def _percent(probability: float) -> str:
    return "under 1%" if 0 < probability < 0.01 else f"{probability:.0%}"


def _show_similar(console: Console, findings: Findings) -> None:
    if not findings.found:
        say(console, "nothing found")
    for found in findings.found:
        say(console, f"{found.score:8.3f}  {found.path}")


def _write_sheet(workspace: Workspace, findings: Findings, file: Path | None, *, title: str) -> None:
    if file is None:
        return
    from visterm.app.sheets import contact_sheet, save_sheet

    files = [workspace.folder / found.path for found in findings.found]
    captions = [f"{'people' if found.told else _percent(found.score)} {found.path}" for found in findings.found]
    regions = [found.regions for found in findings.found]
    save_sheet(contact_sheet(files, captions, regions=regions, title=title), file)
