"""A plot of which classes and tags are confused with each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError, MissingExtraError

_NAMES_SHOWN = 60
#: The height of the bar of colours, as a share of the drawing.
_BAR_HEIGHT = 0.7


def similarity_order(similarity: NDArray[Any]) -> NDArray[np.intp]:
    """Tasks in an order that puts similar ones side by side (average linkage)."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    if len(similarity) < 3:
        return np.arange(len(similarity))
    distances = squareform(np.maximum(1.0 - similarity, 0.0), checks=False)
    return leaves_list(optimal_leaf_ordering(linkage(distances, "average"), distances))


def nearest_tasks(similarity: NDArray[Any], names: Sequence[str], k: int = 3) -> dict[str, list[tuple[str, float]]]:
    """The ``k`` tasks most similar to each task: the ones it is most easily confused with.

    >>> nearest_tasks(np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]), ["art", "studio", "sea"], k=1)
    {'art': [('studio', 0.9)], 'studio': [('art', 0.9)], 'sea': [('studio', 0.2)]}
    """
    _check_names(similarity, names)
    others = np.where(np.eye(len(names), dtype=np.bool_), -np.inf, similarity)
    best = np.argsort(-others, axis=1, kind="stable")[:, : min(k, len(names) - 1)]
    return {
        name: [(names[other], round(float(similarity[task, other]), 6)) for other in best[task]]
        for task, name in enumerate(names)
    }


def save_similarity(similarity: NDArray[Any], names: Sequence[str], file: Path) -> None:
    """Draw the similarity of tasks (``MultitaskSDCA.task_similarity_``), similar ones side by side.

    This needs Matplotlib: ``pip install 'visterm[plots]'``.
    """
    _check_names(similarity, names)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plots", "drawing the similarity") from error
    order = similarity_order(similarity)
    size = _inches(len(names))
    figure = Figure(figsize=(size, size), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(similarity[np.ix_(order, order)], cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    if len(names) <= _NAMES_SHOWN:
        shown = [names[task] for task in order]
        axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=7)
        axes.set_yticks(range(len(names)), shown, fontsize=7)
    axes.set_title("Classes and tags that are confused with each other", fontsize=9)
    bar = figure.colorbar(image, ax=axes, shrink=_BAR_HEIGHT)
    bar.set_label("correlation of their scores", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    figure.savefig(file, dpi=150)


def _inches(n_tasks: int) -> float:
    """The width of the drawing.

    >>> _inches(3), _inches(50), _inches(500)
    (4.0, 10.5, 14.0)
    """
    return float(np.clip(0.16 * n_tasks + 2.5, 4.0, 14.0))


def _check_names(similarity: NDArray[Any], names: Sequence[str]) -> None:
    if similarity.shape != (len(names), len(names)):
        raise InputError(f"{len(names)} names were given for a similarity of shape {similarity.shape}: one per task")
