"""HTTP connections with read and write timeouts, and a limit of connections per address.

uvicorn's own protocol waits for ever for the rest of a header or a body, and for a client that reads nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from foliot.servers.http.problems import problem

ARRIVE = 10.0
"""Seconds for the whole header, and for a body that arrives no faster than `LEAST_RATE`."""
LEAST_RATE = 16 * 1024
"""Bytes per second of a body: every byte received extends the deadline, so that a large body may take longer."""
TAKE = 60.0
"""Seconds after which a client that reads nothing of its response is disconnected."""
COMPLAINT = 60.0
"""Seconds between two log lines about addresses with too many connections."""

log = structlog.get_logger("foliot.rest")


@dataclass(slots=True)
class ConnectionLimits:
    """Timeouts and the limit per address, shared by all connections of a server."""

    per_address: int | None = None
    """Concurrent connections of one address; None for no limit."""
    arrive: float = ARRIVE
    rate: float = LEAST_RATE
    take: float = TAKE
    _complained: float = float("-inf")

    def complain(self, address: str, now: float) -> None:
        """Log that a connection was refused, but not every one."""
        if now - self._complained >= COMPLAINT:
            self._complained = now
            log.warning(
                "an address has too many connections: FOLIOT_CONNECTIONS_PER_ADDRESS sets how many it may have",
                action="connections_refused",
                address=address,
                most=self.per_address,
            )


class Connection(H11Protocol):
    """One connection, which is closed when its client stalls."""

    def __init__(self, *given: Any, bounds: ConnectionLimits | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self.bounds = bounds or ConnectionLimits()
        self._awaited: tuple[str, Any] | None = None
        """What is awaited: the head or the body of a request, and after which request."""
        self._began = 0.0
        self._got = 0
        self._arrival: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._upgraded = False

    # --- callbacks of the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._crowded():
            self._refuse("too_many", "too many connections from this address", 5)
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._watch(len(data))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._upgraded = True
        self._watch()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._taking is None:
            self._expect_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _expect_taking(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(self.bounds.take, self._look_at_taking, left)

    def _look_at_taking(self, left: int) -> None:
        """Disconnect a client that has read nothing; a slow one that reads a little is kept."""
        if self.transport.get_write_buffer_size() < left:
            self._expect_taking()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._upgraded = True
        self._watch()
        self.resume_writing()
        super().connection_lost(exc)

    # --- connections per address

    def _crowded(self) -> bool:
        most = self.bounds.per_address
        if most is None or self.client is None or len(self.connections) <= most:
            return False
        address = self.client[0]
        clients = [getattr(one, "client", None) for one in self.connections]
        if len([client for client in clients if client is not None and client[0] == address]) <= most:
            return False
        self.bounds.complain(address, self.loop.time())
        return True

    # --- timeouts

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        """The newest request; None before the first."""
        return self.cycle

    def _what(self) -> tuple[str, Any] | None:
        """What the client has still to send; None while we answer, or when it is idle between two requests."""
        if self._upgraded or self.transport.is_closing():
            return None
        if self.conn.their_state is h11.SEND_BODY:
            return "body", self.cycle
        if self.conn.their_state is h11.IDLE and (self._cycle is None or self.conn.trailing_data[0]):
            return "head", self.cycle
        return None

    def _watch(self, got: int = 0) -> None:
        awaited = self._what()
        if awaited != self._awaited:
            self._awaited, self._began, self._got = awaited, self.loop.time(), 0
            if self._arrival is not None:
                self._arrival.cancel()
                self._arrival = None
        self._got += got
        if awaited is not None and self._arrival is None:
            self._arrival = self.loop.call_at(self._until(), self._look)

    def _until(self) -> float:
        assert self._awaited is not None  # noqa: S101 -- called only while something is awaited
        bought = self._got / self.bounds.rate if self._awaited[0] == "body" else 0.0
        return self._began + self.bounds.arrive + bought

    def _look(self) -> None:
        """Refuse the request if it is late; time in which we paused reading does not count."""
        self._arrival = None
        if self._awaited is None or self._awaited != self._what():
            self._watch()
            return
        if self._awaited[0] == "body" and (self.flow.read_paused or self.cycle.waiting_for_100_continue):
            self._began, self._got = self.loop.time(), 0
        if self._until() > self.loop.time():
            self._watch()
        elif self._awaited[0] == "head" and not self.conn.trailing_data[0]:
            self.transport.close()
        else:
            self._refuse("timeout", f"the request did not arrive within {self.bounds.arrive:g} s")

    def _refuse(self, code: str, why: str, retry_after: int | None = None) -> None:
        """Answer in place of the app if no response has begun, and close the connection."""
        cycle = self._cycle
        if cycle is not None and not cycle.response_complete:
            # A handler that awaits the rest of the body gets a disconnect.
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            retry = {} if retry_after is None else {"Retry-After": str(retry_after)}
            response = problem(code, why, headers={"Connection": "close", **retry})
            head = h11.Response(status_code=response.status_code, headers=response.raw_headers)
            parts = (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage())
            self.transport.write(b"".join(self.conn.send(part) or b"" for part in parts))
        self.transport.close()
