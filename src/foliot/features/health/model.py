"""Services that a health check asks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from foliot.cluster.pool_port import AttemptInfo


class ServiceFailed(Exception):
    """A service did not do what was asked. `permanent` when asking again would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class JsonService(Protocol):
    """One service of the address book, called by JSON in and out."""

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        """Raises `ServiceFailed`."""
        ...


class Probe(Protocol):
    """Looks whether something that Foliot needs, or calls, is there."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """database, redis, broker, http or grpc."""
        ...

    async def check(self) -> str | None:
        """None when it is well, else what is wrong in a few words, without address, user or password."""
        ...
