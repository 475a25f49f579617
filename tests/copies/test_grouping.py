"""Groups: what was found and what people said, put together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.catalogue.twins import Twins
from visterm.copies.grouping import _Union

N = 7
pairs = st.tuples(st.integers(1, N), st.integers(1, N)).filter(lambda pair: pair[0] < pair[1])
verdicts = st.dictionaries(pairs, st.sampled_from(["same", "series", "different"]), max_size=6)
found = st.lists(st.tuples(pairs, st.floats(0.5, 1.0)), max_size=12)


def united(verdicts, found, together=("same",), apart=("different", "series")):
    union = _Union(Twins(verdicts, frozenset()), frozenset(range(1, N + 1)), together, apart)
    union.add_all((*pair, like) for pair, like in sorted(found, key=lambda each: -each[1]))
    return union


@settings(max_examples=40, deadline=None)
@given(verdicts, found)
def test_what_a_person_told_apart_is_never_together(verdicts, found):
    groups = united(verdicts, found).groups()
    members = [number for group in groups for number in group]
    assert len(members) == len(set(members))
    for group in groups:
        for (one, other), said in verdicts.items():
            assert not (said != "same" and one in group and other in group)
    alone = {pair: said for pair, said in verdicts.items() if said == "same"}
    for one, other in alone if len(alone) == len(verdicts) else ():
        assert any(one in group and other in group for group in groups)


@settings(max_examples=40, deadline=None)
@given(found)
def test_without_a_person_groups_are_what_pairs_connect_and_all_wait(found):
    union = united({}, found)
    of = {number: frozenset(group) for group in union.groups() for number in group}
    for (one, other), _ in found:
        assert of[one] == of[other]
    for ids in union.groups():
        group = union.group("picture", ids)
        assert group.waits
        inside = [round(like, 4) for (one, _), like in found if one in ids]
        assert min(inside) <= group.likeness <= max(inside)


def test_a_group_is_decided_when_what_was_said_connects_it():
    like = [((1, 2), 0.9), ((2, 3), 0.8)]
    assert united({(1, 2): "same"}, like).group("picture", (1, 2, 3)).waits
    assert united({(1, 2): "same", (1, 3): "same"}, like).group("picture", (1, 2, 3)) == (
        united({(1, 2): "same", (2, 3): "same"}, []).group("picture", (1, 2, 3))
    )
    assert united({(1, 2): "different"}, like).groups() == [(2, 3)]
