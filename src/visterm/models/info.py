"""What is known of a model beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from visterm.contracts.tasks import LEARNED, Task
from visterm.documents.figure import Basis, Figure, Stratum, figure
from visterm.version import __version__

#: A smaller share of pictures that belong to no labelled class does not count.
_STRANGE = 0.02
_MAIN_MEASURES = {Task.CLASSIFY: "accuracy", Task.ANNOTATE: "tag accuracy", Task.RANK: "AvgP"}


class RightAnswers(NamedTuple):
    """What was right of held-out pictures: the sum, and the number of pictures.

    Pictures that were ``asked`` about to measure are apart from those labelled ``otherwise``. ``by_doubt`` counts the
    labelled pictures that a queue had chosen.
    """

    basis: Basis
    otherwise: tuple[float, int]
    asked: tuple[float, int]
    by_doubt: int

    @property
    def strata(self) -> list[Stratum]:
        """Both parts together: each has its share."""
        return [Stratum(1.0, self.otherwise[0] + self.asked[0], self.otherwise[1] + self.asked[1])]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Everything about a model except its tensors."""

    name: str
    version: int
    method: str
    tasks: tuple[str, ...]
    classes: tuple[str, ...]
    tags: tuple[str, ...]
    #: How often each tag was used in training, and the number of tagged pictures: the idf of query words needs both.
    tag_counts: tuple[int, ...]
    n_tagged: int
    recipe: str
    recipe_hash: str
    training: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    baseline_metrics: dict[str, float] = field(default_factory=dict)
    #: Models are numbered in the order of their training, whatever the clock says; those of format 1 have 0.
    sequence: int = 0
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    visterm: str = __version__

    @property
    def reference(self) -> str:
        """The name and version, as a person writes them."""
        return f"{self.name}@{self.version}"

    @property
    def abilities(self) -> list[Task]:
        """The tasks that the model can do."""
        return [task for task in Task if self.does(task)]

    def does(self, task: Task) -> bool:
        """Whether the model can do ``task``; every annotator can search."""
        return task in self.tasks or (task is Task.RANK and Task.ANNOTATE in self.tasks)

    @staticmethod
    def main_measure(task: Task) -> str:
        """The name of the measure by which models are compared at ``task``."""
        return _MAIN_MEASURES[task]

    def quality(self, task: Task) -> float | None:
        """The main measure on held-out pictures; None if it was not measured."""
        return self.metrics.get(self.main_measure(task))

    def learned_from(self, task: Task) -> int:
        """The number of labelled pictures that the model learned the task from."""
        number = self.training.get("pictures_with_class" if task is Task.CLASSIFY else "pictures_with_tags", 0)
        return number if isinstance(number, int) else 0

    def held_out(self, task: Task) -> int:
        """The number of held-out pictures that the model was measured on; 0 if it was not, or nobody counted."""
        return int(self.training.get("held_out_class" if task is Task.CLASSIFY else "held_out_tags", 0))

    @property
    def held_out_suggestions(self) -> int | None:
        """The number of tags suggested for held-out pictures; None if nobody counted."""
        return self.training.get("held_out_suggestions")

    def right(self, task: Task) -> RightAnswers:
        """What was right of the held-out pictures; models of earlier versions have only the measures."""
        known = self.training.get("right", {}).get(task.value)
        if known is not None:
            parts = [(float(known[part][0]), int(known[part][1])) for part in ("otherwise", "asked")]
            return RightAnswers(known["basis"], parts[0], parts[1], int(known["by_doubt"]))
        value = self.metrics.get("P@1") if task is Task.RANK else self.quality(task)
        measured = self.held_out(task)
        return RightAnswers("labelled pictures", (0.0 if value is None else value * measured, measured), (0.0, 0), 0)

    def figure(self, task: Task, strata: Sequence[Stratum] | None = None, *, advice: str = "") -> Figure:
        """How good the model is at ``task``: by its held-out pictures, or by ``strata`` of the measuring sample."""
        right = self.right(task)
        what = next(word for word, learned in LEARNED.items() if learned is task)
        baseline = None if task is Task.RANK else self.baseline_metrics.get(self.main_measure(task))
        parts = right.strata if strata is None else strata
        none = self.training.get("none_of_these") if task is Task.CLASSIFY and strata is None else None
        if none and none["share"] >= _STRANGE and none["measured"] and right.basis == "labelled pictures":
            # Pictures of unlabelled classes are right if they are called that; labelled ones stood for them.
            parts = [
                replace(parts[0], share=1 - none["share"]),
                Stratum(none["share"], none["right"], none["measured"]),
            ]
        basis = right.basis if strata is None else "measuring sample"
        return figure(what, basis, parts, model=self.reference, baseline=baseline, advice=advice)

    def is_below_baseline(self, task: Task) -> bool:
        """Whether the model was measured to be worse than guessing."""
        measured, guessing = self.quality(task), self.baseline_metrics.get(self.main_measure(task))
        return measured is not None and guessing is not None and measured < guessing
