"""PostgreSQL connections that restrict a transaction to one tenant in the round trip that begins it."""

from __future__ import annotations

from typing import Any

import asyncpg

_ROLE = "SET LOCAL ROLE foliot_tenant; SET LOCAL foliot.tenant = "


class ScopedConnection(asyncpg.Connection):  # type: ignore[misc, type-arg, unused-ignore]
    """A connection whose next transaction can be restricted to a tenant before it begins."""

    __slots__ = ("_scope",)

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._scope = ""

    def scope(self, tenant_id: str) -> None:
        """Restrict the transaction that begins next; nothing is sent now."""
        # With `standard_conforming_strings`, which the engine sets, only the quote has a meaning in a string.
        self._scope = _ROLE + "'" + tenant_id.replace("'", "''") + "'"

    def unscope(self) -> None:
        """For a connection that leaves the pool: its last transaction may never have begun."""
        self._scope = ""

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        if not self._scope or not query.startswith("BEGIN"):
            return str(await super().execute(query, *args, timeout=timeout))
        scope, self._scope = self._scope, ""
        try:
            return str(await super().execute(f"{query.removesuffix(';')}; {scope}", timeout=timeout))
        except BaseException:
            # Whether it has begun is unknown: no other request may continue it.
            self.terminate()
            raise


def unscoped(connection: Any, _record: Any, _proxy: Any) -> None:
    """For every connection that leaves the pool."""
    connection.driver_connection.unscope()
