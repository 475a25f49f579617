"""The index: exact answers, changes without a rebuild, readers that never see half a change, damage told."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError, VistermError
from visterm.search.index import METRICS, Index
from visterm.search.snapshot import largest
from visterm.storage import ArrayFile


def vectors(n, n_dims=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, n_dims)).astype(np.float32)


def names(n, prefix="p"):
    return [f"{prefix}{i:04d}" for i in range(n)]


def scored(query, rows, metric):
    """What brute force says: scores of which larger is better."""
    if metric == "euclidean":
        return -np.linalg.norm(rows.astype(float) - query, axis=1)
    product = rows.astype(float) @ query
    return product if metric == "dot" else product / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)


@pytest.fixture(params=["memory", "disk"])
def place(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "index"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_nearest_are_those_of_brute_force(place, metric, dtype):
    index = Index(6, metric=metric, dtype=dtype, folder=place)
    X = vectors(500)
    for start in range(0, 500, 120):
        index.add(names(500)[start : start + 120], X[start : start + 120])
    for query in vectors(5, seed=1):
        found = index.nearest(query, 10)
        scores = scored(query, X, metric)
        best = np.argsort(-scores)[:10]
        if dtype == "float32":
            assert found.keys == [names(500)[i] for i in best]
        tolerance = 1e-5 if dtype == "float32" else 0.02
        expected = -scores[best] if metric == "euclidean" else scores[best]
        np.testing.assert_allclose(found.scores, expected, atol=tolerance)


def clustered(n, n_dims=160, seed=0):
    """Codes in 25 tight clusters: the nearest differ by far less than their lengths."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((25, n_dims))
    return (centres[np.arange(n) % 25] + 0.05 * rng.standard_normal((n, n_dims))).astype(np.float32)


@pytest.mark.parametrize(("dtype", "offset"), [("float16", 0.0), ("float16", 30.0), ("float32", 1000.0)])
def test_near_codes_of_many_dimensions_are_told_apart(place, dtype, offset):
    X = clustered(1000) + np.float32(offset)
    index = Index(160, metric="euclidean", dtype=dtype, folder=place)
    for start, end in ((0, 640), (640, 960), (960, 1000)):  # segments with different centres, two of them merged
        index.add(names(1000)[start:end], X[start:end])
    assert len(index.snapshot().segments) == 2
    index.remove(names(1000)[::50])
    left = np.setdiff1d(np.arange(1000), np.arange(0, 1000, 50))
    n_right = 0
    for query in clustered(20) + np.float32(offset) + 0.03 * vectors(20, 160, seed=2):
        apart = np.linalg.norm(X[left].astype(float) - query, axis=1)
        best = left[np.argsort(apart)[:10]]
        found = index.nearest(query, 10)
        n_right += len({names(1000)[i] for i in best} & set(found.keys))
        np.testing.assert_allclose(found.scores, np.sort(apart)[:10], rtol=2e-3)
    assert n_right >= 196
    snapshot = index.snapshot()
    slots = np.flatnonzero(snapshot.alive())
    rows = [int(snapshot.keys()[slot][1:]) for slot in slots]
    np.testing.assert_allclose(snapshot.vectors(slots), X[rows], atol=2e-3)


def test_an_index_from_before_centres_is_still_read(tmp_path):
    """Its euclidean vectors are as given, and half their squared length is one more row."""
    X = vectors(30, 4)
    Index(4, metric="euclidean", folder=tmp_path).add(names(30), X)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (entry,) = manifest["segments"]
    assert entry.pop("centred")
    del manifest["checksum"], manifest["checksums"]  # that version had none
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    old = np.vstack([X.T, 0.5 * (X**2).sum(axis=1)])
    (tmp_path / f"{entry['name']}.vectors.npy").unlink()
    ArrayFile(tmp_path / f"{entry['name']}.vectors.npy", "<f4", 30).create(old)
    (tmp_path / f"{entry['name']}.centre.npy").unlink()
    index = Index.open(tmp_path)
    assert index.check() == []
    index.add(names(20, "q"), vectors(20, 4, seed=1) + 5)
    every = dict(zip(names(30) + names(20, "q"), [*X, *(vectors(20, 4, seed=1) + 5)], strict=True))
    apart = {key: np.linalg.norm(row - 1.0) for key, row in every.items()}
    assert Index.open(tmp_path).nearest(np.ones(4), 50).keys == sorted(apart, key=apart.get)


