"""The gRPC server: binds its port, serves calls, and drains on shutdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from foliot.auth.digest import Pepper
from foliot.auth.identity import Identity
from foliot.commands.limits import Limiter
from foliot.commands.use_cases import UseCases
from foliot.core.errors import Conflict
from foliot.servers.grpc.interceptor import AuthInterceptor
from foliot.servers.grpc.method import Opening, RpcService, RunningCalls

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
