"""Keys found by their bytes: what a dict would say, whatever keys share their marks, and whatever is no key."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.features._keys import KeyIndex, common, digests_of

# Keys of which many have the same mark: the exclusive or of their four words.
WORDS = st.lists(st.sampled_from(["0" * 16, "0" * 15 + "1", "f" * 16]), min_size=4, max_size=4)
KEYS = st.lists(WORDS.map("".join), max_size=30)


@given(KEYS, KEYS, st.data())
def test_keys_are_found_as_in_a_dict(rows, asked, data):
    removed = data.draw(st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=len(rows), unique=True))
    expected = {key: place for place, key in enumerate(rows)}
    expected = {key: place for key, place in expected.items() if place not in removed}

    index = KeyIndex(digests_of(rows), np.array(removed, np.int64))

    assert len(index) == len(expected)
    assert index.find(asked).tolist() == [expected.get(key, -1) for key in asked]
    assert index.keys() == sorted(expected, key=expected.__getitem__)
    assert index.positions().tolist() == sorted(expected.values())


@given(st.lists(KEYS, min_size=1, max_size=4), st.integers(0, 3))
def test_common_keys_are_those_of_all(lists, repeated):
    lists += [lists[0]] * repeated
    together = common([KeyIndex(digests_of(rows)) for rows in lists])
    assert set(together.keys()) == set.intersection(*map(set, lists))


def test_an_index_of_the_same_keys_but_other_removed_rows_is_another():
    digests = digests_of(["a" * 64, "b" * 64])
    whole, part = KeyIndex(digests), KeyIndex(digests, np.array([0]))
    assert common([whole, part]).keys() == common([part, whole]).keys() == ["b" * 64]
    assert len(whole) == 2


ODD = st.sampled_from(["", "a", "\n", " ", "A", "a" * 63, "a" * 64, "b" * 64, "a" * 64 + "\n", "A" * 64, "é" * 64])


@given(st.lists(st.lists(ODD, max_size=3).map("".join), max_size=4))
def test_exactly_digests_are_keys(keys):
    if all(re.fullmatch("[0-9a-f]{64}", key) for key in keys):
        assert digests_of(keys).tobytes().hex() == "".join(keys)
    else:
        with pytest.raises(InputError, match="64 lower-case hex digits"):
            digests_of(keys)
    proper = [key for key in keys if re.fullmatch("[0-9a-f]{64}", key)]
    found = KeyIndex(digests_of(proper)).find(keys)
    assert [key for key, place in zip(keys, found, strict=True) if place >= 0] == proper
