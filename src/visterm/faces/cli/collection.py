"""Commands about the collection: init, add, status, attach, remove."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visterm import catalogue, labels, upkeep
from visterm.catalogue.records import IMPORT, PERSON
from visterm.compute.progress import printable
from visterm.documents.wording import counted
from visterm.errors import UsageError
from visterm.faces.cli.options import given, spread
from visterm.faces.cli.outcomes import print_figures
from visterm.faces.cli.output import (
    DryRunOption,
    JsonOption,
    WorkspaceOption,
    command,
    opened,
    say,
    show,
    show_skipped,
    table,
)
from visterm.faces.cli.vocabulary import about_stray

if TYPE_CHECKING:
    from visterm.faces.creating import Created

#: Classes and unreadable files that are listed; machines get all of them.
_LISTED = 20
#: The sources of labels that count, in words.
_WHO = {PERSON: "people", IMPORT: "imports"}


def init(
    folder: Annotated[Path, typer.Argument(help="The folder that holds or will hold your pictures.")] = Path(),
    language: Annotated[
        str | None,
        typer.Option(help="The language of your captions and file names, such as de, fr or es (default: en)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a folder a workspace. Visterm keeps what it knows in .visterm there and touches nothing else."""
    from visterm.faces.creating import create

    with command(as_json=as_json):
        show(create(folder, language=language), as_json, _print_created)


def _print_created(done: Created) -> None:
    said = "is a workspace now; next: visterm add" if done.created else "is a workspace already"
    say(f"{done.workspace} {said}")
    if done.created and done.outer is not None:
        say(
            f"note: this is inside the workspace {done.outer}; commands in this folder use the new one from now on,"
            " which does not know the pictures of the other. If you do not want that, delete .visterm here"
        )
    say(f"language of captions and file names: {done.language}")


@dataclass(frozen=True)
class AddOptions:
    """How pictures and labels are added; the names are those of :class:`visterm.labels.adding.AddOptions`."""

    labels: Annotated[
        list[Path] | None, typer.Option("--labels", "-l", help="A file or folder of labels; repeatable.")
    ] = None
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="The format of --labels; 'folders': each folder is a class.")
    ] = None
    look_for_labels: Annotated[
        bool, typer.Option("--look/--no-look", help="Read labels found with the pictures (metadata, captions, XMP).")
    ] = True
    caption_tags: Annotated[
        bool | None, typer.Option(help="Make tags of captions (default: where a source has captions but no tags).")
    ] = None
    min_count: Annotated[
        int, typer.Option(help="How many captions must have a word before it becomes a tag.", min=1)
    ] = 3
    phrases: Annotated[
        list[str] | None, typer.Option("--phrase", help="Words of captions that become one tag; repeatable.")
    ] = None
    tags_are: Annotated[
        str | None,
        typer.Option(
            "--tags",
            help="'complete': these labels name all tags that fit a picture; 'partial': some (default: as before, at "
            "first complete).",
            metavar="complete|partial",
        ),
    ] = None
    again: Annotated[bool, typer.Option("--again", help="Also add pictures that you removed earlier.")] = False
    as_new: Annotated[
        bool, typer.Option("--as-new", help="These files are new pictures, not edited ones: drop their labels.")
    ] = False


