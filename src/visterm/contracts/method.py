"""A row of the registry. Nothing heavy is imported here: the command line reads the rows at every start."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from visterm.contracts.tasks import Task
from visterm.errors import UsageError

CLASSIFY, ANNOTATE, RANK = (frozenset({task}) for task in (Task.CLASSIFY, Task.ANNOTATE, Task.RANK))


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method that users can name: its class, the tasks it can do, and its default recipe."""

    name: str
    target: str  # "package.module:Class"
    tasks: frozenset[Task]
    recipe: str
    summary: str
    reference: str = ""
    #: Parameters that the method uses where its class has other defaults, chosen for pictures.
    preset: dict[str, Any] = field(default_factory=dict)
    #: A method that never looks at the picture: what every other method is compared with.
    is_baseline: bool = False
    #: False: the method takes one feature only, without negative numbers; not ``deep+globals`` and no Fisher vectors.
    takes_any_features: bool = True

    def load(self) -> type[Any]:
        """Import the class."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)

    def create(self, **parameters: Any) -> Any:
        """An unfitted estimator with the method's preset, overridden by ``parameters``."""
        cls = self.load()
        known = cls(**self.preset).get_params()
        for name in parameters:
            if name not in known:
                raise UsageError(
                    f"{self.name} has no parameter {name!r}: its parameters are {', '.join(sorted(known)) or 'none'}"
                )
        return cls(**(self.preset | parameters))

    def does(self, task: Task) -> bool:
        """Whether the method can do ``task``; every annotator can search, through a TagRanker."""
        return task in self.tasks or (task is Task.RANK and Task.ANNOTATE in self.tasks)
