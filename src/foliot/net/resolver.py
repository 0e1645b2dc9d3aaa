"""Resolves names by the system's resolver in threads, so that slow names or busy tenants do not block others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from foliot.net.slots import FairSlots

THREADS = 64
PER_TENANT = 16


class Lookups:
    """Runs the system's blocking lookup in threads of its own.

    Concurrent lookups of a name share one thread and its answer, which arrives after each of them asked. A lookup
    cannot be interrupted, so it counts for its tenant until it ends, even when its callers have given up.
    """

    def __init__(
        self,
        look_up: Callable[[str], Sequence[str]] | None = None,
        *,
        threads: int = THREADS,
        per_tenant: int = PER_TENANT,
    ) -> None:
        self._look_up = look_up or addresses_of
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="foliot-dns")
        self._turns = FairSlots(per_tenant)
        self._running: dict[str, asyncio.Future[Sequence[str]]] = {}

    async def addresses(self, host: str, tenant_id: str) -> Sequence[str]:
        """Every address of a name, as text; `OSError` when it has none."""
        if host not in self._running:
            await self._turns.enter(tenant_id, host)
            if host in self._running:
                self._turns.leave(tenant_id)
            else:
                self._begin(host, tenant_id)
        # The thread continues when one of its callers gives up.
        return await asyncio.shield(self._running[host])

    def close(self) -> None:
        """Does not wait: a thread that still runs has its answer discarded."""
        for lookup in self._running.values():
            lookup.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, host: str, tenant_id: str) -> None:
        def end(lookup: asyncio.Future[Sequence[str]]) -> None:
            del self._running[host]
            self._turns.leave(tenant_id)
            if not lookup.cancelled():
                lookup.exception()  # retrieved, even if no caller waits any more

        lookup = asyncio.get_running_loop().run_in_executor(self._threads, self._look_up, host)
        self._running[host] = lookup
        lookup.add_done_callback(end)


def addresses_of(host: str) -> list[str]:
    """The answers of the system's resolver, without duplicates."""
    infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in infos))