def test_a_damaged_centre_is_told(tmp_path):
    Index(4, metric="euclidean", folder=tmp_path).add(names(3), vectors(3, 4))
    (file,) = tmp_path.glob("*.centre.npy")
    for damage in (np.zeros(3, np.float32), np.full(4, np.nan, np.float32)):
        np.save(file, damage)
        with pytest.raises(InputError, match="does not hold 4 numbers"):
            Index.open(tmp_path)
    file.write_bytes(b"x")
    with pytest.raises(InputError, match="is damaged"):
        Index.open(tmp_path)


def test_queries_of_few_dimensions_are_answered_alike():
    index = Index(40)
    X = vectors(200, 40)
    index.add(names(200), X)
    query = np.zeros(40)
    query[[3, 17]] = [1.0, -2.0]
    assert index.nearest(query, 5).keys == [names(200)[i] for i in np.argsort(-(X @ query))[:5]]
    snapshot = index.snapshot()
    np.testing.assert_array_equal(snapshot.dimension(17), X[:, 17])
    np.testing.assert_array_equal(snapshot.dimension_at(17, np.array([5, 199])), X[[5, 199], 17])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_dimensions_of_several_segments_are_read_in_any_order(dtype):
    X = np.random.default_rng(0).standard_normal((100, 3)).astype(dtype)
    index = Index(3, dtype=dtype)
    index.add([str(i) for i in range(80)], X[:80])
    index.add([str(i) for i in range(80, 100)], X[80:])
    snapshot = index.snapshot()
    assert len(snapshot.segments) == 2
    for slots in (np.array([99, 3, 81, 3]), np.arange(100), np.empty(0, np.intp), np.array([80])):
        np.testing.assert_array_equal(snapshot.dimension_at(1, slots), X[slots, 1])
    np.testing.assert_array_equal(snapshot.dimension(2), X[:, 2])
    halves = snapshot.halves(2)
    assert halves is None if dtype == "float32" else np.array_equal(halves, X[:, 2])


def test_equal_scores_keep_their_order():
    index = Index(1)
    index.add(names(50), np.ones((50, 1)))
    assert index.nearest([1.0], 3).keys == names(3)


@st.composite
def changes(draw):
    kind = st.sampled_from(["add", "remove"])
    return draw(st.lists(st.tuples(kind, st.lists(st.integers(0, 15), max_size=8, unique=True)), max_size=12))


@given(changes(), st.booleans(), st.sampled_from(METRICS))
@settings(max_examples=25, deadline=None)
def test_any_changes_leave_what_a_rebuild_would(tmp_path_factory, steps, on_disk, metric):
    folder = tmp_path_factory.mktemp("index") / "x" if on_disk else None
    index = Index(3, metric=metric, folder=folder)
    expected: dict[str, np.ndarray] = {}
    rng = np.random.default_rng(0)
    for kind, numbers in steps:
        keys = [f"k{n}" for n in numbers]
        if kind == "add":
            rows = rng.standard_normal((len(keys), 3)).astype(np.float32)
            index.add(keys, rows)
            expected |= dict(zip(keys, rows, strict=True))
        else:
            assert index.remove(keys) == sum(expected.pop(key, None) is not None for key in keys)
    for reader in [index] if folder is None else [index, Index.open(folder)]:
        assert len(reader) == len(expected)
        assert set(reader.keys()) == set(expected)
        assert reader.missing(["k0", "other"]) == [key for key in ("k0", "other") if key not in expected]
        assert all((f"k{n}" in reader) == (f"k{n}" in expected) for n in range(16))
        if expected:
            query = np.array([0.3, -1.0, 0.5], np.float32)
            scores = scored(query, np.stack(list(expected.values())), metric)
            best = np.array(list(expected))[np.argsort(-scores, kind="stable")]
            assert reader.nearest(query, 99).keys == best.tolist()


def test_segments_stay_few():
    index = Index(2)
    for i in range(300):
        index.add([f"k{i}"], [[i, 1.0]])
    assert len(index.snapshot().segments) <= 10
    index.remove(f"k{i}" for i in range(0, 300, 2))
    assert len(index) == 150
    assert index.nearest([1.0, 0.0], 1).keys == ["k299"]


@pytest.mark.parametrize(
    ("added", "lengths"),
    [
        ((4, 2), [6]),
        ((5, 2), [5, 2]),
        ((40, 9, 4), [40, 9, 4]),
        ((40, 9, 4, 2), [40, 15]),  # 2 and 4, then 6 and 9, but not 15 and 40
        ((20, 9, 4, 2), [35]),
    ],
)
def test_a_segment_at_least_half_as_long_as_the_one_before_is_merged_with_it(added, lengths):
    index = Index(2)
    starts = np.cumsum([0, *added])
    for start, end in itertools.pairwise(starts):
        index.add(names(end)[start:end], vectors(end, 2)[start:end])
    assert [len(part) for part in index.snapshot().segments] == lengths
    assert index.keys() == index.snapshot().keys() == names(starts[-1])
    assert index.snapshot().n_slots == starts[-1]
    np.testing.assert_array_equal(index.snapshot().vectors(np.arange(starts[-1])), vectors(starts[-1], 2))


