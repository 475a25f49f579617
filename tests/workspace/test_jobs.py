"""Long work in processes of its own: it starts once, says how far it is, ends, fails, is stopped, is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from visterm.errors import InputError
from visterm.storage import WriteLock
from visterm.upkeep import jobs as jobs_
from visterm.upkeep.jobs import Job, Jobs
from visterm.workspace import Workspace


@pytest.fixture
def photos(tmp_path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "photos") as opened:
        yield opened


def wait_for(condition, seconds=60.0):
    """Return what ``condition`` gives as soon as it is true."""
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.02)
    return found


def a_job(photos, number=1, kind="add", started=None, **files):
    """A job's folder, as its process would have written it."""
    folder = photos.jobs.folder / str(number)
    folder.mkdir(parents=True)
    asked = {"kind": kind, "command": ["status"], "started": time.time() if started is None else started}
    (folder / "job.json").write_text(json.dumps(asked))
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return folder


def test_a_job_runs_and_its_result_is_kept(photos):
    job = photos.jobs.start("add")
    assert (job.id, job.kind, job.title) == (1, "add", "Looking for new pictures")
    assert photos.jobs.start("add").id == 1 or photos.jobs.job(1).state == "done"
    done = wait_for(lambda: (job := Jobs(photos.folder, photos.state).job(1)).state != "running" and job)
    assert (done.state, done.error, done.step) == ("done", None, None)
    assert done.result["files"]["added"] == 0
    assert done.ended >= done.started
    assert photos.jobs.job(1) == done
    assert photos.jobs._children[0].wait(60) == 0


def test_a_job_that_fails_says_why(photos):
    photos.jobs.start("train", ["classes"])
    failed = wait_for(lambda: (job := photos.jobs.job(1)).state != "running" and job)
    assert failed.state == "failed"
    assert failed.error
    assert "Traceback" not in failed.error
    assert failed.result is None
    assert photos.jobs._children[0].wait(60) == 1


def test_a_cancelled_job_ends(photos, monkeypatch):
    folder = a_job(photos)
    sleeping = "import sys, time; from pathlib import Path; from visterm.storage import WriteLock\n"
    sleeping += "with WriteLock(Path(sys.argv[1])).held(): Path(sys.argv[1], 'ready').touch(); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", sleeping, str(folder)], start_new_session=True)
    try:
        (folder / "process").write_text(f"{child.pid} {jobs_._start_of(child.pid)}")
        wait_for((folder / "ready").exists)
        assert photos.jobs.job(1).state == "running"
        assert photos.jobs.start("add").id == 1  # one of a kind
        assert photos.jobs.cancel(1).state == "cancelled"
        assert child.wait(30) == -signal.SIGTERM
    finally:
        child.kill()
        child.wait()
    assert photos.jobs.cancel(1).state == "cancelled"
    jobs_._write_end(folder, "failed")  # what the process says when it was stopped
    assert Jobs(photos.folder, photos.state).job(1).state == "cancelled"


def test_a_killed_job_is_interrupted(photos):
    folder = a_job(photos)
    holding = "import sys, time; from pathlib import Path; from visterm.storage import WriteLock\n"
    holding += "with WriteLock(Path(sys.argv[1])).held(): Path(sys.argv[1], 'ready').touch(); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", holding, str(folder)])
    try:
        wait_for((folder / "ready").exists)
        assert photos.jobs.job(1).state == "running"
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert photos.jobs.job(1).state == "interrupted"
    assert [job.state for job in photos.jobs.all()] == ["interrupted"]


def test_a_job_that_never_began_is_interrupted(photos):
    a_job(photos, started=time.time() - 60)
    a_job(photos, 2)
    assert [job.state for job in photos.jobs.all()] == ["running", "interrupted"]


def test_a_job_that_ends_while_it_is_looked_at_is_done(photos, monkeypatch):
    folder = a_job(photos, result_json='{"a": 1}')

    def ends(*_):
        jobs_._write_end(folder, "done")
        return False

    monkeypatch.setattr(photos.jobs, "_is_running", ends)
    assert (photos.jobs.job(1).state, photos.jobs.job(1).result) == ("done", {"a": 1})


