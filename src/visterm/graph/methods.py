"""The rows of the graph methods in the registry. Nothing heavy is imported: see ``Method``."""

from dataclasses import dataclass
from typing import Any

from visterm.contracts.method import ANNOTATE, CLASSIFY, Method
from visterm.errors import UsageError

#: What follows the name of a method whose beliefs are spread over the graph of all pictures.
OVER_GRAPH = "+graph"


@dataclass(frozen=True, slots=True, eq=False)
class OverGraph(Method):
    """A classifier or annotator, followed by spreading."""

    first: Method | None = None

    @classmethod
    def of(cls, first: Method) -> "OverGraph":
        """``first``, followed by spreading."""
        if first.tasks not in (CLASSIFY, ANNOTATE) or first.is_baseline:
            raise UsageError(f"{first.name} cannot be spread over the pictures: it must do one of classes and tags")
        target = "SpreadClassifier" if first.tasks == CLASSIFY else "SpreadAnnotator"
        return cls(
            first.name + OVER_GRAPH,
            f"visterm.graph:{target}",
            first.tasks,
            first.recipe,
            f"{first.summary}; then similar pictures agree",
            takes_any_features=first.takes_any_features,
            first=first,
        )

    def create(self, **parameters: Any) -> Any:
        """An unfitted estimator around one of the first method with its preset and ``parameters``."""
        if self.first is None:
            raise UsageError(f"{self.name} follows no method")
        own = {name: parameters[name] for name in ("reach",) if name in parameters}
        others = {name: value for name, value in parameters.items() if name not in own}
        return self.load()(self.first.create(**others), **own)


METHODS = (
    Method(
        "graph-mixture",
        "visterm.graph.graph_mixture:GraphMixture",
        ANNOTATE,
        "bow-deep",
        "topics on which similar pictures agree; for collections with few tagged pictures",
        reference="Shao et al., ACM TIST 2014",
        preset={"metric": "hellinger", "n_tokens": 20, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "label-propagation",
        "visterm.graph.label_propagation:LabelPropagation",
        ANNOTATE,
        "deep",
        "tags spread along links between similar pictures",
        reference="Zhou et al., NIPS 2004",
        preset={"metric": "hellinger"},
        takes_any_features=False,
    ),
)
