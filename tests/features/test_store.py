from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy import sparse

from visterm.errors import InputError, VistermError
from visterm.features import FeatureStore
from visterm.features import store as store_module
from visterm.storage import RowSpec
from visterm.storage.row_files import DenseRows

DENSE = RowSpec(3)
BAGS = RowSpec(5, dtype="int32", sparse=True)


@pytest.fixture(scope="module", autouse=True)
def quick_disk() -> Iterator[None]:
    """Nothing here cuts the power, so nothing needs to wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def key(number: int) -> str:
    return sha256(str(number).encode()).hexdigest()


def keys_of(numbers: range) -> list[str]:
    return [key(number) for number in numbers]


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def contents(store: FeatureStore) -> dict[str, list[float]]:
    keys = store.keys()
    return dict(zip(keys, dense(store.rows(keys)).tolist(), strict=True))


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    store = FeatureStore(tmp_path / "colour", DENSE, recipe="mean colour")
    store.append(keys_of(range(4)), np.arange(12).reshape(4, 3))
    return store


class TestRoundTrip:
    @pytest.mark.parametrize("dtype", ["float32", "float16"])
    def test_dense_rows(self, tmp_path: Path, dtype: str) -> None:
        rows = np.random.default_rng(0).normal(size=(50, 7)).astype(dtype)
        FeatureStore(tmp_path, RowSpec(7, dtype)).append(keys_of(range(50)), rows)

        order = np.random.default_rng(1).permutation(50)
        found = FeatureStore.open(tmp_path).rows([key(i) for i in order])

        assert found.dtype == dtype
        np.testing.assert_array_equal(found, rows[order])

    def test_many_dense_rows_are_copied_in_blocks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float16)
        store = FeatureStore(tmp_path, RowSpec(7, "float16"))
        store.append(keys_of(range(50)), rows)
        gathered: list[int] = []

        def gather(self: DenseRows, positions: Any, whole: Any = DenseRows.gather) -> Any:
            gathered.append(len(positions))
            return whole(self, positions)

        monkeypatch.setattr(DenseRows, "gather", gather)
        monkeypatch.setattr(store_module, "_BATCH_BYTES", 20 * 14)
        order = np.random.default_rng(1).permutation(50)
        found = store.rows([key(i) for i in order])
        np.testing.assert_array_equal(found, rows[order])
        assert found.dtype == np.float16
        assert gathered == [20, 20, 10]

    @pytest.mark.parametrize("dtype", ["float32", "int32"])
    @pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, np.asarray])
    def test_bags_with_empty_rows(self, tmp_path: Path, dtype: str, form: Callable[[Any], Any]) -> None:
        counts = np.random.default_rng(0).poisson(0.4, size=(40, 9))
        counts[[0, 7, 8, 39]] = 0
        store = FeatureStore(tmp_path, RowSpec(9, dtype, sparse=True))
        store.append(keys_of(range(25)), form(counts[:25]))
        store.append(keys_of(range(25, 40)), form(counts[25:]))

        order = np.random.default_rng(1).permutation(40)
        found = FeatureStore.open(tmp_path).rows([key(i) for i in order])

        assert isinstance(found, sparse.csr_array)
        assert (found.dtype, found.indices.dtype, found.indptr.dtype) == (dtype, "int32", "int32")
        assert found.has_canonical_format
        np.testing.assert_array_equal(found.toarray(), counts[order])

    def test_unsorted_and_repeated_columns_are_brought_in_order_and_the_callers_matrix_is_left_alone(
        self, tmp_path: Path
    ) -> None:
        store = FeatureStore(tmp_path, BAGS)
        bag = sparse.csr_array((np.array([1, 2, 4]), np.array([3, 0, 3]), np.array([0, 3])), shape=(1, 5))
        store.append([key(0)], bag)

        found = store.rows([key(0)])
        assert (found.indices.tolist(), found.data.tolist()) == ([0, 3], [2, 5])
        assert bag.indices.tolist() == [3, 0, 3]

    def test_no_keys_are_no_rows(self, store: FeatureStore, tmp_path: Path) -> None:
        store.append([], np.empty((0, 3)))
        assert store.rows([]).shape == (0, 3)
        assert list(store.blocks([])) == []
        bags = FeatureStore(tmp_path / "bags", BAGS)
        assert bags.rows([]).shape == (0, 5)
        assert len(bags) == 0

    def test_the_array_is_a_plain_npy_file(self, store: FeatureStore) -> None:
        (path,) = store.folder.glob("*.rows.npy")
        np.testing.assert_array_equal(np.load(path, allow_pickle=False), np.arange(12).reshape(4, 3))
        assert np.load(path, mmap_mode="r").dtype == np.float32


class TestChanges:
    def test_the_newest_row_of_a_key_wins(self, store: FeatureStore) -> None:
        store.append([key(1), key(9), key(9)], [[1, 1, 1], [2, 2, 2], [3, 3, 3]])

        np.testing.assert_array_equal(store.rows([key(9), key(1)]), [[3, 3, 3], [1, 1, 1]])
        assert store.keys() == [key(0), key(2), key(3), key(1), key(9)]
        assert store.n_dead == 2

    def test_removed_rows_are_gone_until_added_again(self, store: FeatureStore) -> None:
        store.append([key(1)], [[5, 5, 5]])
        assert store.remove([key(1), key(1), key(77), key(2)]) == 2

        reopened = FeatureStore.open(store.folder)
        assert key(1) not in reopened
        assert reopened.missing([key(2), key(0), key(1)]) == [key(2), key(1)]

        store.append([key(1)], [[6, 6, 6]])
        for reader in (store, reopened, FeatureStore.open(store.folder)):
            assert contents(reader) == {key(0): [0, 1, 2], key(3): [9, 10, 11], key(1): [6, 6, 6]}

    def test_compaction_drops_dead_rows_only(self, store: FeatureStore) -> None:
        store.append([key(1)], [[5, 5, 5]])
        store.remove([key(0)])
        before = contents(store)

        store.compact()

        assert contents(store) == contents(FeatureStore.open(store.folder)) == before
        assert list(contents(store)) == list(before)
        assert store.n_dead == 0
        (path,) = store.folder.glob("*.rows.npy")
        assert len(np.load(path)) == 3

    def test_the_map_is_the_file(self, store: FeatureStore) -> None:
        keys, rows = store.mapped()
        assert store.mapped()[0] is keys
        assert keys.keys() == store.keys()
        assert isinstance(rows, np.memmap)
        assert not rows.flags.writeable
        np.testing.assert_array_equal(rows, store.rows(store.keys()))

        store.remove([key(2)])
        now, same = store.mapped()
        assert now.find([key(3), key(2)]).tolist() == [3, -1]
        assert keys.find([key(3), key(2)]).tolist() == [3, 2]
        np.testing.assert_array_equal(same, rows)

    def test_bags_have_no_map(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="sparse"):
            FeatureStore(tmp_path, BAGS).mapped()

    def test_a_reader_sees_what_is_committed_and_keeps_what_it_holds(self, store: FeatureStore) -> None:
        reader = FeatureStore.open(store.folder)
        _, rows = reader.mapped()
        blocks = reader.blocks(reader.keys(), block_bytes=1)
        _, first = next(blocks)

        store.append([key(5)], [[5, 5, 5]])
        store.remove([key(0), key(1)])
        store.compact()

        np.testing.assert_array_equal(rows, np.arange(12).reshape(4, 3))
        np.testing.assert_array_equal([first[0], *(block[0] for _, block in blocks)], np.arange(12).reshape(4, 3))
        assert reader.keys() == [key(2), key(3), key(5)]
        np.testing.assert_array_equal(reader.rows([key(5)]), [[5, 5, 5]])

    def test_a_store_made_anew_is_not_mixed_with_the_old_one(self, store: FeatureStore) -> None:
        reader = FeatureStore.open(store.folder)
        assert len(reader) == 4
        for path in store.folder.iterdir():
            path.unlink()
        FeatureStore(store.folder, DENSE, recipe="mean colour").append(keys_of(range(10, 16)), np.ones((6, 3)))

        assert reader.keys() == keys_of(range(10, 16))


class TestWriter:
    def test_rows_are_appended_in_batches(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, DENSE)
        row = np.zeros(3)
        with store.writer(batch_bytes=10_000) as writer:
            for number in range(32):
                row[:] = number
                writer.add(key(number), row)
            assert 0 < len(FeatureStore.open(tmp_path)) < 32
        assert contents(store) == {key(number): [number] * 3 for number in range(32)}

    def test_bags_are_taken_sparse_or_dense(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, BAGS)
        with store.writer() as writer:
            writer.add(key(0), [0, 1, 0, 2, 0])
            writer.add(key(1), sparse.csr_array([[0, 0, 0, 0, 0]]))
        assert contents(store) == {key(0): [0, 1, 0, 2, 0], key(1): [0] * 5}

    def test_what_was_added_before_a_failure_is_kept(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, DENSE)

        def fail() -> None:
            with store.writer() as writer:
                writer.add(key(0), [1, 2, 3])
                (tmp_path / "no such picture").read_bytes()

        with pytest.raises(FileNotFoundError):  # the caller's own error, not one about writing features
            fail()
        assert contents(store) == {key(0): [1, 2, 3]}

    def test_a_bad_row_is_refused_when_it_is_added(self, tmp_path: Path) -> None:
        store = FeatureStore(tmp_path, DENSE)
        with store.writer() as writer:
            writer.add(key(0), [1, 2, 3])
            with pytest.raises(InputError, match=key(1)):
                writer.add(key(1), [1, np.nan, 3])
            writer.add(key(2), [4, 5, 6])
        assert store.keys() == [key(0), key(2)]


class TestBlocks:
    @pytest.mark.parametrize("block_bytes", [1, 40, 10**9])
    def test_blocks_are_the_rows_in_the_order_asked(self, tmp_path: Path, block_bytes: int) -> None:
        counts = np.random.default_rng(0).poisson(1.0, size=(30, 5))
        asked = [key(i) for i in np.random.default_rng(1).integers(30, size=70)]
        for spec in (RowSpec(5), BAGS):
            store = FeatureStore(tmp_path / spec.dtype, spec)
            store.append(keys_of(range(30)), counts)

            blocks = list(store.blocks(asked, block_bytes=block_bytes))

            assert [place for part, _ in blocks for place in range(70)[part]] == list(range(70))
            np.testing.assert_array_equal(np.vstack([dense(rows) for _, rows in blocks]), dense(store.rows(asked)))
            assert all(rows.nbytes <= block_bytes or len(rows) == 1 for _, rows in blocks if spec == RowSpec(5))

    def test_blocks_need_room(self, store: FeatureStore) -> None:
        with pytest.raises(InputError, match="at least one byte"):
            store.blocks([key(0)], block_bytes=0)


class TestRefusals:
    @pytest.mark.parametrize("spec", [(0,), (-1,), (2.0,), (True,), (2**31,), (3, "float64"), (3, "int32")])
    def test_impossible_specs(self, spec: tuple[Any, ...]) -> None:
        with pytest.raises(InputError):
            RowSpec(*spec)

    @pytest.mark.parametrize(
        "bad", ["", "ab", "A" * 64, " " + "a" * 63, "é" * 64, "a" * 65, "a" * 64 + "\n", b"a" * 64]
    )
    def test_keys_are_digests(self, store: FeatureStore, bad: Any) -> None:
        with pytest.raises(InputError, match="64 lower-case hex digits"):
            store.append([bad], [[1, 2, 3]])
        assert bad not in store

    @pytest.mark.parametrize(
        "rows",
        [[1, 2, 3], [[1, 2]], [[1, 2, 3]] * 2, [["a", "b", "c"]], [[1j, 0, 0]], [[1, np.inf, 0]], [[1e39, 0, 0]]],
    )
    def test_rows_that_do_not_fit(self, store: FeatureStore, rows: Any) -> None:
        before = contents(store)
        with pytest.raises(InputError):
            store.append([key(9)], np.array(rows))
        assert contents(store) == before

    @pytest.mark.parametrize("value", [0.5, 2**31, np.nan])
    def test_counts_that_are_not_whole_name_their_picture(self, tmp_path: Path, value: float) -> None:
        rows = sparse.csr_array([[0, 1.0, 0, 2, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, value]])
        with pytest.raises(InputError, match=f"{key(2)} are not all whole"):
            FeatureStore(tmp_path, BAGS).append(keys_of(range(3)), rows)

    def test_large_values_do_not_become_infinite_halves(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=f"{key(1)} are not all finite numbers within the range of float16"):
            FeatureStore(tmp_path, RowSpec(2, "float16")).append(keys_of(range(2)), [[1, 2], [1, 70_000]])

    def test_malformed_sparse_rows(self, tmp_path: Path) -> None:
        bag = sparse.csr_array([[1, 0, 0, 0, 1]])
        bag.indices[1] = 7
        with pytest.raises(InputError, match="malformed"):
            FeatureStore(tmp_path, BAGS).append([key(0)], bag)

    def test_sparse_rows_for_a_dense_store(self, store: FeatureStore) -> None:
        with pytest.raises(InputError, match="dense"):
            store.append([key(0)], sparse.csr_array([[1, 2, 3]]))

    def test_a_missing_key_is_named_and_counted(self, store: FeatureStore) -> None:
        with pytest.raises(InputError, match=f"2 of 3 pictures have no features in .*, the first is '{key(8)}'"):
            store.rows([key(0), key(8), key(9)])

    @pytest.mark.parametrize(
        ("spec", "recipe"),
        [(RowSpec(4), "mean colour"), (RowSpec(3, "float16"), "mean colour"), (DENSE, "mode colour")],
    )
    def test_a_folder_with_other_features(self, store: FeatureStore, spec: RowSpec, recipe: str) -> None:
        with pytest.raises(InputError, match="holds other features"):
            FeatureStore(store.folder, spec, recipe=recipe)

    def test_a_folder_without_features(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="there are no features in"):
            FeatureStore.open(tmp_path)
        (tmp_path / "file").touch()
        with pytest.raises(VistermError, match="cannot write"):
            FeatureStore(tmp_path / "file", DENSE)


class TestThreads:
    def test_readers_never_see_half_a_batch(self, tmp_path: Path) -> None:
        FeatureStore(tmp_path, DENSE)
        done = threading.Event()
        wrong: list[object] = []

        def read() -> None:
            reader = FeatureStore.open(tmp_path)
            while not done.is_set():
                try:
                    found = contents(reader)
                except VistermError as error:
                    wrong.append(error)
                    return
                wrong.extend(item for item in found.items() if item[1] != [float(int(item[0][:4], 16))] * 3)
                if len(found) % 5:
                    wrong.append(len(found))

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        writer = FeatureStore.open(tmp_path)
        for batch in range(20):
            names = keys_of(range(5 * (batch % 7), 5 * (batch % 7) + 5))
            writer.append(names, [[int(name[:4], 16)] * 3 for name in names])
            if batch % 10 == 3:
                writer.compact()
        done.set()
        for reader in readers:
            reader.join()
        assert wrong == []


@settings(max_examples=30, stateful_step_count=15, deadline=None)
class Model(RuleBasedStateMachine):
    """The store, whatever is done to it, holds what a dict would."""

    numbers = st.integers(0, 7)

    @initialize(sparse_rows=st.booleans())
    def make(self, sparse_rows: bool) -> None:
        self.folder = TemporaryDirectory()
        spec = RowSpec(4, "float32", sparse_rows)
        self.store = FeatureStore(Path(self.folder.name), spec)
        self.model: dict[str, list[float]] = {}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(rows=st.lists(st.tuples(numbers, st.lists(st.integers(0, 2), min_size=4, max_size=4)), max_size=6))
    def append(self, rows: list[tuple[int, list[int]]]) -> None:
        self.store.append([key(number) for number, _ in rows], np.array([row for _, row in rows]).reshape(-1, 4))
        for number, row in rows:
            self.model.pop(key(number), None)
            self.model[key(number)] = [float(value) for value in row]

    @rule(removed=st.sets(numbers, max_size=4))
    def remove(self, removed: set[int]) -> None:
        names = {key(number) for number in removed}
        assert self.store.remove(names) == len(names & self.model.keys())
        self.model = {name: row for name, row in self.model.items() if name not in names}

    @rule()
    def compact(self) -> None:
        self.store.compact()
        assert self.store.n_dead == 0

    @invariant()
    def same(self) -> None:
        if hasattr(self, "store"):
            for store in (self.store, FeatureStore.open(self.store.folder)):  # one that grew, one read at once
                assert list(contents(store).items()) == list(self.model.items())
            assert len(self.store) == len(self.model)
            assert self.store.check() == []


TestModel = Model.TestCase


class TestHostileFolders:
    """A folder from elsewhere costs one clear line, and nothing outside it is touched."""

    @pytest.mark.parametrize(
        "change",
        [
            {"format": "something else"},
            {"version": 2},
            {"version": None},
            {"spec": None},
            {"spec": {"n_dims": -3, "dtype": "float32", "sparse": False}},
            {"spec": {"n_dims": 3, "dtype": "object", "sparse": False}},
            {"spec": {"n_dims": 3, "dtype": ["float32"], "sparse": False}},
            {"spec": {"n_dims": 3, "dtype": "float32", "sparse": []}},
            {"spec": {"n_dims": 3, "surprise": 1}},
            {"recipe": 7},
            {"generation": "../../etc"},
            {"generation": 12345678},
            {"generation": "00000000"},
            {"n_rows": -1},
            {"n_rows": 10**9},
            {"n_rows": 10**30},
            {"n_rows": True},
            {"n_rows": "4"},
            {"n_rows": 3},
            {"n_removed": 1},
            {"keys_crc32": 1},
        ],
    )
    def test_manifest_values(self, store: FeatureStore, change: dict[str, Any]) -> None:
        path = store.folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(InputError):
            FeatureStore.open(store.folder).rows([key(0)])

    @pytest.mark.parametrize(
        "text", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"format": ' + b"9" * 9999, b" " * 2**21]
    )
    def test_manifest_texts(self, store: FeatureStore, text: bytes) -> None:
        (store.folder / "manifest.json").write_bytes(text)
        with pytest.raises(InputError, match=r"manifest\.json is damaged"):
            FeatureStore.open(store.folder)

    @pytest.mark.parametrize("name", ["keys", "rows", "removed"])
    @pytest.mark.parametrize("damage", ["cut", "empty", "gone", "other array", "not an array", "pickle"])
    def test_arrays(self, store: FeatureStore, name: str, damage: str) -> None:
        store.remove([key(0)])
        (path,) = store.folder.glob(f"*.{name}.npy")
        if damage == "cut":
            path.write_bytes(path.read_bytes()[:-1])
        elif damage == "empty":
            path.write_bytes(b"")
        elif damage == "gone":
            path.unlink()
        elif damage == "other array":
            np.save(path, np.zeros((100, 100)))
        elif damage == "not an array":
            path.write_bytes(b"[" * 1000)
        else:
            np.save(path, np.array([{}] * 100, dtype=object), allow_pickle=True)

        opened = FeatureStore.open(store.folder)
        assert any(path.name in problem for problem in opened.check())
        with pytest.raises(InputError, match=path.name):
            opened.rows([key(1)])
        with pytest.raises(InputError, match=path.name):
            opened.append([key(7)], [[1, 2, 3]])

    def test_flipped_keys_are_noticed(self, store: FeatureStore) -> None:
        (path,) = store.folder.glob("*.keys.npy")
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        opened = FeatureStore.open(store.folder)
        with pytest.raises(InputError, match="checksum"):
            opened.rows([key(0)])
        assert any("checksum" in problem for problem in opened.check())

    @pytest.mark.parametrize(("name", "value"), [("columns", 5), ("columns", -1), ("ends", -1), ("ends", 2**40)])
    def test_bags_that_point_outside(self, tmp_path: Path, name: str, value: int) -> None:
        store = FeatureStore(tmp_path, BAGS)
        store.append(keys_of(range(3)), np.ones((3, 5), dtype=int))
        (path,) = tmp_path.glob(f"*.{name}.npy")
        array = np.load(path, mmap_mode="r+")
        array[1] = value
        array.flush()
        with pytest.raises(InputError, match="damaged"):
            FeatureStore.open(tmp_path).rows(keys_of(range(3)))

    @pytest.mark.skipif(os.name != "posix", reason="symbolic links")
    @pytest.mark.parametrize("name", ["lock", "rows"])
    def test_links_are_not_followed(self, store: FeatureStore, tmp_path: Path, name: str) -> None:
        precious = tmp_path / "precious"
        path = store.folder / "lock" if name == "lock" else next(store.folder.glob("*.rows.npy"))
        precious.write_bytes(path.read_bytes() + b"precious")
        path.unlink()
        path.symlink_to(precious)
        with pytest.raises(VistermError):
            store.append([key(7)], [[1, 2, 3]])
        assert precious.read_bytes().endswith(b"precious")

    def test_leftovers_are_reported_and_foreign_files_left_alone(self, store: FeatureStore) -> None:
        leftovers = ["0123abcd.rows.npy", ".visterm-0123456789abcdef.tmp"]
        foreign = ["notes.txt", "holidays.rows.npy", "0123abcd.npy"]
        for name in leftovers + foreign:
            (store.folder / name).write_text("text")
        assert [problem.partition(":")[0] for problem in store.check()] == sorted(leftovers)

        store.append([key(7)], [[1, 2, 3]])

        assert store.check() == []
        names = {path.name for path in store.folder.iterdir()}
        assert names.issuperset(foreign)
        assert names.isdisjoint(leftovers)
