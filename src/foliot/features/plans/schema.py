"""Answers about plans."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.features.plans.model import difference, simulation
from foliot.features.plans.model.difference import PlanAct
from foliot.features.plans.model.load import LoadPeak
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
    """`schedules` or `watches`."""
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
class LoadPeakAnswer:
    """The most runs that are open at once, and when first."""

    count: int
    at: datetime | None

    @classmethod
    def of(cls, one: LoadPeak) -> LoadPeakAnswer:
        return cls(count=one.count, at=one.at)


@declared
class QueueForecastAnswer:
    """The load of a queue or host over the next seven days, before and after the plan."""

    peak_before: LoadPeakAnswer
    peak_after: LoadPeakAnswer
    slots: int | None
    """Of the live workers that take the queue; null where they are not known."""
    bars_before: list[int]
    """The peak of each hour."""
    bars_after: list[int]

    @classmethod
    def of(cls, one: simulation.QueueForecast) -> QueueForecastAnswer:
        return cls(
            peak_before=LoadPeakAnswer.of(one.before),
            peak_after=LoadPeakAnswer.of(one.after),
            slots=one.slots,
            bars_before=list(one.bars_before),
            bars_after=list(one.bars_after),
        )


@declared
class SkippedForecastAnswer:
    """A schedule whose overlap policy will skip instants."""

    name: str
    instants: int
    skipped: int


@declared
class CrowdedSecondAnswer:
    """A second in which many runs start."""

    at: datetime
    starts: int


# As a call, because `from` is a keyword.
SimulationAnswer = TypedDict(
    "SimulationAnswer",
    {
        "from": datetime,
        "to": datetime,
        "queues": dict[str, QueueForecastAnswer],
        "hosts": dict[str, QueueForecastAnswer],
        "skipped": list[SkippedForecastAnswer],
        "crowded": list[CrowdedSecondAnswer],
        "notes": list[str],
    },
)
"""The next seven days, played with the durations of the last runs: the 20 hosts that most schedules call, the 50
schedules that skip most, and the five seconds in which most runs start, from ten on."""


def simulation_answer(one: simulation.Simulation) -> SimulationAnswer:
    """The forecast as it is answered."""
    return {
        "from": one.start,
        "to": one.end,
        "queues": {name: QueueForecastAnswer.of(each) for name, each in one.queues.items()},
        "hosts": {name: QueueForecastAnswer.of(each) for name, each in one.hosts.items()},
        "skipped": [SkippedForecastAnswer(name=s.name, instants=s.instants, skipped=s.skipped) for s in one.skipped],
        "crowded": [CrowdedSecondAnswer(at=each.at, starts=each.starts) for each in one.crowded],
        "notes": list(one.notes),
    }


@declared
class PlanAnswer:
    """The changes, and the digest that applies them."""

    file: str
    digest: str
    counts: dict[str, int]
    """How many changes of each act."""
    changes: list[PlanChange]
    """Documents in their order, then what the file no longer contains: `delete`, or `none` without `prune`."""
    offsets: dict[str, str]
    """Cron expressions in place of those of the documents, by name, which flatten peaks; a request to apply repeats
    them."""
    simulation: SimulationAnswer | None
    """Null when it was not asked for, and when a plan is applied."""

    @classmethod
    def of(cls, plan: plans.Plan) -> PlanAnswer:
        counts = plan.count()
        return cls(
            file=plan.file,
            digest=plan.digest,
            counts={act.value: counts.get(act, 0) for act in PlanAct},
            changes=[PlanChange.of(one) for one in plan.changes],
            offsets=dict(plan.offsets),
            simulation=None if plan.simulation is None else simulation_answer(plan.simulation),
        )
