"""Answers about plans."""

from __future__ import annotations

from typing import Any

from foliot.core.declaration import declared
from foliot.features.plans.model import difference
from foliot.features.plans.model.difference import PlanAct
from foliot.features.plans.usecases import plans


@declared
class PlanField:
    """One field that differs. Credentials are masked."""

    field: str
    """As a path: `cron_expr`, `action.url`."""
    was: Any
    becomes: Any
    by_hand: bool
    """Edited since the file was last applied."""


@declared
class PlanChange:
    """What is done with one thing."""

    thing: str
    """`schedules`."""
    name: str
    act: PlanAct
    id: str | None
    place: int | None
    """The place of its document in the request; null where the request has none."""
    fields: list[PlanField]

    @classmethod
    def of(cls, one: difference.PlannedChange) -> PlanChange:
        return cls(
            thing=one.thing,
            name=one.name,
            act=one.act,
            id=one.id,
            place=one.place,
            fields=[
                PlanField(field=each.field, was=each.was, becomes=each.becomes, by_hand=each.by_hand)
                for each in one.fields
            ],
        )


@declared
class PlanAnswer:
    """The changes, and the digest that applies them."""

    file: str
    digest: str
    counts: dict[str, int]
    """How many changes of each act."""
    changes: list[PlanChange]
    """Documents in their order, then what the file no longer contains: `delete`, or `none` without `prune`."""

    @classmethod
    def of(cls, plan: plans.Plan) -> PlanAnswer:
        counts = plan.count()
        return cls(
            file=plan.file,
            digest=plan.digest,
            counts={act.value: counts.get(act, 0) for act in PlanAct},
            changes=[PlanChange.of(one) for one in plan.changes],
        )
