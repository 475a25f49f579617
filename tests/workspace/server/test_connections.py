"""A client that sends its headers slowly, or never, does not keep its connection."""

from __future__ import annotations

import socket
import threading

import pytest
import uvicorn

from visterm.faces.web import connections, running


async def answer(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def connect(photos, monkeypatch):
    """Connect to a server with the settings of `visterm serve`, which waits half a second for headers."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    configs = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: configs.append(self.config) or sockets[0].close())
    running.serve(photos, port=0, browser=False)
    monkeypatch.undo()
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    config = uvicorn.Config(answer, http=configs[0].http, lifespan="off", log_level="error")
    server, listening = uvicorn.Server(config), running._listening("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield lambda: socket.create_connection(listening.getsockname(), timeout=20)
    server.should_exit = True
    thread.join()


def is_ended(client, line):
    """Whether the server ends the connection while a client sends ``line`` again and again."""
    client.settimeout(0.1)
    for _ in range(50):
        try:
            client.sendall(line)
            if client.recv(1) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize("line", [b"", b"X-Slow: 1\r\n"], ids=["silent", "one header after the other"])
def test_headers_that_never_end(connect, line):
    with connect() as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" if line else b"")
        assert is_ended(client, line)


def test_the_headers_of_a_second_request_have_the_same_limit(connect):
    with connect() as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.settimeout(20)
            got = b""
            while not got.endswith(b"ok"):
                got += client.recv(1000)
            client.settimeout(0.8)
            with pytest.raises(TimeoutError):  # between requests a connection may rest longer
                client.recv(1)
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert is_ended(client, b"X-Slow: 1\r\n")
