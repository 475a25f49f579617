"""Conditions of queries: dates, places, numbers, texts; which pictures meet them, and which values are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.collection.facts import Facts
from visterm.collection.moment import Frame
from visterm.find.rank.searcher import Searcher
from visterm.find.words.conditions import CONDITIONS, Known
from visterm.find.words.query import QueryError, parse

#: Pictures in rows: when, where, with what, how rated, how large.
ROWS: list[dict[str, Any]] = [
    {"taken": "2019-07-14T12:30:05", "latitude": 60.39, "longitude": 5.32, "camera": "NIKON D90", "rating": 4},
    {"taken": "2019-12-31T23:59:59.9", "latitude": -33.87, "longitude": 151.21, "camera": "NIKON D900", "rating": 2},
    {"taken": "2020", "camera": "Canon EOS 5D", "rating": -1, "pick": -1},
    {"taken": "2020-07", "latitude": 60.395, "longitude": 5.325, "lens": "18-55mm f/4", "pick": 1, "colour": "Rot"},
    {"title": "Über den Dächern", "creator": "Zoë", "width": 4000, "height": 3000, "bytes": 5_000_000},
    {"taken": "2018-07-01T10:00", "latitude": 0.0, "longitude": -30.0, "width": 30, "height": 40},
]
COLUMNS = (
    *("taken", "latitude", "longitude", "camera", "lens", "iso", "rating", "pick", "colour", "title", "creator"),
    *("width", "height", "bytes"),
)
PATHS = ["2019/a.jpg", "2019/trip/b.jpg", "c.jpg", "Trips/2020-07/d.jpg", "e.jpg", "f.jpg"]


def facts() -> Facts:
    usual = {"width": 60, "height": 40, "bytes": 1000}
    return Facts(lambda: {name: [{**usual, **row}.get(name) for row in ROWS] for name in COLUMNS})


def searcher() -> Searcher:
    tags = sparse.csr_array([[1], [1], [0], [1], [0], [0]])
    evidence = Evidence(PATHS, tags=tags, tag_names=["boat"])
    frame = Frame(Path(), [], list(PATHS), {}, [None] * 6, {"tag": {}, "class": {}}, {"tag": [], "class": []}, "en")
    position = {"a.jpg": (60.39, 5.32)}
    known = Known(facts(), frame, lambda filters: np.array([True] + [False] * 5), position.__getitem__)
    return Searcher(evidence, facts=known)


def rows(query: str) -> list[int]:
    return sorted(searcher().search(query, 100).rows.tolist())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("date:2019", [0, 1]),
        ("date:2019-12", [1]),
        ("date:2019-07-14", [0]),
        ("date:2019..2020", [0, 1, 2, 3]),
        ("date:..2018", [5]),
        ("date:2020..", [2, 3]),
        ("date:>2019", [2, 3]),
        ("date:<=2019-07", [0, 5]),
        ("date:2020-01", []),  # only the year 2020 is known of row 2
        ("date:july", [0, 3, 5]),
        ("date:summer", [0, 1, 3, 5]),  # December is summer in Sydney
        ("date:winter", []),
        ("2019-07", [0]),
        ("2020-07", [3]),  # taken then, and in a folder of this name
        ("place:norway", [0, 3]),
        ("place:NO", [0, 3]),
        ("place:bergen", [0, 3]),
        ('place:"new south wales"', [1]),
        ("near:a.jpg", [0, 3]),
        ("camera:d90", [0]),
        ("camera:nikon", [0, 1]),
        ('camera:"EOS canon"', [2]),
        ("lens:18-55mm", [3]),
        ("rating:>=3", [0]),
        ("rating:2..4", [0, 1]),
        ("rating:-1", [2]),
        ("rating:<3", [1, 2]),
        ("pick:yes", [3]),
        ("pick:no", [2]),
        ("colour:rot", [3]),
        ("title:dachern", [4]),
        ("creator:zoe", [4]),
        ("orientation:portrait", [5]),
        ("size:>=12mp", [4]),
        ("size:>12mp", []),
        ("size:4mb..6mb", [4]),
        ("size:<1mp orientation:landscape", [0, 1, 2, 3]),
        ("folder:2019", [0, 1]),
        ("folder:2019/trip/", [1]),
        ("folder:trips", [3]),
        ("by:person", [0]),
        ("boat date:2019", [0, 1]),
        ("boat -place:norway", [1]),
        ("NOT camera:nikon date:..2019", [5]),
        ("rating:4 OR pick:yes", [0, 3]),
        ("(rating:4 OR pick:yes) boat -date:2020", [0]),
        ("-date:1990..2030", [4]),
    ],
)
def test_what_meets_a_condition(query: str, expected: list[int]) -> None:
    assert rows(query) == expected


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("date:soon", "write a date, a range, a month or a season"),
        ("date:2019-13", "write a date"),
        ("date:..", "write a date"),
        ("boat rating:many", r"'rating:many' at character 6 cannot be read: write a number"),
        ("rating:>=", "write a number"),
        ("size:12mp", "write a range or a comparison in mp"),
        ("size:>12", "write a range"),
        ("orientation:up", "landscape, portrait, square"),
        ("by:me", "person, import, model, nobody"),
        ("pick:maybe", "pick:yes"),
    ],
)
def test_what_cannot_be_read_says_what_to_write(query: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        parse(query)


def test_a_place_that_nobody_was_in_names_those_that_are_known() -> None:
    found = searcher().search("place:atlantis")
    assert [str(note) for note in found.notes] == [
        "no picture was taken in 'atlantis'; the known ones are Australia, Norway"
    ]
    assert [(word.how, word.n_pictures, word.field) for word in found.understood] == [("written", 0, "place")]


def test_a_word_that_is_a_date_is_read_as_one_only_where_pictures_are_of_that_time() -> None:
    found = searcher().search("2019-07")
    assert [reason.by for hit in found.hits for reason in hit.reasons] == ["date"]
    assert [word.field for word in found.understood] == ["date"]
    assert searcher().search("1850-01").notes  # an unknown word, as before


def test_a_field_has_the_same_leaf_each_time() -> None:
    asked = searcher()
    assert asked.search("date:2019 boat").rows.tolist() == asked.search("boat date:2019").rows.tolist()
    assert len(asked.search("date:2019 date:2019").hits[0].reasons) == 1


def test_without_what_files_say_a_condition_is_refused_in_words() -> None:
    evidence = Evidence(PATHS, tags=sparse.csr_array((6, 0)), tag_names=[])
    with pytest.raises(ValueError, match="asks what files say"):
        Searcher(evidence).search("date:2019")


def test_facts_that_have_not_changed_keep_what_was_made_of_them() -> None:
    columns = {name: [row.get(name) for row in ROWS] for name in COLUMNS}
    first = Facts(lambda: columns)
    places, seconds = first.places, first.seconds
    same = Facts(lambda: {name: list(column) for name, column in columns.items()}, first)
    assert same.places is places
    assert same.seconds is seconds
    other = Facts(lambda: columns | {"rating": [1] * 6}, same)
    assert other.numbers("rating").tolist() == [1] * 6
    assert other.places is not places


def test_every_field_is_tried_here() -> None:
    tried = {query for query, _ in test_what_meets_a_condition.pytestmark[0].args[1]}
    assert {field for field in CONDITIONS if not any(f"{field}:" in query for query in tried)} == {"iso", "suggested"}
