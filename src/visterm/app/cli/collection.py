"""Verbs about the collection: init, add, status, label, vocabulary, remove, export."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm.app.cli.output import (
    DryRunOption,
    JsonOption,
    WorkspaceOption,
    command,
    emit,
    open_workspace,
    reference_to,
    say,
    show_skipped,
    table,
)
from visterm.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.adding import Addition


def init(
    folder: Annotated[Path, typer.Argument(help="The folder that holds or will hold your pictures.")] = Path(),
    as_json: JsonOption = False,
) -> None:
    """Make a folder a workspace: Visterm keeps what it knows in .visterm there, and touches nothing else."""
    from visterm.app.workspace import STATE, Workspace

    with command(as_json=as_json):
        existed = (folder / STATE).is_dir()
        with Workspace.create(folder) as workspace:
            value = {"workspace": str(workspace.folder), "created": not existed}
        said = "is a workspace already" if existed else "is a workspace now; next: visterm add FOLDER"
        emit(value, as_json, lambda console: say(console, f"{value['workspace']} {said}"))


def add(
    folders: Annotated[list[Path], typer.Argument(help="Folders of pictures, or pictures.")],
    labels: Annotated[
        list[Path] | None, typer.Option("--labels", "-l", help="A file or folder of labels; repeatable.")
    ] = None,
    label_format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="The format of --labels; 'folders': each sub-folder is a class."),
    ] = None,
    look: Annotated[bool, typer.Option(help="Read labels found with the pictures (metadata, captions, XMP).")] = True,
    caption_tags: Annotated[
        bool | None, typer.Option(help="Make tags of captions; by default where a source has captions but no tags.")
    ] = None,
    min_count: Annotated[int, typer.Option(help="A word in fewer captions makes no tag.", min=1)] = 2,
    phrase: Annotated[list[str] | None, typer.Option(help="Words of captions that are one tag; repeatable.")] = None,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Add pictures and their labels, or bring the catalogue in step with changed folders."""
    from visterm.app import adding
    from visterm.language.captions import CaptionTokenizer

    with command(as_json=as_json), open_workspace(workspace) as opened:
        if label_format == "folders" and not labels:
            labels = list(folders)
        elif label_format is not None and not labels:
            raise InputError("--format says how to read --labels: name them, too")
        addition = adding.add(
            opened,
            folders,
            labels=labels or (),
            format=label_format,
            look_for_labels=look,
            caption_tags=caption_tags,
            tokenizer=CaptionTokenizer(min_count=min_count, phrases=tuple(phrase or ())),
            dry_run=dry_run,
        )
        files = {key: value for key, value in asdict(addition.files).items() if key != "skipped"}
        value = {
            "dry_run": dry_run,
            "files": files,
            "labels": [
                {
                    "source": reading.source,
                    "format": reading.format,
                    "pictures": reading.n_pictures,
                    "classes": len(reading.classes),
                    "tags": len(reading.tags),
                    "captions": reading.n_captions,
                    "regions": reading.n_regions,
                }
                for reading in addition.readings
            ],
            "caption_tags": addition.n_caption_tags,
            "skipped": [asdict(skip) for skip in addition.skipped],
        }
        emit(value, as_json, lambda console: _show_addition(console, addition, dry_run=dry_run))


def _show_addition(console: Console, addition: Addition, *, dry_run: bool) -> None:
    lines = [addition.files.summary(), *(reading.summary() for reading in addition.readings)]
    if addition.n_caption_tags:
        lines.append(f"{addition.n_caption_tags} tags made of captions")
    for line in lines:
        say(console, line)
    if not addition.readings:
        say(console, "no labels found; if sub-folders are classes, say so: visterm add --format folders FOLDER")
    if dry_run:
        say(console, "nothing was changed (--dry-run)")
    show_skipped(addition.skipped)