def test_a_segment_of_which_half_is_removed_is_written_anew():
    index = Index(1)
    index.add(names(5), np.ones((5, 1)))
    index.add(["q"], [[2.0]])
    assert index.remove([*names(2), "unknown"]) == 2
    assert index.snapshot().n_slots == 6
    assert index.remove(names(3)) == 1
    assert index.snapshot().n_slots == 3
    assert index.remove(["q"]) == 1
    assert [len(part) for part in index.snapshot().segments] == [2]
    four = Index(1)
    four.add(names(4), np.ones((4, 1)))
    four.remove(names(2))
    assert four.snapshot().n_slots == 2


@pytest.mark.parametrize("change", [lambda index: index.add(["b"], [[2.0]]), lambda index: index.remove(["a"])])
def test_writers_wait_for_their_turn(tmp_path, change):
    index = Index(1, folder=tmp_path)
    index.add(["a"], [[1.0]])
    with index._changing(wait=True):
        later = threading.Thread(target=change, args=(index,))
        later.start()
        later.join(0.02)
        assert index.keys() == ["a"]
    later.join()
    assert index.keys() in (["a", "b"], [])


def test_what_an_unfinished_write_left_is_removed(tmp_path):
    index = Index(1, folder=tmp_path)
    index.add(["a"], [[1.0]])
    stray = tmp_path / "0123456789abcdef.keys"
    stray.write_text("b")
    assert any(stray.name in line for line in index.check())
    index.tidy()
    assert not stray.exists()
    assert index.check() == []
    memory = Index(1)
    memory.tidy()
    assert memory.check() == []


def test_long_rows_are_multiplied_in_blocks(monkeypatch):
    monkeypatch.setattr("visterm.search.snapshot._BLOCK", 7)
    for n in (6, 7, 30):
        for dtype in ("float32", "float16"):
            index = Index(3, dtype=dtype)
            X = vectors(n, 3).astype(dtype).astype(np.float32)
            index.add(names(n), X)
            query = np.array([0.5, -1.0, 2.0])
            np.testing.assert_allclose(index.nearest(query, n).scores, np.sort(X @ query)[::-1], rtol=1e-4)


def test_an_empty_index_has_no_dimensions_to_read():
    snapshot = Index(2, dtype="float16").snapshot()
    assert snapshot.dimension(1).tolist() == snapshot.keys() == snapshot.alive().tolist() == []
    assert snapshot.halves(1) is None
    assert snapshot.n_slots == 0


def test_vectors_without_length_are_like_no_other():
    index = Index(2, metric="cosine")
    index.add(["none", "some"], [[0.0, 0.0], [3.0, 4.0]])
    found = index.nearest([6.0, 8.0], 2)
    assert found.keys == ["some", "none"]
    np.testing.assert_allclose(found.scores, [1, 0], atol=1e-6)
    np.testing.assert_allclose(index.nearest([0.0, 0.0], 2).scores, [0, 0])


def test_a_snapshot_stays_what_it_is(place):
    index = Index(2, folder=place)
    index.add(["a", "b"], [[1, 0], [0, 1]])
    before = index.snapshot()
    index.add(["a", "c"], [[5, 5], [9, 9]])
    index.remove(["b"])
    assert before.nearest([1, 0], 5).keys == ["a", "b"]
    assert before.nearest([1, 0], 5).scores.tolist() == [1, 0]
    assert index.nearest([1, 0], 5).keys == ["c", "a"]


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
            seen.append((len(found.keys), len(set(found.scores.tolist()))))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in range(1, 8):
        index.add(keys, np.full((200, 1), value))
    stop.set()
    for thread in threads:
        thread.join()
    assert set(seen) == {(200, 1)}


def test_another_process_sees_changes_and_does_not_write_meanwhile(tmp_path):
    index = Index(1, folder=tmp_path / "i")
    index.add(["a"], [[1.0]])
    code = (
        "import sys, pathlib; from visterm.search.index import Index\n"
        "Index.open(pathlib.Path(sys.argv[1])).add(['b'], [[2.0]], wait=False)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "i")], check=True)
    assert index.nearest([1.0], 5).keys == ["b", "a"]
    with index._changing(wait=True) as parts:
        assert parts
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "i")], capture_output=True, text=True, check=False
        )
    assert "is being written to by process" in done.stderr


