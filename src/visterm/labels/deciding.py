"""A person's decisions about what models suggest: many at once, as one step that can be undone."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from visterm.catalogue.acts import Act, AnsweredQueue
from visterm.catalogue.labels import Kind, LabelRow
from visterm.catalogue.records import PERSON
from visterm.collection.holdings import Holdings
from visterm.errors import InputError
from visterm.labels.labelling import Labelled


@dataclass(frozen=True)
class Decision:
    """Whether the picture with this number has a class or tag."""

    id: int
    kind: Kind
    name: str
    state: Literal["accepted", "rejected"]


def decide(holdings: Holdings, decisions: Sequence[Decision], *, answering: AnsweredQueue | None = None) -> Labelled:
    """Note a person's decisions, all or none: about suggestions, or ``answering`` a queue of the review."""
    if not decisions:
        raise InputError("there is nothing to decide")
    answer = None if answering is None else Act.answering(answering)
    acts = {"accepted": answer or Act.ACCEPTED, "rejected": answer or Act.SAID}
    n_accepted, n_labels = sum(each.state == "accepted" for each in decisions), 0
    with holdings.catalogue.transaction(_in_words(decisions, n_accepted)):
        for state, some in groupby(decisions, lambda each: each.state):
            rows: list[LabelRow] = [(each.id, each.kind, each.name, state, None) for each in some]
            n_labels += holdings.catalogue.write_labels(rows, source=PERSON, act=acts[state])
    return Labelled(n_labels, n_accepted, action=holdings.catalogue.history.made)


def _in_words(decisions: Sequence[Decision], n_accepted: int) -> str:
    """What was decided, for the history."""
    if len({(each.kind, each.name, each.state) for each in decisions}) == 1:
        first, n = decisions[0], len(decisions)
        return f"{'accept' if n_accepted else 'reject'} {first.kind} {first.name}" + (f" for {n} pictures" * (n > 1))
    parts = [f"accept {n_accepted}"] if n_accepted else []
    parts += [f"reject {len(decisions) - n_accepted}"] if n_accepted < len(decisions) else []
    return f"{' and '.join(parts)} suggestions"