def status(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show what the collection holds: counts, coverage, most frequent tags, unreadable pictures, models."""
    with command(as_json=as_json), open_workspace(workspace) as opened:
        counts = opened.catalogue.counts()
        unreadable = list(opened.catalogue.unreadable())
        value: dict[str, Any] = {
            "workspace": str(opened.folder),
            **asdict(counts),
            "unreadable": [{"path": path, "reason": reason} for path, reason in unreadable],
            "models": [f"{info.name}@{info.version}" for info in opened.models()],
        }

        def show(console: Console) -> None:
            total = max(1, counts.n_ok)
            rows = [
                ("pictures", counts.n_pictures, ""),
                ("unreadable", counts.n_unreadable, ""),
                ("missing files", counts.n_missing, ""),
                ("with a class", counts.n_with_class, f"{counts.n_with_class / total:.0%}"),
                ("with tags", counts.n_with_tags, f"{counts.n_with_tags / total:.0%}"),
                ("with a caption", counts.n_with_caption, f"{counts.n_with_caption / total:.0%}"),
            ]
            say(console, str(opened.folder), style="bold")
            table(console, ("", "number", "share"), rows)
            if counts.classes:
                table(console, ("class", "pictures"), list(counts.classes.items())[:20])
            if counts.frequent_tags:
                table(console, ("most frequent tags", "pictures"), counts.frequent_tags.items())
            if value["models"]:
                say(console, f"models: {', '.join(value['models'])}")
            for path, reason in unreadable[:20]:
                say(console, f"unreadable {path}: {reason}", style="yellow")

        emit(value, as_json, show)


def remove(
    references: Annotated[list[str], typer.Argument(help="Files, folders, or content hashes of pictures.")],
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forget pictures and their labels; the files stay where they are."""
    from visterm.app.adding import remove as forget

    with command(as_json=as_json), open_workspace(workspace) as opened:
        n_removed = forget(opened, [reference_to(text) for text in references], dry_run=dry_run)
        said = f"{n_removed} pictures {'would be ' if dry_run else ''}forgotten; no file was touched"
        emit({"removed": n_removed, "dry_run": dry_run}, as_json, lambda console: say(console, said))


def label(
    picture: Annotated[str, typer.Argument(help="A picture of the collection: its path or content hash.")],
    class_name: Annotated[str | None, typer.Option("--class", "-c", help="Its class.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag it has; repeatable.")] = None,
    no_tag: Annotated[list[str] | None, typer.Option("--no-tag", help="A tag it does not have; repeatable.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a picture is; your word outranks imports and models, and is never overwritten by them."""
    with command(as_json=as_json), open_workspace(workspace) as opened:
        known = opened.catalogue.picture(reference_to(picture))
        if known is None:
            raise InputError(f"{picture} is not in the collection: add it first")
        said: list[tuple[Any, ...]] = [(known.id, "tag", name, "accepted", None) for name in tag or ()]
        said += [(known.id, "tag", name, "rejected", None) for name in no_tag or ()]
        if class_name is not None:
            said.append((known.id, "class", class_name, "accepted", None))
        if not said:
            raise InputError("say what the picture is: --class, --tag or --no-tag")
        opened.catalogue.write_labels(said, source="person")
        emit({"labels": len(said)}, as_json, lambda console: say(console, f"{len(said)} labels noted"))


def export(
    destination: Annotated[
        Path | None, typer.Argument(help="The file to write; for xmp the folder of the pictures (by default all).")
    ] = None,
    export_format: Annotated[
        str, typer.Option("--format", "-f", help="csv, tsv, jsonl, parquet, coco or xmp.")
    ] = "csv",
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write all labels with their sources and scores to a file, or as XMP sidecars beside the pictures."""
    from visterm.exchange.writers import export as write

    with command(as_json=as_json), open_workspace(workspace) as opened:
        if destination is None and export_format != "xmp":
            raise InputError(f"name the {export_format} file to write")
        done = write(opened.catalogue.pictures(), destination or opened.folder, export_format, dry_run=dry_run)
        value = asdict(done) | {"dry_run": dry_run}

        def show(console: Console) -> None:
            would = "would be written" if dry_run else "written"
            say(console, f"{done.n_pictures} pictures, {len(done.files)} files {would}, {done.n_unchanged} unchanged")
            show_skipped(done.skipped)

        emit(value, as_json, show)
