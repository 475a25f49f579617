"""The log: every change of people and imports is in it, and can be undone and redone exactly."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, Reading, Record, Region
from visterm.errors import InputError

NAMES = ("a.jpg", "b.jpg", "c.jpg")
LOGGED = ("label", "region", "term", "alias", "picture", "path", "removed", "version")


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        fill(opened)
        yield opened
        assert opened.check() == []


def fill(catalogue: Catalogue) -> None:
    catalogue.add(
        Examined(str(catalogue.root / name), hashlib.sha256(name.encode()).hexdigest(), 1, 1, 40, 30, 1)
        for name in NAMES
    )


def tags(catalogue: Catalogue, name: str) -> list[str]:
    picture = catalogue.picture(name)
    assert picture is not None
    return [label.name for label in picture.tags if label.state == "accepted"]


def class_of(catalogue: Catalogue, name: str) -> str | None:
    picture = catalogue.picture(name)
    assert picture is not None
    return picture.class_label and picture.class_label.name


def contents(catalogue: Catalogue) -> dict[str, list]:
    """All that is logged, as it is stored; terms only where they are in use."""
    found = {
        table: sorted(catalogue._connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in LOGGED
    }
    used = {row[1] for row in found["label"]} | {row[2] for row in found["region"] + found["alias"]}
    return {**found, "term": [row for row in found["term"] if row[0] in used]}


def read(catalogue: Catalogue, *records: Record, source: str = "labels.csv") -> Reading:
    reading = Reading(source, "table")
    catalogue.apply(records, base=catalogue.root, reading=reading)
    return reading


def test_one_label_is_undone_and_redone(catalogue):
    catalogue.label(1, "tag", "boat")
    catalogue.label(1, "tag", "boat", state="rejected")
    assert [action.what for action in catalogue.history.actions()] == [
        "label 1 picture: not tag boat",
        "label 1 picture: tag boat",
    ]
    (undone,) = catalogue.history.undo()
    assert (undone.what, undone.undone, undone.redoable) == ("label 1 picture: not tag boat", True, True)
    assert tags(catalogue, "a.jpg") == ["boat"]
    catalogue.history.undo()
    assert tags(catalogue, "a.jpg") == []
    with pytest.raises(InputError, match="nothing to undo"):
        catalogue.history.undo()
    catalogue.history.redo()
    assert tags(catalogue, "a.jpg") == ["boat"]
    catalogue.history.redo()
    assert tags(catalogue, "a.jpg") == []
    with pytest.raises(InputError, match="nothing to redo"):
        catalogue.history.redo()


def test_a_new_change_ends_redo(catalogue):
    catalogue.label(1, "tag", "boat")
    catalogue.history.undo()
    catalogue.label(1, "tag", "sea")
    with pytest.raises(InputError, match="nothing to redo"):
        catalogue.history.redo()
    first, second = catalogue.history.actions()
    assert (first.undone, second.undone, second.redoable) == (False, True, False)
    catalogue.history.undo()  # the sea, not the boat again
    assert tags(catalogue, "a.jpg") == []
    with pytest.raises(InputError, match="nothing to undo"):
        catalogue.history.undo()


def test_the_log_says_who_when_before_and_after(catalogue):
    catalogue.label(1, "class", "coast")
    catalogue.label(1, "class", "street")
    action = catalogue.history.actions(limit=1)[0]
    assert (action.who, action.n_changes) == ("person", 2)  # labels; the entry of the vocabulary comes with them
    assert {(change.kind, change.name, change.picture, change.before, change.after) for change in action.changes} == {
        ("class", "coast", "a.jpg", "accepted", None),
        ("class", "street", "a.jpg", None, "accepted"),
        ("vocabulary", "street", None, None, "street"),
    }
    assert action.time.startswith("20")


def test_what_changed_a_picture(catalogue):
    catalogue.label(1, "tag", "boat")
    catalogue.write_labels([(1, "tag", "sea", "accepted", None), (2, "tag", "sea", "accepted", None)], source="person")
    catalogue.label(2, "tag", "sky")
    of_first = catalogue.history.actions(picture=1)
    assert [action.what for action in of_first] == ["label 2 pictures: tag sea", "label 1 picture: tag boat"]
    assert {change.picture for action in of_first for change in action.changes} == {"a.jpg"}
    assert [action.id for action in catalogue.history.actions(limit=1, before=of_first[0].id)] == [of_first[1].id]


def test_suggestions_of_models_are_not_logged_and_do_not_end_redo(catalogue):
    catalogue.label(1, "tag", "boat")
    catalogue.history.undo()
    catalogue.write_labels([(1, "tag", "newly suggested", "suggested", 0.5)], source="model m@1")
    catalogue.write_labels([(2, "tag", "boat", "suggested", 0.5)], source="model m@2")
    assert len(catalogue.history.actions()) == 1
    catalogue.history.redo()
    assert tags(catalogue, "a.jpg") == ["boat"]


def test_merge_is_undone_and_a_merged_name_restored_with_its_pictures(catalogue):
    for picture, name in ((1, "pine"), (2, "oak"), (3, "pine"), (3, "oak")):
        catalogue.label(picture, "tag", name)
    before = contents(catalogue)
    catalogue.merge("tag", ["pine", "oak"], "tree")
    assert [tags(catalogue, name) for name in NAMES] == [["tree"], ["tree"], ["tree"]]
    after = contents(catalogue)
    catalogue.history.undo()
    assert contents(catalogue) == before
    assert [tags(catalogue, name) for name in NAMES] == [["pine"], ["oak"], ["oak", "pine"]]
    catalogue.history.redo()
    assert contents(catalogue) == after
    catalogue.restore("tag", "pine")
    assert [tags(catalogue, name) for name in NAMES] == [["pine"], ["tree"], ["pine", "tree"]]
    catalogue.history.undo()
    assert contents(catalogue) == after


def suggest(catalogue: Catalogue, *rows: tuple[int, str, float], version: int = 1) -> None:
    said = [(picture, "tag", name, "suggested", score) for picture, name, score in rows]
    catalogue.write_labels(said, source=f"model m@{version}")


def suggested(catalogue: Catalogue) -> dict[str, dict[str, float]]:
    return {
        picture.paths[0]: {label.name: label.score for label in picture.tags if label.state == "suggested"}
        for picture in catalogue.pictures()
    }


def test_suggestions_come_back_from_a_merge(catalogue):
    suggest(catalogue, (1, "plane", 0.9), (2, "plane", 0.4), (2, "jet", 0.3), (3, "jet", 0.2), (3, "plane", 0.1))
    before, was = contents(catalogue), suggested(catalogue)
    catalogue.merge("tag", ["plane"], "jet")
    after = contents(catalogue)
    assert suggested(catalogue) == {"a.jpg": {"jet": 0.9}, "b.jpg": {"jet": 0.4}, "c.jpg": {"jet": 0.2}}
    (action,) = catalogue.history.undo()
    assert (action.n_changes, {change.kind for change in action.changes}) == (0, {"vocabulary", "other name"})
    assert (contents(catalogue), suggested(catalogue)) == (before, was)
    catalogue.history.redo()
    assert contents(catalogue) == after
    catalogue.restore("tag", "plane")
    assert {name: set(found) for name, found in suggested(catalogue).items()} == {
        "a.jpg": {"plane"},
        "b.jpg": {"jet", "plane"},
        "c.jpg": {"jet", "plane"},
    }
    catalogue.history.undo()
    assert contents(catalogue) == after


@pytest.mark.parametrize("take_back", [lambda catalogue: catalogue.history.undo(), lambda c: c.restore("tag", "plane")])
def test_suggestions_of_a_replaced_model_do_not_come_back(catalogue, take_back):
    suggest(catalogue, (1, "plane", 0.9), (2, "plane", 0.8))
    catalogue.label(1, "tag", "plane")
    catalogue.merge("tag", ["plane"], "jet")
    suggest(catalogue, (2, "jet", 0.7), version=2)
    take_back(catalogue)
    assert tags(catalogue, "a.jpg") == ["plane"]
    assert suggested(catalogue) == {"a.jpg": {}, "b.jpg": {"jet": 0.7}, "c.jpg": {}}


def test_a_merged_class_is_restored(catalogue):
    catalogue.label(1, "class", "beach")
    catalogue.label(2, "class", "coast")
    catalogue.merge("class", ["beach"], "coast")
    catalogue.label(2, "class", "street")
    catalogue.restore("class", "beach")
    assert [class_of(catalogue, name) for name in NAMES[:2]] == ["beach", "street"]


def test_regions_come_back_from_a_merge(catalogue):
    read(catalogue, Record("a.jpg", regions=(Region("pine", 0.1, 0, 10, 10.3),)))
    catalogue.label(1, "tag", "oak")
    catalogue.merge("tag", ["pine"], "oak")
    catalogue.restore("tag", "pine")
    assert [region.name for region in catalogue.picture("a.jpg").regions] == ["pine"]
    before = contents(catalogue)
    catalogue.history.undo(2)
    catalogue.history.redo(2)
    assert contents(catalogue) == before


def test_a_removal_is_undone_with_all_that_was_said(catalogue):
    catalogue.label(1, "tag", "boat")
    read(catalogue, Record("a.jpg", class_name="coast", caption="A boat", split="test"))
    before = contents(catalogue)
    catalogue.remove(["a.jpg"])
    assert catalogue.picture("a.jpg") is None
    removed = contents(catalogue)
    catalogue.history.undo()
    assert contents(catalogue) == before
    assert catalogue.removed_files() == {}
    catalogue.history.redo()
    assert contents(catalogue) == removed


def test_a_removed_picture_that_was_added_again_can_still_be_undone(catalogue):
    catalogue.label(3, "tag", "boat")
    catalogue.remove(["c.jpg"])
    examined = Examined(str(catalogue.root / "c.jpg"), hashlib.sha256(b"c.jpg").hexdigest(), 1, 1, 40, 30, 1)
    other = Examined(str(catalogue.root / "d.jpg"), hashlib.sha256(b"d").hexdigest(), 1, 1, 40, 30, 1)
    catalogue.add([other, examined], again=True)
    assert catalogue.picture("d.jpg").id == 4  # an id is never used again for another picture
    assert catalogue.picture("c.jpg").id == 3
    assert tags(catalogue, "c.jpg") == []
    catalogue.history.undo()
    assert catalogue.picture("c.jpg") is None
    assert catalogue.picture("d.jpg") is not None  # it was never removed
    catalogue.history.undo()
    assert tags(catalogue, "c.jpg") == ["boat"]
    catalogue.history.undo()
    assert tags(catalogue, "c.jpg") == []


def test_an_import_is_undone(catalogue):
    catalogue.label(2, "tag", "mine")
    before = contents(catalogue)
    read(catalogue, Record("a.jpg", class_name="coast", tags=("sea",), caption="Sea"), Record("b.jpg", tags=("sky",)))
    assert catalogue.history.actions()[0].who == IMPORT
    catalogue.history.undo()
    assert contents(catalogue) == before


def test_drop_and_rename_are_undone(catalogue):
    catalogue.label(1, "tag", "boat")
    before = contents(catalogue)
    catalogue.rename("tag", "boat", "ship")
    catalogue.drop("tag", "ship")
    catalogue.history.undo(2)
    assert contents(catalogue) == before
    catalogue.history.redo(2)
    assert (catalogue.aliases("tag"), catalogue.dropped("tag")) == ({"boat": "ship"}, ["ship"])


def test_several_changes_in_one_transaction_are_one_action(catalogue):
    with catalogue.transaction("a walk"):
        catalogue.label(1, "tag", "boat")
        catalogue.unlabel(1, "tag", "boat")
        catalogue.label(2, "tag", "sea")
    (action,) = catalogue.history.actions()
    assert action.what == "a walk"
    catalogue.history.undo()
    assert tags(catalogue, "b.jpg") == []


def test_what_is_rolled_back_or_changes_nothing_is_not_in_the_log(catalogue):
    def fail() -> None:
        with catalogue.transaction():
            catalogue.label(1, "tag", "boat")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert catalogue.history.actions() == []
    catalogue.label(1, "tag", "boat")
    catalogue.label(1, "tag", "boat")
    assert len(catalogue.history.actions()) == 1


def test_another_process_undoes(catalogue):
    catalogue.label(1, "tag", "boat")
    code = (
        "import sys; from pathlib import Path; from visterm.catalogue.catalogue import Catalogue\n"
        "with Catalogue.create(Path(sys.argv[1]), root=Path(sys.argv[2])) as c: c.history.undo()"
    )
    before = catalogue.version()
    subprocess.run([sys.executable, "-c", code, str(catalogue.file), str(catalogue.root)], check=True)
    assert tags(catalogue, "a.jpg") == []
    assert catalogue.version() != before
    catalogue.history.redo()
    assert tags(catalogue, "a.jpg") == ["boat"]


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("label"),
            st.integers(1, 3),
            st.sampled_from(["class", "tag"]),
            st.sampled_from("xyz"),
            st.sampled_from(["accepted", "rejected"]),
            st.sampled_from(["person", "import"]),
        ),
        st.tuples(st.just("model"), st.integers(1, 3), st.sampled_from("xyzw")),
        st.tuples(st.just("unlabel"), st.integers(1, 3), st.sampled_from(["class", "tag"])),
        st.tuples(st.just("merge"), st.sampled_from(["class", "tag"]), st.sampled_from("xyz"), st.sampled_from("xyzw")),
        st.tuples(
            st.just("rename"), st.sampled_from(["class", "tag"]), st.sampled_from("xyz"), st.sampled_from("xyzw")
        ),
        st.tuples(st.just("drop"), st.sampled_from(["class", "tag"]), st.sampled_from("xyz")),
        st.tuples(st.just("restore"), st.sampled_from(["class", "tag"]), st.sampled_from("xyzw")),
        st.tuples(st.just("remove"), st.sampled_from(NAMES)),
        st.tuples(st.just("add"), st.sampled_from(NAMES)),
        st.tuples(st.just("read"), st.sampled_from(NAMES), st.sampled_from("xyz"), st.sampled_from("pq")),
    ),
    max_size=12,
)


def step(catalogue: Catalogue, kind: str, *values) -> None:
    """Do one thing; what is refused is no matter here."""
    try:
        if kind == "label":
            picture, of, name, state, source = values
            catalogue.label(picture, of, name, state=state, source=source)
        elif kind == "model":
            picture, name = values
            catalogue.label(picture, "tag", name, state="suggested", score=0.5, source="model m@1")
        elif kind == "unlabel":
            catalogue.unlabel(*values)
        elif kind == "merge":
            catalogue.merge(values[0], [values[1]], values[2])
        elif kind in ("rename", "drop", "restore"):
            getattr(catalogue, kind)(*values)
        elif kind == "remove":
            catalogue.remove(values)
        elif kind == "add":
            digest = hashlib.sha256(values[0].encode()).hexdigest()
            catalogue.add([Examined(str(catalogue.root / values[0]), digest, 1, 1, 40, 30, 1)], again=True)
        else:
            read(catalogue, Record(values[0], tags=(values[1],), caption=values[2]))
    except InputError:
        pass


def visible(catalogue: Catalogue) -> dict[str, object]:
    """What people and imports say."""
    return {
        picture.sha256: (
            picture.caption,
            picture.split,
            sorted((label.name, label.state) for label in picture.tags if not label.source.startswith("model")),
            sorted((label.name, label.state) for label in picture.classes),
        )
        for picture in catalogue.pictures()
    }


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """The file of a catalogue with the pictures, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    with Catalogue.create(folder / "filled.sqlite", root=folder) as catalogue:
        fill(catalogue)
    return folder / "filled.sqlite"


