"""The gRPC server: binds its port, serves calls, and drains on shutdown.

The server interceptor that authenticates and authorises every call before its message is read.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from foliot.auth.identity import Identity, Pepper
from foliot.commands.envelope import UseCases
from foliot.commands.idempotency import AnsweredBefore
from foliot.commands.limits import FailedLoginDelay, Limiter
from foliot.core.access import LOCAL, Caller, Interface, require
from foliot.core.errors import Conflict, TooMany, Unauthenticated
from foliot.servers.grpc.method import (
    PUBLIC,
    REPLAYED,
    AuthorisedCall,
    Opening,
    RpcMethod,
    RpcService,
    RunningCalls,
    bearer_of,
    given_before,
    parse,
)
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


MESSAGE = 4 * 1024 * 1024
"""Bytes of a message at most."""
GRACE = 2.0
"""Seconds that a stopping server waits for open streams, which have no end of their own."""

OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE),
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.max_concurrent_streams", 1000),
    # Without this, two servers on one port would silently share its calls.
    ("grpc.so_reuseport", 0),
    # Keepalive detects clients that vanished without closing, so that their streams no longer count.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_connection_idle_ms", 600_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Host and port to bind, and the TLS certificate if there is one."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: bytes | None = None
    key: bytes | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(slots=True, kw_only=True)
class GrpcServer:
    """The gRPC server of one process. Without `identity` it is in local mode and needs no token."""

    cases: UseCases
    service: Callable[[Opening], RpcService]
    listening: ListenAddress
    identity: Identity | None = None
    pepper: Pepper | None = None
    reflect: bool = True
    streams_of: Counter[str] = field(default_factory=Counter)
    """Open streams of each tenant, shared with the HTTP server of the process."""
    needed: bool = True
    """Whether a port in use stops the start; otherwise the process goes on without gRPC."""
    port: int = field(init=False, default=0)
    closed: str = field(init=False, default="")
    """Why it is not listening although it was started."""
    _server: Any = field(init=False, default=None)
    _work: RunningCalls = field(init=False, default_factory=RunningCalls)
    _service: RpcService = field(init=False)
    _health: Any = field(init=False, default=None)

    async def start(self) -> None:
        self._service = self.service(
            Opening(
                cases=self.cases,
                pepper=self.pepper,
                identity=self.identity,
                streams_of=self.streams_of,
                work=self._work,
            )
        )
        gate = AuthInterceptor(self._service.methods, self.cases[Limiter], self.identity, self._work)
        self._server = grpc.aio.server(interceptors=(gate,), options=OPTIONS)
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if self.reflect:
            names = (self._service.name, health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)
        try:
            self.port = self._bind()
        except Conflict as taken:
            if self.needed:
                raise
            self._server, self.closed = None, str(taken)
            return
        await self._server.start()
        for name in ("", self._service.name):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def _bind(self) -> int:
        where = self.listening
        try:
            if where.certificate is None or where.key is None:
                return int(self._server.add_insecure_port(where.address))
            credentials = grpc.ssl_server_credentials([(where.key, where.certificate)])
            return int(self._server.add_secure_port(where.address, credentials))
        except RuntimeError:
            raise Conflict(
                f"cannot listen for gRPC on {where.address}: choose another place with --grpc-port (FOLIOT_GRPC_PORT)"
            ) from None

    @property
    def address(self) -> str:
        host = self.listening.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    async def stop(self) -> None:
        """Accept no more calls, end streams with a status that says where to resume, finish running calls."""
        if self._server is None:
            return
        await self._health.enter_graceful_shutdown()
        self._service.stopping.set()
        await self._server.stop(GRACE)
        await self._work.rest(GRACE)
