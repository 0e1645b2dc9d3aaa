"""The server interceptor that authenticates and authorises every call before its message is read."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import grpc.aio

from foliot.auth.identity import Identity
from foliot.commands.failed_login_delay import FailedLoginDelay
from foliot.commands.idempotency import AnsweredBefore
from foliot.commands.limits import Limiter
from foliot.core.access import LOCAL, Caller, Interface, require
from foliot.core.errors import TooMany, Unauthenticated
from foliot.servers.grpc.call import REPLAYED, AuthorisedCall, bearer_of, given_before, parse
from foliot.servers.grpc.method import PUBLIC, RpcMethod, RunningCalls
from foliot.servers.grpc.status import abort

ANSWER_SECONDS = 30.0
"""The deadline of unary calls without one of their own; streams have none."""
MAX_ANONYMOUS = 100
"""Concurrent calls of unauthenticated methods."""


@dataclass(slots=True)
class AuthInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Refuses methods that are not in the table, and callers without the permission of the method."""

    methods: Mapping[str, RpcMethod]
    limiter: Limiter
    identity: Identity | None
    """None in local mode, which needs no token and listens on loopback only."""
    work: RunningCalls = field(default_factory=RunningCalls)
    anonymous: int = 0
    throttle: FailedLoginDelay = field(default_factory=FailedLoginDelay)

    async def intercept_service(self, continuation: Callable[..., Any], details: Any) -> Any:
        name = details.method
        if name in PUBLIC:
            return self._open_to_all(await continuation(details))
        try:
            caller = await self.work.finish(self._caller(details.invocation_metadata))
            method = self.methods.get(name)
            if method is None:
                return None
            await self.work.finish(self.limiter.request(caller))
            require(caller, *method.permission)
        except Exception as error:  # noqa: BLE001 -- every error refuses the call
            return _refusal(error, name)
        call = AuthorisedCall(name, caller, tuple(details.invocation_metadata or ()))
        if method.streams:
            return grpc.unary_stream_rpc_method_handler(self._streamed(method, call), response_serializer=_serialized)
        return grpc.unary_unary_rpc_method_handler(self._answered(method, call), response_serializer=_serialized)

    async def _caller(self, metadata: Any) -> Caller:
        if self.identity is None:
            return replace(LOCAL, interface=Interface.GRPC)
        bearer = bearer_of(tuple(metadata or ()))
        try:
            caller = await self.identity.caller(bearer)
        except Unauthenticated:
            # The peer's address may be a proxy's: all failed logins share one token bucket.
            await self.throttle.failed("", self.limiter.clock.monotonic())
            raise
        return replace(caller, interface=Interface.GRPC)

    def _answered(self, method: RpcMethod, call: AuthorisedCall) -> Callable[..., Any]:
        async def answer(raw: bytes, context: Any) -> Any:
            try:
                request = parse(method.request, raw)
                async with asyncio.timeout(ANSWER_SECONDS):
                    return await self.work.finish(method.answer(call, request))
            except AnsweredBefore as before:
                context.set_trailing_metadata(((REPLAYED, "true"),))
                return given_before(before.body)
            except Exception as error:  # noqa: BLE001 -- every error becomes a status
                await abort(context, error, call.method)

        return answer

    def _streamed(self, method: RpcMethod, call: AuthorisedCall) -> Callable[..., Any]:
        async def answer(raw: bytes, context: Any) -> AsyncIterator[Any]:
            try:
                async for one in method.answer(call, parse(method.request, raw)):
                    yield one
            except Exception as error:  # noqa: BLE001 -- every error becomes a status
                await abort(context, error, call.method)

        return answer

    def _open_to_all(self, handler: Any) -> Any:
        """Limit concurrent calls of an unauthenticated method, so that they cannot use up all of the server's calls."""
        if handler is None or not handler.response_streaming:
            return handler
        kind = "stream_stream" if handler.request_streaming else "unary_stream"
        serve = getattr(handler, kind)

        async def told(asked: Any, context: Any) -> AsyncIterator[Any]:
            with self._count_anonymous():
                async for one in serve(asked, context):
                    yield one

        async def tells(asked: Any, context: Any) -> None:
            with self._count_anonymous():
                await serve(asked, context)

        counted = tells if inspect.iscoroutinefunction(serve) else told
        return handler._replace(**{kind: counted}) if self.anonymous < MAX_ANONYMOUS else _refusal(_TOO_MANY, kind)

    @contextmanager
    def _count_anonymous(self) -> Iterator[None]:
        self.anonymous += 1
        try:
            yield
        finally:
            self.anonymous -= 1


_TOO_MANY = TooMany(f"{MAX_ANONYMOUS} calls without authentication are open already", retry_after=5)


def _refusal(error: Exception, name: str) -> Any:
    """A handler that ends a call of any kind without waiting for its message."""

    async def refuse(_: Any, context: Any) -> AsyncIterator[bytes]:
        await abort(context, error, name)
        yield b""

    return grpc.stream_stream_rpc_method_handler(refuse)


def _serialized(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else answer.SerializeToString()
