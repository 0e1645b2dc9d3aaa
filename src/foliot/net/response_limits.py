"""A response parser that closes the connection of a server that floods it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD

from foliot.net.whole_answer import read_whole

_SLICE = 8 * 1024
"""Bytes parsed between two checks: a single read may hold ten thousand tiny messages."""
_MESSAGES = 16
"""One answer, and the interim ones (100, 103) before it."""
_DIGITS = 12
"""Digits of the length of a body; more are never needed."""
_FRAME = 2 * 1024 * 1024
"""Bytes allowed besides the body: headers, and the sizes of chunks."""


class BoundedResponseHandler(ResponseHandler):
    """aiohttp bounds a line, a header and its buffer; this bounds the number of messages, and their total bytes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._messages, self._bytes_left = 0, _FRAME
        self._length = 0
        """Declared bytes of the current body."""
        self._options: Mapping[str, Any] | None = None
        """Of the parser, while nothing of the answer has come."""

    def begin(self, most: int, options: Mapping[str, Any]) -> None:
        """A request begins on this connection; its answer's body may have so many bytes.

        A parser is made when the answer turns out to need one.
        """
        self._messages = 0
        self._bytes_left = _FRAME + most
        self._options = options
        self._most = most

    def feed_data(self, data: Any, size: int = 0) -> None:
        self._messages += 1
        message, _ = data
        length = "" if message.chunked else message.headers.get("Content-Length", "")
        self._length = int(length) if length.isdecimal() and len(length) <= _DIGITS else 0
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        if self._options is not None:
            options, self._options = self._options, None
            whole = None if options["skip_payload"] else read_whole(data)
            if whole is not None and len(whole.body) <= self._most:
                super().feed_data((whole, EMPTY_PAYLOAD))  # type: ignore[arg-type]  # its reader knows both
                return
            self.set_response_params(**options)
        self._bytes_left -= len(data)
        done = max(_SLICE, self._body_left())
        # Empty data makes the parser continue with its buffer.
        super().data_received(data[:done])
        while done < len(data) and not self._is_flooded():
            # While its body waits to be read, a message cannot end, so no other begins.
            size = len(data) if self._reading_paused else max(_SLICE, self._body_left())
            super().data_received(data[done : done + size])
            done += size
        if self._is_flooded():
            self._hang_up()

    def _body_left(self) -> int:
        """How much certainly belongs to the current message."""
        body = self._payload
        return 0 if body is None or body.is_eof() else self._length - body.total_bytes

    def _is_flooded(self) -> bool:
        return self._messages > _MESSAGES or self._bytes_left < 0

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        """Also fails the reader of the body, which aiohttp forgets when the parser fails after the first packet."""
        super().set_exception(exc, *([] if exc_cause is None else [exc_cause]))
        if self._payload is not None and not self._payload.is_eof() and self._payload.exception() is None:
            self._payload.set_exception(ClientPayloadError("the body ended early"))

    def _hang_up(self) -> None:
        self.set_exception(HttpProcessingError(message="the target sends too much"))
        if self.transport is not None:
            self.transport.abort()
