"""By which act each label was given: what is written, what an older file brings, and what every change keeps."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from visterm.catalogue import schema
from visterm.catalogue.acts import Act, Extent
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, PERSON, Reading, Record, Region
from visterm.catalogue.restoring import restore_backup
from visterm.errors import UsageError

NAMES = ("a.jpg", "b.jpg", "c.jpg", "d.jpg")


def examined(catalogue: Catalogue, name: str, content: str | None = None) -> Examined:
    return Examined(str(catalogue.root / name), hashlib.sha256((content or name).encode()).hexdigest(), 1, 1, 40, 30, 1)


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        opened.add(examined(opened, name) for name in NAMES)
        yield opened
        assert opened.check() == []


def read(catalogue: Catalogue, *records: Record, file: str = "labels.csv", tags_are=None) -> Reading:
    reading = Reading(str(catalogue.root / file), "table")
    catalogue.apply(records, base=catalogue.root, reading=reading, tags_are=tags_are)
    return reading


def acts(catalogue: Catalogue, name: str = "a.jpg") -> dict[str, str]:
    """The act of each effective label."""
    picture = catalogue.picture(name)
    assert picture is not None
    return {label.name: label.act for label in (*picture.classes, *picture.tags)}


def described(catalogue: Catalogue) -> list[str | None]:
    return [picture.described for picture in catalogue.pictures()]


def extents(catalogue: Catalogue) -> list[int]:
    return catalogue.truth().extent.tolist()


def loose(catalogue: Catalogue) -> list[str]:
    truth = catalogue.truth()
    return [name for name, is_loose in zip(truth.tag_names, truth.loose.tolist(), strict=True) if is_loose]


# Imports


def test_a_row_with_tags_describes_its_picture_and_one_without_does_not(catalogue):
    outlined = Record("c.jpg", regions=(Region("sea", 0, 0, 5, 5),))
    read(catalogue, Record("a.jpg", "coast", ("sea", "sky")), Record("b.jpg", "coast"), outlined)
    assert described(catalogue) == [IMPORT, None, None, None]
    assert acts(catalogue) == {"coast": "described", "sea": "described", "sky": "described"}
    assert extents(catalogue) == [Extent.CLAIMED, Extent.PART, Extent.PART, Extent.PART]
    assert loose(catalogue) == []


def test_a_source_of_some_tags_describes_nothing_and_stays_so_until_told(catalogue):
    rows = [Record("a.jpg", tags=("sea",)), Record("b.jpg", tags=("sea", "sky"))]
    read(catalogue, *rows, tags_are="partial")
    assert (described(catalogue)[:2], acts(catalogue)) == ([None, None], {"sea": "said"})
    assert loose(catalogue) == ["sea", "sky"]
    version = catalogue.version()
    assert read(catalogue, *rows).new == 0
    assert catalogue.version() == version
    assert read(catalogue, *rows, tags_are="complete").new == 0
    assert (described(catalogue)[:2], acts(catalogue)) == ([IMPORT, IMPORT], {"sea": "described"})
    read(catalogue, *rows)
    assert described(catalogue)[:2] == [IMPORT, IMPORT]
    read(catalogue, *rows, tags_are="partial")
    assert (described(catalogue)[:2], acts(catalogue)) == ([None, None], {"sea": "said"})


def test_a_description_goes_with_the_tags_that_the_source_withdraws(catalogue):
    read(catalogue, Record("a.jpg", "coast", ("sea",)), Record("b.jpg", tags=("sea",)))
    read(catalogue, Record("a.jpg", "coast"))
    assert described(catalogue)[:2] == [None, None]
    catalogue.history.undo()
    assert described(catalogue)[:2] == [IMPORT, IMPORT]
    catalogue.history.undo()
    assert described(catalogue)[:2] == [None, None]
    catalogue.history.redo(2)
    assert (described(catalogue)[:2], acts(catalogue)) == ([None, None], {"coast": "described"})


class Words:
    """Every word of a caption is a tag."""

    def tags(self, captions):
        return [caption.split() for caption in captions]


def test_tags_of_captions_describe(catalogue):
    read(catalogue, Record("a.jpg", caption="boat sea"))
    catalogue.derive_tags(Words())
    assert (described(catalogue)[:2], acts(catalogue)) == ([IMPORT, None], {"boat": "described", "sea": "described"})
    catalogue.derive_tags(Words(), tags_are="partial")
    assert (described(catalogue)[:2], acts(catalogue)) == ([None, None], {"boat": "said", "sea": "said"})


# What counts


def test_a_person_describes_more_than_an_import(catalogue):
    read(catalogue, Record("a.jpg", tags=("sea",)))
    catalogue.describe([1, 2])
    assert (described(catalogue), extents(catalogue)) == ([PERSON, PERSON, None, None], [2, 2, 0, 0])
    catalogue.unlabel(1, "tag")
    assert (described(catalogue), extents(catalogue)) == ([IMPORT, PERSON, None, None], [1, 2, 0, 0])


def test_the_same_label_again_keeps_the_act_that_tells_most(catalogue):
    row = [(1, "tag", "sea", "accepted", None)]
    for act, known in (
        (Act.ACCEPTED, "accepted"),
        (Act.SAID, "accepted"),
        (Act.DESCRIBED, "described"),
        (Act.ANSWERED, "described"),
        (Act.MEASURED, "measured"),
        (Act.SAID, "measured"),
    ):
        catalogue.write_labels(row, source=PERSON, act=act)
        assert acts(catalogue) == {"sea": known}, act
    catalogue.write_labels([(1, "tag", "sea", "rejected", None)], source=PERSON, act=Act.ANSWERED)
    assert acts(catalogue) == {"sea": "answered"}


def test_a_question_that_doubt_chose_does_not_replace_a_description(catalogue):
    catalogue.describe([1])
    catalogue.describe([1, 2], act=Act.ANSWERED)
    assert catalogue.truth().tag_acts.tolist() == [Act.DESCRIBED, Act.ANSWERED, 0, 0]
    catalogue.describe([1, 2], act=Act.MEASURED)
    assert catalogue.truth().tag_acts.tolist() == [Act.MEASURED, Act.MEASURED, 0, 0]


def test_the_acts_of_pictures(catalogue):
    for number, name, act in (
        (1, "sea", Act.MEASURED),
        (1, "sky", Act.ANSWERED),
        (2, "sea", Act.MEASURED),
        (3, "boat", Act.ACCEPTED),
        (4, "sky", Act.ANSWERED),
    ):
        catalogue.write_labels([(number, "tag", name, "accepted", None)], source=PERSON, act=act)
    catalogue.describe([4])
    catalogue.write_labels([(2, "class", "coast", "accepted", None)], source=PERSON, act=Act.MEASURED)
    truth = catalogue.truth()
    assert truth.tag_acts.tolist() == [Act.ANSWERED, Act.MEASURED, Act.SAID, Act.DESCRIBED]
    assert truth.class_acts.tolist() == [Act.SAID, Act.MEASURED, Act.SAID, Act.SAID]
    assert loose(catalogue) == ["boat", "sea", "sky"]
    catalogue.write_labels([(4, "tag", "boat", "accepted", None)], source=PERSON, act=Act.DESCRIBED)
    assert loose(catalogue) == ["sea", "sky"]


def test_a_queue_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="no queue 'doubt'"):
        Act.answering("doubt")


def test_the_history_tells_descriptions_and_acts(catalogue):
    catalogue.label(1, "tag", "sea")
    with catalogue.transaction("complete"):
        catalogue.write_labels([(1, "tag", "sea", "accepted", None)], source=PERSON, act=Act.DESCRIBED)
        catalogue.describe([1])
    (action, _, *_) = catalogue.history.actions()
    assert [(change.kind, change.name, change.before, change.after) for change in action.changes] == [
        ("tag", "sea", "accepted (said)", "accepted (described)"),
        ("all tags", None, None, "described"),
    ]


# What every change keeps


def test_descriptions_survive_an_edit_a_removal_a_merge_and_a_backup(catalogue, tmp_path):
    catalogue.write_labels([(1, "tag", "sea", "accepted", None)], source=PERSON, act=Act.DESCRIBED)
    catalogue.describe([1], act=Act.MEASURED)
    catalogue.add([examined(catalogue, "a.jpg", "edited")])
    catalogue.add([examined(catalogue, "copy.jpg", "a.jpg")])  # the earlier content is a picture of its own
    assert described(catalogue) == [PERSON, None, None, None, PERSON]
    assert acts(catalogue) == acts(catalogue, "copy.jpg") == {"sea": "described"}
    catalogue.merge("tag", ["sea"], "ocean")
    assert acts(catalogue) == {"ocean": "described"}
    catalogue.restore("tag", "sea")
    assert acts(catalogue) == {"sea": "described"}
    catalogue.remove(["a.jpg"])
    assert described(catalogue) == [None, None, None, PERSON]
    catalogue.history.undo()
    assert described(catalogue) == [PERSON, None, None, None, PERSON]
    assert catalogue.truth().tag_acts.tolist() == [Act.MEASURED, 0, 0, 0, Act.MEASURED]
    catalogue.backup(tmp_path / "backup.sqlite")
    catalogue.unlabel(1, "tag")
    restore_backup(catalogue, tmp_path / "backup.sqlite")
    assert described(catalogue) == [PERSON, None, None, None, PERSON]


def test_a_picture_that_is_another_one_now_is_not_described(catalogue):
    catalogue.label(1, "tag", "sea")
    catalogue.describe([1])
    catalogue.add([examined(catalogue, "a.jpg", "edited")])
    catalogue.separate("a.jpg")
    assert {picture.paths: picture.described for picture in catalogue.pictures()} == {
        (): PERSON,
        **{(name,): None for name in NAMES},
    }


def test_a_record_that_gets_a_file_unites_descriptions(catalogue):
    catalogue.label(1, "tag", "sea")
    catalogue.describe([1])
    read(catalogue, Record("b.jpg", tags=("sky",)))
    gone = catalogue.picture("a.jpg").sha256
    catalogue.mark_missing(["a.jpg"])
    catalogue.attach(gone, "b.jpg")
    assert (acts(catalogue, "b.jpg"), described(catalogue)[0]) == ({"sea": "said", "sky": "described"}, PERSON)
    catalogue.unlabel(1, "tag")
    assert described(catalogue)[0] == IMPORT


def test_a_description_by_a_model_is_damage(tmp_path):
    file = tmp_path / "c.sqlite"
    with Catalogue.create(file, root=tmp_path) as catalogue:
        catalogue.add([examined(catalogue, "a.jpg")])
        catalogue.label(1, "tag", "sea", source="model m@1")
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("INSERT INTO described SELECT picture_id, source_id, 1 FROM label")
        raw.commit()
    with Catalogue(file, root=tmp_path) as catalogue:
        assert catalogue.check() == ["1 descriptions by models"]


# Files of version 6


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Five pictures: an import tags the first two; a person tags three at once, and two of them again alone."""
    file = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        schema.migrate(raw, file, schema.MIGRATIONS[:6])
        for number in range(1, 6):
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            raw.execute(
                "INSERT INTO picture (id, sha256, size, width, height, orientation, state, added)"
                " VALUES (?, ?, 1, 4, 3, 1, 'ok', 1)",
                (number, digest),
            )
            raw.execute("INSERT INTO path VALUES (?, ?, 1, 1, 0)", (f"{number}.jpg", number))
        raw.executescript(
            """
            INSERT INTO source VALUES (1, 'import table m.csv', 1, NULL), (2, 'person', 2, NULL);
            INSERT INTO source VALUES (3, 'model m@1', 0, 'm');
            INSERT INTO term (id, kind, name) VALUES (1, 'tag', 'sea'), (2, 'tag', 'sky'), (3, 'tag', 'boat');
            INSERT INTO term (id, kind, name) VALUES (4, 'class', 'coast'), (5, 'class', 'street');
            INSERT INTO label VALUES (1, 1, 1, 'accepted', NULL, 10, 1), (2, 1, 1, 'accepted', NULL, 10, 1);
            INSERT INTO label VALUES (3, 4, 1, 'accepted', NULL, 10, 1);
            INSERT INTO label VALUES (2, 2, 2, 'accepted', NULL, 20, 2), (3, 2, 2, 'accepted', NULL, 20, 2);
            INSERT INTO label VALUES (4, 2, 2, 'accepted', NULL, 20, 2), (4, 3, 2, 'accepted', NULL, 30, 3);
            INSERT INTO label VALUES (1, 4, 2, 'accepted', NULL, 40, 4), (2, 4, 2, 'accepted', NULL, 40, 4);
            INSERT INTO label VALUES (4, 5, 2, 'accepted', NULL, 50, 5), (5, 3, 2, 'rejected', NULL, 60, 6);
            INSERT INTO label VALUES (5, 1, 3, 'suggested', 0.5, 70, 7);
            INSERT INTO change (kind, picture_id, before, after) VALUES
                ('label', 4, NULL, '[4,3,2,"accepted",null,30,3]'),
                ('label', 5, '[5,1,2,"accepted",0.10000000000000001,55,5]', NULL),
                ('label', 5, NULL, '[5,3,2,"rejected",null,60,6]');
            INSERT INTO action (time, who, what, first, last) VALUES (30, 'person', 'label', 1, 1);
            INSERT INTO action (time, who, what, first, last) VALUES (60, 'person', 'correct', 2, 3);
            UPDATE sequence SET number = 7;
            """
        )
    return file


