"""Builds the HTTP and gRPC servers on the use cases; each is imported on first use, because both imports are slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from foliot.auth.identity import Identity, Pepper
from foliot.commands.envelope import UseCases
from foliot.config.settings import Settings

if TYPE_CHECKING:
    from foliot.servers.grpc.server import GrpcServer


def http_app(
    settings: Settings, usecases: UseCases, identity: Identity | None, pepper: Pepper | None
) -> Callable[..., Any]:
    """The ASGI application."""
    # The web framework takes longer to import than everything else together; scheduler and worker do not need it.
    from foliot.app.http import create_app
    from foliot.servers.http.session_cookie import LOOPBACK
    from foliot.web import DIST

    scraper = settings.metrics_token
    return create_app(
        usecases,
        identity=identity,
        hosts=LOOPBACK | {settings.host},
        metrics_token=None if scraper is None else scraper.reveal(),
        cursor_pepper=pepper,
        pages=DIST,
        public_url=settings.public_url,
    )


def grpc_server(
    settings: Settings, usecases: UseCases, identity: Identity | None, pepper: Pepper | None, port: int, beside: Any
) -> GrpcServer:
    """The gRPC server on this port. `beside` is the HTTP application of the same process, if there is one."""
    from foliot.features.schedules.rpc.jobs import scheduler_service
    from foliot.servers.grpc.server import GrpcServer, ListenAddress

    certificate, key = settings.grpc_tls_cert, settings.grpc_tls_key
    reflect = settings.grpc_reflection
    return GrpcServer(
        cases=usecases,
        service=scheduler_service,
        listening=ListenAddress(
            host=settings.grpc_host or settings.host,
            port=port,
            certificate=None if certificate is None else certificate.read_bytes(),
            key=None if key is None else key.read_bytes(),
        ),
        identity=identity,
        pepper=pepper,
        reflect=settings.local if reflect is None else reflect,
        needed=beside is None or settings.grpc_port is not None,
        # The limit of streams per tenant covers both servers.
        **({} if beside is None else {"streams_of": beside.state.streams.of}),
    )
