"""A few power cuts; ``make attacks`` makes two thousand."""

from __future__ import annotations

import random
from dataclasses import replace

import powercuts
import pytest
from power_disk import Call, Disk, File, Write
from power_work import COMMANDS, N_LABELS
from powercuts import PowerCuts


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    """The record of the work."""
    if reason := powercuts.why_no_strace():
        pytest.skip(reason)
    return PowerCuts(tmp_path_factory.mktemp("power"))


def test_a_power_cut_loses_nothing_confirmed(cuts):
    assert len(cuts.confirmed) == 1 + len(COMMANDS) + 2 * N_LABELS
    assert cuts.strike(20, seed=3) == []


def test_without_flushes_labels_would_be_lost(cuts, monkeypatch):
    """An attack that cannot fail would prove nothing."""
    assert cuts.confirmed
    calls = [replace(call, name="close") if "sync" in call.name else call for call in cuts.calls]
    monkeypatch.setattr(cuts, "calls", calls)
    assert cuts.strike(20, seed=3) != []


def test_what_was_not_flushed_may_be_lost_or_torn():
    file = File(bytearray(b"a" * 2048), [Write(0, b"b" * 2048)])
    found = {bytes(file.after_a_cut(random.Random(seed))) for seed in range(200)}
    assert {b"a" * 2048, b"b" * 2048} < found
    assert all(len(content) == 2048 for content in found)
    torn = found - {b"a" * 2048, b"b" * 2048}
    assert torn
    assert all(content[i : i + 512] in (b"a" * 512, b"b" * 512) for content in torn for i in range(0, 2048, 512))
    file.flush()
    assert {bytes(file.after_a_cut(random.Random(seed))) for seed in range(20)} == {b"b" * 2048}


def test_a_new_name_is_certain_once_its_folder_is_flushed(tmp_path):
    (tmp_path / "old").write_bytes(b"content")
    disk = Disk(tmp_path)
    root = disk.root
    disk.take(Call("rename", (f"{root}/old".encode(), f"{root}/new".encode(), ""), 0))
    names = {frozenset(disk._names_after_a_cut(random.Random(seed))) for seed in range(50)}
    assert names == {frozenset({f"{root}/old"}), frozenset({f"{root}/new"})}
    disk.take(Call("fsync", (root, ""), 0))
    assert set(disk._names_after_a_cut(random.Random(0))) == {f"{root}/new"}
