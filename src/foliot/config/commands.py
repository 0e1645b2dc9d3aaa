"""Settings of what runs programs: commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from foliot.config import parse as reading
from foliot.config.parse import about
from foliot.core.access import OPERATORS_OWN, TenantAllowList


def commands(text: str) -> TenantAllowList | None:
    """`1` for the operator's own tenant, names of tenants, or `0`."""
    try:
        return OPERATORS_OWN if reading.switch(text) else None
    except ValueError:
        names = reading.entries(text)
    if not names:
        raise ValueError("must be 1, 0, or the names of tenants, separated by commas")
    return TenantAllowList.of([reading.tenant(name) for name in names])


@dataclass(frozen=True, kw_only=True, repr=False)
class CommandSettings:
    """Settings of commands."""

    commands: TenantAllowList | None = field(
        default=None,
        metadata=about(
            "`1` lets schedules run programs of this machine (action `command`), as the user that Foliot runs as: "
            "those of the operator's own tenant, or of the tenants named here, separated by commas. Only the role "
            "`admin` may write such a schedule. Set it for servers and workers. Default: switched off.",
            "FOLIOT_COMMANDS",
            read=commands,
        ),
    )
