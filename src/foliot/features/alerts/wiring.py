"""Builds what sends notifications, and the actors that check for problems and send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foliot.commands.envelope import UseCases
from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database
from foliot.engine.loop import Actor
from foliot.features.alerts.actor import AlertSender
from foliot.features.alerts.channels.message import LastChange, Message
from foliot.features.alerts.channels.send import SMTP_PORTS, ChannelSender
from foliot.features.alerts.checks import AlertChecker
from foliot.features.alerts.model.alert import Alert, AlertState, DeliveryEvent, SubjectKind
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.usecases.alerts import Alerts
from foliot.features.insights.usecases.attention import Attention
from foliot.net.allow import EgressRules
from foliot.net.client import HttpEgress
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress


@dataclass(slots=True, kw_only=True)
class AlertParts:
    """What sends notifications, in every process; and the actors, in those that fire schedules."""

    sender: ChannelSender
    actors: Sequence[Actor] = ()

    async def start(self) -> None:
        """The proxy listens on loopback only where something is sent."""
        if self.actors:
            await self.sender.proxy.start()

    async def close(self) -> None:
        for actor in self.actors:
            if isinstance(actor, AlertSender):
                await actor.close()
        await self.sender.proxy.close()
        self.sender.mail.close()


def build_alerts(settings: Settings, egress: HttpEgress) -> AlertParts:
    """The ways out that channels use: the guarded HTTP client, checked TCP connections, and the egress proxy."""

    def tcp(ports: frozenset[int]) -> TcpEgress:
        rules = EgressRules.read(loopback=settings.local, allow=settings.egress_allow, ports=settings.egress_ports)
        given = EgressRules.read(loopback=settings.local, allow=settings.egress_allow, ports=rules.ports | ports)
        return TcpEgress(guard=EgressGuard(given, egress.limits))

    sender = ChannelSender(egress=egress, mail=tcp(SMTP_PORTS), proxy=EgressProxy(tcp=tcp(frozenset())))
    return AlertParts(sender=sender)


def alert_actors(
    settings: Settings,
    parts: AlertParts,
    store: Database,
    clock: Clock,
    *,
    vault: Vault | None,
    cases: UseCases,
) -> list[Actor]:
    """For processes that fire schedules; any number of them may run."""
    feed = cases.feed

    def links(message: Message) -> Mapping[str, str]:
        return links_of(message, settings.public_url or f"http://127.0.0.1:{settings.port}", cases[Alerts])

    async def changes(alerts: Sequence[Alert]) -> Mapping[str, LastChange]:
        found = {}
        async with store.glance() as tx:
            for alert in alerts:
                if alert.subject.kind is SubjectKind.SCHEDULE:
                    edit = await SqlAlerts(tx).last_edit(alert.tenant_id, alert.subject.id)
                    if edit is not None:
                        found[alert.subject.id] = LastChange(*edit)
        return found

    return [
        AlertSender(
            clock=clock, store=store, feed=feed, vault=vault, sender=parts.sender, links=links, changes=changes
        ),
        AlertChecker(clock=clock, store=store, feed=feed, attention=cases[Attention]),
    ]


def links_of(message: Message, base: str, alerts: Alerts) -> dict[str, str]:
    """Links of a message to the dashboard, and one that acknowledges it without signing in."""
    base = base.rstrip("/")
    if message.event is DeliveryEvent.TEST or message.first is None:
        return {"alerts": f"{base}/alerts"}
    if len(message.alerts) > 1:
        return {"alerts": f"{base}/alerts"}
    alert = message.first
    links = {"alert": f"{base}/alerts/{alert.id}"}
    if alert.run_id is not None:
        links |= {"run": f"{base}/runs/{alert.run_id}", "log": f"{base}/runs/{alert.run_id}#log"}
    if alert.subject.kind is SubjectKind.SCHEDULE:
        links["schedule"] = f"{base}/schedules/{alert.subject.id}"
    elif alert.subject.kind is SubjectKind.MONITOR:
        links["monitor"] = f"{base}/monitors/{alert.subject.id}"
    signature = alerts.signature(alert.id)
    if signature is not None and alert.state is AlertState.OPEN:
        links["acknowledge"] = f"{base}/ack/{alert.id}/{signature}"
    return links