def test_an_older_file_is_read_sensibly(older, tmp_path):
    with Catalogue(older, root=tmp_path) as catalogue:
        assert catalogue.check() == []
        assert [acts(catalogue, f"{number}.jpg") for number in range(1, 6)] == [
            {"coast": "said", "sea": "described"},
            {"coast": "said", "sea": "described", "sky": "said"},
            {"coast": "described", "sky": "said"},
            {"street": "described", "sky": "said", "boat": "described"},
            {"boat": "said", "sea": "said"},
        ]
        assert described(catalogue) == [IMPORT, IMPORT, None, PERSON, None]
        assert extents(catalogue) == [1, 1, 0, 2, 0]
        assert loose(catalogue) == ["sky"]
        assert catalogue.truth().class_acts.tolist() == [0, 0, 1, 1, 0]


def test_the_log_of_an_older_file_can_be_undone_and_redone(older, tmp_path):
    with Catalogue(older, root=tmp_path) as catalogue:
        before = [acts(catalogue, f"{number}.jpg") for number in range(1, 6)]
        catalogue.history.undo(2)
        assert acts(catalogue, "4.jpg") == {"street": "described", "sky": "said"}
        assert [(label.name, label.score) for label in catalogue.picture("5.jpg").tags] == [("sea", 0.1)]
        assert catalogue.check() == []
        catalogue.history.redo(2)
        assert [acts(catalogue, f"{number}.jpg") for number in range(1, 6)] == before
