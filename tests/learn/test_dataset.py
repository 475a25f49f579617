"""Pictures with what is known of them: parts agree, rows are selected together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.learn import Dataset, encode_classes


def make(**changes):
    values = {
        "name": "tiny",
        "X": np.arange(8.0).reshape(4, 2),
        "y": np.array([0, -1, 1, 0]),
        "class_names": ("coast", "forest"),
        "tags": sparse.csr_array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=np.float32),
        "tag_names": ("sea", "tree", "sky"),
        "splits": ("train", "Testing", None, "test"),
    }
    return Dataset(**values | changes)


def test_what_is_known_of_each_picture():
    data = make()
    assert len(data) == 4
    assert data.has_class.tolist() == [True, False, True, True]
    assert data.has_tags.tolist() == [True, False, True, False]
    assert data.is_test.tolist() == [False, True, False, True]
    assert make(splits=()).is_test.tolist() == [False] * 4


@pytest.mark.parametrize("X", [np.eye(4), sparse.csr_array(np.eye(4)), {"a": np.eye(4), "b": np.ones((4, 1))}])
def test_rows_are_selected_together(X):
    chosen = make(X=X).select(np.array([3, 0]))
    assert chosen.y.tolist() == [0, 0]
    assert chosen.splits == ("test", "train")
    np.testing.assert_array_equal(chosen.tags.toarray(), [[0, 0, 0], [1, 0, 1]])
    rows = chosen.X["a"] if isinstance(X, dict) else chosen.X
    np.testing.assert_array_equal(np.asarray(rows.todense() if sparse.issparse(rows) else rows), np.eye(4)[[3, 0]])
    assert make(splits=()).select(np.array([1])).splits == ()
    assert len(make().select(np.array([], dtype=int))) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"X": np.eye(3)},
        {"y": np.zeros(5, int)},
        {"tags": sparse.csr_array((3, 3))},
        {"splits": ("train",)},
        {"X": {"a": np.eye(4), "b": np.eye(3)}},
    ],
)
def test_parts_that_speak_of_other_pictures_are_refused(changes):
    with pytest.raises(InputError, match=r"differ.*[345]"):
        make(**changes)


def test_every_column_of_tags_has_a_name():
    with pytest.raises(InputError, match="3 columns of tags, but 2 names"):
        make(tag_names=("sea", "tree"))


def test_denied_tags_go_with_their_pictures():
    denied = sparse.csr_array([[0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=np.float32)
    data = make(denied=denied)
    assert data.only_denied.tolist() == [False, True, False, True], "what a tagged picture lacks is known anyway"
    assert make().only_denied.tolist() == [False] * 4
    np.testing.assert_array_equal(data.select(np.array([3, 1])).denied.toarray(), [[1, 0, 0], [0, 1, 1]])
    sea = data.with_words_of_both(np.array([0]), np.array([0]))
    assert sea.tag_names == ("sea", "sky")
    np.testing.assert_array_equal(sea.denied.toarray(), [[0, 0], [0, 1], [0, 0], [1, 0]])
    hidden = data.without_labels(np.array([1]))
    assert hidden.only_denied.tolist() == [False, False, False, True]
    assert hidden.has_tags.tolist() == data.has_tags.tolist()
    with pytest.raises(InputError, match=r"tags of shape \(4, 3\), but denied ones \(4, 2\)"):
        make(denied=denied[:, :2])


def test_classes_are_numbered_in_the_order_of_their_names():
    y, names = encode_classes(["b", None, "a", "b"])
    assert y.tolist() == [1, -1, 0, 1]
    assert names == ("a", "b")
    y, names = encode_classes([None, None])
    assert y.tolist() == [-1, -1]
    assert names == ()