@settings(max_examples=60, deadline=None)
@given(steps)
def test_whatever_was_done_can_be_undone_and_redone(filled, actions):
    copy = Path(shutil.copy(filled, filled.with_name("catalogue.sqlite")))
    with Catalogue.create(copy, root=filled.parent) as catalogue:
        states = [visible(catalogue)]
        plain = True
        for action in actions:
            n_before = len(catalogue.history.actions(limit=100))
            step(catalogue, *action)
            plain = plain and action[0] != "add"  # what a scan finds is not logged
            if len(catalogue.history.actions(limit=100)) > n_before:
                states.append(visible(catalogue))
        last = states[-1]
        while len(states) > 1:
            catalogue.history.undo()
            states.pop()
            assert catalogue.check() == []
            if plain:
                assert visible(catalogue) == states[-1]
        with pytest.raises(InputError):
            catalogue.history.undo()
        while catalogue.history.next()[1] is not None:
            catalogue.history.redo()
            assert catalogue.check() == []
        if plain:
            assert visible(catalogue) == last


def test_a_removal_that_was_taken_back_is_a_step_of_its_own(catalogue):
    catalogue.label(2, "tag", "x")
    catalogue.remove(["b.jpg"])
    step(catalogue, "add", "b.jpg")
    assert [action.what for action in catalogue.history.actions(limit=2)] == ["add removed files again", "remove b.jpg"]
    catalogue.label(2, "tag", "y")
    catalogue.history.undo(2)
    assert catalogue.picture("b.jpg") is None
    catalogue.history.undo()
    assert tags(catalogue, "b.jpg") == ["x"]
    catalogue.history.redo(3)
    assert tags(catalogue, "b.jpg") == ["y"]
    assert catalogue.removed_files() == {}


def test_a_clock_that_goes_back_does_not_matter(catalogue, monkeypatch):
    """Another process whose clock is years behind: its labels and actions are newer all the same."""
    catalogue.label(1, "class", "coast", source="model old@1")
    monkeypatch.setattr("visterm.catalogue.database.time.time_ns", lambda: 10**18)
    with Catalogue.create(catalogue.file, root=catalogue.root) as other:
        other.label(1, "class", "street", source="model new@1")
        other.label(1, "tag", "boat", state="suggested", score=0.1, source="model old@1")
        other.label(1, "tag", "boat", state="suggested", score=0.9, source="model new@1")
        picture = other.picture("a.jpg")
        assert picture.class_label.name == "street"
        assert [label.source for label in picture.tags] == ["model new@1"]
        catalogue.label(1, "tag", "sea")
        other.label(1, "tag", "sky")
        assert [action.what for action in other.history.actions()] == [
            "label 1 picture: tag sky",
            "label 1 picture: tag sea",
        ]
        assert other.history.actions()[0].time < "2010"
        other.history.undo()
    assert tags(catalogue, "a.jpg") == ["sea"]
