"""Verbs about features and models: features, train, models, methods, evaluate, classify, tag."""

from __future__ import annotations

import json
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
    say,
    show_skipped,
    table,
)
from visterm.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.app.workspace import Workspace
    from visterm.contracts import Task
    from visterm.models import Model

ModelOption = Annotated[
    str | None, typer.Option("--model", "-m", help="NAME, NAME@VERSION or a model folder; by default the newest.")
]
RecipeOption = Annotated[str | None, typer.Option("--recipe", "-r", help="The features to use instead of the usual.")]


def features(
    recipes: Annotated[
        list[str] | None, typer.Argument(metavar="[RECIPE]...", help="What to compute; none: list the recipes.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute the features that are missing; interrupted, it goes on where it stopped."""
    if not recipes:
        _list_recipes(workspace, as_json)
        return
    from visterm.app.describing import describe, ready_recipe

    with command(as_json=as_json), open_workspace(workspace) as opened:
        done = describe(opened, *(ready_recipe(opened, name) for name in dict.fromkeys(recipes)))

        def show(console: Console) -> None:
            for item in done:
                spent = f"{item.n_computed} computed in {item.seconds:.1f} s"
                say(console, f"{item.recipe}: {spent}, {item.n_known} known before")
                show_skipped(item.failed)

        emit({"recipes": [asdict(item) for item in done]}, as_json, show)


def _list_recipes(workspace: Path | None, as_json: bool) -> None:
    """What each recipe is, and what it would cost for this collection."""
    from visterm.vision.recipes import recipe, recipe_names

    with command(as_json=as_json), open_workspace(workspace) as opened:
        n_pictures = opened.catalogue.counts().n_ok
        listed = [
            {
                "name": known.name,
                "n_dims": sum(spec.n_dims for spec in known.outputs.values()),
                "megabytes": round(n_pictures * known.bytes_per_picture / 2**20, 1),
                "seconds": round(n_pictures * known.seconds_per_picture, 1),
                "summary": known.summary,
            }
            for known in map(recipe, recipe_names())
        ]
        columns = ("recipe", "numbers", "MB, about", "CPU seconds, about", "what it is")
        rows = [list(item.values()) for item in listed]
        emit({"recipes": listed}, as_json, lambda console: table(console, columns, rows))


def train(
    method: Annotated[str, typer.Argument(help="The method; 'visterm methods' lists them.")],
    name: Annotated[str | None, typer.Option("--name", "-n", help="The model's name; by default the method's.")] = None,
    recipe: RecipeOption = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="A parameter of the method, as NAME=VALUE; repeatable.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a method on what is labelled, measure it on pictures held out, and keep it as a new model version."""
    from visterm.app import training

    with command(as_json=as_json), open_workspace(workspace) as opened:
        info = training.train(opened, method, name=name, recipe_name=recipe, parameters=_settings(settings or []))

        def show(console: Console) -> None:
            say(
                console,
                f"{info.name}@{info.version}: {info.method} on {info.training['pictures']} pictures, "
                f"{info.training['seconds']:.1f} s",
            )
            rows = [(key, value, info.floor_metrics.get(key)) for key, value in info.metrics.items()]
            if rows:
                table(console, ("on held-out pictures", "model", "floor"), rows)
            else:
                say(console, "not measured: too few labelled pictures to hold some out", style="yellow")

        emit(asdict(info), as_json, show)


def methods(as_json: JsonOption = False) -> None:
    """List the methods that can be trained."""
    from visterm import registry

    with command(as_json=as_json):
        listed = [
            {
                "name": method.name,
                "tasks": sorted(method.tasks),
                "recipe": method.recipe,
                "summary": method.summary,
                "reference": method.reference,
            }
            for method in registry.methods()
        ]
        rows = [(item["name"], ", ".join(item["tasks"]), item["recipe"], item["summary"]) for item in listed]
        columns = ("method", "can", "features", "what it does")
        emit({"methods": listed}, as_json, lambda console: table(console, columns, rows))


def models(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the trained models, the newest last."""
    with command(as_json=as_json), open_workspace(workspace) as opened:
        infos = opened.models()
        rows = []
        for info in infos:
            best = next(iter(info.metrics.items()), None)
            measured = "-" if best is None else f"{best[0]} {best[1]:.3f}"
            rows.append((f"{info.name}@{info.version}", info.method, ", ".join(info.tasks), measured, info.created))
        columns = ("model", "method", "can", "measured", "made")
        emit({"models": [asdict(info) for info in infos]}, as_json, lambda console: table(console, columns, rows))


def evaluate(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[METHOD]...", help="By default all methods.")] = None,
    recipe: RecipeOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods with each other and with the floor on pictures held out of training."""
    from visterm.app.training import compare

    with command(as_json=as_json), open_workspace(workspace) as opened:
        outcomes = compare(opened, chosen or (), recipe_name=recipe).performances
        value = {
            task.value: [
                {
                    "method": outcome.method,
                    **outcome.values[task],
                    "fit_seconds": outcome.fit_seconds,
                    "answer_seconds": outcome.answer_seconds,
                }
                for outcome in listed
            ]
            for task, listed in outcomes.items()
        }

        def show(console: Console) -> None:
            for task, rows in value.items():
                columns = [name for name in rows[0] if name != "answer_seconds"]
                heads = ["seconds" if name == "fit_seconds" else name for name in columns]
                table(console, heads, [[row[name] for name in columns] for row in rows], title=task)

        emit(value, as_json, show)


def classify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Pictures or folders; by default all of the collection without a class.")
    ] = None,
    model: ModelOption = None,
    n_best: Annotated[int, typer.Option("--best", "-k", help="How many classes to show.", min=1)] = 3,
    write: Annotated[bool, typer.Option("--write", help="Keep the best class as the model's suggestion.")] = False,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say which class pictures belong to."""
    from visterm.contracts import Task

    _answer(Task.CLASSIFY, paths or [], model, n_best, write and not dry_run, workspace, as_json)


def tag(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Pictures or folders; by default all of the collection without tags.")
    ] = None,
    model: ModelOption = None,
    n_best: Annotated[int, typer.Option("--best", "-k", help="How many tags to show.", min=1)] = 5,
    sure: Annotated[
        float | None, typer.Option("--sure", help="Only tags at least this probable, such as 0.5.", min=0, max=1)
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Keep the tags as the model's suggestions.")] = False,
    workspace: WorkspaceOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Suggest tags for pictures."""
    from visterm.contracts import Task

    _answer(Task.ANNOTATE, paths or [], model, n_best, write and not dry_run, workspace, as_json, at_least=sure)


def _answer(
    task: Task,
    paths: list[Path],
    reference: str | None,
    n_best: int,
    write: bool,
    workspace: Path | None,
    as_json: bool,
    at_least: float | None = None,
) -> None:
    from visterm.app import answering
    from visterm.contracts import Task

    with command(as_json=as_json):
        opened, model = _workspace_and_model(task, reference, workspace, needs_workspace=write or not paths)
        try:
            if task is Task.CLASSIFY:
                answers = answering.classify(model, paths, opened, n_best=n_best)
            else:
                answers = answering.tag(model, paths, opened, n_best=n_best, at_least=at_least)
            n_written = answering.suggest(opened, model, answers, task) if write and opened is not None else 0
        finally:
            if opened is not None:
                opened.close()
        value = {
            "model": answers.model,
            "answers": [
                {"path": answer.path, "labels": [{"name": name, "score": score} for name, score in answer.labels]}
                for answer in answers.answers
            ],
            "written": n_written,
            "skipped": [asdict(skip) for skip in answers.skipped],
        }

        def show(console: Console) -> None:
            for answer in answers.answers:
                said = ", ".join(f"{name} {score:.2f}" for name, score in answer.labels)
                say(console, f"{answer.path}: {said or 'nothing that sure'}")
            if write:
                say(console, f"{n_written} suggestions of {answers.model} kept")
            show_skipped(answers.skipped)

        emit(value, as_json, show)
        if paths and not answers.answers:
            raise typer.Exit(1)


def _workspace_and_model(
    task: Task, reference: str | None, folder: Path | None, *, needs_workspace: bool
) -> tuple[Workspace | None, Model]:
    """The workspace and the model; a model folder and named pictures need no workspace."""
    from visterm.app.workspace import require_task
    from visterm.models import load_model

    try:
        opened = open_workspace(folder)
    except InputError:
        if needs_workspace or reference is None or folder is not None:
            raise
        return None, require_task(load_model(Path(reference)), task)
    try:
        return opened, opened.model(task, reference)
    except BaseException:
        opened.close()
        raise


def _settings(texts: list[str]) -> dict[str, Any]:
    """``NAME=VALUE`` pairs; a value is JSON if it reads as such, else text."""
    settings: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.isidentifier():
            raise InputError(f"write --set NAME=VALUE, not {text!r}")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
