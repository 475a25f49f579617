"""Tags and classes whose names are signs, operators or parts of the query language."""

from __future__ import annotations

import pytest
from scipy import sparse

from visterm.collection import Evidence
from visterm.find import Searcher, parse
from visterm.find.words.query import QueryError

NAMES = ["*", "?", "C", "C++", "C#", "OR", "x", "-x", "a:b", "a b", '"', "rock & roll", "boat", '5" disc', "AND", "()"]


@pytest.fixture(scope="module")
def searcher():
    """A picture for each name."""
    return Searcher(
        Evidence(
            [f"{row}.jpg" for row in range(len(NAMES))],
            tags=sparse.eye_array(len(NAMES), format="csr"),
            tag_names=NAMES,
        )
    )


def found(searcher, query):
    return [NAMES[hit.row] for hit in searcher.search(query).hits if hit.told]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found_by_itself_in_quotes(searcher, name):
    quoted = '"{}"'.format(name.replace('"', '""'))
    assert found(searcher, quoted) == [name]
    assert found(searcher, f"tag:{quoted}") == [name]
    assert found(searcher, f"boat OR {quoted}") == sorted({"boat", name}, key=NAMES.index)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("*", ["*"]),
        ("?", ["?"]),
        ("c++", ["C++"]),
        ("C", ["C"]),
        ("tag:-x", ["-x"]),
        ("x", ["x"]),
        ("a b", ["a b"]),
        ("rock & roll", ["rock & roll"]),
        ("rock roll", ["rock & roll"]),
        ("boat *", ["boat", "*"]),  # no picture has both: each lacks a word
    ],
)
def test_names_are_told_apart_without_quotes(searcher, query, names):
    assert found(searcher, query) == names


def test_without_a_name_of_its_own_a_word_means_all_names_that_have_it():
    tags = sparse.eye_array(2, format="csr")
    searcher = Searcher(Evidence(["0.jpg", "1.jpg"], tags=tags, tag_names=["C++", "C#"]))
    assert [hit.row for hit in searcher.search("c").hits] == [0, 1]


def test_classes_are_told_apart():
    tags = sparse.csr_array((3, 0))
    searcher = Searcher(Evidence(["0.jpg", "1.jpg", "2.jpg"], tags=tags, tag_names=[], classes=["*", "?", "?"]))
    assert [hit.row for hit in searcher.search("class:?").hits] == [1, 2]
    assert [hit.row for hit in searcher.search('"*"').hits if hit.told] == [0]


def test_a_quote_that_is_not_closed_tells_how_to_write_one():
    with pytest.raises(QueryError, match="written twice"):
        parse('"')
    assert parse('""""').text == '"'
    assert parse('""').text == ""
