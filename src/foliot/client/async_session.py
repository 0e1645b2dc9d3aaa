"""The asynchronous client's side of the core: sends attempts, waits between them, and reads pages and streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio
import httpx2

from foliot.client.core import Attempts, Call, Core, StreamPosition, call_of, decoded, items_of, next_page, streamed
from foliot.client.errors import Unavailable
from foliot.client.operations import OPERATIONS

T = TypeVar("T")


class AsyncSession:
    """One server, and the connections to it."""

    _core: Core
    _http: httpx2.AsyncClient

    async def _answer(self, call: Call) -> Any:
        response = await self._run(self._core.attempts(call))
        return decoded(call, response)

    async def _run(self, attempts: Attempts) -> httpx2.Response:
        attempt, answer = next(attempts), None
        while answer is None:
            if attempt.wait:
                await anyio.sleep(attempt.wait)
            request = self._http.build_request(
                attempt.method, attempt.url, headers=attempt.headers, content=attempt.content, timeout=attempt.timeout
            )
            try:
                response = await self._http.send(request, stream=attempt.stream)
                if attempt.stream and not response.is_success:
                    await response.aread()
            except httpx2.TransportError as failed:
                attempt = attempts.throw(failed)
                continue
            try:
                attempt = attempts.send(response)
            except StopIteration:
                answer = response
        return answer

    @asynccontextmanager
    async def _opened(self, call: Call) -> AsyncIterator[httpx2.Response]:
        response = await self._run(self._core.attempts(call))
        try:
            yield response
        finally:
            await response.aclose()


class AsyncItems(Generic[T]):
    """The items of a list, read page by page while they are iterated."""

    def __init__(self, session: AsyncSession, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> None:
        self._session, self._name, self._path, self._query = session, name, path, query

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in items_of(OPERATIONS[self._name], page):
                yield item

    async def pages(self) -> AsyncIterator[dict[str, Any]]:
        """The answers as they are, with whatever stands beside the items."""
        query: dict[str, Any] | None = dict(self._query)
        while query is not None:
            page: dict[str, Any] = await self._session._answer(call_of(self._name, self._path, query))
            yield page
            query = next_page(OPERATIONS[self._name], query, page)

    async def first(self) -> T | None:
        """The first item; None when there is none."""
        async for item in self:
            return item
        return None


class AsyncResource:
    """The operations of one thing."""

    __slots__ = ("_session",)

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def _json(self, name: str, path: Mapping[str, str], *given: Any, **conditions: Any) -> Any:
        return await self._session._answer(call_of(name, path, *given, **conditions))

    def _items(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> AsyncItems[Any]:
        return AsyncItems(self._session, name, path, query)

    async def _text(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> str:
        response = await self._session._run(self._session._core.attempts(call_of(name, path, query)))
        return response.text

    async def _bytes(self, name: str, path: Mapping[str, str], query: Mapping[str, Any]) -> AsyncIterator[bytes]:
        call = streamed(call_of(name, path, query), "*/*")
        try:
            async with self._session._opened(call) as response:
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx2.TransportError as cut:
            raise Unavailable(f"the download was cut: {cut}", request=call.name) from cut

    async def _follow(self, name: str, path: Mapping[str, str], last_id: str | None) -> AsyncIterator[Any]:
        """Each event once, in order, until the end; a stream that is cut is resumed after the last one received."""
        position = StreamPosition(last_id)
        while not position.ended:
            call = streamed(call_of(name, path), "text/event-stream", position.last_id)
            cut: Exception | None = None
            try:
                async with self._session._opened(call) as response:
                    async for event in httpx2.EventSource(response):
                        said = position.received(event)
                        if said is None:
                            return
                        yield said
            except (httpx2.TransportError, Unavailable) as failed:
                cut = failed
            await anyio.sleep(position.pause(call, cut))
