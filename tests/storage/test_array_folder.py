"""The commit protocol of a folder of arrays: what reaches the disk when, what readers see, who may write."""

from __future__ import annotations

import json
import os
import sys
import threading
import zlib
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from visterm.errors import InputError, VistermError
from visterm.features import FeatureStore
from visterm.storage import ArrayFile, ArrayFolder, BusyError, RowSpec


def keys_of(numbers):
    return [sha256(str(number).encode()).hexdigest() for number in numbers]


def store_in(folder):
    store = FeatureStore(folder, RowSpec(2))
    store.append(keys_of(range(4)), np.arange(8).reshape(4, 2))
    store.remove(keys_of([1]))
    return store


CHANGES = {
    "append": (store_in, lambda store: store.append(keys_of([7, 8]), [[1, 1], [2, 2]])),
    "remove": (store_in, lambda store: store.remove(keys_of([2]))),
    "compact": (store_in, lambda store: store.compact()),
}


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which file a descriptor is of")
@pytest.mark.parametrize("change", CHANGES)
def test_bytes_and_names_are_on_disk_before_the_manifest_refers_to_them(tmp_path, monkeypatch, change):
    """The power may fail at any moment: what the new manifest needs must have been waited for."""
    make, work = CHANGES[change]
    target = make(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    synced, checked = {}, []
    fsync, replace = os.fsync, os.replace

    def recorded(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced[path] = sorted(p.name for p in path.iterdir()) if path.is_dir() else path.read_bytes()
        fsync(descriptor)

    def replaced(source, goal):
        assert synced[Path(source)] == Path(source).read_bytes()
        if Path(goal).name == "manifest.json":
            files = [path for path in tmp_path.glob("*.*") if path.suffix in (".npy", ".keys")]
            for path in files:
                if before.get(path.name) != path.read_bytes():
                    # Keys took their name by being replaced: they were synced under another name.
                    assert synced.get(path) == path.read_bytes() or path.suffix == ".keys"
            if new := {path.name for path in files} - before.keys():
                assert new <= set(synced[tmp_path])
            checked.append(len(files))
        replace(source, goal)

    monkeypatch.setattr(os, "fsync", recorded)
    monkeypatch.setattr(os, "replace", replaced)
    work(target)
    assert checked
    assert "manifest.json" in synced[tmp_path]  # and the new manifest's name is on disk when the change returns


def test_two_manifests_within_one_tick_of_the_clock_are_told_apart(tmp_path):
    store = store_in(tmp_path)
    file = tmp_path / "manifest.json"
    fields = json.loads(file.read_text())
    del fields["checksum"]  # else it would have to be another one
    file.write_text(json.dumps(fields))
    old, stamp = file.read_text(), file.stat()
    assert len(store) == 3
    # The same inode, size and time, as another manifest in the same tick can have.
    file.write_text(old.replace('"n_removed": 1', '"n_removed": 0'))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (file.stat().st_ino, file.stat().st_size) == (stamp.st_ino, stamp.st_size)
    assert len(store) == 4


def test_nothing_is_read_while_the_manifest_stays_the_same(tmp_path, monkeypatch):
    target = store_in(tmp_path)
    os.utime(tmp_path / "manifest.json", ns=(0, 10**18))  # long ago
    before = target._folder.current()
    monkeypatch.setattr(Path, "read_bytes", None)
    assert target._folder.current() is before


def test_a_reader_tries_again_when_files_went_while_it_read(tmp_path, monkeypatch):
    """Between its reading of the manifest and of the files, another writer puts others in their place."""
    writer = store_in(tmp_path)
    reader = FeatureStore.open(tmp_path)
    writer.remove(keys_of([3]))
    original, calls = ArrayFolder.manifest, []

    def interrupted(folder):
        manifest = original(folder)
        if folder is reader._folder and not calls:
            calls.append(1)
            writer.compact()
        return manifest

    with monkeypatch.context() as patch:
        patch.setattr(ArrayFolder, "manifest", interrupted)
        assert reader.keys() == writer.keys()
    assert calls


def test_a_missing_file_is_told_once_and_for_all(tmp_path):
    target = store_in(tmp_path)
    file = max(tmp_path.glob("*.npy"), key=lambda path: path.stat().st_size)
    file.unlink()
    with pytest.raises(InputError, match=f"{file.name} is missing: delete the folder, and it is created again"):
        FeatureStore.open(tmp_path).keys()
    assert any(file.name in problem for problem in target.check())


@pytest.mark.parametrize("kind", ["keys", "removed", "rows", "manifest"])
def test_changed_bytes_fail_their_checksum(tmp_path, kind):
    target = store_in(tmp_path)
    assert target.check() == []
    (file,) = tmp_path.glob("manifest.json" if kind == "manifest" else f"*.{kind}*")
    data = bytearray(file.read_bytes())
    data[data.index(b'"n_rows": 4') + 10 if kind == "manifest" else -3] ^= 1
    file.write_bytes(data)
    if kind == "manifest":
        with pytest.raises(InputError, match="fails its checksum"):
            target.check()
    else:
        assert any("checksum" in problem and file.name in problem for problem in target.check())


def test_appending_reads_only_what_was_appended(tmp_path, monkeypatch):
    store = store_in(tmp_path)
    read = []
    checksum = ArrayFile.checksum

    def noted(array, n_rows, *, start=0, before=0):
        read.append(n_rows - start)
        return checksum(array, n_rows, start=start, before=before)

    monkeypatch.setattr(ArrayFile, "checksum", noted)
    store.append(keys_of([50]), [[5, 5]])
    assert max(read) == 1
    assert store.check() == []


def test_folders_of_earlier_versions_have_no_checksums_until_they_are_rewritten(tmp_path):
    store = store_in(tmp_path)
    file = tmp_path / "manifest.json"
    fields = json.loads(file.read_text())
    del fields["checksum"], fields["checksums"]
    file.write_text(json.dumps(fields))
    assert store.check() == []
    store.append(keys_of([50]), [[5, 5]])
    assert json.loads(file.read_text())["checksums"] == {}
    store.compact()
    assert len(json.loads(file.read_text())["checksums"]) == 3
    assert store.check() == []


def test_threads_wait_for_each_other_unless_they_do_not_want_to(tmp_path):
    store = store_in(tmp_path)
    began, done = threading.Event(), []

    def append():
        began.set()
        store.append(keys_of([50]), [[5, 5]])
        done.append(1)

    with store.writer() as writer:
        thread = threading.Thread(target=append)
        thread.start()
        began.wait()
        thread.join(0.2)
        assert not done
        assert len(store) == 3  # reading waits for nobody
        with (
            pytest.raises(BusyError, match="is being written to by process"),
            FeatureStore.open(tmp_path).writer(wait=False),
        ):
            pass
        writer.add(keys_of([51])[0], [6, 6])
    thread.join()
    assert set(keys_of([50, 51])) <= set(store.keys())


def test_folders_of_the_first_version_open(tmp_path):
    """Their files could be written by ``numpy.save``, and have no checksums."""
    keys = keys_of(range(3))
    folder = tmp_path / "features"
    folder.mkdir()
    np.save(folder / "01234567.rows.npy", np.eye(3, dtype=np.float32))
    np.save(folder / "01234567.keys.npy", np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(3, 32))
    np.save(folder / "01234567.removed.npy", np.array([2]))
    counts = {"n_rows": 3, "n_values": 0, "n_removed": 1, "keys_crc32": zlib.crc32(bytes.fromhex("".join(keys)))}
    spec = {"n_dims": 3, "dtype": "float32", "sparse": False}
    manifest = {"format": "visterm features", "version": 1, "spec": spec, "recipe": "abc", "generation": "01234567"}
    (folder / "manifest.json").write_text(json.dumps(manifest | counts))
    store = FeatureStore(folder, RowSpec(3), recipe="abc")
    assert store.rows(store.keys()).tolist() == [[1, 0, 0], [0, 1, 0]]
    store.append(keys[2:], [[7, 7, 7]])
    assert store.check() == []


def test_an_array_made_at_once_is_the_one_that_grew(tmp_path):
    rows = np.arange(6, dtype="<f4").reshape(3, 2)
    whole, grown = ArrayFile(tmp_path / "a.npy", "<f4", 2), ArrayFile(tmp_path / "b.npy", "<f4", 2)
    whole.create()
    whole.extend(rows, start=0)
    grown.create()
    grown.extend(rows[:1], start=0)
    grown.extend(rows[1:], start=1)
    assert whole.path.read_bytes() == grown.path.read_bytes()
    np.testing.assert_array_equal(np.load(whole.path), rows)


def test_a_full_disk_leaves_no_folder_without_a_manifest(tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("visterm.storage.array_folder.write_text_atomically", full)
    with pytest.raises(VistermError, match="No space left"):
        store_in(tmp_path / "new")
    assert not (tmp_path / "new").exists()
