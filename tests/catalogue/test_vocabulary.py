"""Vocabulary edits: they persist, and nobody's labels are lost by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, PERSON, Reading, Record, Region
from visterm.catalogue.vocabulary import TermUse
from visterm.errors import InputError, VistermError


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
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
    with pytest.raises(InputError, match="was not dropped, renamed or merged"):
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
    with Catalogue.create(catalogue.file, root=catalogue.root) as again:
        import_tags(again, 2, "boats", "blurry")
        assert labels(again) == [{"boat": (IMPORT, "accepted")}, {"boat": (IMPORT, "accepted")}, {}]


def test_a_name_of_the_other_kind_is_pointed_out(tmp_path):
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as catalogue:
        catalogue.add([Examined(str(tmp_path / "a.jpg"), "0" * 64, 1, 1, 40, 30, 1)])
        catalogue.label(1, "class", "coast")
        with pytest.raises(InputError, match="there is a class of that name"):
            catalogue.rename("tag", "coast", "shore")
        with pytest.raises(InputError, match="the vocabulary lists those in use"):
            catalogue.rename("tag", "nowhere", "shore")


def test_a_merged_name_that_was_restored_and_renamed_can_be_restored_again(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.merge("tag", ["a"], "b")
    catalogue.restore("tag", "a")
    catalogue.rename("tag", "a", "c")
    catalogue.restore("tag", "a")  # it was renamed last, so only the name becomes free
    assert labels(catalogue)[0] == {"c": (PERSON, "accepted")}
    assert catalogue.aliases("tag") == {}
    catalogue.label(2, "tag", "a")
    assert labels(catalogue)[1] == {"a": (PERSON, "accepted")}
    while catalogue.history.next()[0] is not None:
        catalogue.history.undo()
    assert labels(catalogue) == [{}, {}, {}]


def test_what_chained_merges_gave_is_taken_back(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.label(2, "tag", "b")
    catalogue.label(3, "tag", "a")
    catalogue.label(3, "tag", "c", state="rejected")
    catalogue.merge("tag", ["a"], "b")
    catalogue.merge("tag", ["b"], "c")
    assert labels(catalogue) == [{"c": (PERSON, "accepted")}] * 3
    catalogue.restore("tag", "a")
    assert labels(catalogue) == [
        {"a": (PERSON, "accepted")},
        {"c": (PERSON, "accepted")},
        {"a": (PERSON, "accepted"), "c": (PERSON, "rejected")},
    ]
    catalogue.restore("tag", "b")
    assert labels(catalogue)[1] == {"b": (PERSON, "accepted")}
    catalogue.history.undo(2)
    assert labels(catalogue) == [{"c": (PERSON, "accepted")}] * 3


def test_a_name_restored_from_the_middle_of_a_chain_keeps_its_other_names(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.merge("tag", ["a"], "b")
    catalogue.merge("tag", ["b"], "c")
    catalogue.restore("tag", "b")
    assert labels(catalogue)[0] == {"b": (PERSON, "accepted")}
    assert catalogue.aliases("tag") == {"a": "b"}
    catalogue.merge("tag", ["b"], "d")
    catalogue.restore("tag", "a")
    assert labels(catalogue)[0] == {"a": (PERSON, "accepted")}


def test_a_restored_name_gets_back_the_former_name_that_it_had(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.rename("tag", "a", "b")
    catalogue.merge("tag", ["b"], "c")
    assert catalogue.aliases("tag") == {"a": "c", "b": "c"}
    catalogue.restore("tag", "b")
    assert catalogue.aliases("tag") == {"a": "b"}


def test_what_one_name_gave_through_another_goes_with_that(catalogue: Catalogue) -> None:
    """a became b, and both d and b became c: without b, c is left only where d gave it."""
    catalogue.label(1, "tag", "a")
    catalogue.label(2, "tag", "a")
    catalogue.label(1, "tag", "d")
    catalogue.merge("tag", ["a"], "b")
    catalogue.merge("tag", ["d", "b"], "c")
    catalogue.restore("tag", "b")
    assert [found.keys() for found in labels(catalogue)[:2]] == [{"b", "c"}, {"b"}]
    assert catalogue.aliases("tag") == {"a": "b", "d": "c"}


@pytest.mark.parametrize("again", ["merged", "merged into the same", "renamed", "renamed and merged"])
def test_a_name_that_was_restored_and_used_again_stays_where_it_is(catalogue: Catalogue, again: str) -> None:
    """a became b, and b became c; a was taken out and became something else before b was."""
    catalogue.label(1, "tag", "a")
    catalogue.label(2, "tag", "b")
    catalogue.merge("tag", ["a"], "b")
    catalogue.merge("tag", ["b"], "c")
    catalogue.restore("tag", "a")
    if "renamed" in again:
        catalogue.rename("tag", "a", "x")
    if "merged" in again:
        target = "d" if again == "merged" else "c"
        catalogue.merge("tag", ["x" if "renamed" in again else "a"], target)
    before = catalogue.aliases("tag")
    catalogue.restore("tag", "b")
    assert catalogue.aliases("tag") == {name: of for name, of in before.items() if name != "b"}
    catalogue.history.undo()
    assert catalogue.aliases("tag") == before


def test_a_name_goes_back_to_the_term_that_had_it_last(catalogue: Catalogue) -> None:
    """a became b, b became c, c became e; b was taken out with a before c was."""
    catalogue.label(1, "tag", "a")
    for name, into in (("a", "b"), ("b", "c"), ("c", "e")):
        catalogue.merge("tag", [name], into)
    catalogue.restore("tag", "b")
    assert catalogue.aliases("tag") == {"a": "b", "c": "e"}
    catalogue.merge("tag", ["b"], "e")
    catalogue.restore("tag", "c")
    assert catalogue.aliases("tag") == {"a": "e", "b": "e"}
    catalogue.restore("tag", "b")
    assert catalogue.aliases("tag") == {"a": "b"}


def test_what_a_person_said_after_a_merge_stays(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.label(2, "tag", "a")
    catalogue.merge("tag", ["a"], "b")
    catalogue.label(1, "tag", "b", state="rejected")
    catalogue.merge("tag", ["b"], "c")
    catalogue.label(2, "tag", "c", state="rejected")
    catalogue.restore("tag", "a")
    assert labels(catalogue)[:2] == [
        {"a": (PERSON, "accepted"), "c": (PERSON, "rejected")},
        {"a": (PERSON, "accepted"), "c": (PERSON, "rejected")},
    ]


def test_several_names_of_one_merge_are_restored_one_by_one(catalogue: Catalogue) -> None:
    catalogue.label(1, "tag", "a")
    catalogue.label(1, "tag", "b")
    catalogue.label(2, "tag", "b", state="rejected")
    catalogue.label(2, "tag", "a")
    import_tags(catalogue, 3, "a", regions=(Region("a", 0, 0, 2, 2),))
    catalogue.merge("tag", ["a", "b"], "c")
    catalogue.merge("tag", ["c"], "d")
    catalogue.restore("tag", "b")
    assert labels(catalogue)[0].keys() == {"b", "d"}  # a gave it, too
    catalogue.restore("tag", "a")
    assert [sorted(found) for found in labels(catalogue)] == [["a", "b"], ["a", "b"], ["a"]]
    assert [region.name for picture in catalogue.pictures() for region in picture.regions] == ["a"]


@pytest.mark.parametrize("scores", [(None, None), (0.2, 0.7), (0.7, 0.2)])
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_two_merged_names_gave_goes_with_the_second(catalogue: Catalogue, order: str, scores: tuple) -> None:
    for name, score in zip("ab", scores, strict=True):
        catalogue.label(1, "tag", name, score=score)
    catalogue.merge("tag", ["a", "b"], "c")
    catalogue.restore("tag", order[0])
    assert labels(catalogue)[0].keys() == {order[0], "c"}
    catalogue.restore("tag", order[1])
    assert labels(catalogue)[0].keys() == {"a", "b"}
    catalogue.history.undo(2)
    assert labels(catalogue)[0].keys() == {"c"}


def test_a_change_that_contradicts_the_catalogue_is_not_called_damage(catalogue: Catalogue) -> None:
    with pytest.raises(VistermError, match="nothing is damaged") as told, catalogue.transaction():
        catalogue._connection.execute("INSERT INTO term (kind, name) VALUES ('tag', 'x'), ('tag', 'x')")
    assert "backup" not in str(told.value)


def test_counts_do_not_depend_on_how_many_labels_are_read_together(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_tags(catalogue, 1, "sea", "sky")
    import_tags(catalogue, 2, "sea")
    ids = [picture.id for picture in catalogue.pictures()]
    classes = [(ids[0], "class", "coast", "accepted", None), (ids[0], "class", "beach", "accepted", None)]
    for row in classes:  # the one that was said last holds
        catalogue.write_labels([row], source=PERSON)
    catalogue.write_labels([(ids[1], "tag", "sea", "rejected", None)], source=PERSON)
    counts, uses = catalogue.counts(), catalogue.vocabulary("tag")
    assert (counts.classes, counts.frequent_tags, counts.n_with_tags) == ({"beach": 1}, {"sea": 1, "sky": 1}, 1)
    assert uses == [TermUse("sea", 1, 0, 1), TermUse("sky", 1, 0, 0)]
    monkeypatch.setattr("visterm.catalogue.tally._BLOCK", 1)
    assert (catalogue.counts(), catalogue.vocabulary("tag")) == (counts, uses)
