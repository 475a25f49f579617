"""What people wrote, found by word."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.evidence import Evidence

PATHS = ["a/beach/IMG_1.jpg", "a/Two Boats.jpg", "a/c.png", "a/beach/d.jpg"]
NAMES = ["Sea", "tall building", "Tall-Building", "boat"]
TAGS = sparse.csr_array(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]]))
DENIED = sparse.csr_array(np.array([[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]))


@pytest.fixture
def evidence():
    return Evidence(
        PATHS,
        tags=TAGS,
        tag_names=NAMES,
        denied=DENIED,
        classes=["coast", None, "street", "Coast"],
        captions=["A boat near tall buildings", None, "The tall one, a building", "BOATS!"],
    )


def test_tags_classes_and_denials(evidence):
    assert evidence.with_tag("sea").tolist() == [0, 2]
    assert evidence.with_tag("tall building").tolist() == [1, 2]  # both that are called so
    assert evidence.with_tag("nothing").tolist() == []
    assert evidence.denied("boat").tolist() == [0]
    assert evidence.of_class("coast").tolist() == [0, 3]
    assert evidence.of_other_class("coast").tolist() == [2]
    assert evidence.is_tagged.tolist() == [True, True, True, False]


def test_captions_by_word_and_phrase_in_either_number(evidence):
    assert evidence.in_caption("boat").tolist() == [0, 3]
    assert evidence.in_caption("boats").tolist() == [0, 3]
    assert evidence.in_caption("tall building").tolist() == [0]
    assert evidence.in_caption("building tall").tolist() == []
    assert evidence.in_caption("").tolist() == []


def test_files_by_word_and_pattern(evidence):
    assert evidence.in_path("beach").tolist() == [0, 3]
    assert evidence.in_path("boat").tolist() == [1]
    assert evidence.in_path("a").tolist() == []  # the folder that all share says nothing
    assert evidence.in_path("jpg").tolist() == []
    assert evidence.matching_path("IMG_").tolist() == [0]
    assert evidence.matching_path("*.png").tolist() == [2]
    assert evidence.matching_path("two*").tolist() == [1]
    assert evidence.matching_path("a/*/?.jpg").tolist() == []
    assert evidence.matching_path("*a/*/?.jpg").tolist() == [3]
    assert evidence.matching_path("[").tolist() == []


def test_a_picture_is_found_by_each_of_its_paths():
    paths, copies = ["a/sea/one.jpg", "a/two.jpg"], {1: ["a/sea/Boats/IMG_7.png", "a/sea/three.jpg"]}
    evidence = Evidence(paths, copies=copies, tags=sparse.csr_array((2, 0)), tag_names=[])
    assert evidence.paths == paths
    assert evidence.in_path("sea").tolist() == [0, 1]
    assert evidence.in_path("two").tolist() == evidence.in_path("boat").tolist() == [1]
    assert evidence.in_path("sea boat").tolist() == [1]
    assert evidence.in_path("two sea").tolist() == []  # words of two paths are not next to each other
    assert evidence.matching_path("sea").tolist() == evidence.matching_path("*.jpg").tolist() == [0, 1]
    assert evidence.matching_path("img_*").tolist() == evidence.named("img_7").tolist() == [1]
    assert (evidence.counts()["sea"], evidence.counts()["boat"]) == (2, 1)
    outside = Evidence(paths, copies={0: ["b/c.jpg"]}, tags=sparse.csr_array((2, 0)), tag_names=[])
    assert outside.in_path("a").tolist() == [0, 1]  # which not all paths share now


def test_counts_are_of_pictures_and_without_numbers(evidence):
    counts = evidence.counts()
    assert (counts["sea"], counts["tall building"], counts["coast"]) == (2, 2, 2)
    assert counts["boat"] == 1 + 2 + 1
    assert "1" not in counts


def test_nothing_known_at_all():
    empty = Evidence([], tags=sparse.csr_array((0, 0)), tag_names=[])
    assert len(empty) == 0
    assert empty.in_path("x").tolist() == empty.in_caption("x").tolist() == empty.of_other_class("x").tolist() == []
    one = Evidence(["x.jpg"], tags=sparse.csr_array((1, 0)), tag_names=[])
    assert one.in_path("x").tolist() == [0]


def test_classes_are_named_as_they_were_first_written():
    evidence = Evidence(
        list("abcde"),
        tags=sparse.csr_array((5, 0)),
        tag_names=[],
        classes=["street", "Coast", None, "coast", "street"],
    )
    assert evidence.class_names == {"street": "street", "coast": "Coast"}
    assert evidence.of_class("coast").tolist() == [1, 3]
    assert evidence.of_other_class("coast").tolist() == [0, 4]
    assert evidence.has_class.tolist() == [True, True, False, True, True]
    assert evidence.of_class("wood").tolist() == []


def test_other_labels_of_the_same_pictures(evidence):
    other = evidence.relabelled(tags=TAGS[:, [3]], tag_names=["Ship"], classes=[None, None, "wood", None])
    assert other.with_tag("ship").tolist() == [2]
    assert other.with_tag("sea").tolist() == other.denied("boat").tolist() == other.of_class("coast").tolist() == []
    assert other.of_class("wood").tolist() == [2]
    assert other.in_caption("boat").tolist() == [0, 3]
    assert other.n_tags.tolist() == [0, 0, 1, 0]
    assert evidence.with_tag("sea").tolist() == [0, 2]  # as before


def test_labels_that_are_zero_were_not_given():
    stored = sparse.csr_array(([1.0, 0.0, 1.0], ([0, 1, 1], [0, 0, 1])), shape=(2, 2))
    evidence = Evidence(["a", "b"], tags=stored, tag_names=["boat", "sea"], denied=stored)
    assert evidence.with_tag("boat").tolist() == evidence.denied("boat").tolist() == [0]
    assert evidence.n_tags.tolist() == [1, 1]
    assert evidence.counts()["boat"] == 1
    assert stored.nnz == 3


def test_the_shared_folder_is_the_longest_that_all_paths_are_in():
    def known(*paths):
        return Evidence(paths, tags=sparse.csr_array((len(paths), 0)), tag_names=[])

    assert known("sea/boats/a.jpg", "sea/bowls/b.jpg").in_path("sea").tolist() == []
    assert known("sea/boats/a.jpg", "sea/bowls/b.jpg").in_path("bowl").tolist() == [1]
    assert known("sea/a.jpg", "seaside/b.jpg").in_path("sea").tolist() == [0]
    assert known("/sea.jpg", "/lake.jpg").in_path("sea").tolist() == [0]
    assert known("sea/boats/a.jpg").in_path("boat").tolist() == []


def test_files_are_found_by_their_names():
    paths = ["sea/Boat.jpg", "sea/boat.png", "Boat.jpg", "sea/xboat.jpg", "boat/a.tar.gz"]
    evidence = Evidence(paths, tags=sparse.csr_array((5, 0)), tag_names=[])
    assert evidence.named("boat.jpg").tolist() == [0, 2]
    assert evidence.named("BOAT").tolist() == [0, 1, 2]
    assert evidence.named("sea/boat.jpg").tolist() == [0]
    assert evidence.named("a.tar").tolist() == evidence.named("a.tar.gz").tolist() == [4]
    assert evidence.named("a").tolist() == []
