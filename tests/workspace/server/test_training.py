"""The page while it learns: a real training job runs in its own process, and every request is answered meanwhile."""

from __future__ import annotations

import time

import pytest

from visterm.workspace import Workspace

API = "/api/v1"
#: The machine may be busy; nothing takes this long unless it is broken.
SECONDS = 180


@pytest.fixture
def known(client):
    """A picture, its content hash, and a picture without a label."""
    page = client.get(f"{API}/pictures", params={"limit": 1}).json()
    plain = client.get(f"{API}/pictures", params={"state": "unlabelled", "limit": 1}).json()
    return page["ids"][0], page["keys"][0], plain["ids"][0]


def asked(known):
    """What a person who goes on working asks for."""
    number, key, _ = known
    return [
        "pictures?limit=20",
        "search?q=boat%20sea",
        "facets?state=unlabelled",
        f"labels?ids={number}",
        f"pictures/{number}",
        f"pictures/{number}/similar?limit=3",
        f"thumbnails/{key}/small.webp",
        "complete?text=bo",
        "collection",
        "status",
        "models",
        "reports",
        "review",
        "review/questions?queue=teach",
        "history",
        "vocabulary",
    ]


def test_requests_are_answered_while_a_training_job_runs(client, photos, known):
    started = client.post(f"{API}/jobs", json={"kind": "train", "minutes": 0.01}).json()
    assert (started["kind"], started["state"]) == ("train", "running")
    steps, rounds, ends = {}, 0, time.monotonic() + SECONDS
    while (job := client.get(f"{API}/jobs/{started['id']}").json())["state"] == "running":
        assert time.monotonic() < ends, job
        if job["step"] is not None:
            steps.setdefault(job["step"]["task"], job["step"])
        for path in asked(known):
            answer = client.get(f"{API}/{path}")
            assert answer.status_code == 200, f"{path}: {answer.text}"
        for path, body in (("labels", {"ids": [known[2]], "tags": ["sky"]}), ("undo", {})):
            answer = client.post(f"{API}/{path}", json=body)
            assert answer.status_code == 200, f"{path}: {answer.text}"
        rounds += 1
    assert job["state"] == "done", job
    assert {outcome["model"] for outcome in job["result"]["outcomes"]} >= {"classes@1", "tags@1"}
    assert rounds >= 2
    assert len(steps) >= 2  # it was seen to go on
    assert {"classes@1", "tags@1"} <= {each["model"] for each in client.get(f"{API}/reports").json()["reports"]}
    for each in client.get(f"{API}/jobs").json():  # another job looks at the pictures for the new models
        assert client.post(f"{API}/jobs/{each['id']}/cancel", json={}).json()["state"] != "running"
    with Workspace(photos.folder) as again:
        assert again.shelf.best("classify").reference in {"classes@1", "knn@1"}
        assert len(again.history().actions) == len(photos.history().actions)
