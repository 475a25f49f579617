"""The command export: labels to a file, or to sidecars once a person has seen which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from visterm import exchange
from visterm.compute.progress import printable
from visterm.documents.document import shorten
from visterm.documents.wording import counted
from visterm.errors import UsageError
from visterm.faces.cli.output import (
    DryRunOption,
    JsonOption,
    WorkspaceOption,
    at_a_terminal,
    check_share,
    command,
    opened,
    say,
    show,
    show_skipped,
)

#: Folders that are listed; machines get all of them.
_LISTED = 20


def export(
    destination: Annotated[
        Path | None,
        typer.Argument(help="The file to write. For xmp: the folder whose pictures get sidecars (default: all)."),
    ] = None,
    export_format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="csv, tsv, jsonl, parquet, coco or xmp (default: by the file's ending)."),
    ] = None,
    suggestions: Annotated[
        float | None, typer.Option(help="Also write what models suggest with at least this score, such as 0.8.")
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            help="xmp: also write the class below this keyword; 'Class' gives Class|beach.", metavar="KEYWORD"
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write sidecars, or replace a file, without asking.")
    ] = False,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write all labels with their sources and scores to a file, or as XMP sidecars beside the pictures.

    The command asks before it writes sidecars or replaces a file that no export wrote. --yes skips the question.
    """
    with command(as_json=as_json), opened(workspace) as photos:
        if destination is None and export_format != "xmp":
            raise UsageError(f"name the {export_format or 'csv'} file to write")
        check_share("--suggestions", suggestions)

        def exported(*, dry_run: bool) -> exchange.Exported:
            return photos.export(
                destination, format=export_format, suggestions=suggestions, hierarchy=hierarchy, dry_run=dry_run
            )

        may = _may_write if export_format == "xmp" else _may_replace
        if not dry_run and not may(exported, yes=yes, as_json=as_json):
            return
        done = show(exported(dry_run=dry_run), as_json, _print_exported)
    if done.n_failed:
        raise typer.Exit(1)


def _may_write(exported: Callable[..., exchange.Exported], *, yes: bool, as_json: bool) -> bool:
    """Show which sidecars would be written, and ask; there is nothing to ask if there are none."""
    may_ask = not as_json and at_a_terminal()
    if not yes and not may_ask:
        raise UsageError("sidecars are written beside your pictures: look with --dry-run, then add --yes")
    if as_json:
        return True
    plan = show(exported(dry_run=True), as_json, _print_plan)
    return yes or not plan.files or _confirmed(f"Write {counted(len(plan.files), 'sidecar')}?")


def _may_replace(exported: Callable[..., exchange.Exported], *, yes: bool, as_json: bool) -> bool:
    """Ask before a file is replaced that no export wrote, or that was changed since."""
    if yes or not (plan := exported(dry_run=True)).replaces:
        return True
    file = plan.files[0]
    if as_json or not at_a_terminal():
        raise UsageError(f"{file} exists and was not written by an export: name another file, or add --yes")
    return _confirmed(f"{file} exists, and is not what an export wrote. Replace it?")


def _confirmed(question: str) -> bool:
    if typer.confirm(printable(question), err=True):
        return True
    typer.echo("nothing was written", err=True)
    return False


def _print_exported(done: exchange.Exported) -> None:
    would = "would be written" if done.dry_run else "written"
    if done.format != "xmp":
        replaced = ", which exists and is replaced" if done.dry_run and done.replaces else ""
        say(f"{counted(done.n_pictures, 'picture')} {would} to {', '.join(map(str, done.files))}{replaced}")
    elif done.dry_run:
        _print_plan(done)
    else:
        files = f"{counted(len(done.files), 'file')} {would}, {done.n_unchanged} unchanged"
        say(f"{counted(done.n_pictures, 'picture')}, {files}{_needless(done)}")
    if done.dry_run:
        say("nothing was written (--dry-run)")
    show_skipped(done.skipped)


def _needless(done: exchange.Exported) -> str:
    return f", {done.n_needless} without labels" if done.n_needless else ""


def _print_plan(plan: exchange.Exported) -> None:
    merged = len(plan.files) - plan.n_new
    files = f"{plan.n_new} new, {merged} merged into existing ones, {plan.n_unchanged} unchanged"
    failed = f", {plan.n_failed} cannot be written" if plan.n_failed else ""
    say(f"{counted(plan.n_pictures, 'picture')}: {files}{_needless(plan)}{failed}")
    for item in plan.folders[:_LISTED]:
        say(f"  {counted(item.sidecars, 'sidecar')} in {item.folder}")
    if len(plan.folders) > _LISTED:
        rest = sum(item.sidecars for item in plan.folders[_LISTED:])
        say(f"  {counted(rest, 'sidecar')} in {counted(len(plan.folders) - _LISTED, 'other folder')}")
    if plan.example:
        labels = [f"tags {', '.join(plan.example.tags)}"] if plan.example.tags else []
        labels += [f"class {plan.example.class_name}"] if plan.example.class_name else []
        labels += [f"caption {shorten(plan.example.caption)!r}"] if plan.example.caption else []
        kind = "new" if plan.example.new else "merged"
        say(f"  such as {plan.example.file} ({kind}): {'; '.join(labels) or 'suggestions only'}")
