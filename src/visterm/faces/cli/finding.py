"""Commands that look at pictures: classify, tag, search, similar, show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from visterm import collection, find
from visterm.compute.progress import printable
from visterm.documents.wording import counted, percent
from visterm.faces.cli.options import given, spread
from visterm.faces.cli.output import (
    DryRunOption,
    JsonOption,
    WorkspaceOption,
    check_share,
    command,
    opened,
    say,
    say_row,
    show,
    show_skipped,
)

if TYPE_CHECKING:
    from visterm.workspace import Workspace

_FAINT = "bright_black"
#: Values of a kind that are counted in one line; machines get more.
_MOST_COUNTS = 12
#: Answers that are less likely than this are not shown beside a better one.
_HOPELESS = 0.01
#: And so is it that a picture may belong to none of the classes.
_STRANGE = 0.05
ModelOption = Annotated[
    str | None, typer.Option("--model", "-m", help="NAME, NAME@VERSION or a model folder (default: the best).")
]
SheetOption = Annotated[Path | None, typer.Option(help="Also write the results as a contact sheet, PNG or JPEG.")]
LimitOption = Annotated[int, typer.Option("--limit", "--number", "-n", help="How many pictures to show.", min=1)]
WriteOption = Annotated[bool, typer.Option("--write", help="Keep the answers as the model's suggestions.")]


def classify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Pictures or folders (default: all pictures without a class).")
    ] = None,
    model: ModelOption = None,
    n_best: Annotated[int, typer.Option("--best", "-k", help="How many classes to show for each picture.", min=1)] = 3,
    write: WriteOption = False,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say which class each picture belongs to."""
    from visterm.faces.loose import opened_or_loose

    with command(as_json=as_json), opened_or_loose(workspace, model, paths) as photos:
        done = photos.classify(paths or (), model=model, n_best=n_best, write=write and not dry_run)
        _show_suggestions(done, as_json, asked=paths, write=write, dry_run=dry_run)


@dataclass(frozen=True)
class TagOptions:
    """Which tags are suggested; the names are those of :meth:`visterm.Workspace.tag`."""

    precision: Annotated[
        float, typer.Option("--precision", help="The share of suggestions that should be right, from 0 to 1.")
    ] = 0.8
    n_best: Annotated[
        int | None,
        typer.Option("--best", "-k", help="Show this number of tags for each picture, likely or not.", min=1),
    ] = None
    at_least: Annotated[
        float | None, typer.Option("--sure", help="Show all tags with at least this probability, such as 0.5.")
    ] = None
    rare: Annotated[bool, typer.Option("--rare", help="Show rare tags that stand out first.")] = False


