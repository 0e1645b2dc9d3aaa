"""Foliot's own heartbeat: pings an outside service while instants are fired on time and a worker takes runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.health.usecases import KnownStandstills, live_nodes

EVERY = 60.0
AGAIN = 10.0
"""Seconds after a ping that was not sent, or did not arrive."""
TIMEOUT = timedelta(seconds=10)
TOLD = 2
"""Rounds after which it is logged: a process that starts has not reported yet in its first."""

log = structlog.get_logger("foliot.heartbeat")


@dataclass(frozen=True, slots=True)
class HeartbeatRound:
    """Whether a ping was sent and accepted."""

    sent: bool
    rest: float


@dataclass(slots=True, kw_only=True)
class HeartbeatSender:
    """A dead man's switch: it says nothing about what is wrong, it stops."""

    clock: Clock
    store: Database
    egress: Egress
    knowledge: KnownStandstills
    url: str = field(repr=False)
    name: str = "heartbeat"
    topics: Sequence[str] = ()
    _silent: int = 0
    """Rounds in a row without a ping that arrived."""

    async def run_once(self) -> HeartbeatRound:
        reason = await self._standstill()
        if reason is None:
            reason = await self._ping()
        if reason is None:
            if self._silent >= TOLD:
                log.info("heartbeats are sent again", action="heartbeat_sent")
            self._silent = 0
        else:
            self._silent += 1
            if self._silent == TOLD:
                log.warning("heartbeats are not sent", action="heartbeat_silent", reason=reason)
        return HeartbeatRound(reason is None, EVERY if reason is None else AGAIN)

    async def _standstill(self) -> str | None:
        """Why nothing is sent; None when work is done on time."""
        own = await self.knowledge.own()
        try:
            async with self.store.glance() as tx:
                nodes = await live_nodes(tx, self.clock.now())
        except Unavailable as error:
            return error.told
        stalls = self.knowledge.told(own, [(node.id, node.report) for node in nodes])
        if stalls:
            return stalls[0].told
        if not any(node.takes_runs for node in nodes):
            return "no worker executes runs"
        return None

    async def _ping(self) -> str | None:
        headers = {"User-Agent": f"foliot/{__version__}"}
        try:
            answer = await self.egress.send(
                OutgoingRequest(method="GET", url=self.url, headers=headers, timeout=TIMEOUT, keep=0, most=64 * 1024)
            )
        except EgressRefused:
            return "FOLIOT_HEARTBEAT_URL: the egress rules do not allow this address"
        except EgressFailed as error:
            return error.message
        return None if 200 <= answer.status < 300 else f"the service answered {answer.status}"
