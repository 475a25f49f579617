"""Short samples of the attacks, with fixed seeds; ``make attacks`` runs all of them at length."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import determinism
import fuzz
import kills
import pytest
import soak
from attack_harness import (
    COUNT,
    FAIL,
    KILL,
    Commands,
    Fault,
    built_shim,
    in_process,
    make_pictures,
    truth_of,
    why_no_shim,
)

needs_shim = pytest.mark.skipif(why_no_shim() is not None, reason=why_no_shim() or "")


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    """A workspace to attack, and the commands that write."""
    if reason := why_no_shim():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("attack")
    with Commands(built_shim(folder)) as run:
        yield kills.Attack(run, folder, ["label", "rename", "add", "xmp"])


@pytest.mark.parametrize("errors", [False, True], ids=["kills", "errors"])
def test_a_kill_or_a_disk_error_loses_nothing(attack, errors):
    attack.report = kills.Report()
    for target, fault in attack.faults(8, seed=1, errors=errors):
        attack.strike(target, fault)
    assert attack.report.problems == []
    assert attack.report.points == 8


def test_the_harness_notices_a_lost_label(attack):
    """An attack that cannot fail would prove nothing."""
    target = attack.targets[0]
    done = attack._run.run("status", folder=target.template)
    copy = target.template.with_name("tampered")
    shutil.copytree(target.template, copy)
    attack._run.run("label", "photos/0001.png", "--clear", "tags", folder=copy)
    assert attack._after_the_fault(target, done, copy) != []


@needs_shim
def test_the_shim_counts_kills_and_fails_calls(tmp_path):
    with Commands(built_shim(tmp_path)) as run:
        folder = tmp_path / "workspace"
        folder.mkdir()
        counted = run.run("init", folder=folder, fault=Fault(COUNT))
        assert counted.calls > 10
        shutil.rmtree(folder / ".visterm")
        assert run.run("init", folder=folder, fault=Fault(KILL, at=5)).code == -9
        assert run.run("init", folder=folder, fault=Fault(FAIL, at=5)).code > 0


def test_a_short_soak_refuses_and_loses_nothing():
    report = soak.soak(4, n_readers=2)
    assert report["failures"] == {}
    assert report["lost_updates"] == 0
    assert report["crashed_workers"] == 0
    assert report["doctor"] == []


@pytest.mark.parametrize("script", fuzz.fuzzers(), ids=lambda script: script.stem)
def test_a_few_damaged_inputs_of_every_parser(script):
    done = subprocess.run(
        [sys.executable, str(script), "--runs", "40", "--seed", "3"],
        env=fuzz.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_a_model_is_the_same_with_any_number_of_threads():
    report = determinism.compare(["ridge-tags", "sdca"], recipe="colour")
    assert report["refused"] == {}
    assert report["models"] == 2
    assert report["differ_between_one_and_two_threads"] == []
    assert report["differ_between_two_runs"] == []


def _mounted(folder, size="2m"):
    """Mount a small file system on ``folder``, or skip."""
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only the superuser of a Linux machine may mount a file system")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")


def test_a_full_disk_and_a_read_only_disk(tmp_path):
    folder = tmp_path / "disk"
    _mounted(folder)
    try:
        make_pictures(folder / "photos", range(4))
        assert in_process("init", folder=folder).code == 0
        assert in_process("add", "photos", folder=folder).code == 0
        assert in_process("label", "photos/0001.png", "--tag", "mine", folder=folder).code == 0
        before = truth_of(folder)
        with (folder / "filler").open("wb") as filler, pytest.raises(OSError, match="No space"):  # noqa: PT012
            while True:
                filler.write(bytes(4096))
                filler.flush()
        done = in_process("label", "photos/0003.png", "--tag", "other", "--new", folder=folder)
        assert done.code == 0 or kills.is_clear(done.err), done.err
        assert before.of_people <= truth_of(folder).of_people
        (folder / "filler").unlink()
        assert in_process("label", "photos/0003.png", "--tag", "other", "--new", folder=folder).code == 0
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        status = in_process("status", "--json", folder=folder)
        assert (status.code == 0 and json.loads(status.out)["n_pictures"] == 4) or kills.is_clear(status.err), (
            status.err
        )
        done = in_process("label", "photos/0003.png", "--tag", "more", "--new", folder=folder)
        assert done.code == 1
        assert kills.is_clear(done.err), done.err
    finally:
        subprocess.run(["umount", str(folder)], check=False)