def test_looking_at_a_running_job_does_not_wait_for_it(photos):
    folder = a_job(photos)
    log = [
        {"event": "start", "task": "Adding", "done": 0, "total": 4},
        {"event": "note", "text": "a note"},
        {"event": "advance", "task": "Adding", "done": 3, "total": 4},
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, log)))
    with WriteLock(folder).held():
        found = Jobs(photos.folder, photos.state).job(1)
    assert found.state == "running"
    assert (found.step.task, found.step.done, found.step.total) == ("Adding", 3, 4)
    assert found.notes == ["a note"]


def test_logs_that_make_no_sense_do_no_harm(photos):
    log = b'[1]\n{"event": "advance"}\nnull\n\xff\xfe\n{"event": "note"}\n{"error": "it broke"}'
    folder = a_job(photos, ended_json='{"state": "failed", "time": 1.0}')
    (folder / "log.jsonl").write_bytes(log)
    found = photos.jobs.job(1)
    assert (found.state, found.error) == ("failed", "it broke")


def test_folders_that_are_no_jobs_are_left_alone(photos):
    a_job(photos, 3)
    (photos.jobs.folder / "4").mkdir()  # one that is just being made
    (photos.jobs.folder / "x").mkdir()
    assert [job.id for job in photos.jobs.all()] == [3]
    for number in (4, 5):
        with pytest.raises(InputError, match=f"no job {number}"):
            photos.jobs.job(number)
    with pytest.raises(InputError, match="no job called 'rm'"):
        photos.jobs.start("rm")


def test_old_jobs_are_forgotten(photos, monkeypatch):
    monkeypatch.setattr(jobs_, "_MAX_KEPT", 2)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: type("Child", (), {"pid": 0, "poll": lambda self: 0})())
    for number in (1, 2, 3):
        a_job(photos, number, kind="train", ended_json='{"state": "done", "time": 1.0}')
    assert photos.jobs.start("add").id == 4
    assert [job.id for job in photos.jobs.all()] == [4, 3]


def test_after_pictures_were_added_they_are_looked_at(workspace, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(Jobs, "start", lambda self, kind: started.append(kind))
    jobs_._look_at_new_pictures(workspace)
    assert started == ["features"]  # network features are missing
    with Workspace(workspace) as photos:
        photos.features(for_models=True)
    jobs_._look_at_new_pictures(workspace)
    assert started == ["features"]


@pytest.mark.parametrize(
    ("kind", "code", "goes_on"), [("add", 0, True), ("train", 0, True), ("features", 0, False), ("add", 1, False)]
)
def test_only_what_may_leave_work_goes_on(photos, monkeypatch, kind, code, goes_on):
    folder, after = a_job(photos, kind=kind), []
    monkeypatch.setattr(jobs_, "_look_at_new_pictures", after.append)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    done = subprocess.CompletedProcess([], code, b'{"a": 1}')
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert jobs_.run(folder) == code
    assert after == ([photos.folder] if goes_on else [])
    job: Job = photos.jobs.job(1)
    assert (job.state, job.result) == (("done", {"a": 1}) if code == 0 else ("failed", None))
    assert jobs_.run(photos.jobs.folder / "99") == 2


@pytest.mark.parametrize(
    "content", ['{"kind": "add", "started": 4e9}', '{"kind": "add"}', '{"kind": [], "started": "x"}']
)
def test_a_job_file_that_lies_about_its_start_holds_up_nothing(photos, content):
    folder = a_job(photos)
    (folder / "job.json").write_text(content)
    assert [job.state for job in photos.jobs.all()] in ([], ["interrupted"])
    started = photos.jobs.start("add")
    assert (started.id, started.state) == (2, "running")
    photos.jobs.cancel(2)
    photos.jobs._children[0].wait(60)


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
@pytest.mark.parametrize("planted", ["{pid}", "{pid} 1", "0", "0 -", "-1 -", "1", "{pid} x", ""])
def test_cancelling_ends_no_process_but_the_job(photos, planted, monkeypatch):
    """Its number may have been planted, or belong to another program by now."""
    signalled = []
    monkeypatch.setattr(os, "killpg", lambda *_: signalled.append(_))
    folder = a_job(photos)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as other:
        (folder / "process").write_text(planted.format(pid=other.pid))
        with WriteLock(folder).held():
            assert photos.jobs.cancel(1).state == "cancelled"
        assert signalled == []
        assert other.poll() is None
        other.communicate(b"\n")
