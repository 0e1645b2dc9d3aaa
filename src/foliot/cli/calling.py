"""What `foliot check` says about the services of the address book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.entrance import Finding
from foliot.cli.printing import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foliot.config.settings import Settings
    from foliot.core.address_book import ServiceAddress
    from foliot.features.grpc_calls.action import GrpcCall

PATIENCE = 5.0


async def calling(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Whether services answer and describe themselves. Foliot starts without them, and runs that call them fail."""
    import asyncio

    from foliot.config.address_book import unread

    strange = [
        Finding(
            "warning", key, "looks like the address of a service and is none: host:port, grpc, grpcs, http or https"
        )
        for key in unread(environ)
    ]
    if not settings.services.entries:
        return strange
    from foliot.db.clock import StoreClock
    from foliot.features.grpc_calls.action import GrpcCall
    from foliot.net.grpc_client import GrpcEgress

    calls = GrpcEgress(book=settings.services, ca_file=settings.services_ca)
    action = GrpcCall(calls=calls, clock=StoreClock())
    try:
        entries = [settings.services.entries[name] for name in sorted(settings.services.entries)]
        return strange + await asyncio.gather(*(_ask(action, entry) for entry in entries))
    finally:
        await calls.close()


async def _ask(action: GrpcCall, entry: ServiceAddress) -> Finding:
    if not entry.scheme.speaks_grpc:
        return Finding("ok", entry.name, f"{entry.url}, which is not asked anything here; {_whose(entry)}")
    import asyncio

    from foliot.features.grpc_calls.errors import Trouble
    from foliot.net.grpc_call import CallFailed

    try:
        async with asyncio.timeout(PATIENCE):
            methods = await action.methods(entry.name)
    except TimeoutError:
        return Finding("warning", entry.name, f"{entry.url} does not answer within {PATIENCE:g} s")
    except CallFailed as failed:
        return Finding("warning", entry.name, f"{entry.url} cannot be asked ({failed.status}): {failed.message}")
    except Trouble as trouble:
        return Finding("warning", entry.name, f"{entry.url} {trouble}")
    return Finding("ok", entry.name, f"{entry.url} answers, and has {count(len(methods), 'method')}; {_whose(entry)}")


def _whose(entry: ServiceAddress) -> str:
    """Who may call what of it."""
    what = "" if entry.methods is None else f", {', '.join(sorted(entry.methods))} alone"
    return f"for {', '.join(entry.tenants.listed())}{what}"