@spread
def tag(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Pictures or folders (default: all pictures without tags).")
    ] = None,
    model: ModelOption = None,
    options: TagOptions = TagOptions(),
    write: WriteOption = False,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Suggest tags for pictures, each with its probability.

    Visterm suggests only tags that are likely enough: 8 of 10 suggestions should be right. A picture may get no tag.
    --best 5 shows five tags for every picture.
    """
    from visterm.faces.loose import opened_or_loose

    with command(as_json=as_json), opened_or_loose(workspace, model, paths) as photos:
        check_share("--precision", options.precision)
        check_share("--sure", options.at_least)
        done = photos.tag(paths or (), model=model, write=write and not dry_run, **given(options))
        _show_suggestions(done, as_json, asked=paths, write=write, dry_run=dry_run)


def _show_suggestions(
    done: find.Suggestions, as_json: bool, *, asked: list[Path] | None, write: bool, dry_run: bool
) -> None:
    def print_suggestions(done: find.Suggestions) -> None:
        if not (done.answers or done.skipped):
            say("there is no picture" if asked else "every picture is labelled already; name pictures to ask about")
        for doubt in done.doubts if done.answers else ():
            say(doubt, style="yellow")
        for answer in done.answers:
            said = ", ".join(f"{name} {percent(p)}" for name, p in _worth_showing(answer))
            if said or len(done.answers) == 1:
                say_row(f"{answer.path}: {said or 'nothing likely enough'}")
        unsure = sum(not answer.labels for answer in done.answers)
        if unsure and len(done.answers) > 1:
            say(f"{counted(unsure, 'picture')}: nothing likely enough; --precision 0.6 or --best 3 shows more")
        if dry_run:
            say("nothing was changed (--dry-run)")
        elif write:
            say(f"{counted(done.written, 'suggestion')} of {done.model} kept; next: 'visterm label PICTURE --accept'")
        elif any(answer.labels and answer.id is not None for answer in done.answers):
            say("nothing was kept; --write keeps these as suggestions for 'visterm label --accept'", style=_FAINT)
        show_skipped(done.skipped)

    show(done, as_json, print_suggestions)
    if asked and not done.answers:
        raise typer.Exit(1)


def _worth_showing(answer: collection.PictureRow) -> list[tuple[str, float]]:
    """The answers without the hopeless ones, likeliest first; the best is always shown."""
    said = [(label.name, label.probability) for label in answer.labels]
    if answer.labels and answer.none >= _STRANGE:
        said = sorted([*said, ("none of these", answer.none)], key=lambda each: -each[1])
    return [each for place, each in enumerate(said) if place == 0 or each[1] >= _HOPELESS]


class QueryCommand(TyperCommand):
    """A command whose arguments may begin with "-", as in ``boat -people``: they are words, not options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, excluded words marked so that they are no options."""
        return super().parse_args(ctx, [_OPTION_LIKE.sub(f"{_MARK}-", arg) for arg in args])


#: Stands before an excluded word while options are read; no query holds it.
_MARK = "\0"
#: What begins a word that is excluded: "-people", but neither "--why", "-w", "-n5" nor "-5".
_OPTION_LIKE = re.compile(r"^-(?=[^-\d\W][^\d\W]|[(\"])")


@dataclass(frozen=True)
class SearchOptions:
    """What is found and in which order; the names are those of :meth:`visterm.Workspace.search`."""

    limit: LimitOption = 20
    why: Annotated[
        bool, typer.Option("--why", help="Say why each picture matches, and where in the picture; --sheet draws it.")
    ] = False
    unlikely: Annotated[bool, typer.Option("--all", help="Also show pictures that are less likely to match.")] = False
    sort: Annotated[str, typer.Option(help="Order: best, date, rating or size.")] = "best"


@spread
def search(
    words: Annotated[
        list[str], typer.Argument(help="What to look for, such as: boat sunset -people.", metavar="QUERY")
    ],
    model: ModelOption = None,
    options: SearchOptions = SearchOptions(),
    sheet: SheetOption = None,
    facets: Annotated[
        bool, typer.Option("--facets", help="Count what is found: months, places, cameras, ratings, tags and more.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find pictures from a few words, tagged or not.

    \b
    beach sunset              both words, in tags, classes, captions or file names
    "tall building"           the words together
    beach -people             beach, but not people
    (boat OR ship) sea^2      one of two words; the sea matters twice as much
    tag:boat class:coast      a word only in tags, a word only in classes
    filename:norway           a word in the path; also caption:harbour
    like:photos/0042.jpg      pictures that look like this one
    is:untagged               pictures without tags
    date:2019-07..2020        when they were taken; also date:summer, and 2019-07 alone
    place:norway camera:d90   where and with what; also near:photos/0042.jpg, lens:, iso:
    "rating:>=3" size:>12mp   how they are rated, how large they are; also colour:, pick:yes, orientation:portrait
    folder:2019 by:person     where the file is, who labelled it; also suggested:boat, title:, creator:

    Pictures that match what people wrote come first. Next come pictures the model thinks match, with probabilities.
    """
    with command(as_json=as_json), opened(workspace) as photos:
        query = " ".join(words).replace(_MARK, "")
        if facets:
            show(photos.facets(query), as_json, _print_facets)
            return
        found = photos.search(query, model=model, **given(options))
        show(found, as_json, lambda found: _print_findings(found, options))
        _write_sheet(photos, found, sheet, as_json)


def _print_facets(facets: find.Facets) -> None:
    say(counted(facets.total, "picture"))
    for name, counts in vars(facets).items():
        if isinstance(counts, list) and (
            shown := [f"{each.value or '.'} {each.pictures}" for each in counts if each.pictures]
        ):
            more = f", and {len(shown) - _MOST_COUNTS} more" if len(shown) > _MOST_COUNTS else ""
            say(f"{name}: {', '.join(shown[:_MOST_COUNTS])}{more}")


