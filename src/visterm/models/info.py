"""What is known of a model beside its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from visterm.contracts.tasks import LEARNED, Task
from visterm.documents.wording import how_good
from visterm.version import __version__

_MAIN_MEASURES = {Task.CLASSIFY: "accuracy", Task.ANNOTATE: "tag accuracy", Task.RANK: "AvgP"}


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

    def in_words(self, task: Task) -> str:
        """How good the model is at ``task``, for people."""
        baseline, held_out = self.baseline_metrics.get(self.main_measure(task)), self.held_out(task)
        what = next(word for word, learned in LEARNED.items() if learned is task)
        return how_good(what, self.metrics, self.quality(task), baseline, held_out, self.held_out_suggestions)

    def is_below_baseline(self, task: Task) -> bool:
        """Whether the model was measured to be worse than guessing."""
        measured, guessing = self.quality(task), self.baseline_metrics.get(self.main_measure(task))
        return measured is not None and guessing is not None and measured < guessing
