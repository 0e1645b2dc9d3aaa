"""The HTTP server: uvicorn with bounds for connections, messages and shutdown."""

from __future__ import annotations

import contextlib
import resource
from functools import partial
from typing import Any

import uvicorn

from foliot.servers.http.connections import Connection, ConnectionLimits
from foliot.servers.http.request import MAX_MESSAGE

STREAMS_SECONDS = 2
"""Seconds that a stopping server waits for open streams, which have no end of their own."""
MOST_PER_ADDRESS = 1000
QUARTER = 4


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: on a signal the engine has to drain as well."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


def server_of(asgi: Any, *, bounds: ConnectionLimits | None = None, **options: Any) -> Server:
    """A uvicorn server of this app, with bounds on message sizes and connections."""
    protocol: Any = partial(Connection, bounds=bounds or ConnectionLimits())
    config = uvicorn.Config(
        asgi,
        http=protocol,
        ws="websockets-sansio",
        # A message a little too long is answered; a larger one closes the connection. Compression would hide the size.
        ws_max_size=2 * MAX_MESSAGE,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=STREAMS_SECONDS,
        server_header=False,
        proxy_headers=False,
        **options,
    )
    return Server(config)


def per_address(chosen: int | None, *, local: bool) -> int | None:
    """Connections per address: as configured, 0 for no limit; by default a quarter of all."""
    if chosen is not None:
        return chosen or None
    if local:
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_PER_ADDRESS if files == resource.RLIM_INFINITY else min(MOST_PER_ADDRESS, max(files // QUARTER, 1))
