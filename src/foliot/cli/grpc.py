"""Runs the gRPC server as a process of its own, and chooses its port for `foliot up`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import foliot
from foliot.core.errors import Conflict

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.servers.grpc.server import GrpcServer

KEYS = "--grpc-port, FOLIOT_GRPC_PORT"
GrpcPort = Annotated[
    str | None,
    typer.Option(
        help="Port of the gRPC server; 0 picks a free one, off disables it (FOLIOT_GRPC_PORT).", show_default="50054"
    ),
]


def chosen_port(settings: Settings) -> int | None:
    """The configured port; None when gRPC is off."""
    from foliot.config.interfaces import OFF, USUAL_PORT

    if settings.grpc_port == OFF:
        return None
    return USUAL_PORT if settings.grpc_port is None else int(settings.grpc_port)


def check_free(settings: Settings, port: int) -> None:
    """The library binds the port itself, and late; a taken one must be one clear line before anything has started."""
    from foliot.cli import process

    process.listen(settings.grpc_host or settings.host, port, KEYS).close()


def open_port(settings: Settings) -> tuple[int | None, str]:
    """The port for `foliot up`, or why there is none: a taken port is an error only if it was configured."""
    port = chosen_port(settings)
    if port is None:
        return None, "off"
    try:
        check_free(settings, port)
    except Conflict as taken:
        if settings.grpc_port is not None:
            raise
        return None, f"off: {taken}"
    return port, ""


def fixed_port(settings: Settings) -> tuple[int | None, str]:
    """The same for several processes: a free port is chosen now, so that it stays when the process restarts."""
    from foliot.cli import process

    port, remark = open_port(settings)
    if port == 0:
        with process.listen(settings.grpc_host or settings.host, 0, KEYS) as probe:
            port = int(probe.getsockname()[1])
    return port, remark


def shown(server: GrpcServer | None, remark: str) -> str:
    """Its address, or why it is off."""
    if server is None:
        return remark
    return f"off: {server.closed}" if server.closed else server.address


def serve(settings: Settings) -> int:
    """Run the gRPC server and nothing else until asked to stop."""
    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.database import refuse_other_revision

    port = chosen_port(settings)
    if port is None:
        raise Conflict("foliot grpc runs only gRPC, and FOLIOT_GRPC_PORT is off: unset it, or choose a port")
    check_free(settings, port)

    async def main() -> int:
        await refuse_other_revision(settings)
        app = build.build(settings, http=False, engine=False, rpc_port=port)

        def announce() -> None:
            where = "" if app.grpc is None else app.grpc.address
            typer.echo(
                f"Foliot {foliot.__version__}: gRPC on {where}, data in {settings.database_shown}; Ctrl-C stops it."
            )

        return await process.live(app, None, announce)

    return process.run(main())
