"""New words: suggested for pictures without labels, and taught by a few answers."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from visterm.catalogue.acts import Act
from visterm.errors import InputError
from visterm.labels.deciding import Decision
from visterm.vision.network.everyday_words import everyday_words
from visterm.workspace import Workspace


@pytest.fixture
def unlabelled(bare, tmp_path):
    with Workspace(shutil.copytree(bare, tmp_path / "photos")) as photos:
        yield photos


def accept(photos, ids, tag, state="accepted", **how):
    photos.decide([Decision(number, "tag", tag, state) for number in ids], **how)


def test_words_are_everyday_words_each_of_other_pictures(unlabelled):
    found = unlabelled.suggested_words()
    words = [each.word for each in found.words]
    assert found.unlabelled == 50
    assert len(words) == len(set(words)) >= 3
    assert set(words) <= set(everyday_words())
    ids = [number for each in found.words for number in each.pictures.ids]
    assert len(ids) == len(set(ids)) <= 50
    assert [each.fit for each in found.words] == sorted((each.fit for each in found.words), reverse=True)
    assert unlabelled.suggested_words(limit=1).words == found.words[:1]


def test_an_accepted_word_is_a_tag_of_its_pictures_and_is_not_suggested_again(unlabelled):
    first, second = unlabelled.suggested_words().words[:2]
    done = unlabelled.new_words.accept(first.word, "My Word")
    assert done.labels == len(first.pictures.ids)
    for picture in unlabelled.catalogue.pictures_with_ids(first.pictures.ids):
        assert [(label.name, label.act) for label in picture.tags] == [("My Word", Act.ACCEPTED.word)]
    left = unlabelled.suggested_words()
    assert left.unlabelled == 50 - done.labels
    assert not set(first.pictures.ids) & {number for each in left.words for number in each.pictures.ids}
    accept(unlabelled, second.pictures.ids[:1], f"{second.word}s")  # a form of it is in use now
    assert second.word not in [each.word for each in unlabelled.suggested_words().words]
    unlabelled.undo(2)
    assert [each.word for each in unlabelled.suggested_words().words][:2] == [first.word, second.word]
    with pytest.raises(InputError, match="is not suggested now"):
        unlabelled.new_words.accept("submarine")


def test_a_declined_word_is_not_suggested_until_that_is_taken_back(unlabelled):
    word = unlabelled.suggested_words().words[0].word
    assert unlabelled.new_words.decline(word).declined == [word]
    with Workspace(unlabelled.folder) as again:
        assert word not in [each.word for each in again.suggested_words().words]
    assert unlabelled.new_words.decline(word, decline=False).declined == []
    assert unlabelled.suggested_words().words[0].word == word


def test_a_word_is_asked_about_where_pictures_look_like_it(unlabelled):
    asked = unlabelled.new_words.questions("boat", limit=10)
    assert (asked.word, asked.yes, asked.no, asked.left, asked.likely.ids) == ("boat", 0, 0, 50, [])
    assert {(each.asked.name, each.asked.kind) for each in asked.questions} == {("boat", "tag")}
    every = unlabelled.new_words.questions("boat", limit=50).questions
    assert asked.questions[0].asked.probability == max(each.asked.probability for each in every)
    some = [each.id for each in asked.questions]
    others = unlabelled.new_words.questions("boat", without=some, limit=50)
    assert {each.id for each in others.questions} == set(range(1, 51)) - set(some)


def test_answers_teach_the_word_and_then_its_likely_pictures_are_listed(unlabelled, postcards):
    lines = (postcards / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    classes = {row["file_name"].rpartition("/")[2]: row["class"] for row in map(json.loads, lines)}
    paths = {p.id: p.paths[0] for p in unlabelled.catalogue.pictures_with_ids(range(1, 51))}
    coast = {number for number, path in paths.items() if classes[path] in ("beach", "harbour", "coast")}
    assert len(coast) >= 5
    for _ in range(4):
        ids = [each.id for each in unlabelled.new_words.questions("seaside", limit=5).questions]
        for state, some in (("accepted", coast & set(ids)), ("rejected", set(ids) - coast)):
            if some:
                accept(unlabelled, sorted(some), "seaside", state, answering="tag")
    asked = unlabelled.new_words.questions("seaside", limit=50)
    assert asked.yes + asked.no == asked.enough == 20
    assert asked.left == 30
    p = {each.id: each.asked.probability for each in asked.questions}
    rest = coast & set(p)
    if rest and set(p) - coast:
        assert np.mean([p[number] for number in rest]) > np.mean([p[number] for number in set(p) - coast])
    assert set(asked.likely.ids) == {number for number, probability in p.items() if probability >= 0.3}
    assert set(unlabelled.collection().truth.tag_names) == {"seaside"}


def test_a_word_in_use_counts_the_answers_under_its_newer_name(unlabelled):
    accept(unlabelled, [1, 2], "ship")
    accept(unlabelled, [3], "ship", "rejected")
    unlabelled.rename("ship", "vessel")
    asked = unlabelled.new_words.questions("ship")
    assert (asked.word, asked.yes, asked.no, asked.left) == ("vessel", 2, 1, 47)
    assert not {1, 2, 3} & {each.id for each in asked.questions}


def test_without_what_knows_words_only_the_answers_count(unlabelled, monkeypatch):
    monkeypatch.setattr("visterm.review.new_words.ready_any_words", lambda _: None)
    asked = unlabelled.new_words.questions("boat", limit=50).questions
    assert len({each.asked.probability for each in asked}) == 1
    with pytest.raises(InputError, match="no picture has been looked at yet"):
        unlabelled.suggested_words()


def test_the_command_line_lists_accepts_and_declines(unlabelled, visterm):
    home = unlabelled.folder
    first, second = (each.word for each in unlabelled.suggested_words().words[:2])
    listed = visterm("vocabulary", "--suggest", "-w", home)
    assert first in listed.stdout
    assert "pictures without labels" in listed.stdout
    assert "tagged" in visterm("vocabulary", "accept", first, "--as", "mine", "-w", home).stdout
    assert f"not suggested: {second}" in visterm("vocabulary", "decline", second, "-w", home).stdout
    assert second not in visterm("vocabulary", "--suggest", "-w", home).stdout
    assert "nothing" in visterm("vocabulary", "decline", second, "--undo", "-w", home).stdout
    assert "mine" in visterm("vocabulary", "-w", home).stdout
    assert re.search(r"accept tag mine for \d+ pictures", visterm("history", "-w", home).stdout)


def test_a_search_names_the_way_to_teach_a_word(unlabelled, visterm):
    found = unlabelled.search("yacht")
    assert found.teachable == ["yacht"]
    assert "to teach 'yacht'" in " ".join(visterm("search", "yacht", "-w", unlabelled.folder).stdout.split())


def test_a_start_without_labels_looks_at_the_pictures_itself(postcards, tmp_path, visterm):
    """Nobody has searched before, and there is no page and no job."""
    for picture in sorted(postcards.rglob("*.jpg"))[:12]:
        shutil.copy(picture, tmp_path)
    visterm("init", tmp_path)
    visterm("add", tmp_path, "-w", tmp_path)
    visterm("vocabulary", "--suggest", "-w", tmp_path)
    assert "is never suggested" in visterm("vocabulary", "decline", "anmal", "-w", tmp_path, code=1).stderr
