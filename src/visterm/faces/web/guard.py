"""What every request must pass: its address, its origin, its token, its size; and what every answer carries.

- Host: only names this server was started for. A name that an attacker points at 127.0.0.1 is refused (DNS rebinding).
- Origin: a browser that sends one must send ours. Together with JSON bodies and no CORS, no other page can write.
- Token: needed to write, and to read too if the server listens beyond this computer; compared in constant time; from
  the header or a cookie.
- Size and time: a body is counted while it comes, and must come within a limit.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visterm.errors import OUT_OF_MEMORY, is_out_of_memory
from visterm.faces.web.problems import problem

API = "/api/v1"
#: The most bytes of a picture that is looked at, and of any other body.
MAX_PICTURE, MAX_BODY = 30_000_000, 1_000_000
#: A body must have come after this many seconds.
BODY_SECONDS = 30.0
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
#: These addresses change nothing, although they are no GET.
_LOOK = f"{API}/look"
_READING = frozenset({_LOOK, f"{API}/session"})
_FREE_TO_READ = (
    "to change anything, open the page with the address that 'visterm serve' showed; "
    "a program sends 'Authorization: Bearer TOKEN' with the token in .visterm/token"
)
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "frame-ancestors 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


_log = logging.getLogger("visterm.server")


@dataclass(frozen=True)
class Rules:
    """What a server allows: the host names it answers to, the token it wants, and writing or not.

    With ``open_reading`` the token is needed only to write. ``tickets`` can be exchanged for the token, each once.

    A server that listens at all addresses of a computer answers to ``any_address``, written as numbers: nobody can
    point those somewhere else, as is possible with names.
    """

    hosts: frozenset[str]
    token: str
    read_only: bool = False
    any_address: bool = False
    open_reading: bool = False
    tickets: set[str] = field(default_factory=set)

    def exchange(self, given: str) -> str | None:
        """The token, if ``given`` is the token or a ticket that nobody has used."""
        if given in self.tickets:
            self.tickets.remove(given)
            return self.token
        return self.token if _is_same(given, self.token) else None

    def is_ours(self, host: str) -> bool:
        """Whether ``host``, with or without a port, is an address of this server."""
        name = host.lower() if host.endswith("]") else host.rsplit(":", 1)[0].lower()
        if name in self.hosts:
            return True
        try:
            return self.any_address and bool(ipaddress.ip_address(name.strip("[]")))
        except ValueError:
            return False


class Guard:
    """Middleware that refuses what the rules do not allow, before any route sees it."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app, self._rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith(API) else "no-cache")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await problem(*refusal)(scope, receive, send_guarded)
            return
        limit = MAX_PICTURE if scope["path"] == _LOOK else MAX_BODY
        body = _Body(receive, limit)
        try:
            await self._app(scope, body.receive, send_guarded)
        except Exception as error:
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if started:  # the connection ends, so that nobody takes half an answer for the whole
                raise
            if is_out_of_memory(error):
                await problem(503, OUT_OF_MEMORY, headers={"Retry-After": "60"})(scope, receive, send_guarded)
                return
            inside = "something went wrong inside Visterm; the terminal that started the page shows what"
            await problem(500, inside)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._rules.is_ours(host):
            return 421, "this address is not one that the page was started for"
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return 403, "only the page itself may ask this; the request came from another site"
        path: str = scope["path"]
        if not path.startswith(API):
            return None
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "only the page itself may ask this; the request came from another site"
        if scope["method"] not in _SAFE:
            if self._rules.read_only and path not in _READING:
                return 403, "this page was started with --read-only: nothing can be changed"
            # A form of another site can send neither of these without asking first, and is then refused.
            kind = headers.get("content-type", "").split(";")[0].strip().lower()
            if path == _LOOK and not kind.startswith("image/") and kind != "application/octet-stream":
                return 415, "send the bytes of a picture, with its type in the header 'Content-Type'"
            if path != _LOOK and kind != "application/json":
                return 415, "send JSON with the header 'Content-Type: application/json'"
        is_reading = scope["method"] in _SAFE or path in _READING
        is_free = path == f"{API}/session" or (is_reading and self._rules.open_reading)
        if not is_free and not self._has_token(headers):
            return 401, _FREE_TO_READ if self._rules.open_reading else "send the token: 'Authorization: Bearer TOKEN'"
        try:
            length = int(headers.get("content-length", "0"))
        except ValueError:
            return 400, "the length of the body is not a number"
        if length > (MAX_PICTURE if path == _LOOK else MAX_BODY) or length < 0:
            return 413, f"the body has {length} bytes, which is too many"
        return None

    def _has_token(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        if given[:7].lower() == "bearer ":
            return _is_same(given[7:], self._rules.token)
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(cookie_name(headers.get("host", "")))
        except CookieError:
            return False
        return cookie is not None and _is_same(cookie.value, self._rules.token)


def cookie_name(host: str) -> str:
    """The name of the cookie of the server at ``host``: browsers send a cookie to all ports of a computer."""
    port = host.rpartition(":")[2]
    return f"visterm-token-{port if port.isdecimal() else 80}"


def _is_same(given: str, token: str) -> bool:
    """Whether ``given`` is the token; it takes as long to find out, however much of it is right."""
    return hmac.compare_digest(given.encode(), token.encode())


class _Body:
    """Passes a body on, as long as it is small enough and comes fast enough."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._limit = receive, limit
        self._size, self._complete = 0, False
        self._deadline: float | None = None

    async def receive(self) -> Message:
        if self._complete:  # what comes now is only the end of the connection
            return await self._receive()
        loop = asyncio.get_running_loop()
        if self._deadline is None:
            self._deadline = loop.time() + BODY_SECONDS
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._deadline - loop.time()))
        except TimeoutError as error:
            raise HTTPException(408, "the body did not come in time") from error
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._limit:
                raise HTTPException(413, f"the body has more than {self._limit} bytes")
            self._complete = not message.get("more_body", False)
        return message
