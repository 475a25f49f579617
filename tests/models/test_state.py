"""Fitted estimators as JSON and tensors: every kind of value comes back, and nothing is executed."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load, save
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from visterm.errors import InputError
from visterm.models.state import pack, unpack
from visterm.neighbours import KnnAnnotator, KnnClassifier, TagFrequency
from visterm.ranking import TagRanker

DTYPES = st.sampled_from([np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64, ">f8"])
NAMES = st.sampled_from(["a", "a/b", "b", "0", "0/data", "data", "a.b_", "a'", "$", "items", "", "שלום 🌞"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    DTYPES.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))),
    st.lists(st.sampled_from(["coast", "", "é", "🌞"]), max_size=4).map(lambda words: np.array(words, np.str_)),
    arrays(np.float32, (2, 3), elements=st.sampled_from([0.0, 1.0, 2.5])).map(sparse.csr_array),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(NAMES, inner, max_size=4),
    ),
    max_leaves=12,
)


def through_the_disk(value):
    tensors = {}
    text = json.dumps(pack(value, "x", tensors), allow_nan=False)
    return unpack(json.loads(text), load(save(tensors)))


def assert_same(a, b):
    if sparse.issparse(a):
        assert isinstance(b, sparse.csr_array)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.toarray(), b.toarray())
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape
        assert a.dtype.kind == b.dtype.kind
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b)
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_same(left, right)
    elif isinstance(a, float) and a != a:
        assert b != b
    else:
        assert type(a) is type(b)
        assert a == b


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_every_kind_of_value_comes_back(value):
    assert_same(value, through_the_disk(value))


@pytest.mark.parametrize(
    ("value", "plain"),
    [(np.float32(0.5), 0.5), (np.int64(7), 7), (np.bool_(True), True), (np.str_("coast"), "coast")],
)
def test_numbers_of_numpy_come_back_plain(value, plain):
    assert_same(plain, through_the_disk(value))


def test_arrays_in_any_order_come_back():
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    for view in (array, array.T, array[::-1, ::2], np.broadcast_to(np.arange(3), (2, 3))):
        assert_same(np.ascontiguousarray(view), through_the_disk(view))


def test_names_that_meet_are_told_apart():
    matrix = sparse.csr_array(np.eye(2))
    value = {"a": {"b": np.zeros(2)}, "a/b": np.ones(2), "m": matrix, "m/data": np.full(3, 7.0), "m/indptr": matrix}
    assert_same(value, through_the_disk(value))


def test_estimators_come_back_fitted_and_nested():
    X, tags = np.random.default_rng(0).random((20, 3)), np.eye(20, 4, dtype=int)
    tags[:, 1] = 1
    ranker = TagRanker(KnnAnnotator(3, metric="cosine")).fit(X, tags)
    back = through_the_disk(ranker)
    assert back.annotator.get_params() == ranker.annotator.get_params()
    np.testing.assert_array_equal(back.score_queries(X, np.eye(4)), ranker.score_queries(X, np.eye(4)))
    unfitted = through_the_disk(KnnClassifier(5))
    assert unfitted.n_neighbors == 5
    assert not hasattr(unfitted, "classes_")


def test_private_and_temporary_attributes_are_not_stored():
    model = TagFrequency().fit([[0.0]], [[1]])
    model._cache_, model.note = object(), object()
    assert not {"_cache_", "note"} & vars(through_the_disk(model)).keys()


@pytest.mark.parametrize(
    "value",
    [
        {1: 2},
        object(),
        b"bytes",
        1j,
        {1, 2},
        print,
        np.array([object()]),
        np.array([1j]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.ones(2, np.longdouble),
        [np.array([b"bytes"])],
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_refused_by_name(value):
    with pytest.raises(InputError, match=r"x.* cannot be stored"):
        pack(value, "x", {})


def test_what_could_not_be_loaded_is_not_stored():
    class Local(TagFrequency):
        pass

    for estimator in (LogisticRegression(), Local()):
        with pytest.raises(InputError, match="unknown class"):
            pack(estimator, "", {})


@pytest.mark.parametrize(
    "target",
    [
        "os:system",
        "subprocess:Popen",
        "builtins:eval",
        "sklearn.linear_model:LogisticRegression",
        "visterm.errors:InputError",
        "visterm.neighbours.knn:nearest",
        "visterm.neighbours.knn:Estimator",
        "visterm.neighbours.knn:np",
        "visterm.neighbours.knn:__name__",
        "visterm.neighbours.knn:KnnClassifier.fit",
        "visterm.neighbours.knn:",
        "visterm.neighbours.knn",
        "visterm.no_such_module:KnnClassifier",
        "visterm:nothing",
        "vistermite:Evil",
        ".visterm:Evil",
        ":",
        "",
        None,
        7,
        ["visterm.neighbours.knn", "KnnClassifier"],
    ],
)
def test_only_methods_are_restored(target):
    with pytest.raises(InputError):
        unpack({"$": "estimator", "class": target, "parameters": {}, "fitted": {}}, {})


def test_modules_of_others_are_not_even_imported(tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text("raise SystemExit('executed')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="register its method"):
        unpack({"$": "estimator", "class": "evil_module:Evil", "parameters": {}, "fitted": {}}, {})
    assert "evil_module" not in sys.modules


@pytest.mark.parametrize("name", ["_private_", "__class__", "predict", "not an identifier_", "n_neighbors", "_", ""])
def test_only_fitted_attributes_are_restored(name):
    stored = pack(KnnClassifier(), "", {})
    stored["fitted"] = {name: 1}
    with pytest.raises(InputError, match="no estimator has"):
        unpack(stored, {})


def csr(data=(1.0, 1.0), indices=(0, 1), indptr=(0, 1, 2)):
    return {"m/data": np.array(data), "m/indices": np.array(indices), "m/indptr": np.array(indptr)}


@pytest.mark.parametrize(
    ("tensors", "shape"),
    [
        (csr(indices=(0, 5)), [2, 2]),
        (csr(indices=(0, -1)), [2, 2]),
        (csr(indptr=(0, 9, 2)), [2, 2]),
        (csr(indptr=(1, 1, 2)), [2, 2]),
        (csr(indices=(0.0, 1.0)), [2, 2]),
        (csr(indptr=(0.0, 1.0, 2.0)), [2, 2]),
        (csr(data=((1.0,), (1.0,))), [2, 2]),
        (csr(), [2**60, 2]),
        (csr(), [2, -2]),
        (csr(), [2, 2, 2]),
        (csr(), ["two", 2]),
        (csr(), 5),
        ({"m/data": np.ones(1)}, [2, 2]),
    ],
)
def test_impossible_matrices_are_refused(tensors, shape):
    with pytest.raises((InputError, ValueError, TypeError)):
        unpack({"$": "csr", "name": "m", "shape": shape}, tensors)


@pytest.mark.parametrize("value", [{}, {"$": "code"}, {"$": None}, [], [1, 2], {"a": 1}, {"$": ["list"]}])
def test_what_was_never_written_is_refused(value):
    with pytest.raises(InputError):
        unpack(value, {})


def test_missing_tensors_are_named():
    with pytest.raises(InputError, match="tensor 'weights_' is missing"):
        unpack({"$": "array", "name": "weights_"}, {})
