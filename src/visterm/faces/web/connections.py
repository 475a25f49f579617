"""Connections that do not wait for ever: the headers of a request must come within a limit, however they trickle."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: The headers of a request must have come after this many seconds.
HEADER_SECONDS = 20.0


class PromptProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it; it limits the time between requests, and this class limits that of headers."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Somebody has called."""
        super().connection_made(transport)
        self._waiting = self.loop.call_later(HEADER_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Some bytes have come, of headers or of a body."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:  # the headers of a further request have begun
            self._waiting = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
