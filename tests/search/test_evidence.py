"""What people wrote, found by word."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.search.evidence import Evidence

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
