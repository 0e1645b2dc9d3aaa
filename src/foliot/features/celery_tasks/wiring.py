"""Builds the action `celery` with a guarded way to brokers."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from foliot.config.settings import Settings
from foliot.core.secrets import NamedSecrets
from foliot.features.celery_tasks.action import BrokerUrls, CeleryAction
from foliot.net.allow import EgressRules
from foliot.net.guard import EgressGuard
from foliot.net.tcp import TcpEgress

PORTS = (5671, 5672, 6379, 6380)
"""Of brokers, besides FOLIOT_EGRESS_PORTS."""


def build_celery(settings: Settings, secrets: NamedSecrets, limits: Any) -> CeleryAction:
    rules = EgressRules.read(
        loopback=settings.local, allow=settings.egress_allow, ports=(*settings.egress_ports, *PORTS)
    )
    tcp = TcpEgress(guard=EgressGuard(rules, limits))
    return CeleryAction(urls=BrokerUrls(secrets=secrets, tcp=tcp), client=_client)


def _client() -> Any:
    return None if find_spec("celery") is None else import_module("foliot.cluster.celery.task_client")
