"""Checks the services of the address book."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.core.address_book import ServiceAddress
    from foliot.features.grpc_calls.action import GrpcCall

PATIENCE = 5.0


async def check(settings: Settings) -> list[Finding]:
    """Whether services answer and support reflection. Foliot starts without them, and runs that call them fail."""
    import asyncio

    from foliot.config.address_book import unread

    unreadable = [
        Finding(
            "warning",
            key,
            "looks like the address of a service but is not: expected host:port, or a grpc, grpcs, http or https URL",
        )
        for key in unread(os.environ)
    ]
    if not settings.services.entries:
        return unreadable
    from foliot.db.clock import StoreClock
    from foliot.features.grpc_calls.action import GrpcCall
    from foliot.net.grpc_client import GrpcEgress

    calls = GrpcEgress(book=settings.services, ca_file=settings.services_ca)
    action = GrpcCall(calls=calls, clock=StoreClock())
    try:
        entries = [settings.services.entries[name] for name in sorted(settings.services.entries)]
        return unreadable + await asyncio.gather(*(_ask(action, entry) for entry in entries))
    finally:
        await calls.close()


async def _ask(action: GrpcCall, entry: ServiceAddress) -> Finding:
    if not entry.scheme.speaks_grpc:
        return Finding("ok", entry.name, f"{entry.url}, not checked because it is not gRPC; {_whose(entry)}")
    import asyncio

    from foliot.features.grpc_calls.errors import ServiceError
    from foliot.net.grpc_call import CallFailed

    try:
        async with asyncio.timeout(PATIENCE):
            methods = await action.methods(entry.name)
    except TimeoutError:
        return Finding("warning", entry.name, f"{entry.url} does not answer within {PATIENCE:g} s")
    except CallFailed as failed:
        return Finding("warning", entry.name, f"{entry.url} cannot be reached ({failed.status}): {failed.message}")
    except ServiceError as trouble:
        return Finding("warning", entry.name, f"{entry.url} {trouble}")
    return Finding("ok", entry.name, f"{entry.url} answers with {count(len(methods), 'method')}; {_whose(entry)}")


def _whose(entry: ServiceAddress) -> str:
    """Which tenants may call it, and which methods."""
    what = "" if entry.methods is None else f", {', '.join(sorted(entry.methods))} only"
    return f"for {', '.join(entry.tenants.listed())}{what}"