def test_a_failed_change_changes_nothing(tmp_path, monkeypatch):
    index = Index(1, folder=tmp_path / "i")
    index.add(["a"], [[1.0]])
    files = sorted(path.name for path in (tmp_path / "i").iterdir())

    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ArrayFile, "create", fail)
        with pytest.raises(VistermError, match="No space left"):
            index.add(["b"], [[2.0]])
    assert index.keys() == Index.open(tmp_path / "i").keys() == ["a"]
    index.add(["b"], [[3.0]])
    assert Index.open(tmp_path / "i").keys() == ["a", "b"]
    assert len(list((tmp_path / "i").iterdir())) <= len(files) + 2


def test_nothing_is_left_of_replaced_segments(tmp_path):
    index = Index(1, folder=tmp_path)
    for i in range(20):
        index.add(["a", f"b{i}"], [[i], [i]])
    used = {name for part in index.snapshot().segments for name in (part.name, part.dead_name)}
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} <= used | {"lock", "manifest"}


def test_opening_what_is_no_index(tmp_path):
    with pytest.raises(InputError, match="no index in"):
        Index.open(tmp_path)
    index = Index(2, folder=tmp_path / "i", about="codes of ccd2@1")
    assert Index.open(tmp_path / "i").about == "codes of ccd2@1"
    index.add(["a"], [[1, 2]])
    with pytest.raises(InputError, match="holds another index"):
        Index(2, folder=tmp_path / "i", about="other")


@pytest.mark.parametrize("damage", ["{", "[]", '{"format": "visterm index", "version": 99}', '{"format": "x"}', "\xff"])
def test_a_damaged_manifest_is_told(tmp_path, damage):
    Index(1, folder=tmp_path).add(["a"], [[1.0]])
    (tmp_path / "manifest.json").write_bytes(damage.encode("latin-1"))
    with pytest.raises(InputError, match="is damaged"):
        Index.open(tmp_path)


def test_damaged_files_are_told(tmp_path):
    Index(2, folder=tmp_path).add(["a", "b"], [[1, 2], [3, 4]])
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (file,) = tmp_path.glob("*.vectors.npy")
    whole = file.read_bytes()
    for damage in (b"", whole[:40], whole[:-4]):
        file.write_bytes(damage)
        with pytest.raises(InputError, match="is damaged"):
            Index.open(tmp_path)
    file.write_bytes(whole)
    (keys,) = tmp_path.glob("*.keys")
    keys.write_text("a")
    with pytest.raises(InputError, match="1 keys, but the vectors have shape"):
        Index.open(tmp_path)
    keys.unlink()
    with pytest.raises(InputError, match="is missing"):
        Index.open(tmp_path)
    manifest["segments"][0]["name"] = "../../escape"
    del manifest["checksum"]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="invalid name"):
        Index.open(tmp_path)


@pytest.mark.parametrize(
    ("keys", "rows", "said"),
    [
        (["a"], [[1.0]], r"\(1, 2\), not \(1, 1\)"),
        (["a", "a"], [[1, 2], [3, 4]], "occurs twice"),
        (["a\nb"], [[1, 2]], "one line of text"),
        ([""], [[1, 2]], "one line of text"),
        (["\ud800"], [[1, 2]], "one line of text"),
        (["a"], [[np.nan, 1]], "NaN"),
        (["a"], [[1e6, 1]], "beyond the range of float16"),
    ],
)
def test_vectors_that_cannot_be_kept(keys, rows, said):
    index = Index(2, dtype="float16")
    with pytest.raises(InputError, match=said):
        index.add(keys, rows)
    assert len(index) == 0


def test_wrong_use_is_told():
    for wrong, said in [({"metric": "far"}, "unknown metric"), ({"dtype": "int8"}, "float32 or float16")]:
        with pytest.raises(InputError, match=said):
            Index(2, **wrong)
    with pytest.raises(InputError, match="at least one dimension"):
        Index(0)
    index = Index(2)
    assert index.nearest([1, 2]).keys == []
    index.add([], np.empty((0, 2)))
    for query in ([1.0], [[1.0, 2.0]], [np.inf, 1.0]):
        with pytest.raises(InputError):
            index.nearest(query)


@given(st.lists(st.integers(-5, 5), max_size=30), st.integers(0, 35))
@settings(max_examples=100, deadline=None)
def test_the_largest_are_those_of_a_stable_sort(values, n):
    scores = np.array(values, dtype=float)
    np.testing.assert_array_equal(largest(scores, n), np.argsort(-scores, kind="stable")[:n])


def test_of_equal_scores_no_more_than_wanted_are_chosen():
    assert largest(np.array([1.0, 2.0, 1.0, 1.0]), 2).tolist() == [1, 0]
    assert largest(np.array([1.0, 2.0, 1.0, 3.0, 1.0]), 3).tolist() == [3, 1, 0]
