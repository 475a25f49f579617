"""Vocabulary edits: they persist, and nobody's labels are lost by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, PERSON, Reading, Record, Region
from visterm.catalogue.vocabulary import TermUse
from visterm.errors import InputError


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        opened.add(Examined(str(tmp_path / f"{number}.jpg"), f"{number:064x}", 1, 1, 4, 3, 1) for number in (1, 2, 3))
        yield opened
        assert opened.check() == []


def import_tags(catalogue: Catalogue, number: int, *tags: str, regions: tuple[Region, ...] = ()) -> None:
    record = Record(f"{number}.jpg", tags=tags, regions=regions)
    catalogue.apply([record], base=catalogue.root, reading=Reading(f"labels of {number}", "test"))


def labels(catalogue: Catalogue) -> list[dict[str, tuple[str, str]]]:
    return [{label.name: (label.source, label.state) for label in picture.tags} for picture in catalogue.pictures()]


def names(catalogue: Catalogue) -> list[str]:
    return [use.name for use in catalogue.vocabulary("tag")]


def test_the_vocabulary_is_counted_by_effective_state_and_sorted_by_use(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "sea", "sky")
    import_tags(catalogue, 2, "sea")
    catalogue.label(1, "tag", "sky", state="rejected")
    catalogue.label(3, "tag", "sun", state="suggested", source="model m@1")
    assert catalogue.vocabulary("tag") == [TermUse("sea", 2, 0, 0), TermUse("sun", 0, 1, 0), TermUse("sky", 0, 0, 1)]
    assert catalogue.vocabulary("class") == []


def test_a_renamed_tag_stays_renamed_when_the_old_name_is_imported_again(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "see")
    catalogue.rename("tag", "see", "sea")
    import_tags(catalogue, 2, "see", "sea")
    assert labels(catalogue) == [{"sea": (IMPORT, "accepted")}, {"sea": (IMPORT, "accepted")}, {}]
    assert catalogue.aliases("tag") == {"see": "sea"}
    catalogue.rename("tag", "sea", "see")  # and back
    assert catalogue.aliases("tag") == {"sea": "see"}
    assert names(catalogue) == ["see"]
    catalogue.rename("tag", "see", "see")
    assert names(catalogue) == ["see"]


def test_renaming_to_a_name_in_use_is_refused(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "boat", "boats", "ship")
    with pytest.raises(InputError, match="merge 'boats' into it"):
        catalogue.rename("tag", "boats", "boat")
    catalogue.merge("tag", ["boats"], "boat")
    with pytest.raises(InputError, match="already"):
        catalogue.rename("tag", "ship", "boats")
    with pytest.raises(InputError, match="another name of 'boat'"):
        catalogue.rename("tag", "boats", "vessel")
    with pytest.raises(InputError, match="there is no tag 'none'"):
        catalogue.rename("tag", "none", "some")


def test_merged_tags_stay_merged_and_their_regions_follow(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "boats", regions=(Region("boats", 0, 0, 1, 1),))
    import_tags(catalogue, 2, "boat", "ship")
    catalogue.merge("tag", ["boats", "ship", "boat"], "boat")
    import_tags(catalogue, 3, "ship")
    assert labels(catalogue) == [{"boat": (IMPORT, "accepted")}] * 3
    assert next(catalogue.pictures()).regions == (Region("boat", 0, 0, 1, 1),)
    catalogue.merge("tag", ["boat"], "vessel")  # into a new name; earlier merges follow
    assert catalogue.aliases("tag") == {"boat": "vessel", "boats": "vessel", "ship": "vessel"}
    catalogue.restore("tag", "ship")  # a name of its own again
    import_tags(catalogue, 3, "ship")
    assert sorted(labels(catalogue)[2]) == ["ship"]  # what the file says now


def test_merging_keeps_the_stronger_label_of_each_source_and_the_ranking_between_them(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "boat", state="rejected")
    catalogue.label(1, "tag", "boats")  # the same person accepted the other one
    catalogue.label(2, "tag", "boats", state="rejected")
    import_tags(catalogue, 2, "boat")  # an import against a person
    for name, score in [("boat", 0.2), ("boats", 0.7), ("ship", 0.4)]:
        catalogue.label(3, "tag", name, state="suggested", source="model m@1", score=score)
    catalogue.merge("tag", ["boats", "ship"], "boat")
    assert labels(catalogue) == [
        {"boat": (PERSON, "accepted")},
        {"boat": (PERSON, "rejected")},
        {"boat": ("model m@1", "suggested")},
    ]
    assert catalogue.picture("3.jpg").tags[0].score == 0.7  # type: ignore[union-attr]


def test_a_dropped_tag_stays_dropped_until_restored_with_all_its_labels(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "blurry")
    catalogue.drop("tag", "blurry")
    import_tags(catalogue, 2, "blurry", regions=(Region("blurry", 0, 0, 1, 1),))
    assert labels(catalogue) == [{}, {}, {}]
    assert all(not picture.regions for picture in catalogue.pictures())
    assert catalogue.truth().tag_names == []
    assert (names(catalogue), catalogue.dropped("tag")) == ([], ["blurry"])
    with pytest.raises(InputError, match="dropped from the vocabulary: restore it"):
        catalogue.label(3, "tag", "blurry")
    for edit in (lambda: catalogue.rename("tag", "blurry", "x"), lambda: catalogue.merge("tag", ["blurry"], "x")):
        with pytest.raises(InputError, match="restore it first"):
            edit()
    with pytest.raises(InputError, match="restore it before"):
        catalogue.merge("tag", [], "blurry")
    catalogue.restore("tag", "blurry")
    assert labels(catalogue) == [{"blurry": (PERSON, "accepted")}, {"blurry": (IMPORT, "accepted")}, {}]
    with pytest.raises(InputError, match="neither dropped"):
        catalogue.restore("tag", "blurry")


def test_merging_classes_leaves_one_accepted_class_per_source(catalogue: Catalogue) -> None:
    catalogue.label(1, "class", "coast", source=IMPORT)
    catalogue.label(1, "class", "shore")
    catalogue.merge("class", ["shore"], "coast")
    picture = catalogue.picture("1.jpg")
    assert picture is not None
    assert [(label.name, label.source) for label in picture.classes] == [("coast", PERSON)]


def test_an_edit_that_fails_changes_nothing(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "boat", "boats")
    with pytest.raises(InputError, match="no tag 'absent'"):
        catalogue.merge("tag", ["boats", "absent"], "vessel")
    assert names(catalogue) == ["boat", "boats"]
    with pytest.raises(InputError, match="unknown kind"):
        catalogue.vocabulary("colour")  # type: ignore[arg-type]


def test_edits_survive_reopening(catalogue: Catalogue) -> None:
    import_tags(catalogue, 1, "boats", "blurry")
    catalogue.merge("tag", ["boats"], "boat")
    catalogue.drop("tag", "blurry")
    with Catalogue(catalogue.file, root=catalogue.root) as again:
        import_tags(again, 2, "boats", "blurry")
        assert labels(again) == [{"boat": (IMPORT, "accepted")}, {"boat": (IMPORT, "accepted")}, {}]


def test_a_name_of_the_other_kind_is_pointed_out(tmp_path):
    with Catalogue(tmp_path / "catalogue.sqlite", root=tmp_path) as catalogue:
        catalogue.add([Examined(str(tmp_path / "a.jpg"), "0" * 64, 1, 1, 40, 30, 1)])
        catalogue.label(1, "class", "coast")
        with pytest.raises(InputError, match="there is a class of that name"):
            catalogue.rename("tag", "coast", "shore")
        with pytest.raises(InputError, match="the vocabulary lists those in use"):
            catalogue.rename("tag", "nowhere", "shore")
