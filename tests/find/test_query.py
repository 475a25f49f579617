"""The query language: its trees, and what it says of queries that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.find.words.query import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_TERMS,
    AllOf,
    AnyOf,
    Node,
    Not,
    QueryError,
    Term,
    parse,
    terms,
)


def shown(node: Node) -> str:
    """A tree with all its parentheses, in the language itself."""
    weight = f"^{node.weight:g}" if node.weight != 1 else ""
    match node:
        case Term():
            value = f'"{node.text}"' if node.quoted else node.text
            return (f"{node.field}:" if node.field else "") + value + weight
        case Not():
            return f"NOT ({shown(node.part)}){weight}"
        case AllOf():
            return f"({' AND '.join(map(shown, node.parts))}){weight}"
        case AnyOf():
            return f"({' OR '.join(map(shown, node.parts))}){weight}"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("boat", "boat"),
        ("beach sunset", "(beach AND sunset)"),
        ("beach AND sunset", "(beach AND sunset)"),
        ("a b OR c d", "((a AND b) OR (c AND d))"),
        ("a (b OR c)", "(a AND (b OR c))"),
        ("-people beach", "(NOT (people) AND beach)"),
        ("beach NOT people", "(beach AND NOT (people))"),
        ("-(a OR b) c", "(NOT ((a OR b)) AND c)"),
        ("NOT NOT a", "a"),
        ("--a", "a"),
        ('"tall building" sea', '("tall building" AND sea)'),
        ("tall-building", "tall-building"),
        ("boat^2 sea", "(boat^2 AND sea)"),
        ('"a b"^0.5', '"a b"^0.5'),
        ("(a OR b)^3 c", "((a OR b)^3 AND c)"),
        ("-a^2 b", "(NOT (a)^2 AND b)"),
        ("tag:boat class:coast", "(tag:boat AND class:coast)"),
        ('TAG:"tall building"', 'tag:"tall building"'),
        ("filename:IMG_00*", "filename:IMG_00*"),
        ("like:photos/a(1).jpg", "like:photos/a(1).jpg"),
        ("(sea OR like:photos/a(1).jpg)", "(sea OR like:photos/a(1).jpg)"),
        ("like:a.jpg^2 b", "(like:a.jpg^2 AND b)"),
        ("and or not", "(and AND or AND not)"),
        ("http://x 12:30", "(http://x AND 12:30)"),
        ("a\x00b\tc", "(a AND b AND c)"),
        ("((((a))))", "a"),
        ("- a", "(- AND a)"),
    ],
)
def test_queries_and_their_trees(text, tree):
    assert shown(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \t\x00\x1f ", "is empty"),
        ("(a OR b", "parenthesis at character 1 is never closed"),
        ("a (b (c)", "parenthesis at character 3 is never closed"),
        ("a) b", "parenthesis at character 2 closes nothing"),
        (")", "parenthesis at character 1 closes nothing"),
        ("a ()", "parentheses at character 3 are empty"),
        ('sea "tall', "quote that begins at character 5 is never closed"),
        ("a AND", "ends after AND"),
        ("a OR", "ends after OR"),
        ("NOT", "ends after NOT"),
        ("AND a", "'AND' at character 1"),
        ("a OR OR b", "'OR' at character 6"),
        ("(a OR)", r"'\)' at character 6"),
        ("^2", r"'\^' at character 1"),
        ("a^", "weight '\\^' at character 2"),
        ("a^x b", "weight '\\^x' at character 2"),
        ("a^-1", "must be a number above 0"),
        ("a^0", "must be a number above 0"),
        ("a^101", "up to 100"),
        ("a^1e999", "must be a number"),
        ("a^٣", "must be a number"),
        ("flavour:red", r"no field 'flavour' \(character 1\): use tag, class"),
        ("tag: boat", "tag: at character 1 has no value"),
        ("like:)", "like: at character 1 has no value"),
        ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} parentheses"),
        ("a " * (MAX_TERMS + 1), f"{MAX_TERMS + 1} words; at most {MAX_TERMS}"),
        ("boat " * 1000, "1000 words"),
        ("a" * (MAX_CHARACTERS + 1), f"{MAX_CHARACTERS + 1} characters"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text, said):
    with pytest.raises(QueryError, match=said):
        parse(text)


def test_places_are_those_of_the_text():
    tree = parse('sea (boat OR -tag:"x y")')
    assert isinstance(tree, AllOf)
    boat_or_not = tree.parts[1]
    assert isinstance(boat_or_not, AnyOf)
    assert [tree.parts[0].at, boat_or_not.parts[0].at, boat_or_not.parts[1].part.at] == [0, 5, 14]


@given(st.text(max_size=80) | st.text(alphabet='ab"()^-:* ANDORT2.', max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_tree_or_a_clear_refusal(text):
    try:
        tree = parse(text)
    except QueryError:
        return
    assert shown(parse(shown(tree))) == shown(tree)


def test_a_part_weighs_1_unless_said_otherwise():
    assert parse("boat") == Term("boat")
    assert parse("-boat") == Not(Term("boat", 1))
    assert parse("-boat^2") == Not(Term("boat", 1), weight=2.0)
    assert parse("a b") == AllOf((Term("a"), Term("b", 2)))
    assert parse("a OR b") == AnyOf((Term("a"), Term("b", 5)))
    assert parse('"a"') == Term("a", quoted=True)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("-a b", "(NOT (a) AND b)"),
        ("a -b", "(a AND NOT (b))"),
        ("(a)-b", "(a AND NOT (b))"),
        ("(-a)", "NOT (a)"),
        ("(a -)", "(a AND -)"),
        ("a -", "(a AND -)"),
        ("like:a(1)", "like:a(1)"),
        ("(like:a(1)) b", "(like:a(1) AND b)"),
        ("((like:a.jpg))", "like:a.jpg"),
        ("NOT NOT NOT a", "NOT (a)"),
        ("a^.5 b^100", "(a^0.5 AND b^100)"),
        ("a AND b AND c OR d OR e", "((a AND b AND c) OR d OR e)"),
    ],
)
def test_minus_signs_parentheses_and_weights(text, tree):
    assert shown(parse(text)) == tree


def test_parentheses_may_be_as_deep_as_the_limit_and_any_number_side_by_side():
    deepest = "(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH
    assert parse(deepest).text == "a"
    assert len(parse("(a) " * (MAX_DEPTH + 1)).parts) == MAX_DEPTH + 1
    with pytest.raises(QueryError, match=f"more than {MAX_DEPTH} parentheses inside each other, at character 55"):
        parse(f"(a) ({deepest})")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a OR", "the query ends after OR: add a word, or put OR in quotes to search for it"),
        ("-", None),
        ("a AND )", "')' at character 7 is not a word: put it in quotes to search for it"),
        ("a (", "the query ends after (: add a word, or put ( in quotes to search for it"),
        ("a ^2 ^3", "'^' at character 6 is not a word: put it in quotes to search for it"),
        ("OR", "'OR' at character 1 is not a word: put it in quotes to search for it"),
        ("(a) )", "the parenthesis at character 5 closes nothing"),
        (") a", "the parenthesis at character 1 closes nothing"),
    ],
)
def test_what_is_said_in_full(text, said):
    if said is None:
        assert parse(text) == Term(text)
        return
    with pytest.raises(QueryError) as error:
        parse(text)
    assert str(error.value) == said


def test_terms_are_listed_in_their_order():
    assert [term.text for term in terms(parse("boat -(sea OR tag:sky) NOT dog"))] == ["boat", "sea", "sky", "dog"]