@spread
def add(
    options: AddOptions,
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders of pictures, or pictures (default: the workspace's folder).")
    ] = None,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Add pictures and their labels, or update the catalogue after folders have changed."""
    with command(as_json=as_json), opened(workspace) as photos:
        if options.format is not None:
            from visterm.exchange import check_format

            check_format(options.format)
        if options.format not in (None, "folders") and not options.labels:
            raise UsageError(f"--format {options.format} says how to read labels: name them with --labels")
        done = photos.add(folders or (), dry_run=dry_run, **given(options))
        show(done, as_json, _print_addition)


def _print_addition(done: labels.Addition) -> None:
    from visterm.catalogue.scan import BESIDE

    for line in _file_lines(done.files):
        say(line)
    unread = dict(done.other_formats)
    if n_beside := unread.pop(BESIDE, 0):
        say(f"left out {counted(n_beside, 'raw file')} with a picture of the same name beside: it shows the same")
    if unread:
        number = counted(sum(unread.values()), "picture")
        endings = ", ".join(f"{n} {ending}" for ending, n in unread.items())
        say(f"{number} in formats that Visterm cannot read ({endings}): save copies as JPEG and add those")
        if not {".heic", ".heif", ".hif"}.isdisjoint(unread):
            say("pip install 'visterm[heif]' lets Visterm read .heic")
    for source in done.labels:
        say(_source_line(source))
    if done.caption_tags:
        say(f"{counted(done.caption_words, 'word')} of captions became tags: {done.caption_tags} labels")
    if done.other_words:
        say(
            f"{counted(done.other_words, 'other word')} can be searched but did not become tags: visterm vocabulary"
            " --captions lists them, visterm add --caption-tags --phrase WORD makes one a tag"
        )
    if done.stray_keywords:
        say(about_stray(done.stray_keywords))
    if done.tables:
        others = f" (and {counted(len(done.tables) - 1, 'other table')})" if len(done.tables) > 1 else ""
        named = shlex.quote(done.tables[0])
        passed = f"{named}{others} was not read; if it has labels"
        said = passed if done.labels else f"no labels found; if {named}{others} has some"
        say(f"{said}: visterm add --labels {named}")
    elif not done.labels and done.files.n_pictures:
        say("no labels found; if each sub-folder is a class: visterm add --format folders FOLDER")
    if done.dry_run:
        say("nothing was changed (--dry-run)")
    for note in done.notes[:_LISTED]:
        typer.echo(f"note: {printable(str(note))}", err=True)
    show_skipped(done.skipped, done.files.skipped + sum(source.skipped for source in done.labels))


def _file_lines(files: catalogue.scan.Files) -> list[str]:
    """What became of the files: one line of counts, then one for each kind that needs a word."""
    from visterm.vision.decode import SUFFIXES

    others = [f"{number} {name}" for name in ("moved", "copies", "changed") if (number := getattr(files, name))]
    lines = [", ".join([f"{files.added} added", f"{files.unchanged} unchanged", *others])]
    if not files.n_pictures:
        lines = ["there is no new picture; 'visterm add FOLDER' adds those of another folder"]
        if not (files.removed or files.gone or files.drawn or files.skipped):
            lines = [f"there is no picture here: Visterm reads {', '.join(sorted(SUFFIXES))}"]
    if files.unreadable:
        lines.append(f"{files.unreadable} of these cannot be read as pictures: 'visterm status' says why")
    if files.gone:
        lines.append(
            f"{counted(files.gone, 'file')} gone since the last time; their labels are kept in case they return"
        )
    if files.removed:
        them = "it" if files.removed == 1 else "them"
        lines.append(f"{counted(files.removed, 'file')} removed earlier; add {them} with --again")
    if files.drawn:
        lines.append(f"left out {counted(files.drawn, 'file')} that Visterm drew itself")
    if files.skipped:
        lines.append(f"{files.skipped} skipped")
    return lines


def _source_line(source: catalogue.records.LabelSource) -> str:
    parts = [counted(source.pictures, "picture"), counted(source.classes, "class"), counted(source.tags, "tag")]
    parts += [f"{number} {name}" for name in ("captions", "skipped") if (number := getattr(source, name))]
    line = f"{source.source} ({source.format}): {', '.join(parts)}"
    if source.withdrawn:
        line += f"; {counted(source.withdrawn, 'label')} withdrawn, because the source no longer has them"
    elif source.pictures and not source.new:
        line += "; all of this was known before"
    return line


def status(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show what the collection holds: counts, coverage, most frequent tags, unreadable pictures, models."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.status(), as_json, _print_status)


def _print_status(found: upkeep.Status) -> None:
    total = max(1, found.n_ok)
    rows = [
        ("pictures", found.n_pictures, ""),
        ("that cannot be read", found.n_unreadable, ""),
        ("whose files are missing", found.n_missing, ""),
        ("with a class", found.n_with_class, f"{found.n_with_class / total:.0%}"),
        ("with tags", found.n_with_tags, f"{found.n_with_tags / total:.0%}"),
        ("with a caption", found.n_with_caption, f"{found.n_with_caption / total:.0%}"),
    ]
    if test := found.splits.get("test"):
        rows.append(("to test on, never learned from", test, f"{test / total:.0%}"))
    say(f"{found.workspace}  (language: {found.language})", style="bold")
    table(("", "number", "of readable"), rows)
    said = {_WHO[source]: number for source, number in found.label_sources.items() if source in _WHO}
    if said:
        say(f"labels: {', '.join(f'{number} by {who}' for who, number in said.items())}")
    for source, number in found.label_sources.items():
        if source not in _WHO:
            say(_suggestions_line(source.removeprefix("model "), number, found))
    if found.n_removed:
        say(f"{counted(found.n_removed, 'file')} removed; visterm add leaves them out (--again adds them)")
    if found.classes:
        table(("class", "pictures"), list(found.classes.items())[:_LISTED])
    if found.frequent_tags:
        table(("most frequent tags", "pictures"), found.frequent_tags.items())
    if found.unlearned.due:
        say(f"{counted(found.unlearned.labels, 'new label')} not learned yet: visterm train", style="bold")
    if found.in_use:
        by_model: dict[str, list[str]] = {}
        for task, model in found.in_use.items():
            by_model.setdefault(model, []).append(task)
        used = ", ".join(f"{model} to {' and '.join(tasks)}" for model, tasks in by_model.items())
        others = len(found.models) - len(by_model)
        say(f"models in use: {used}{f'; {others} more: visterm models' if others else ''}")
        print_figures(found.quality)
    for item in found.unreadable[:_LISTED]:
        say(f"unreadable {item.path}: {item.reason}", style="yellow")
    for record in found.without_file[:_LISTED]:
        seen = f"last seen at {record.last_seen}" if record.last_seen else "at no known place"
        say(f"no file: {record.sha256[:12]}, {seen}, {counted(record.n_labels, 'label')}", style="yellow")
    if found.without_file:
        say("give one its file with: visterm attach RECORD FILE")


def _suggestions_line(model: str, number: int, found: upkeep.Status) -> str:
    """How many suggestions a model made, how many are decided, and how many wait."""
    waiting = found.suggestions.get(model, 0)
    decided = f"; {number - waiting} more of them decided" if waiting < number else ""
    if not waiting:
        return f"{counted(number, 'suggestion')} by {model}, all decided"
    return f"{counted(waiting, 'suggestion')} by {model}, not yet accepted{decided} (visterm label PICTURE --accept)"


def remove(
    references: Annotated[list[str], typer.Argument(help="Files, folders, or content hashes of pictures.")],
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forget pictures and their labels. The files stay where they are."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.remove(references, dry_run=dry_run), as_json, _print_removal)


def _print_removal(done: labels.Removal) -> None:
    parts = [counted(done.removed, "picture")] if done.removed or not done.copies else []
    parts += [f"{done.copies} {'copy' if done.copies == 1 else 'copies'}"] if done.copies else []
    said = f", with {counted(done.said, 'label')} that you gave" if done.said else ""
    would = "would be " if done.dry_run else ""
    stay = f"; {_staying(done.stay)}" if done.stay else ""
    say(f"{' and '.join(parts)} {would}forgotten{said}{stay}; no file was touched")
    if not done.dry_run:
        them = "it" if done.removed + done.copies == 1 else "them"
        say(f"visterm add leaves {them} out from now on; --again brings {them} back")


def _staying(paths: list[str]) -> str:
    """Where the pictures of forgotten copies still are."""
    if len(paths) == 1:
        return f"the picture stays at {paths[0]}"
    return f"their pictures stay, at {paths[0]} and {counted(len(paths) - 1, 'other place')}"


def attach(
    record: Annotated[str, typer.Argument(help="A picture without a file: its hash or the path of its last file.")],
    file: Annotated[Path, typer.Argument(help="The file that is this picture now.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a record that has lost its file a new file, which then has its labels."""
    with command(as_json=as_json), opened(workspace) as photos:
        done = photos.attach(record, file)
        show(done, as_json, lambda _: say(f"{', '.join(done.paths)} has {counted(done.labels, 'label')} now"))
