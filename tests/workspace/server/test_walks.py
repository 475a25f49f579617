"""The documentation of the API: its walks work as they stand, and its list of routes is complete."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.faces.web.running import _listening, _token

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
HERE = "http://127.0.0.1:8020"


@pytest.fixture
def address(photos) -> Iterator[str]:
    """The address of a server in a thread."""
    listening = _listening("127.0.0.1", 0)
    rules = Rules(frozenset(LOOPBACK), _token("127.0.0.1", None, photos.state), open_reading=True)
    config = uvicorn.Config(application(photos, rules), log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_the_walk_in_python(address, photos, capsys, monkeypatch):
    monkeypatch.chdir(photos.folder)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code.replace(HERE, address), "api.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"[1-9]\d* pictures found, the first is number \d+", first)
    assert "harbour trip" in second
    assert "harbour trip" not in {term.name for term in photos.vocabulary().tag.terms}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_walk_with_curl(address, photos, outside):
    shutil.copy(outside, photos.folder / "picture.jpg")
    commands = re.findall(r"^\$ (curl .*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) == 6
    answers = []
    for command in commands:
        arguments = ["sh", "-c", command.replace(HERE, address)]
        done = subprocess.run(arguments, cwd=photos.folder, capture_output=True, timeout=60, check=True)
        answers.append(json.loads(done.stdout))
        assert "detail" not in answers[-1], answers[-1]
    assert answers[0]["pictures"] == 50
    assert len(answers[1]["found"]) == 3
    assert answers[3]["labels"] == 1
    assert answers[4]["actions"][0]["undone"]
    assert answers[5]["width"] == 60


def test_every_route_and_status_is_listed(reading):
    document = reading.get("/api/v1/openapi.json").json()
    routes = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, each in document["paths"].items()
        for method in each
    }
    assert set(re.findall(r"^\| `((?:GET|POST) [^`]*)` \|", PAGE, flags=re.MULTILINE)) == routes
    statuses = {int(s) for each in document["paths"].values() for route in each.values() for s in route["responses"]}
    table = PAGE[PAGE.index("| status |") :]
    assert {int(s) for s in re.findall(r"\b[45]\d\d\b", table)} == {status for status in statuses if status >= 400}
