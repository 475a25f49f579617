"""Who may ask, from where, with what: each test fails on a server without the defence it is about."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import pytest

from visterm.errors import InputError, VistermError
from visterm.faces.web import answering, guard
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.faces.web.running import Address, _listening, _token
from visterm.workspace import Workspace

TOKEN = "a-token-of-24-characters"
LABEL = {"ids": [1], "tags": ["boat"]}


# Tokens


def test_a_token_is_made(monkeypatch, tmp_path):
    """On this computer it is kept in a file of the workspace; for others it is a new one."""
    monkeypatch.delenv("VISTERM_TOKEN", raising=False)
    made = {_token(host, None, tmp_path) for host in ("0.0.0.0", "192.168.1.5", "::", "example.org")}
    assert not list(tmp_path.iterdir())
    kept = {_token(host, None, tmp_path) for host in ("127.0.0.1", "localhost", "::1")}
    assert kept == {(tmp_path / "token").read_text()}
    assert len(made | kept) == 5
    assert all(len(token) >= 32 for token in made | kept)


@pytest.mark.parametrize("harm", ["readable by others", "a link", "short", "a folder"])
def test_a_token_that_others_may_know_is_not_used(monkeypatch, tmp_path, harm):
    monkeypatch.delenv("VISTERM_TOKEN", raising=False)
    file = tmp_path / "token"
    if harm == "a folder":
        file.mkdir()
    elif harm == "a link":
        (tmp_path / "planted").write_text(TOKEN)
        (tmp_path / "planted").chmod(0o600)
        file.symlink_to(tmp_path / "planted")
    else:
        file.write_text("" if harm == "short" else TOKEN)
        file.chmod(0o600 if harm == "short" else 0o644)
    token = _token("127.0.0.1", None, tmp_path)
    assert token != TOKEN
    assert len(token) >= 32
    if harm != "a folder":  # scripts can read the new one
        assert (file.is_symlink(), file.stat().st_mode & 0o777, file.read_text()) == (False, 0o600, token)


def test_on_this_computer_reading_is_free_and_writing_is_not(serving, photos, outside):
    client = serving(photos, token=TOKEN, open_reading=True)
    assert client.get("/api/v1/status").status_code == 200
    picture = {"content": outside.read_bytes(), "headers": {"Content-Type": "image/jpeg"}}
    assert client.post("/api/v1/look", **picture).status_code == 200
    refused = client.post("/api/v1/labels", json=LABEL)
    assert refused.status_code == 401
    assert "visterm serve" in refused.json()["detail"]
    assert client.post("/api/v1/session", json={"token": TOKEN}).status_code == 200
    assert client.post("/api/v1/labels", json=LABEL).status_code == 200


def test_two_servers_of_one_computer_do_not_share_a_cookie(serving, photos):
    """Browsers send a cookie to all ports of a host."""
    client = serving(photos, token=TOKEN)
    at = {"Host": "localhost:8020"}
    (name,) = client.post("/api/v1/session", json={"token": TOKEN}, headers=at).cookies
    assert name == "visterm-token-8020"
    assert client.get("/api/v1/status", headers=at).status_code == 200
    assert client.get("/api/v1/status", headers={"Host": "localhost:8021"}).status_code == 401


def test_a_token_comes_from_a_file_or_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("VISTERM_TOKEN", TOKEN)
    assert _token("127.0.0.1", None, tmp_path) == TOKEN
    (tmp_path / "token").write_text(f"{TOKEN[::-1]}\n")
    assert _token("0.0.0.0", tmp_path / "token", tmp_path) == TOKEN[::-1]


@pytest.mark.parametrize("given", ["", "short", "fifteen-letters"])
def test_short_and_empty_tokens_are_refused(monkeypatch, tmp_path, given):
    monkeypatch.setenv("VISTERM_TOKEN", given)
    with pytest.raises(InputError, match="at least 16"):
        _token("0.0.0.0", None, tmp_path)
    (tmp_path / "token").write_text(given)
    with pytest.raises(InputError, match="at least 16"):
        _token("127.0.0.1", tmp_path / "token", tmp_path)


def test_a_token_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        _token("0.0.0.0", tmp_path / "none", tmp_path)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": "visterm-token-80="},
        {"Cookie": f"visterm-token-80={TOKEN.upper()}"},
        {"Cookie": f"other={TOKEN}"},
        {"Cookie": "\x01=;;;=,visterm-token-80"},
    ],
)
def test_without_the_token_nothing_is_answered(serving, kept, headers):
    client = serving(kept, token=TOKEN)
    for path in ("/api/v1/collection", "/api/v1/pictures", "/api/v1/openapi.json", "/api/v1/events", "/api/v1/none"):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
        assert TOKEN not in answer.text
    assert client.get("/").status_code == 200  # the page itself asks for the token


def test_the_token_opens_by_header_and_by_cookie(serving, kept):
    client = serving(kept, token=TOKEN)
    assert client.get("/api/v1/collection", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.post("/api/v1/session", json={"token": TOKEN[1:]}).status_code == 401
    assert client.get("/api/v1/collection").status_code == 401
    answer = client.post("/api/v1/session", json={"token": TOKEN})
    assert answer.json() == {"ok": True}
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/api/" in cookie
    assert client.get("/api/v1/collection").status_code == 200


def test_a_server_without_a_token_gives_no_cookie(reading):
    assert reading.post("/api/v1/session", json={"token": "None"}).status_code == 401


def test_tokens_are_compared_in_constant_time(serving, kept, monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or False)
    client = serving(kept, token=TOKEN)
    client.get("/api/v1/collection", headers={"Cookie": "visterm-token-80=x"})
    client.post("/api/v1/session", json={"token": "y"})
    assert compared == [(b"x", TOKEN.encode()), (b"y", TOKEN.encode())]


# Other sites


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:81", "https://localhost", "http://localhost.evil.example"],
)
def test_other_sites_cannot_write_or_read(reading, origin):
    for answer in (
        reading.post("/api/v1/labels", json=LABEL, headers={"Origin": origin}),
        reading.get("/api/v1/collection", headers={"Origin": origin}),
    ):
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


def test_the_page_itself_may_write(client):
    answer = client.post(
        "/api/v1/labels", json=LABEL, headers={"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_browsers_say_where_a_request_comes_from(reading, site):
    assert reading.get("/api/v1/collection", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert reading.get("/api/v1/collection", headers={"Sec-Fetch-Site": "none"}).status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "text/json"]
)
def test_what_a_form_can_send_is_no_json(reading, outside, kind):
    answer = reading.post("/api/v1/labels", content=json.dumps(LABEL), headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["title"]) == (415, "The content is of the wrong type")
    assert reading.post("/api/v1/undo", headers={"Content-Type": kind}).status_code == 415
    picture = outside.read_bytes()  # a good one
    assert reading.post("/api/v1/look", content=picture, headers={"Content-Type": kind}).status_code == 415


def test_no_preflight_is_answered(reading):
    answer = reading.options(
        "/api/v1/labels", headers={"Origin": "http://localhost", "Access-Control-Request-Method": "POST"}
    )
    assert answer.status_code == 405
    assert "access-control-allow-methods" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "",
        "192.168.1.5",
        "[::2]",
        "localhost@evil.example",
    ],
)
def test_names_that_were_pointed_at_us_are_refused(reading, host):
    for path in ("/", "/static/index.html", "/api/v1/collection"):
        assert reading.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8020", "127.0.0.1:8020", "[::1]", "[::1]:8020"])
def test_our_own_names_are_answered(reading, host):
    assert reading.get("/api/v1/status", headers={"Host": host}).status_code == 200


def test_a_server_at_all_addresses_answers_to_numbers_and_not_to_names():
    rules = Rules(frozenset({*LOOPBACK, "atelier"}), TOKEN, any_address=True)
    assert all(map(rules.is_ours, ("192.168.1.5:8020", "192.168.1.5", "[fe80::1]:80", "atelier:8020", "localhost")))
    assert not any(map(rules.is_ours, ("evil.example", "evil.example:80", "192.168.1.5.evil.example", "")))
    assert not Rules(frozenset(LOOPBACK), TOKEN).is_ours("192.168.1.5:8020")


# What every answer carries


def test_every_answer_is_strict(reading, kept, monkeypatch):
    monkeypatch.setattr(type(kept), "status", lambda _: 1 / 0)
    answers = [
        reading.get("/"),
        reading.get("/static/icon.svg"),
        reading.get("/static/none"),
        reading.get("/api/v1/pictures"),
        reading.get("/api/v1/none"),
        reading.get("/api/v1/pictures?limit=x"),
        reading.get("/api/v1/status"),
        reading.get("/", headers={"Host": "evil"}),
        reading.put("/api/v1/labels", json=LABEL),
        reading.post("/api/v1/labels", content=b"x" * 1_000_001, headers={"Content-Type": "application/json"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 200, 404, 422, 500, 421, 405, 413]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
    assert "division" not in answers[6].text


def test_the_page_asks_nobody_else_and_has_no_inline_script():
    folder = Path(str(files("visterm.faces.web") / "static"))
    pages = [path for path in folder.rglob("*") if path.suffix in (".html", ".js", ".css", ".svg")]
    assert len(pages) > 3
    for path in pages:
        text = path.read_text(encoding="utf-8")
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"'`)]*", text)) - {
            "http://www.w3.org/2000/svg"
        }
        assert not {each for each in addresses if each.startswith("http")}, path
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:", text), path
        assert "innerHTML" not in text, path


# Read only


def test_read_only_refuses_every_writing_route(serving, kept):
    client = serving(kept, read_only=True)
    before = kept.catalogue.version()
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    writing = [(path, method) for path, routes in paths.items() for method in routes if method != "get"]
    assert len(writing) >= 14
    for path, method in writing:
        answer = client.request(method, path.replace("{number}", "1"), json={})
        expected = (415, 422) if path in ("/api/v1/look", "/api/v1/session") else (403,)
        assert answer.status_code in expected, path
    assert kept.catalogue.version() == before
    assert not (kept.state / "jobs").exists()
    assert client.get("/api/v1/pictures").status_code == 200


# Sizes and times


def test_declared_sizes_are_checked_before_anything_is_read(reading):
    too_long = {"Content-Type": "application/json", "Content-Length": str(10**9)}
    assert reading.post("/api/v1/labels", content=b"{}", headers=too_long).status_code == 413
    for length in ("-1", "many"):
        answer = reading.post("/api/v1/labels", content=b"{}", headers=too_long | {"Content-Length": length})
        assert answer.status_code in (400, 413)
    assert (
        reading.post(
            "/api/v1/look", content=b"{}", headers={"Content-Type": "image/png", "Content-Length": "30000001"}
        ).status_code
        == 413
    )


@pytest.mark.parametrize(("path", "kind"), [("labels", "application/json"), ("look", "image/jpeg")])
def test_a_body_without_a_length_is_counted_while_it_comes(reading, monkeypatch, path, kind):
    monkeypatch.setattr(guard, "MAX_BODY", 5000)
    monkeypatch.setattr(guard, "MAX_PICTURE", 5000)
    sent = []

    def chunks():
        for _ in range(100):
            sent.append(1)
            yield b" " * 1000

    answer = reading.post(f"/api/v1/{path}", content=chunks(), headers={"Content-Type": kind})
    assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")


def test_a_slow_body_ends(kept, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    sent: list[dict] = []

    async def ask(path: str, kind: bytes) -> None:
        n_sent = 0

        async def receive():
            nonlocal n_sent
            n_sent += 1
            await asyncio.sleep(0.01)  # never slow enough by itself
            return {"type": "http.request", "body": b" ", "more_body": n_sent < 200}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "scheme": "http",
            "root_path": "",
            "query_string": b"",
            "headers": [
                (b"host", b"localhost"),
                (b"content-type", kind),
                (b"authorization", b"Bearer " + TOKEN.encode()),
            ],
            "http_version": "1.1",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        from visterm.faces.web.application import application

        await application(kept, Rules(frozenset(LOOPBACK), TOKEN, open_reading=True))(scope, receive, send)

    for path, kind in (("/api/v1/labels", b"application/json"), ("/api/v1/look", b"image/png")):
        sent.clear()
        with ThreadPoolExecutor() as threads:  # a browser test in this process may have left a loop in this thread
            threads.submit(asyncio.run, ask(path, kind)).result()
        assert [message.get("status") for message in sent][:1] == [408]


def test_pictures_with_too_many_pixels_are_not_decoded(reading):
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("1", (10_000, 9_000)).save(buffer, "PNG")
    answer = reading.post("/api/v1/look", content=buffer.getvalue(), headers={"Content-Type": "image/png"})
    assert answer.status_code == 415
    assert "80 million" in answer.json()["detail"]


def test_expensive_requests_take_turns(reading, kept, monkeypatch, outside):
    inside, go_on = threading.Semaphore(0), threading.Event()

    def slow(*_):
        inside.release()
        go_on.wait(10)
        raise InputError("done")

    monkeypatch.setattr(Workspace, "why", slow)
    monkeypatch.setattr(Workspace, "look", slow)
    first = [
        threading.Thread(target=reading.get, args=("/api/v1/pictures/1/why?word=sky",))
        for _ in range(answering._MOST_EXPENSIVE)
    ]
    try:
        for each in first:
            each.start()
        for _ in first:
            assert inside.acquire(timeout=10)
        busy = reading.get("/api/v1/pictures/1/why?word=sky")
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
        assert reading.get("/api/v1/pictures/1/similar").status_code == 429
        look = reading.post("/api/v1/look", content=outside.read_bytes(), headers={"Content-Type": "image/jpeg"})
        assert look.status_code == 429
    finally:
        go_on.set()
        for each in first:
            each.join()
    assert reading.get("/api/v1/pictures/1/why?word=sky").status_code == 400  # somebody's turn again


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static/%2e%2e/guard.py",
        "/static/..%5cguard.py",
        "/static//etc/passwd",
        "/static/%00",
        "/api/v1/thumbnails/../../catalogue.sqlite/small.webp",
        "/api/v1/thumbnails/..%2f..%2fcatalogue/small.webp",
        f"/api/v1/thumbnails/{'0' * 63}%2f/small.webp",
        f"/api/v1/thumbnails/{'0' * 64}/..%2fsmall.webp",
        f"/api/v1/thumbnails/{'A' * 64}/small.webp",
        f"/api/v1/thumbnails/{'0' * 64}%00/small.webp",
        f"/api/v1/thumbnails/{'0' * 64}/small.webp",
        "/api/v1/pictures/..%2f1",
        "/api/v1/pictures/1%00",
        "/api/v1/pictures/%2fetc%2fpasswd",
        "/api/v1/pictures/-1",
        "/api/v1/pictures/1e3",
        "/api/v1/pictures/99999999999999999999999",
        "/api/v1/jobs/..",
        "/api/v1/jobs/%2e%2e%2f1",
    ],
)
def test_only_ids_lead_to_files(reading, path):
    answer = reading.get(path)
    assert answer.status_code in (404, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "reference", ["/etc/passwd", "../outside.jpg", "..\\outside.jpg", "nul\0byte", "OUTSIDE", "~/x.jpg"]
)
def test_no_file_outside_the_collection_is_compared_with(reading, outside, reference):
    reference = str(outside) if reference == "OUTSIDE" else reference
    answer = reading.get("/api/v1/search", params={"q": f'like:"{reference}"'})
    assert answer.status_code == 400, answer.text
    assert "no such picture in the collection" in answer.json()["detail"]
    assert reading.get("/api/v1/facets", params={"q": f'like:"{reference}"'}).status_code == 400


# Conditional requests


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("OWN", True),
        ('"x", OWN', True),
        ("*", True),
        ("", False),
        ('"', False),
        ('W/"x"', False),
        ("OW", False),
        ('"a' * 9000, False),
        (", ,,", False),
    ],
)
def test_odd_etags_do_no_harm(reading, given, same):
    own = reading.get("/api/v1/pictures?limit=3").headers["etag"]
    given = given.replace("OWN", own)
    answer = reading.get("/api/v1/pictures?limit=3", headers={"If-None-Match": given})
    assert answer.status_code == (304 if same else 200)
    assert answer.headers["etag"] == own
    assert bool(answer.content) is not same


# Listening


def test_a_busy_port_is_an_error_and_the_next_one_is_taken_by_default():
    first = _listening("127.0.0.1", 0)
    try:
        port = first.getsockname()[1]
        with pytest.raises(VistermError, match=f"port {port} cannot be used: .*--port"):
            _listening("127.0.0.1", port)
    finally:
        first.close()
    usual, other = _listening("127.0.0.1", None), _listening("127.0.0.1", None)
    try:
        assert usual.getsockname()[1] != other.getsockname()[1]
    finally:
        usual.close()
        other.close()


def test_an_address_is_what_a_person_types():
    assert Address("127.0.0.1", 8020, "abc").url == "http://127.0.0.1:8020/#token=abc"
    assert Address("::1", 8020, "abc").url == "http://[::1]:8020/#token=abc"
    assert Address("0.0.0.0", 8020, "abc").url == f"http://{socket.gethostname()}:8020/#token=abc"


def test_too_little_memory_is_a_problem_that_says_so(reading, kept, monkeypatch):
    def fail(_):
        raise MemoryError

    monkeypatch.setattr(type(kept), "status", fail)
    answer = reading.get("/api/v1/status")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert "not enough memory" in answer.json()["detail"]
    assert answer.headers["retry-after"] == "60"
