"""The blocking client's side of the core: sends attempts, waits between them, and reads pages and streams."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import httpx2

from foliot.client.core import Attempts, Call, Core, StreamPosition, call_of, decoded, items_of, next_page, streamed
from foliot.client.errors import Unavailable
from foliot.client.operations import OPERATIONS

T = TypeVar("T")


class Session:
    """One server, and the connections to it."""

    _core: Core
    _http: httpx2.Client

    def _answer(self, call: Call) -> Any:
        response = self._run(self._core.attempts(call))
        return decoded(call, response)

    def _run(self, attempts: Attempts) -> httpx2.Response:
        attempt, answer = next(attempts), None
        while answer is None:
            if attempt.wait:
                time.sleep(attempt.wait)
            request = self._http.build_request(
                attempt.method, attempt.url, headers=attempt.headers, content=attempt.content, timeout=attempt.timeout
            )
            try:
                response = self._http.send(request, stream=attempt.stream)
                if attempt.stream and not response.is_success:
                    response.read()
            except httpx2.TransportError as failed:
                attempt = attempts.throw(failed)
                continue
            try:
                attempt = attempts.send(response)
            except StopIteration:
                answer = response
        return answer

    @contextmanager
    def _opened(self, call: Call) -> Iterator[httpx2.Response]:
        response = self._run(self._core.attempts(call))
        try:
            yield response
        finally:
            response.close()


class Items(Generic[T]):
    """The items of a list, read page by page while they are iterated."""

    def __init__(self, session: Session, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> None:
        self._session, self._name, self._path, self._query = session, name, path, query

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from items_of(OPERATIONS[self._name], page)

    def pages(self) -> Iterator[dict[str, Any]]:
        """The answers as they are, with whatever stands beside the items."""
        query: dict[str, Any] | None = dict(self._query)
        while query is not None:
            page: dict[str, Any] = self._session._answer(call_of(self._name, self._path, query))
            yield page
            query = next_page(OPERATIONS[self._name], query, page)

    def first(self) -> T | None:
        """The first item; None when there is none."""
        return next(iter(self), None)


class Resource:
    """The operations of one thing."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def _json(self, name: str, path: Mapping[str, str], *given: Any, **conditions: Any) -> Any:
        return self._session._answer(call_of(name, path, *given, **conditions))

    def _items(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> Items[Any]:
        return Items(self._session, name, path, query)

    def _text(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> str:
        return self._session._run(self._session._core.attempts(call_of(name, path, query))).text

    def _bytes(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> Iterator[bytes]:
        call = streamed(call_of(name, path, query), "*/*")
        try:
            with self._session._opened(call) as response:
                yield from response.iter_bytes()
        except httpx2.TransportError as cut:
            raise Unavailable(f"the download was cut: {cut}", request=call.name) from cut

    def _follow(self, name: str, path: Mapping[str, str], last_id: str | None) -> Iterator[Any]:
        """Each event once, in order, until the end; a stream that is cut is resumed after the last one received."""
        position = StreamPosition(last_id)
        while not position.ended:
            call = streamed(call_of(name, path), "text/event-stream", position.last_id)
            cut: Exception | None = None
            try:
                with self._session._opened(call) as response:
                    for event in httpx2.EventSource(response):
                        said = position.received(event)
                        if said is None:
                            return
                        yield said
            except (httpx2.TransportError, Unavailable) as failed:
                cut = failed
            time.sleep(position.pause(call, cut))