def similar(
    picture: Annotated[Path, typer.Argument(help="A picture of the collection or any other.")],
    recipe: Annotated[
        str | None, typer.Option("--recipe", "-r", help="Feature recipe to compare by (default: deep).")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Compare by the codes of this model instead, such as ccd2.")
    ] = None,
    limit: LimitOption = 20,
    sheet: SheetOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pictures that look most like a given one."""
    with command(as_json=as_json), opened(workspace) as photos:
        found = photos.similar(picture, recipe=recipe, model=model, limit=limit)
        show(found, as_json, _print_lookalikes)
        _write_sheet(photos, found, sheet, as_json)


def show_picture(
    picture: Annotated[Path, typer.Argument(help="A picture of the collection or any other.")],
    feature: Annotated[
        str, typer.Option("--feature", "-f", help="sift, regions, lbp, gist, codewords, or a recipe of codewords.")
    ] = "sift",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write (default: NAME.FEATURE.png).")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw what the machine sees in a picture."""
    with command(as_json=as_json):
        done = find.showing.show_in(workspace, picture, feature=feature, output=output)
        show(done, as_json, lambda _: say(f"written to {done.written}; 'visterm add' leaves it out"))


def _write_sheet(photos: Workspace, found: find.Findings | find.Lookalikes, file: Path | None, as_json: bool) -> None:
    if file is not None:
        written = photos.sheet(found, file)
        if not as_json:
            typer.echo(f"contact sheet written to {printable(str(written))}; 'visterm add' leaves it out")


def _print_findings(findings: find.Findings, options: SearchOptions) -> None:
    for note in findings.notes:
        say(note, style="yellow")
    if findings.read_as:
        say(f"understood: {findings.read_as}", style=_FAINT)
    if findings.ignored:
        say(f"ignored words that say nothing about pictures: {', '.join(findings.ignored)}", style=_FAINT)
    told = [found for found in findings.found if found.told]
    likely = [found for found in findings.found if found.likely and not found.told]
    n_shown = len(told) + len(likely)
    guess = f": the best guess has a chance of {percent(findings.best)}" if findings.best > 0 else ""
    hint = ", shown with --all" if guess and not options.unlikely else ""
    if n_shown and findings.n_likely == 0:  # not even one picture is likely to match all words
        say(f"nothing found for all words{guess}{hint}; these match some of them", style="bold")
    if findings.weak:
        say(f"nothing fits{_all_words(likely[0])} well; these fit a little", style="bold")
    for missing in dict.fromkeys(found.missing for found in findings.found if found.likely):
        by_people = [found for found in told if found.missing == missing]
        by_model = [found for found in likely if found.missing == missing]
        if options.sort != "best":  # one list in this order, whoever says so
            group = [found for found in findings.found if found.likely and found.missing == missing]
            _print_group(f"by {options.sort}{_without(missing)}", group, why=options.why)
            continue
        fields = {word.field for word in findings.understood}
        who = "files" if fields and fields <= find.CONDITIONS.keys() else "people"
        _print_group(f"{who} say{_without(missing)}", by_people, why=options.why)
        _print_group(f"{_who_thinks(by_model)}{_without(missing)}", by_model, why=options.why)
    if findings.guessed:
        say(f"no picture is known to match, and none is likely to match{guess}", style="bold")
    elif not n_shown:
        say(f"nothing found{guess}{hint}", style="bold")
    elif findings.n_likely is None or findings.n_likely > n_shown:
        more = "more" if findings.n_likely is None else f"{findings.n_likely - n_shown} more"
        say(f"and {more} (--limit)", style=_FAINT)
    elif findings.n_less_likely and findings.n_likely:
        say("less likely pictures: --all", style=_FAINT)
    others = [found for found in findings.found if not found.likely]
    for missing in dict.fromkeys(found.missing for found in others):
        group = [found for found in others if found.missing == missing]
        title = "these look most like it" if findings.guessed else "less likely"
        _print_group(f"{title}{_without(missing)}", group, why=options.why, style=_FAINT)
    if findings.guessed and len(findings.teachable) == 1:
        (word,) = findings.teachable
        by_one = f"'visterm label PICTURE --tag {shlex.quote(word)}' for one that is right"
        say(f"to teach {word!r}: Review in 'visterm serve', judge 20 pictures; or {by_one}", style=_FAINT)


def _print_group(title: str, group: Sequence[collection.PictureRow], *, why: bool, style: str | None = None) -> None:
    if group:
        say(title, style=style or "bold")
    for found in group:
        chance = "" if found.told else percent(found.score or 0.0)
        say_row(f"{chance:>8}  {found.path}", style=style)
        if why:
            for line in (_because(found), *found.evidence):
                say_row(f"          {line}", style=_FAINT)


def _who_thinks(group: Sequence[collection.PictureRow]) -> str:
    """Who says that pictures match if people do not: a model, their looks, or nobody."""
    by = {reason.by for found in group for reason in found.reasons}
    return "the model thinks" if "model" in by else "looks alike" if "look" in by else "nobody says otherwise"


def _all_words(found: collection.PictureRow) -> str:
    """How the words of the query are called together; nothing if there is one."""
    n_words = len({reason.word for reason in found.reasons if reason.by != "no tags"})
    return {1: "", 2: " both words"}.get(n_words, " all words")


def _without(missing: Sequence[str]) -> str:
    """The words of the query that a group of pictures lacks."""
    return f", without {' and '.join(repr(word) for word in missing)}" if missing else ""


def _because(found: collection.PictureRow) -> str:
    """The reasons in one line, such as: boat (tag, caption), sea (model 93%), not people (model 2%)."""
    by_word: dict[str, list[str]] = {}
    for reason in found.reasons:
        word = f"{'not ' if reason.excluded else ''}{reason.word}"
        chance = f" {percent(reason.probability)}" if reason.by in ("model", "look") else ""
        by_word.setdefault(word, []).append("nobody knows" if reason.by == "nobody" else reason.by + chance)
    return ", ".join(f"{word} ({', '.join(by)})" for word, by in by_word.items())


def _print_lookalikes(lookalikes: find.Lookalikes) -> None:
    if not lookalikes.found:
        say("nothing found")
        return
    say(f"pictures like {lookalikes.picture}, with their likeness (100%: the same)", style="bold")
    for found in lookalikes.found:
        say_row(f"{percent(found.score or 0.0):>8}  {found.path}")
