"""Starts the server: where it listens, who may ask, and the browser that opens."""

from __future__ import annotations

import os
import secrets
import socket
import stat
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from visterm.compute.threads import one_blas_thread
from visterm.errors import InputError, VistermError
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.workspace import Workspace

PORT = 8020
TOKEN_VARIABLE = "VISTERM_TOKEN"  # noqa: S105 - the name of a variable, not a token
#: The name of the file in the workspace that holds the token.
TOKEN_FILE = "token"  # noqa: S105 - a file name
_LEAST_TOKEN, _NEW_TOKEN_BYTES = 16, 24
#: These stand for all addresses of this computer.
_ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened at
#: Open pages listen for events without an end; a server that stops does not wait for them longer than this.
_GRACE_SECONDS = 2
#: A thread that makes thumbnails or learns gives way to a request after this time, not after Python's 5 ms.
_SWITCH_SECONDS = 0.001


@dataclass(frozen=True)
class Address:
    """Where a server listens, and the token it wants."""

    host: str
    port: int
    token: str

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach it."""
        return _is_local(self.host)

    @property
    def url(self) -> str:
        """What to type into a browser; the token travels after the #, which no server sees."""
        return self.url_with(self.token)

    def url_with(self, token: str) -> str:
        """The address with another token."""
        host = socket.gethostname() if self.host in _ANY_ADDRESS else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/#token={token}"


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

    The token comes from ``token_file``, from VISTERM_TOKEN, or is made. Where only this computer can reach the server
    and nobody named a token, it is needed to write only; it is in the file ``token`` of the workspace, for programs of
    the same person.
    """
    import uvicorn

    from visterm.faces.web.application import application
    from visterm.faces.web.connections import PromptProtocol

    token = _token(host, token_file, photos.state)
    listening = _listening(host, port)
    address = Address(host, listening.getsockname()[1], token)
    open_reading = address.is_local and token_file is None and TOKEN_VARIABLE not in os.environ
    names = {*LOOPBACK, host.lower(), f"[{host.lower()}]"} | (set() if open_reading else {socket.gethostname().lower()})
    ticket = secrets.token_urlsafe(_NEW_TOKEN_BYTES)
    tickets = {ticket} if browser else set[str]()
    rules = Rules(frozenset(names), token, read_only, host in _ANY_ADDRESS, open_reading, tickets)
    app = application(photos, rules)
    config = uvicorn.Config(
        app,
        http=PromptProtocol,
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
        # Other users of this computer can see the command line of a browser: the ticket in it is good only once.
        threading.Timer(0.5, lambda: webbrowser.open(address.url_with(ticket))).start()
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Requests keep a core for themselves while the review learns.
    with one_blas_thread(), suppress(KeyboardInterrupt):  # the person has seen enough
        server.run(sockets=[listening])


def _is_local(host: str) -> bool:
    return host in LOOPBACK or f"[{host}]" in LOOPBACK


def _token(host: str, token_file: Path | None, state: Path) -> str:
    given = os.environ.get(TOKEN_VARIABLE)
    if token_file is not None:
        try:
            given = token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise InputError(f"{token_file}: the token cannot be read: {error}") from error
    if given is not None and len(given) < _LEAST_TOKEN:
        raise InputError(f"the token has {len(given)} characters; use at least {_LEAST_TOKEN}")
    if given is None:
        return _token_of_workspace(state / TOKEN_FILE) if _is_local(host) else secrets.token_urlsafe(_NEW_TOKEN_BYTES)
    return given


def _token_of_workspace(file: Path) -> str:
    """The token in ``file``, which only its owner can read; a new one if there is none that nobody else can know."""
    with suppress(OSError, ValueError):
        status = file.lstat()
        is_private = os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        if stat.S_ISREG(status.st_mode) and is_private and len(known := file.read_text().strip()) >= _LEAST_TOKEN:
            return known
    token = secrets.token_urlsafe(_NEW_TOKEN_BYTES)
    with suppress(OSError):  # where it cannot be kept, the address that is shown has it all the same
        file.unlink(missing_ok=True)
        file.touch(0o600, exist_ok=False)
        file.write_text(token)
    return token


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
