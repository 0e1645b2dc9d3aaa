"""Where the gRPC door opens, in `foliot up` and as a process of its own."""

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
        help="Port of the gRPC door; 0 takes a free one, off opens none (FOLIOT_GRPC_PORT).", show_default="50054"
    ),
]


def chosen_port(settings: Settings) -> int | None:
    """The port that is wanted; None when no gRPC door is."""
    from foliot.config.grpc import OFF, USUAL_PORT

    if settings.grpc_port == OFF:
        return None
    return USUAL_PORT if settings.grpc_port is None else int(settings.grpc_port)


def check_free(settings: Settings, port: int) -> None:
    """The library takes the port itself, and late; a taken one is to be one clear line before anything has begun."""
    from foliot.cli import process

    process.listen(settings.grpc_host or settings.host, port, KEYS).close()


def open_port(settings: Settings) -> tuple[int | None, str]:
    """Where `foliot up` opens the door, and what it says when it does not: nobody who did not ask for it is stopped."""
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


def shown(door: GrpcServer | None, remark: str) -> str:
    """Where it is open, or why it is not."""
    if door is None:
        return remark
    return f"off: {door.closed}" if door.closed else door.address


def serve(settings: Settings) -> int:
    """This door and no other, until asked to stop."""
    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.revision import refuse_other_revision

    port = chosen_port(settings)
    if port is None:
        raise Conflict("foliot grpc opens no other door, and FOLIOT_GRPC_PORT says off: unset it, or choose a port")
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
