"""The model card: tells people what a model is, what it was trained on, and how well it does."""

from __future__ import annotations

from visterm.models.info import ModelInfo


def model_card(info: ModelInfo) -> str:
    """The README of a model folder, in Markdown."""
    lines = [
        f"# {info.name}, version {info.version}",
        "",
        f"A Visterm model of method `{info.method}`. It can: {', '.join(info.abilities)}. Made {info.created}.",
        "",
        "## Trained on",
        "",
        *(
            f"- {name.replace('_', ' ')}: {value}"
            for name, value in info.training.items()
            if name not in ("label_quality", "label_counts")  # long, and told below
        ),
        f"- features: `{info.recipe}` ({info.recipe_hash})",
    ]
    if info.classes:
        lines += ["", "## Classes", "", _with_quality(info, info.classes)]
    if info.tags:
        lines += ["", "## Tags", "", _with_quality(info, info.tags)]
    lines += ["", "## How well it does", ""]
    if info.metrics:
        lines += ["| measure | value | baseline, without looking at the picture |", "|---|---|---|"]
        lines += [
            f"| {name} | {value:.3f} | {_or_dash(info.baseline_metrics.get(name))} |"
            for name, value in info.metrics.items()
        ]
    else:
        lines += ["It was not measured: there were too few labelled pictures to hold some out."]
    lines += [
        "",
        "## Use",
        "",
        "    visterm classify --model THIS_FOLDER PICTURE ...",
        "    visterm tag --model THIS_FOLDER PICTURE ...",
        "",
        "It knows only the classes and tags listed above. It works best on pictures like those it was trained on.",
        "",
    ]
    return "\n".join(lines)


def _with_quality(info: ModelInfo, names: tuple[str, ...]) -> str:
    """Names, each with its quality on held-out pictures where it was measured."""
    quality = info.training.get("label_quality", {})
    return ", ".join(f"{name} ({quality[name]:.0%})" if name in quality else name for name in names)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
