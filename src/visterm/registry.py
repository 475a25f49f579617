"""The registry of methods: short names to classes, tasks and default feature recipes.

The command line, the workspace, experiments and tests find methods only here. Each family lists its own in
``methods.py``, beside their classes. A class is imported when it is first used, so listing methods costs nothing.
"""

from difflib import get_close_matches

from visterm.contracts.method import Method as Method
from visterm.contracts.tasks import Task
from visterm.errors import InputError, UsageError
from visterm.graph.methods import METHODS as _GRAPH
from visterm.graph.methods import OVER_GRAPH, OverGraph
from visterm.margin.methods import METHODS as _MARGIN
from visterm.neighbours.methods import METHODS as _NEIGHBOURS
from visterm.ranking.methods import METHODS as _RANKING
from visterm.topics.methods import METHODS as _TOPICS

_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method to the registry."""
    if method.name in _METHODS:
        raise InputError(f"two methods are called {method.name!r}")
    _METHODS[method.name] = method
    return method


for _method in (*_GRAPH, *_MARGIN, *_NEIGHBOURS, *_RANKING, *_TOPICS):
    register(_method)


def get(name: str) -> Method:
    """The method called ``name``; ``NAME+graph`` is one whose beliefs are spread over all pictures.

    >>> sorted(get("knn").tasks), get("sdca+graph").create(C=2.0).estimator.C
    ([<Task.CLASSIFY: 'classify'>], 2.0)
    """
    if isinstance(name, str) and name.endswith(OVER_GRAPH):
        return OverGraph.of(get(name.removesuffix(OVER_GRAPH)))
    if name not in _METHODS:
        near = get_close_matches(name, _METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(sorted(_METHODS))}"
        raise UsageError(f"unknown method {name!r}: {hint}")
    return _METHODS[name]


def methods(task: Task | None = None) -> list[Method]:
    """All methods, or those that can do ``task``; baselines first."""
    chosen = [method for method in _METHODS.values() if task is None or method.does(task)]
    return sorted(chosen, key=lambda method: (not method.is_baseline, method.name))


def baseline(task: Task) -> Method:
    """The baseline for ``task``: it never looks at the picture."""
    return next(method for method in methods(task) if method.is_baseline)
