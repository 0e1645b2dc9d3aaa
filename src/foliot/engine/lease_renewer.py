"""Renews the leases of running attempts, reads cancellations, and abandons attempts that do not stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.attempts.attempt import RunningAttempt, StopReason
from foliot.engine.executor import Executor
from foliot.engine.sql.claims import SqlClaims


@dataclass(frozen=True, slots=True)
class RenewedLeases:
    """What one round did."""

    renewed: int
    lost: int
    cancelled: int
    rest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRenewer:
    """One statement per process and round, however many attempts are running."""

    clock: Clock
    store: Database
    executor: Executor
    heartbeat: float
    period: float
    name: str = "keeper"
    topics: Sequence[str] = ()

    async def run_once(self) -> RenewedLeases:
        now = asyncio.get_running_loop().time()
        flights = [flight for flight in self.executor.flights.values() if flight.stop is not StopReason.LEASE]
        for flight in [flight for flight in flights if flight.performing and flight.hard_at < now]:
            await self.executor.abandon(flight)
        if not flights:
            return RenewedLeases(0, 0, 0, self.period)
        due = [flight for flight in flights if flight.leased_at + self.heartbeat <= now]
        lost = await self._renew(due, now) if due else 0
        cancelled = await self._cancel(flights)
        return RenewedLeases(len(due) - lost, lost, cancelled, self.period)

    async def _renew(self, flights: Sequence[RunningAttempt], asked_at: float) -> int:
        executor = self.executor
        async with self.store.begin() as tx:
            fences = [flight.claimed.fence for flight in flights]
            ours = await SqlClaims(tx).extend(fences, executor.lease, self.clock.now())
        lost = 0
        for flight in flights:
            if flight.run_id in ours:
                executor.renew(flight, asked_at)
            elif executor.flights.get(flight.run_id) is flight and (flight.performing or flight.waiting):
                flight.halt(StopReason.LEASE)
                lost += 1
        return lost

    async def _cancel(self, flights: Sequence[RunningAttempt]) -> int:
        async with self.store.read() as tx:
            ids = await SqlClaims(tx).cancels([flight.run_id for flight in flights])
        open_ = [flight for flight in flights if flight.performing or flight.waiting]
        chosen = [flight for flight in open_ if flight.run_id in ids and flight.stop is None]
        for flight in chosen:
            flight.halt(StopReason.CANCEL)
        return len(chosen)
