"""visterm vocabulary: look at the classes and tags in use, and edit them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from visterm import catalogue, labels, review
from visterm.documents.wording import counted, percent
from visterm.faces.cli.output import JsonOption, WorkspaceOption, as_it_is, command, opened, say, show, table

#: At most this many keywords are named.
_LISTED = 8
app = typer.Typer(
    help="Show and edit the classes and tags in use. Edits also apply to labels that you import later.",
    invoke_without_command=True,
)


class _Kind(StrEnum):
    TAG = "tag"
    CLASS = "class"


KindOption = Annotated[_Kind, typer.Option(help="Edit tags or classes.")]


@app.callback()
def show_all(
    context: typer.Context,
    captions: Annotated[
        bool, typer.Option("--captions", help="Also list words of captions that are not tags; search finds them.")
    ] = False,
    suggested: Annotated[
        bool, typer.Option("--suggest", help="List words that fit pictures without labels, to accept or decline.")
    ] = False,
    limit: Annotated[int, typer.Option(min=0, help="Names of each kind that are listed; 0 lists all.")] = 100,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the classes and tags in use, the most used first."""
    if context.invoked_subcommand is not None:
        return
    with command(as_json=as_json), opened(workspace) as photos:
        if suggested:
            show(photos.suggested_words(), as_json, _print_suggested)
            return
        show(photos.vocabulary(captions=captions), as_json, partial(_print_vocabulary, limit=limit or None))


def about_stray(keywords: Mapping[str, int]) -> str:
    """What a person is asked about keywords of one or two pictures that no model learns."""
    listed = ", ".join([*list(keywords)[:_LISTED], *(["..."] if len(keywords) > _LISTED else [])])
    return (
        f"{counted(len(keywords), 'keyword')} inside one or two files ({listed}): search finds them, but no model"
        " learns them. Other words for tags? visterm vocabulary merge NAME --into TAG (visterm vocabulary suggest finds"
        " forms of one word). Not wanted? visterm vocabulary drop NAME. To be learned? visterm label PICTURE --tag NAME"
    )


def _print_vocabulary(vocabulary: labels.Vocabulary, limit: int | None) -> None:
    for kind, several, found in (("class", "classes", vocabulary.class_), ("tag", "tags", vocabulary.tag)):
        recognised = {name: percent(quality) for name, quality in found.quality.items()}
        rows = [
            (use.name, use.n_accepted, use.n_suggested, use.n_rejected, recognised.get(use.name))
            for use in found.terms[:limit]
        ]
        if rows:
            table((kind, "accepted", "suggested", "rejected", "recognised"), rows)
            _say_how_many(several, len(rows), len(found.terms))
        else:
            say(f"no picture has a {kind} yet: 'visterm label PICTURE --{kind} NAME' gives one")
        others = list(found.aliases.items())[:limit]
        for old, new in others:
            say(f"{old} stands for {new}")
        _say_how_many(f"other names of {several}", len(others), len(found.aliases))
        if found.dropped:
            say(f"dropped: {', '.join(found.dropped[:limit])}")
            _say_how_many(f"dropped {several}", len(found.dropped[:limit]), len(found.dropped))
        if found.not_learned:
            say(about_stray(found.not_learned))
    if vocabulary.captions is not None:
        words = vocabulary.captions[:limit]
        table(("word of captions", "captions"), [(word.name, word.n_captions) for word in words])
        _say_how_many("words of captions", len(words), len(vocabulary.captions))


def _say_how_many(what: str, n_shown: int, n: int) -> None:
    if n_shown < n:
        say(f"these are {n_shown} of {n} {what}; --limit 0 lists all")


def _print_suggested(found: review.SuggestedWords) -> None:
    n = sum(len(each.pictures.ids) for each in found.words)
    if not found.words:
        say("no everyday word fits the pictures without labels well enough; visterm serve shows them in groups")
        return
    table(("word", "pictures"), [(each.word, len(each.pictures.ids)) for each in found.words])
    say(f"{counted(len(found.words), 'word')} for {n} of {counted(found.unlabelled, 'picture')} without labels")
    say("next: visterm vocabulary accept WORD [--as NAME], or decline WORD; visterm serve shows the pictures")


@app.command()
def accept(
    word: Annotated[str, typer.Argument(help="A suggested word.")],
    name: Annotated[str | None, typer.Option("--as", help="The tag to give (default: the word).")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tag the pictures of a suggested word with it."""
    with command(as_json=as_json), opened(workspace) as photos:
        done = photos.new_words.accept(word, name)
        show(done, as_json, lambda _: say(f"{counted(done.labels, 'picture')} tagged; visterm undo takes it back"))


@app.command()
def decline(
    words: Annotated[list[str], typer.Argument(help="Words not to suggest.")],
    take_back: Annotated[bool, typer.Option("--undo", help="Suggest them again.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop suggesting a word for pictures without labels."""
    with command(as_json=as_json), opened(workspace) as photos:
        for word in words:
            done = photos.new_words.decline(word, decline=not take_back)
        show(done, as_json, lambda done: say(f"not suggested: {', '.join(done.declined) or 'nothing'}"))


@app.command()
def rename(
    old: str, new: str, kind: KindOption = _Kind.TAG, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Give a tag or class another name."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.rename(old, new, kind=_kind(kind)), as_json, _print_edit)


@app.command()
def merge(
    names: Annotated[list[str], typer.Argument(help="The names to merge.")],
    into: Annotated[str, typer.Option(help="The name that all of them get.")],
    kind: KindOption = _Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge several tags or classes into one."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.merge(names, into=into, kind=_kind(kind)), as_json, _print_edit)


@app.command()
def suggest(
    apply: Annotated[bool, typer.Option("--apply", help="Make all proposed merges.")] = False,
    kind: KindOption = _Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose merges of forms of one word, such as kid and kids; nothing is merged without --apply."""
    with command(as_json=as_json), opened(workspace) as photos:
        proposed = photos.propose_merges(kind=_kind(kind))
        if not as_json:
            show(proposed, as_json, _print_merges)
        if apply and proposed.merges:
            proposed = photos.propose_merges(kind=_kind(kind), apply=True)
        if as_json or proposed.applied:
            made = f"{counted(len(proposed.merges), 'merge')} made; visterm undo takes them back"
            show(proposed, as_json, lambda _: say(made))


def _print_merges(proposed: labels.Merges) -> None:
    for merge in proposed.merges:
        say(", ".join(f"{name} ({counted(number, 'picture')})" for name, number in merge.names.items()))
        as_it_is(f"  {merge.command}")
    if not proposed.merges:
        say(f"no two {'classes' if proposed.kind == 'class' else 'tags'} look like forms of one word")


@app.command()
def drop(
    names: Annotated[list[str], typer.Argument(help="The names to leave out.")],
    kind: KindOption = _Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Leave tags or classes out, in later imports too; 'restore' brings them back."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.drop(names, kind=_kind(kind)), as_json, _print_edit)


@app.command()
def restore(
    names: Annotated[list[str], typer.Argument(help="The names to bring back.")],
    kind: KindOption = _Kind.TAG,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring dropped, renamed or merged names back."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.restore(names, kind=_kind(kind)), as_json, _print_edit)


def _kind(chosen: _Kind) -> catalogue.Kind:
    return "class" if chosen is _Kind.CLASS else "tag"


def _print_edit(edit: labels.Edit) -> None:
    say(edit.done)
