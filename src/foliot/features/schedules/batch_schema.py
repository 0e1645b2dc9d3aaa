"""Requests and answers about batches of schedules."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.core.declaration import declared
from foliot.features.schedules.usecases.batch import BatchItem, BatchOutcome
from foliot.servers.http.problems import complaints
from foliot.servers.http.schema import FieldError


@declared
class ScheduleBatchItem:
    """What became of one schedule of a batch, in the order of the request."""

    name: str | None
    outcome: BatchOutcome
    id: str | None
    """Of the created schedule."""
    errors: list[FieldError]
    """Why it was refused; a limit of the tenant has no field."""

    @classmethod
    def of(cls, one: BatchItem) -> ScheduleBatchItem:
        errors = [] if one.error is None else [FieldError(**each) for each in complaints(one.error)]
        return cls(name=one.name, outcome=one.outcome, id=one.id, errors=errors)


@declared
class ScheduleBatchResult:
    """The answers to the schedules of a batch."""

    items: list[ScheduleBatchItem]

    @classmethod
    def of(cls, answers: Sequence[BatchItem]) -> ScheduleBatchResult:
        return cls(items=[ScheduleBatchItem.of(one) for one in answers])
