"""Starts the server: where it listens, who may ask, and the browser that opens."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from visterm.app.server.guard import LOOPBACK, Rules
from visterm.app.workspace import Workspace
from visterm.compute.threads import one_blas_thread
from visterm.errors import InputError, VistermError

PORT = 8020
TOKEN_VARIABLE = "VISTERM_TOKEN"  # noqa: S105 - the name of a variable, not a token
_LEAST_TOKEN = 16
#: These stand for all addresses of this computer.
_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened at
#: Open pages listen for events without an end; a server that stops does not wait for them longer than this.
_GRACE_SECONDS = 2
#: A thread that makes thumbnails or learns gives way to a request after this time, not after Python's 5 ms.
_SWITCH_SECONDS = 0.001


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the token it wants (None: no token)."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """What to type into a browser; a token travels after the #, which no server sees."""
        host = socket.gethostname() if self.host in _ANY_ADDRESS else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/" + (f"#token={self.token}" if self.token else "")


def serve(
    photos: Workspace,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token_file: Path | None = None,
    read_only: bool = False,
    browser: bool = True,
    started: Callable[[Address], None] = lambda _: None,
) -> None:
    """Serve the page until interrupted. Without a port, the usual one or the next that is free.

    Beyond this computer a token is needed: from ``token_file``, from VISTERM_TOKEN, or a new one.
    """
    import uvicorn

    from visterm.app.server.application import application

    token = _token(host, token_file)
    listening = _listening(host, port)
    address = Address(host, listening.getsockname()[1], token)
    names = {*LOOPBACK, host.lower(), f"[{host.lower()}]"} | ({socket.gethostname().lower()} if token else set())
    app = application(photos, Rules(frozenset(names), token, read_only, any_address=host in _ANY_ADDRESS))
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )
    server = uvicorn.Server(config)
    app.state.is_stopping = lambda: server.should_exit
    started(address)
    if browser:
        threading.Timer(0.5, lambda: webbrowser.open(address.url)).start()
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Requests keep a core for themselves while the review learns.
    with one_blas_thread(), suppress(KeyboardInterrupt):  # the person has seen enough
        server.run(sockets=[listening])


def _token(host: str, token_file: Path | None) -> str | None:
    given = os.environ.get(TOKEN_VARIABLE)
    if token_file is not None:
        try:
            given = token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise InputError(f"{token_file}: the token cannot be read: {error}") from error
    if given is not None and len(given) < _LEAST_TOKEN:
        raise InputError(f"the token has {len(given)} characters; take at least {_LEAST_TOKEN}")
    if given is None and f"[{host}]" not in LOOPBACK and host not in LOOPBACK:
        return secrets.token_urlsafe(24)
    return given


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens at the port, or without one at the first free port from the usual one on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last: OSError | None = None
    for number in range(PORT, PORT + 20) if port is None else (port,):
        # With the protocol named, asyncio sends small answers at once (TCP_NODELAY) instead of after 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(128)  # from now on nobody else gets the port
            return listening
        except OSError as error:
            listening.close()
            last = error
    where = f"port {port}" if port is not None else f"ports {PORT} to {PORT + 19}"
    raise VistermError(f"{host}: {where} cannot be used: {last.strerror if last else ''}; choose another with --port")
