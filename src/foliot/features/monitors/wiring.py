"""Builds the actors of monitors and of Foliot's own heartbeat."""

from __future__ import annotations

from foliot.config.settings import Settings
from foliot.core.egress import Egress
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import Actor
from foliot.features.health.usecases import KnownStandstills
from foliot.features.monitors.actor import MonitorChecker
from foliot.features.monitors.heartbeat import HeartbeatSender
from foliot.wakeups.feed import Feed


def monitor_actors(
    settings: Settings, store: Database, clock: Clock, feed: Feed, egress: Egress, knowledge: KnownStandstills
) -> list[Actor]:
    """For processes that fire schedules; any number of them may run."""
    actors: list[Actor] = [MonitorChecker(clock=clock, store=store, feed=feed)]
    if settings.heartbeat_url is not None:
        url = settings.heartbeat_url.reveal()
        actors.append(HeartbeatSender(clock=clock, store=store, egress=egress, knowledge=knowledge, url=url))
    return actors
