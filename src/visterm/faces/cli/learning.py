"""Commands about features and models: methods, features, train, models, evaluate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from visterm import collection, learn
from visterm.documents.wording import counted
from visterm.errors import UsageError
from visterm.faces.cli.options import given, spread
from visterm.faces.cli.outcomes import print_earlier, print_figures, print_left_out, print_replaced, print_training
from visterm.faces.cli.output import (
    DeviceOption,
    JsonOption,
    MemoryOption,
    WorkspaceOption,
    command,
    opened,
    say,
    show,
    show_skipped,
    table,
)

#: The measures that tables show: headings that leave room at 80 columns, and what they mean.
_SHORT = {
    "accuracy": ("right", "share of right answers"),
    "mean class accuracy": ("by class", "mean over classes"),
    "tag accuracy": ("right", "share of right answers"),
    "suggestions right": ("sugg.", "share of suggestions that are right"),
    "tags found": ("found", "share of tags that suggestions cover"),
    "word F@5": ("word F", "F-measure that counts rare tags as much as frequent ones, with five tags per picture"),
    "N+@5": ("N+", "tags given rightly at least once, with five tags per picture"),
    "AvgP": ("AvgP", "average precision of a search"),
    "P@1": ("first", "share of queries whose first picture is right"),
    "P@10": ("of 10", "share of right pictures among the first ten"),
}
#: On fewer held-out pictures than this, methods cannot be told apart.
_TOO_FEW = 10
#: Measures that are numbers of tags, not shares.
_COUNTS = ("N+", "Complete Length")
RecipeOption = Annotated[
    str | None, typer.Option("--recipe", "-r", help="Feature recipe (default: chosen for the method).")
]


def features(
    recipes: Annotated[
        list[str] | None, typer.Argument(metavar="[RECIPE]...", help="Recipes to compute (default: list them).")
    ] = None,
    for_models: Annotated[
        bool, typer.Option("--for-models", help="Compute what the models in use need, and their answers.")
    ] = False,
    device: DeviceOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute missing features. After an interruption, the next run continues where this one stopped."""
    with command(as_json=as_json), opened(workspace, device=device) as photos:
        if recipes or for_models:
            show(photos.features(*recipes or (), for_models=for_models), as_json, _print_computed)
        else:
            show(photos.recipes(), as_json, _print_recipes)


def _print_computed(done: collection.Computed) -> None:
    for item in done.recipes:
        spent = f"{item.n_computed} computed in {item.seconds:.1f} s"
        say(f"{item.recipe}: {spent}, {item.n_known} known before")
        for note in item.notes:
            say(note)
        show_skipped(item.failed)


def _print_recipes(found: collection.Recipes) -> None:
    columns = ("recipe", "numbers", "about MB", "about CPU seconds", "what it is")
    rows = [
        (item.name, item.n_dims, f"{item.megabytes:.1f}", f"{item.seconds:.1f}", item.summary) for item in found.recipes
    ]
    table(columns, rows)


@dataclass(frozen=True)
class TrainOptions:
    """How pictures are learned from; the names are those of :meth:`visterm.Workspace.train`."""

    name: Annotated[str | None, typer.Option("--name", "-n", help="The model's name (default: the method's).")] = None
    recipe: RecipeOption = None
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", help="A parameter of the method, as NAME=VALUE; repeatable."),
    ] = None
    minutes: Annotated[float, typer.Option("--minutes", help="About how many minutes choosing may take.", min=0)] = 3.0
    choose_again: Annotated[
        bool, typer.Option("--choose", help="Choose again, even if an earlier choice is still good.")
    ] = False


