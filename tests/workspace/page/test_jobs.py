"""Long work as the page shows it: it survives a reload, and a new start of the server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from visterm.storage import WriteLock, write_text_atomically
from visterm.workspace import Workspace


@contextmanager
def going_on(folder):
    """A job whose process is this one: it holds the lock, and is at 3 of 10."""
    job = folder / ".visterm" / "jobs" / "41"  # a number that the server does not give by itself
    job.mkdir(parents=True)
    write_text_atomically(job / "job.json", json.dumps({"kind": "train", "command": ["train"], "started": time.time()}))
    with WriteLock(job).held():
        step = {"event": "advance", "task": "Comparing methods", "done": 3, "total": 10}
        write_text_atomically(job / "log.jsonl", json.dumps(step) + "\n")
        yield job
        write_text_atomically(job / "result.json", json.dumps({"outcomes": []}))
        write_text_atomically(job / "ended.json", json.dumps({"state": "done", "time": time.time()}))


@contextmanager
def serving(folder, port=0):
    """The real command; its address."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VISTERM", "COV_"))}
    command = [sys.executable, "-m", "visterm", "serve", "-w", folder, "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept | {"PYTHONUNBUFFERED": "1"})
    try:
        yield re.search(r"http://[^#]+", process.stdout.readline()).group()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)  # although a page is open
        process.stdout.close()


def test_a_job_goes_on_while_the_page_is_loaded_again_and_the_server_starts_again(opened, collection):
    with going_on(collection):
        with serving(collection) as url:
            shown = opened(url=url)
            shown.go()
            shown.sees(".job-button progress")
            shown.page.reload()
            shown.sees(".job-button", "Learning from your labels")
        shown.sees(".notice.standing", "Visterm does not answer")
        with serving(collection, port=int(re.search(r":(\d+)/", url).group(1))):
            shown.until("() => !document.querySelector('.standing')")
            shown.page.get_by_role("button", name="Learning from your labels").click()
            shown.sees("dialog .job", "Comparing methods")
            shown.keys("Escape")
            assert shown.page.locator(".job-button progress").get_attribute("value") == "3"
    shown.forgive("ERR_")  # while there was no server


def test_the_end_of_a_job_is_told(opened, collection):
    shown = opened(collection)
    with going_on(collection):
        shown.go()
        shown.sees(".job-button progress")
    shown.sees(".notice", "There are new suggestions.").get_by_role("button", name="Show them").click()
    shown.sees(".job-button", "Add, learn")


def test_learning_is_offered_when_it_is_time(opened, collection):
    """After many answers a bar says so; the offer can be put off, and is gone while the program learns."""
    with Workspace(collection) as photos:
        paths = photos.collection().frame.paths
        photos.label(paths[:40], tags=["quay"], new=True)
    shown = opened(collection)
    shown.go()
    offer = shown.sees(".learn-offer", "40 new labels not yet learned.")
    offer.get_by_role("button", name="Later").click()
    shown.until("() => document.querySelector('.learn-offer').hidden")
    shown.page.reload()
    shown.sees(".learn-offer button", "Learn now, about")
    shown.go("#/review")
    shown.sees(".learn-offer", "40 new labels")
    with going_on(collection):
        shown.until("() => document.querySelector('.learn-offer').hidden")
