"""Features of a workspace: what the user should know about them is told, whichever command computes them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

NOTE = "bow-240 learned again, from 50 pictures; before, from 5"


@pytest.fixture
def grown(visterm, tmp_path, postcards):
    """A workspace whose recipe bow-240 learned from five pictures; now there are fifty."""
    home = tmp_path / "grown"
    visterm("init", home)
    visterm("add", *sorted((postcards / "pictures").iterdir())[:5], "-w", home)
    assert "learned again" not in visterm("features", "bow-240", "-w", home).stdout
    visterm("add", postcards, "-w", home)
    return home


def test_features_prints_its_notes(visterm, grown):
    assert NOTE in visterm("features", "bow-240", "-w", grown).stdout.splitlines()
    assert "learned again" not in visterm("features", "bow-240", "-w", grown).stdout


def test_other_commands_tell_machines_the_notes_beside_their_document(visterm, grown):
    done = visterm("train", "knn", "--recipe", "bow-240", "-w", grown, "--json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event for event in events if event["event"] == "note"] == [{"event": "note", "text": NOTE}]
    assert json.loads(done.stdout)["name"] == "knn"


@pytest.fixture
def computing(visterm, tmp_path, postcards):
    """The real program while its network runs in two threads, and the workspace; it has finished the first pictures."""
    home = tmp_path / "fresh"
    visterm("init", home)
    visterm("add", postcards, "-w", home)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VISTERM", "COV_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "visterm", "features", "deep-lite2", "--json", "-w", str(home)],
        env=kept | {"VISTERM_ENGINE": "threads:2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    try:
        done = 0
        while not done:
            line = process.stderr.readline()
            assert line, "it ended before it was interrupted"
            done = json.loads(line).get("done", 0)
        yield process, home
    finally:
        process.kill()
        process.communicate()


def test_an_interrupt_while_the_network_runs_ends_in_order(visterm_json, computing):
    """A thread that still runs the network when the interpreter ends aborts the process."""
    process, home = computing
    process.send_signal(signal.SIGINT)
    output, told = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert told.splitlines()[-1] == "visterm: interrupted; what was finished is kept"
    (again,) = visterm_json("features", "deep-lite2", "-w", home)["recipes"]
    assert again["n_computed"] > 0
    assert again["n_computed"] + again["n_known"] == 50