@spread
def train(
    options: TrainOptions,
    method: Annotated[
        str | None,
        typer.Argument(
            metavar="[classes|tags|search|METHOD]",
            help="What to learn, or a method that 'visterm methods' lists (default: all that the labels allow).",
        ),
    ] = None,
    memory: MemoryOption = None,
    device: DeviceOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn from the labelled pictures, measure on held-out pictures, and keep the models.

    If you name no method, Visterm compares a few features and methods on held-out pictures and takes the best.
    """
    with command(as_json=as_json), opened(workspace, memory, device) as photos:
        parameters = _settings(options.parameters or [])
        done = photos.train(method, **given(options) | {"parameters": parameters})
        show(done, as_json, print_learned)


def print_learned(done: learn.TrainedModel | learn.Training) -> None:
    """Print what was learned, for people."""
    if isinstance(done, learn.Training):
        print_training(done)
    else:
        _print_trained(done)


def _print_trained(model: learn.TrainedModel) -> None:
    learned = model.training
    kinds = [
        ("a class", learned["pictures_with_class"], model.classes),
        ("tags", learned["pictures_with_tags"], model.tags),
    ]
    said = " and ".join(f"{counted(number, 'picture')} with {kind}" for kind, number, known in kinds if known)
    named = "" if model.name == model.method else f" ({model.method})"
    of_all = f" of {learned['pictures']:,}"
    near = f", {learned['landmarks']:,} of them landmarks," if learned.get("landmarks") else ""
    say(f"{model.reference}{named}: learned from {said}{of_all}{near} in {learned['seconds']:.1f} s")
    print_figures(model.figures)
    print_replaced(model.replaced)
    print_left_out(model.left_out)
    print_earlier(model.earlier)
    if model.metrics:
        guessing = model.baseline_metrics
        rows = [(key, _figure(key, value), _figure(key, guessing.get(key))) for key, value in model.metrics.items()]
        held_out = max(model.held_out(task) for task in model.abilities)
        table((f"on {counted(held_out, 'held-out picture')}", "model", "guessing"), rows)
    if len(model.classes) == 1:
        say(f"The only class is {model.classes[0]!r}, so there is nothing to tell apart.", style="yellow")
    if any(model.is_below_baseline(task) for task in model.abilities):
        say(
            "It is worse than the baseline, which only guesses. 'visterm train' chooses a better method.",
            style="yellow",
        )


def _figure(measure: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if measure.startswith(_COUNTS) else f"{100 * value:.1f}%"


def quality(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show how good the models in use are, and on which pictures that was measured."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.quality(), as_json, _print_quality)


def _print_quality(found: learn.Qualities) -> None:
    if not found.figures:
        say("there is no model yet: 'visterm train' learns from the labelled pictures")
    print_figures(found.figures)


def methods(as_json: JsonOption = False) -> None:
    """List the methods that can be trained."""
    with command(as_json=as_json):
        show(learn.reports.methods(), as_json, _print_methods)


def _print_methods(found: learn.Methods) -> None:
    rows = [(item.name, ", ".join(item.tasks), item.recipe, item.summary) for item in found.methods]
    table(("method", "can", "features", "what it does"), rows)


def models(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the trained models, the newest last, with the tasks that each is in use for."""
    with command(as_json=as_json), opened(workspace) as photos:
        show(photos.models(), as_json, _print_models)


def _print_models(found: learn.Models) -> None:
    if not found.models:
        say("there is no model yet: 'visterm train' learns from the labelled pictures")
    for model in found.models:
        used = " and ".join(task for task, reference in found.in_use.items() if reference == model.reference)
        in_use = f", in use to {used}" if used else ""
        say(f"{model.reference}{in_use}", style="bold" if used else None)
        print_figures(each for each in found.figures if each.model == model.reference)
        say(f"           by {model.method} on {model.recipe}", style="bright_black")


def evaluate(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[METHOD]...", help="Methods (default: all).")] = None,
    recipes: Annotated[
        list[str] | None,
        typer.Option("--recipe", "-r", help="Features to compare on; repeatable (default: each method's own)."),
    ] = None,
    memory: MemoryOption = None,
    device: DeviceOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods and features with each other and with the baseline, on held-out pictures."""
    with command(as_json=as_json), opened(workspace, memory, device) as photos:
        show(photos.evaluate(*(chosen or ()), recipe=recipes or ()), as_json, _print_comparison)


def _print_comparison(found: learn.Evaluation) -> None:
    shown: dict[str, str] = {}
    for task, results in found.tasks().items():
        measures = [name for name in results[-1].values if name in _SHORT]
        rows = sorted(results, key=lambda row: -row.values[measures[0]])
        cells = [
            (
                row.name,
                *(_figure(name, row.values.get(name)) for name in measures[:1]),
                "-" if row.error is None else f"{100 * row.error:.1f}",
                *(_figure(name, row.values.get(name)) for name in measures[1:]),
                len(row.beats),
                f"{row.fit_seconds:.1f}",
            )
            for row in rows
        ]
        heads = [_SHORT[name][0] for name in measures]
        shown |= {_SHORT[name][0]: _SHORT[name][1] for name in measures}
        repeated = f", {found.n_splits} splits" if found.n_splits > 1 else ""
        few = ", too few to say what is better" if found.held_out[task] < _TOO_FEW else ""
        title = f"{task}: {counted(found.held_out[task], 'held-out picture')}{repeated}{few}"
        table(("method", heads[0], "±", *heads[1:], "beats", "fit, s"), cells, title=title)
        first, *others = found.best[task] or ["no method"]
        level = f"; not significantly worse: {', '.join(others[:3])}{' ...' if others[3:] else ''}" if others else ""
        say(f"best: {first}{level}")
    print_left_out(found.left_out)
    for reason in found.skipped.values():
        say(f"skipped: {reason}", style="yellow")
    meanings = "; ".join(f"{head}: {meaning}" for head, meaning in shown.items())
    say(
        f"{meanings}; ±: standard error of the first figure, in points; beats: how many methods are significantly"
        " worse. This is corrected for the number of methods: it finds more differences if you name fewer methods."
        f" {' and '.join(found.baselines)} guess without looking at the picture. docs/glossary.md explains more.",
        style="bright_black",
        indent=0,
    )


def _settings(texts: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; a value is JSON if it reads as such, else text."""
    settings: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.isidentifier():
            raise UsageError(f"write --set NAME=VALUE, not {text!r}")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
