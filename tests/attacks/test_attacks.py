"""Short samples of the attacks, with fixed seeds; ``make attacks`` runs all of them at length."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress

import determinism
import fuzz
import kills
import pytest
import soak
from attack_harness import (
    COUNT,
    FAIL_FROM,
    KILL,
    Commands,
    Fault,
    built_shim,
    is_clear,
    make_pictures,
    truth_of,
    why_no_shim,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The command line, with the shim."""
    if reason := why_no_shim():
        pytest.skip(reason)
    with Commands(built_shim(tmp_path_factory.mktemp("shim"))) as commands:
        yield commands


@pytest.fixture(scope="module")
def attack(tmp_path_factory, run):
    """A workspace to attack, and some of the commands that write."""
    return kills.Attack(run, tmp_path_factory.mktemp("attack"), ["label", "rename", "add", "xmp"])


@pytest.mark.parametrize("errors", [False, True], ids=["kills", "errors"])
def test_a_kill_or_a_disk_error_loses_nothing(attack, errors):
    attack.report = kills.Report()
    for target, fault in attack.faults(5, seed=1, errors=errors):
        attack.strike(target, fault)
    assert attack.report.problems == []
    assert attack.report.points == 5


def test_the_harness_notices_a_lost_label(attack):
    """An attack that cannot fail would prove nothing."""
    target = attack.targets[0]
    done = attack._run.run("status", folder=target.template)
    copy = target.template.with_name("tampered")
    shutil.copytree(target.template, copy)
    attack._run.run("label", "photos/0001.png", "--clear", "tags", folder=copy)
    assert attack._after_the_fault(target, done, copy) != []


def test_the_shim_counts_kills_and_fails_calls(tmp_path, run):
    counted = run.run("init", folder=tmp_path, fault=Fault(COUNT))
    assert counted.calls > 10
    shutil.rmtree(tmp_path / ".visterm")
    assert run.run("init", folder=tmp_path, fault=Fault(KILL, at=5)).code == -9
    shutil.rmtree(tmp_path / ".visterm")
    failed = run.run("init", folder=tmp_path, fault=Fault(FAIL_FROM, at=5))
    assert failed.code > 0
    assert is_clear(failed.err)


def test_a_short_soak_refuses_and_loses_nothing(run):
    report = soak.soak(2, n_readers=2, run=run)
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
    report = determinism.compare(["ridge-tags", "sdca"], twice=False)
    assert report["refused"] == {}
    assert report["models"] == 2
    assert report["differ_between_one_and_two_threads"] == []


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 2 MB, or a skip with the reason."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only the superuser of a Linux machine may mount a file system")
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=False)


def fill(folder):
    """Leave no room on a disk."""
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while filler.write(bytes(4096)):
            pass
    assert shutil.disk_usage(folder).free < 4096


def test_a_full_disk_and_a_read_only_disk(small_disk, run):
    make_pictures(small_disk / "photos", range(4))
    for arguments in (("init",), ("add", "photos"), ("label", "photos/0001.png", "--tag", "mine")):
        assert run.run(*arguments, folder=small_disk).code == 0
    before = truth_of(small_disk)
    more = ("label", "photos/0003.png", "--tag", "other", "--new")

    fill(small_disk)
    done = run.run(*more, folder=small_disk)
    assert done.code == 0 or is_clear(done.err), done.err
    assert before.of_people <= truth_of(small_disk).of_people

    (small_disk / "filler").unlink()
    assert run.run(*more, folder=small_disk).code == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    status = run.run("status", "--json", folder=small_disk)
    assert status.code == 0 or is_clear(status.err), status.err
    done = run.run("label", "photos/0003.png", "--tag", "more", "--new", folder=small_disk)
    assert done.code == 1
    assert is_clear(done.err), done.err
