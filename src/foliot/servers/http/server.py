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
"""Streams stay open as long as their readers like: a stopping server does not wait for them any longer than this."""
MOST_PER_ADDRESS = 1000
QUARTER = 4


class Server(uvicorn.Server):
    """Leaves the signals to us: the engine has to drain as well."""

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:  # type: ignore[override]
        return contextlib.nullcontext()


def server_of(asgi: Any, *, bounds: ConnectionLimits | None = None, **options: Any) -> Server:
    """A server of this app, whose memory no message or connection can take much of."""
    protocol: Any = partial(Connection, bounds=bounds or ConnectionLimits())
    config = uvicorn.Config(
        asgi,
        http=protocol,
        ws="websockets-sansio",
        # What is a little too long is answered; beyond that the first bytes close. Packed messages could be any size.
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
    """Connections of one address: as chosen, 0 for no cap; else so many that three more addresses find room."""
    if chosen is not None:
        return chosen or None
    if local:
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_PER_ADDRESS if files == resource.RLIM_INFINITY else min(MOST_PER_ADDRESS, max(files // QUARTER, 1))
