"""From the name of a measure, as written in a file or on the command line, to the measure."""

import re
from typing import Any

from visterm.errors import InputError
from visterm.measures import classification, ranking, tags
from visterm.measures.base import Measure

#: The measures with a name, in the order of their definition.
_KINDS: list[type[Measure[Any]]] = [
    kind
    for module in (classification, tags, ranking)
    for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "label")
]


def parse(name: str) -> Measure[Any]:
    """The measure called ``name``.

    >>> parse("P@10")
    PrecisionAt(n=10)
    >>> parse("top-5 accuracy").family
    'class scores'
    """
    if name == ranking.NDCG().name:
        return ranking.NDCG()
    for kind in _KINDS:
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[1-9][0-9]{0,8})", re.escape(kind.label))
        if match := re.fullmatch(pattern, name):
            return kind(**{parameter: int(value) for parameter, value in match.groupdict().items()})
    known = ", ".join(re.sub(r"\{\w+\}", "N", kind.label) for kind in _KINDS)
    raise InputError(f"unknown measure {name!r}: choose from {known}")
