"""Protocols of the probes and services that a health check calls."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from foliot.cluster.page_reader import AttemptInfo


class ServiceFailed(Exception):
    """A service did not do what was asked. `permanent` when a retry would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class JsonService(Protocol):
    """A service of the address book, called with JSON."""

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        """Raises `ServiceFailed`."""
        ...


class Probe(Protocol):
    """Checks one dependency or called service."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """database, redis, broker, http or grpc."""
        ...

    async def check(self) -> str | None:
        """None when it is healthy, else a short description without address, user or password."""
        ...
