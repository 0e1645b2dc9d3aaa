"""A world whose endings are judged, and receivers that keep what channels are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import orjson

from foliot.core.access import LOCAL
from foliot.core.egress import EgressFailed, OutgoingRequest, OutgoingResponse
from foliot.engine.model.run import RunState
from foliot.engine.sql.endings import EndingHooks
from foliot.features.alerts.actor import AlertSender
from foliot.features.alerts.channels.send import ChannelSender
from foliot.features.alerts.endings import judge_endings
from foliot.features.alerts.usecases.channels import Channels
from foliot.features.alerts.usecases.rules import AlertRules
from foliot.net.allow import EgressRules
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress
from foliot.testing import StoppedClock
from tests.asgi import Client
from tests.world import KEYRING, World

REFUSED = {"code": "http_503", "message": "The target answered 503 Service Unavailable"}


@dataclass
class Receiver:
    """Stands in for every HTTP service: keeps requests, and answers with the given statuses in turn."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[OutgoingRequest] = field(default_factory=list)

    def check(self, url: str) -> None:
        """Every URL may be called."""

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        self.requests.append(request)
        status = self.statuses.pop(0) if self.statuses else 200
        if not status:
            raise EgressFailed("target_unreachable", "The target could not be reached.")
        return OutgoingResponse(
            status=status, headers=self.headers, body=b"", truncated=False, elapsed=timedelta(milliseconds=1)
        )

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [orjson.loads(request.body or b"") for request in self.requests]

    @property
    def types(self) -> list[str]:
        return [document["type"] for document in self.documents]


@dataclass
class Alerting:
    """A world with rules, channels and a sender."""

    world: World
    client: Client
    receiver: Receiver
    sender: AlertSender

    @classmethod
    def on(cls, world: World, client: Client) -> Alerting:
        world.store.caches[EndingHooks] = EndingHooks(judge_endings)
        receiver = Receiver()
        tcp = TcpEgress(guard=EgressGuard(EgressRules.read(loopback=True, allow=(), ports=())))
        ways = ChannelSender(egress=receiver, mail=tcp, proxy=EgressProxy(tcp=tcp))
        sender = AlertSender(clock=world.clock, store=world.store, feed=world.feed, vault=KEYRING, sender=ways)
        return cls(world, client, receiver, sender)

    @property
    def clock(self) -> StoppedClock:
        return self.world.clock

    async def channel(self, name: str = "hook", **config: Any) -> str:
        raw = {"name": name, "kind": "webhook", "config": {"url": f"https://{name}.example/", **config}}
        return (await self.world.cases[Channels].create(LOCAL, raw)).channel.id

    async def rule(self, *to: str, **changes: Any) -> str:
        raw = {"name": "failures", "on": ["failed"], "after": {"in_a_row": 3}, "to": list(to), **changes}
        return (await self.world.cases[AlertRules].create(LOCAL, raw)).id

    async def end(self, *states: RunState, error: dict[str, Any] | None = None) -> list[str]:
        """A minute passes for each, and the run of that minute ends like this."""
        ids = []
        for state in states:
            await self.world.pass_time(1)
            (run,) = (await self.client.get("/api/runs?q=state:queued&limit=1")).json["items"]
            bad = state in {RunState.FAILED, RunState.DEAD_LETTER}
            await self.world.end(run["id"], state, (error or REFUSED) if bad else None)
            ids.append(run["id"])
        return ids

    async def send(self, seconds: float = 3) -> None:
        """Let this time pass, and send everything that is ready."""
        self.clock.advance(seconds)
        while (await self.sender.run_once()).channels:
            for _, task in list(self.sender._busy.values()):
                await task

    async def alerts(self, state: str = "") -> Sequence[dict[str, Any]]:
        answer = await self.client.get(f"/api/alerts{f'?state={state}' if state else ''}")
        assert answer.status == 200, answer.json
        found: Sequence[dict[str, Any]] = answer.json["items"]
        return found
