"""`visterm serve` as a process, and who opens the page."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from visterm.errors import VistermError
from visterm.faces.web import running
from visterm.faces.web.running import serve

demo_ = importlib.import_module("visterm.faces.cli.demo")


@contextmanager
def started(workspace, *options, **environment):
    """A server in a process of its own, and the lines that it printed."""
    known = {key: value for key, value in os.environ.items() if not key.startswith(("VISTERM", "COV_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "visterm", "serve", "-w", str(workspace), "--no-browser", *options],
        env=known | environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = []
        while not lines or "Ctrl+C" not in lines[-1]:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line.strip())
        yield process, lines
    finally:
        process.kill()
        process.communicate()


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
        return answer.read()


def interrupt(process):
    process.send_signal(signal.SIGINT)
    process.wait(60)
    return process.returncode, process.stdout.read(), process.stderr.read()


def test_two_servers_of_one_workspace_answer_and_end_cleanly(looked_at):
    workspace = looked_at()
    with (
        started(workspace, "--port", "0") as (first, lines),
        started(workspace, "--host", "0.0.0.0", "--port", "0") as (second, more),
    ):
        (url, key) = re.search(r"(http://127\.0\.0\.1:\d+/)#token=(\S+)", lines[0]).groups()
        assert json.loads(fetch(f"{url}api/v1/collection"))["pictures"] == 50
        assert b"<!doctype html>" in fetch(url).lower()
        # An open stream of events does not keep the server.
        events = urllib.request.urlopen(f"{url}api/v1/events", timeout=60)
        assert events.readline().startswith(b"event: changed")
        body = json.dumps({"ids": [1], "tags": ["boat"]}).encode()
        # Whoever can reach the port can read; to write takes the token, which only the owner of the workspace can read.
        asked = urllib.request.Request(f"{url}api/v1/labels", body, {"Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(asked, timeout=60)
        assert ".visterm/token" in json.load(refused.value)["detail"]
        file = workspace / ".visterm" / "token"
        assert (file.stat().st_mode & 0o777, file.read_text()) == (0o600, key)
        asked.add_header("Authorization", f"Bearer {key}")
        assert json.load(urllib.request.urlopen(asked, timeout=60))["labels"] == 1
        # The other one listens at all addresses, wants its token, and sees what was said.
        (port, token) = re.search(r"http://[^ ]*:(\d+)/#token=(\S+)", "\n".join(more)).groups()
        assert "\n".join(more).count(token) == 1
        other = f"http://127.0.0.1:{port}/api/v1/labels?ids=1"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            fetch(other)
        assert "boat" in json.loads(fetch(other, Authorization=f"Bearer {token}"))["pictures"][0]["tags"]
        for process in (first, second):
            code, output, error = interrupt(process)
            assert (code, output, error) == (0, "", "")
        events.close()


def test_a_busy_port_is_one_line(visterm, looked_at):
    taken = running._listening("127.0.0.1", 0)
    try:
        port = taken.getsockname()[1]
        done = visterm("serve", "-w", looked_at(), "--port", port, "--no-browser", code=1)
    finally:
        taken.close()
    assert done.stderr.startswith(f"visterm: 127.0.0.1: port {port} cannot be used")
    assert "--port" in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_small_answers_are_sent_at_once(host):
    """Else the system holds the body back until the browser has confirmed the headers, which takes 40 ms."""

    async def accepted() -> bool:
        arrived = asyncio.get_running_loop().create_future()
        server = await asyncio.start_server(lambda _, writer: arrived.set_result(writer), sock=listening)
        async with server:
            _, mine = await asyncio.open_connection(host, listening.getsockname()[1])
            its = await arrived
            at_once = its.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for writer in (mine, its):
                writer.close()
        return bool(at_once)

    try:
        listening = running._listening(host, 0)
    except VistermError as error:
        pytest.skip(f"no such address here: {error}")
    with ThreadPoolExecutor(1) as other:  # tests in a browser leave a loop running in this thread
        assert other.submit(asyncio.run, accepted()).result()


def test_the_help_says_what_a_person_needs(visterm):
    text = visterm("serve", "--help").stdout
    for option in ("--host", "--port", "--token-file", "--read-only", "--no-browser"):
        assert option in text
    assert "Nothing leaves this computer" in text


@pytest.fixture
def server(monkeypatch):
    """A server that ends at once; what it was given."""
    import uvicorn

    seen = SimpleNamespace(app=None, opened=[])

    def run(self, sockets):
        seen.app = self.config.app
        for listening in sockets:
            listening.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(running.webbrowser, "open", seen.opened.append)
    monkeypatch.setattr(running.threading, "Timer", lambda _, work: SimpleNamespace(start=work))
    return seen


def test_what_the_options_say_holds(photos, server, monkeypatch, tmp_path):
    monkeypatch.delenv("VISTERM_TOKEN", raising=False)
    addresses = []
    serve(photos, port=0, read_only=True, started=addresses.append)
    rules = server.app.state.rules
    assert (rules.open_reading, rules.read_only, rules.any_address) == (True, True, False)
    assert rules.token == (photos.state / "token").read_text() == addresses[0].token
    (opened,) = server.opened  # other users see the command line of a browser: what it shows is of use only once
    address, _, ticket = opened.partition("#token=")
    assert addresses[0].url == f"{address}#token={rules.token}"
    exchanged = [rules.exchange(given) for given in (ticket, ticket, "", rules.token)]
    assert exchanged == [rules.token, None, None, rules.token]
    (tmp_path / "token").write_text("sixteen-letters-")
    serve(photos, host="0.0.0.0", port=0, token_file=tmp_path / "token", browser=False, started=addresses.append)
    rules = server.app.state.rules
    assert (rules.token, rules.open_reading, rules.read_only, rules.any_address) == (
        "sixteen-letters-",
        False,
        False,
        True,
    )
    assert len(server.opened) == 1
    assert addresses[1].url.endswith("/#token=sixteen-letters-")


@pytest.mark.parametrize(
    ("options", "terminal", "opens"),
    [((), True, True), (("--no-serve",), True, False), (("--json",), True, False), ((), False, False)],
)
def test_the_demo_ends_with_the_page_at_a_terminal(visterm, monkeypatch, tmp_path, options, terminal, opens):
    opened = []
    monkeypatch.setattr(demo_, "serve", lambda workspace: opened.append(workspace))
    monkeypatch.setattr("visterm.faces.demo.run_demo", lambda folder, n_pictures: None)
    monkeypatch.setattr(demo_, "show", lambda *_: None)
    stream = SimpleNamespace(isatty=lambda: terminal)
    monkeypatch.setattr(demo_, "sys", SimpleNamespace(stdin=stream, stdout=stream))
    visterm("demo", tmp_path / "demo", *options)
    assert opened == ([tmp_path / "demo"] if opens else [])
