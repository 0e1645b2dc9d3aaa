"""`Foliot` and `AsyncFoliot`: the clients of a server's HTTP API."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx2

from foliot.client.async_resources import AsyncResources
from foliot.client.async_session import AsyncSession
from foliot.client.core import RETRIES, TIMEOUT, Core, call_to
from foliot.client.operations import Operation
from foliot.client.resources import Resources
from foliot.client.session import Session


class Foliot(Session, Resources):
    """A blocking client. It keeps connections open: use one for many calls, and close it, or use it with `with`.

    Threads may share one. The server and the token come from `FOLIOT_URL` and `FOLIOT_TOKEN` when they are not given.
    `timeout` is the longest wait, in seconds, for a connection and between two pieces of an answer; `retries` how often
    a request is repeated that may be. `http` replaces the connections, for a proxy or certificates of your own.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        http: httpx2.Client | None = None,
    ) -> None:
        self._core = Core.of(url, token, timeout, retries)
        self._http = httpx2.Client() if http is None else http
        Resources.__init__(self, self)

    @classmethod
    def from_env(cls) -> Foliot:
        """The server that the environment names, else the local one."""
        return cls()

    @property
    def url(self) -> str:
        return self._core.url

    def with_options(self, *, timeout: float | None = None, retries: int | None = None) -> Foliot:
        """A client with other options, on the same connections."""
        other = copy.copy(self)
        other._core = self._core.with_options(timeout, retries)
        Resources.__init__(other, other)
        return other

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Any:
        """The decoded answer of any route, with the same retries and errors."""
        operation = Operation(method.upper(), path, keyed=method.upper() == "POST")
        call = call_to(operation, path, query, body, idempotency_key=idempotency_key, if_match=if_match)
        return self._answer(call)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncFoliot(AsyncSession, AsyncResources):
    """The same for asyncio and trio: methods are awaited, lists and streams are read by `async for`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        self._core = Core.of(url, token, timeout, retries)
        self._http = httpx2.AsyncClient() if http is None else http
        AsyncResources.__init__(self, self)

    @classmethod
    def from_env(cls) -> AsyncFoliot:
        """The server that the environment names, else the local one."""
        return cls()

    @property
    def url(self) -> str:
        return self._core.url

    def with_options(self, *, timeout: float | None = None, retries: int | None = None) -> AsyncFoliot:
        """A client with other options, on the same connections."""
        other = copy.copy(self)
        other._core = self._core.with_options(timeout, retries)
        AsyncResources.__init__(other, other)
        return other

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Any:
        """The decoded answer of any route, with the same retries and errors."""
        operation = Operation(method.upper(), path, keyed=method.upper() == "POST")
        call = call_to(operation, path, query, body, idempotency_key=idempotency_key, if_match=if_match)
        return await self._answer(call)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
