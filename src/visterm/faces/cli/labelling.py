"""The command label: what a person says of pictures, and a question where a name looks like a slip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from visterm import labels
from visterm.documents.wording import counted
from visterm.errors import InputError, UsageError
from visterm.faces.cli.options import given, spread
from visterm.faces.cli.output import JsonOption, WorkspaceOption, at_a_terminal, command, opened, say, show

#: Labels that are listed; machines get all of them.
_LISTED = 20


@dataclass
class Statement:
    """What a command says of pictures; the names are those of :class:`visterm.labels.Statement`."""

    class_name: Annotated[str | None, typer.Option("--class", "-c", help="Their class.")] = None
    tags: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag they have; repeatable.")] = None
    no_tags: Annotated[
        list[str] | None, typer.Option("--no-tag", help="A tag they do not have; repeatable. Models learn from it.")
    ] = None
    caption: Annotated[str | None, typer.Option("--caption", help="Their caption; it replaces another.")] = None
    title: Annotated[str | None, typer.Option("--title", help="Their title; it replaces another.")] = None
    clear: Annotated[
        list[str] | None,
        typer.Option(
            help="Withdraw what you said, so that imports and suggestions count again: class, tags, caption, title, or"
            " tag:NAME.",
            metavar="WHAT",
        ),
    ] = None
    accept: Annotated[bool, typer.Option("--accept", help="Accept what models suggest for them.")] = False
    complete: Annotated[
        bool, typer.Option("--complete", help="These tags, with those you gave before, are all that fit.")
    ] = False
    only: Annotated[bool, typer.Option("--only", help="Only these tags fit: deny all others, whoever gave them.")] = (
        False
    )
    answering: Annotated[
        str | None,
        typer.Option(help="The queue whose question this answers: teach, tag, errors or measure.", metavar="QUEUE"),
    ] = None

    def check(self) -> None:
        """Name the options where the library would name its parameters."""
        said = (self.tags, self.no_tags, self.clear, self.accept, self.complete, self.only)
        if self.class_name is self.caption is self.title is None and not any(said):
            raise UsageError(
                "say what the pictures are: --class, --tag, --no-tag, --caption, --title, --clear, --accept or"
                " --complete"
            )
        if self.only and not (self.tags or self.accept):
            raise UsageError("--only needs the tags that fit; --complete says that there are no more than you gave")

    def replace(self, kind: str, old: str, new: str) -> None:
        """Say another name instead of one that was a slip."""
        if kind == "class":
            self.class_name = new
        else:
            self.tags = [new if name == old else name for name in self.tags or ()]
            self.no_tags = [new if name == old else name for name in self.no_tags or ()]


@spread
def label(
    pictures: Annotated[
        list[str], typer.Argument(help="Pictures of the collection, by path or content hash.", metavar="PICTURE...")
    ],
    said: Statement,
    new: Annotated[
        bool, typer.Option("--new", help="Accept a new class or tag even if it looks like another one.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what pictures show. Your labels outrank those of imports and models, which never overwrite them."""
    with command(as_json=as_json), opened(workspace) as photos:
        said.check()
        meant: list[str] = []
        while True:
            try:
                done = photos.label(pictures, new=new or meant, **given(said))
                break
            except labels.NewNameError as slip:
                if as_json or not at_a_terminal():
                    raise InputError(_in_words(slip)) from slip
                _ask(slip, said, meant)
        show(done, as_json, _print_labelled)


def _in_words(slip: labels.NewNameError) -> str:
    end = "" if slip.question.endswith("?") else "."
    several = " (--tag sea --tag sky)" if "," in slip.name and slip.kind == "tag" else ""
    return f"the {slip.kind} {slip.question}{several}{end} If you mean {slip.name!r}, add --new"


def _ask(slip: labels.NewNameError, said: Statement, meant: list[str]) -> None:
    """Let a person decide about a name that looks like a slip; ``meant`` ones are new on purpose."""
    use = f"use {slip.near} / " if slip.near is not None else ""
    question = f"{slip.question} [{use}make {slip.name} / stop]"
    while True:
        answer = typer.prompt(question, err=True).strip().lower().partition(" ")[0]
        if answer and "use".startswith(answer) and slip.near is not None:
            return said.replace(slip.kind, slip.name, slip.near)
        if answer and "make".startswith(answer):
            return meant.append(slip.name)
        if answer and "stop".startswith(answer):
            raise InputError("stopped; nothing was changed")
        question = f"type {'use, ' if slip.near is not None else ''}make or stop"


def _listed(labels: dict[str, int]) -> str:
    """Labels in words, the first of many, with their numbers of pictures."""
    several = [f"{name} of {counted(n, 'picture')}" if n > 1 else name for name, n in labels.items()]
    more = f" and {len(several) - _LISTED} more" if len(several) > _LISTED else ""
    return f"{', '.join(several[:_LISTED])}{more}"


def _print_labelled(done: labels.Labelled) -> None:
    otherwise = done.texts or done.cleared or done.known or done.not_cleared or done.described
    parts = [f"{counted(done.labels, 'label')} noted"] if done.labels or not otherwise else []
    if done.accepted:
        parts.append(f"{done.accepted} of them accepted from models")
    if done.texts:
        parts.append(f"{counted(done.texts, 'text')} written")
    if done.cleared:
        parts.append(f"{counted(done.cleared, 'label')} cleared")
    if parts:
        say(", ".join(parts))
    if done.taken:
        say(f"accepted: {_listed(done.taken)}")
    if done.known:
        say(f"you had said this before: {_listed(done.known)}")
    if done.denied:
        say(f"denied: {_listed(done.denied)}")
    if done.described:
        say(f"{counted(done.described, 'picture')} now described: you said all tags that fit")
    if done.not_cleared:
        say(f"nothing that you said was there to clear ({', '.join(done.not_cleared)})")
    if done.imported:
        say(f"an import says this, so it stays: {_listed(done.imported)} (--no-tag NAME denies a tag)")
    for name, now in done.called.items():
        say(f"{name} is called {now} now, so {now} was noted")
    if done.nothing_suggested:
        where = done.nothing_suggested[0]
        if (number := len(done.nothing_suggested)) > 1:
            where += f" and {counted(number - 1, 'other')}"
        say(
            f"no suggestion for {where} waits for a decision: 'visterm tag PICTURE --write' and 'visterm"
            " classify PICTURE --write' keep suggestions"
        )
