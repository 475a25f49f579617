"""The index: exact answers, changes without a rebuild, snapshots that stay, earlier versions replaced."""

from __future__ import annotations

import threading
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError, VistermError
from visterm.features import FeatureStore
from visterm.index.index import Index
from visterm.index.snapshot import largest
from visterm.storage import BusyError


def vectors(n, n_dims=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_dims)).astype(np.float32)


def name(what):
    return sha256(str(what).encode()).hexdigest()


def names(n):
    return [name(i) for i in range(n)]


@pytest.fixture(params=["memory", "disk"])
def place(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "index"


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float16", 0.02)])
def test_the_nearest_are_those_of_brute_force(place, dtype, tolerance):
    index = Index(6, dtype=dtype, folder=place)
    X = vectors(500)
    for start in range(0, 500, 120):
        index.add(names(500)[start : start + 120], X[start : start + 120])
    for query in vectors(5, seed=1):
        found = index.nearest(query, 10)
        apart = np.linalg.norm(X.astype(float) - query, axis=1)
        best = np.argsort(apart)[:10]
        if dtype == "float32":
            assert found.keys == [names(500)[i] for i in best]
        np.testing.assert_allclose(found.distances, apart[best], atol=tolerance)


def clustered(n, n_dims=160, seed=0):
    """Codes in 25 tight clusters: the nearest differ by far less than their lengths."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((25, n_dims))
    return (centres[np.arange(n) % 25] + 0.05 * rng.standard_normal((n, n_dims))).astype(np.float32)


def test_near_codes_far_from_zero_are_told_apart(place):
    X = clustered(1000) + np.float32(1000)
    index = Index(160, folder=place)
    index.add(names(1000), X)
    index.remove(names(1000)[::50])
    left = np.setdiff1d(np.arange(1000), np.arange(0, 1000, 50))
    for query in clustered(20) + np.float32(1000) + 0.03 * vectors(20, 160, seed=2):
        apart = np.linalg.norm(X[left].astype(float) - query, axis=1)
        best = np.argsort(apart)[:10]
        found = index.nearest(query, 10)
        assert found.keys == [names(1000)[i] for i in left[best]]
        np.testing.assert_allclose(found.distances, apart[best], rtol=1e-5)


def test_vectors_are_compared_in_blocks(monkeypatch):
    for size in (1, 7, 21):
        monkeypatch.setattr("visterm.index.snapshot._BLOCK", size)
        for n in (6, 7, 30):
            index = Index(3)
            index.add(names(n), vectors(n, 3))
            query = np.array([0.5, -1.0, 2.0])
            apart = np.linalg.norm(vectors(n, 3) - query, axis=1)
            np.testing.assert_allclose(index.nearest(query, n).distances, np.sort(apart), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_dimensions_are_read_in_any_order(place, dtype):
    X = vectors(100, 3).astype(dtype)
    index = Index(3, dtype=dtype, folder=place)
    index.add(names(80), X[:80])
    index.add(names(100)[80:], X[80:])
    snapshot = index.snapshot()
    assert snapshot.n_slots == 100
    np.testing.assert_array_equal(snapshot.find([*names(100), "other"]), [*range(100), -1])
    for slots in (np.array([99, 3, 81, 3]), np.arange(100), np.empty(0, np.intp), np.array([80])):
        np.testing.assert_array_equal(snapshot.dimension_at(1, slots), X[slots, 1].astype(np.float32))
        np.testing.assert_array_equal(snapshot.vectors(slots), X[slots].astype(np.float32))
        assert snapshot.dimension_at(1, slots).dtype == snapshot.vectors(slots).dtype == np.float32
    np.testing.assert_array_equal(snapshot.dimension(2), X[:, 2])
    assert snapshot.dimension(2).dtype == np.float32
    halves = snapshot.halves(2)
    assert halves is None if dtype == "float32" else np.array_equal(halves, X[:, 2])
    assert halves is None or halves.flags.c_contiguous


def test_equal_distances_keep_their_order():
    index = Index(1)
    index.add(names(50), np.ones((50, 1)))
    assert index.nearest([1.0], 3).keys == names(3)


@st.composite
def changes(draw):
    kind = st.sampled_from(["add", "remove"])
    return draw(st.lists(st.tuples(kind, st.lists(st.integers(0, 15), max_size=8, unique=True)), max_size=12))


@given(changes(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_any_changes_leave_what_a_rebuild_would(tmp_path_factory, steps, on_disk):
    folder = tmp_path_factory.mktemp("index") / "x" if on_disk else None
    index = Index(3, folder=folder)
    expected: dict[str, np.ndarray] = {}
    rng = np.random.default_rng(0)
    for kind, numbers in steps:
        keys = [name(n) for n in numbers]
        if kind == "add":
            rows = rng.standard_normal((len(keys), 3)).astype(np.float32)
            index.add(keys, rows)
            expected |= dict(zip(keys, rows, strict=True))
        else:
            assert index.remove(keys) == sum(expected.pop(key, None) is not None for key in keys)
    for reader in [index] if folder is None else [index, Index.open(folder)]:
        assert len(reader) == len(expected)
        assert set(reader.keys()) == set(expected)
        assert reader.missing([name(0), "other"]) == [key for key in (name(0), "other") if key not in expected]
        if expected:
            query = np.array([0.3, -1.0, 0.5], np.float32)
            apart = {key: np.linalg.norm(row - query) for key, row in expected.items()}
            assert reader.nearest(query, 99).keys == sorted(apart, key=apart.get)


def test_an_index_of_which_half_is_removed_is_written_anew(tmp_path):
    index = Index(1, folder=tmp_path)
    index.add(names(6), np.ones((6, 1)))
    assert index.remove([*names(3), "unknown"]) == 3
    assert index.snapshot().n_slots == 6
    assert index.remove(names(4)) == 1
    assert index.snapshot().n_slots == 2


def test_a_new_index_is_empty(place):
    index = Index(2, dtype="float16", folder=place)
    snapshot = index.snapshot()
    assert snapshot.dimension(1).tolist() == snapshot.halves(1).tolist() == index.keys() == []
    assert snapshot.n_slots == len(index) == 0
    assert index.nearest([1, 2]).keys == []
    index.add([], np.empty((0, 2)))
    assert index.keys() == []


def test_a_snapshot_stays_what_it_is(place):
    index = Index(2, folder=place)
    index.add(names(2), [[1, 0], [0, 1]])
    before = index.snapshot()
    assert index.snapshot() is before
    index.add([name(0), name(2)], [[5, 5], [9, 9]])
    index.remove([name(1)])
    assert before.nearest([1, 0], 5).keys == names(2)
    np.testing.assert_allclose(before.nearest([1, 0], 5).distances, [0, 2**0.5])
    assert index.nearest([8, 8], 5).keys == [name(2), name(0)]


def test_readers_never_see_half_a_change(place):
    """Every change replaces all vectors by one value: whoever sees two values saw half a change."""
    index = Index(1, folder=place)
    keys = names(200)
    index.add(keys, np.zeros((200, 1)))
    seen, stop = [], threading.Event()

    def read():
        reader = index if place is None else Index.open(place)
        while not stop.is_set():
            found = reader.nearest([1.0], 1000)
            seen.append((len(found.keys), len(set(found.distances.tolist()))))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in range(1, 8):
        index.add(keys, np.full((200, 1), value))
    stop.set()
    for thread in threads:
        thread.join()
    assert set(seen) == {(200, 1)}


@pytest.mark.parametrize("change", ["add", "remove", "compact"])
def test_who_does_not_wait_is_told_that_another_writes(tmp_path, change):
    index = Index(1, folder=tmp_path)
    index.add(names(3), np.ones((3, 1)))
    store = FeatureStore.open(tmp_path)
    told = []

    def write():
        try:
            if change == "add":
                index.add([name(9)], [[2.0]], wait=False)
            elif change == "remove":
                index.remove(names(1), wait=False)
            else:
                FeatureStore.open(tmp_path).compact(wait=False)
        except BusyError as error:
            told.append(str(error))

    with store.writer():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert len(told) == 1
    assert index.keys() == names(3)
    write()
    assert len(told) == 1


def outdated(folder):
    """What an earlier version wrote."""
    folder.mkdir()
    (folder / "manifest.json").write_text('{\n  "format": "visterm index",\n  "version": 1,\n  "segments": []\n}\n')
    (folder / "0123456789abcdef.keys").write_text("a")
    return folder


def test_an_index_of_an_earlier_version_is_made_anew(tmp_path):
    folder = outdated(tmp_path / "i")
    assert Index.is_outdated(folder)
    index = Index(2, folder=folder)
    assert not Index.is_outdated(folder)
    assert not (folder / "0123456789abcdef.keys").exists()
    index.add(names(1), [[1, 2]])
    assert Index.open(folder).keys() == names(1)
    assert Index(2, folder=folder).keys() == names(1)
    assert not Index.is_outdated(tmp_path / "none")


def test_an_earlier_version_that_cannot_be_deleted_is_no_damage(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    folder = outdated(tmp_path / "i")
    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(VistermError, match="Permission denied") as told:
        Index(2, folder=folder)
    assert not isinstance(told.value, InputError)


def test_opening_what_is_no_index(tmp_path):
    with pytest.raises(InputError, match="has no manifest"):
        Index.open(tmp_path)
    Index(2, folder=tmp_path / "i", about="codes of ccd2@1").add(names(1), [[1, 2]])
    assert Index.open(tmp_path / "i").keys() == names(1)
    for n_dims, about in ((2, "other"), (3, "codes of ccd2@1")):
        with pytest.raises(InputError, match="holds other features"):
            Index(n_dims, folder=tmp_path / "i", about=about)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1.0]], r"\(1, 2\), not \(1, 1\)"),
        ([[np.nan, 1]], "not all finite"),
        ([[1e6, 1]], "within the range of float16"),
    ],
)
def test_vectors_that_cannot_be_kept(place, rows, said):
    index = Index(2, dtype="float16", folder=place)
    with pytest.raises(InputError, match=said):
        index.add(names(1), rows)
    assert len(index) == 0


def test_wrong_use_is_told():
    with pytest.raises(InputError, match="float32 or float16"):
        Index(2, dtype="int8")
    with pytest.raises(InputError, match="between 1 and"):
        Index(0)
    for query, said in (([1.0], "2 numbers"), ([[1.0, 2.0]], "2 numbers"), ([np.inf, 1.0], "infinity")):
        with pytest.raises(InputError, match=said):
            Index(2).nearest(query)


@given(st.lists(st.integers(-5, 5), max_size=30), st.integers(0, 35))
@settings(max_examples=100, deadline=None)
def test_the_largest_are_those_of_a_stable_sort(values, n):
    scores = np.array(values, dtype=float)
    np.testing.assert_array_equal(largest(scores, n), np.argsort(-scores, kind="stable")[:n])


def test_of_equal_scores_no_more_than_wanted_are_chosen():
    assert largest(np.array([1.0, 2.0, 1.0, 1.0]), 2).tolist() == [1, 0]
    assert largest(np.array([1.0, 2.0, 1.0, 3.0, 1.0]), 3).tolist() == [3, 1, 0]
