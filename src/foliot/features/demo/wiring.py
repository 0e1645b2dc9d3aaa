"""Wires the demo: this server's own URL, and its own gRPC server as a service of the address book.

The demo is imported only where it is enabled, for most installations have none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foliot.config.settings import Settings
from foliot.core.egress import AddressBook, Scheme, ServiceAddress
from foliot.core.errors import Conflict
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.demo.usecases import SERVICE, Site
from foliot.features.monitors.usecases import Monitors
from foliot.features.schedules.usecases.schedules import Schedules

if TYPE_CHECKING:
    from foliot.features.demo.install import DemoInstaller


def site_of(base: str | None) -> Site | None:
    """The site that the demo's schedules call; None where there is no demo."""
    if base is None:
        return None
    from foliot.features.demo.model.site import page

    return page


def build_installer(
    settings: Settings, store: Database, clock: Clock, schedules: Schedules, monitors: Monitors, base: str | None
) -> DemoInstaller | None:
    """The installer of the demo, at this server's own URL."""
    if base is None:
        return None
    from foliot.features.demo.install import DemoInstaller

    own = settings.services.entries.get(SERVICE)
    grpc = own is not None and own.scheme.speaks_grpc
    alone = settings.pipelines is None
    return DemoInstaller(
        store=store, clock=clock, schedules=schedules, monitors=monitors, base=base, grpc=grpc, pipelines=alone
    )


def with_own_service(settings: Settings, rpc_port: int | None) -> Settings:
    """The settings with this server's own gRPC server in the address book, unless it has another of this name."""
    if not settings.local:
        raise Conflict("--demo is for local mode, which needs no token: unset FOLIOT_JWT_SECRET and its like")
    if not rpc_port or SERVICE in settings.services.entries:
        return settings
    host = settings.grpc_host or settings.host
    own = ServiceAddress(name=SERVICE, scheme=Scheme.GRPC, host=host, port=rpc_port)
    return replace(settings, services=AddressBook({**settings.services.entries, SERVICE: own}))
