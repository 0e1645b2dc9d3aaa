"""The task `health_check_services`: checks every dependency and called service, and reports what has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import structlog
from pydantic import Field

from foliot.core.document import rfc3339
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.health.probes import Probe
from foliot.features.tasks.model.context import Partial, TaskContext

TASK = "health_check_services"
LOOKED_AT = 20
"""How many earlier runs are searched for the last one with a result."""

log = structlog.get_logger("foliot.tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """Runs every probe concurrently, and compares with the result of the run before."""

    store: Database
    clock: Clock
    probes: Sequence[Probe]

    async def run(
        self,
        ctx: TaskContext,
        *,
        services: list[str] | None = None,
        timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 5.0,
    ) -> dict[str, Any] | Partial:
        """Check the database, Redis and the broker where they are used, and every service in the address book; or only
        those that `services` names.
        """
        chosen = self._chosen(ctx, services)
        before = await self._before(ctx)
        found = await asyncio.gather(*(self._look(probe, timeout_seconds) for probe in chosen))
        seen = {probe.name: one for probe, one in zip(chosen, found, strict=True)}
        changed = []
        for name, one in seen.items():
            was = before.get(name, {})
            one["since"] = was.get("since", one["at"]) if was.get("state") == one["state"] else one["at"]
            if was and was.get("state") != one["state"]:
                changed.append({"service": name, "was": was.get("state"), "is": one["state"], "error": one["error"]})
        self._tell(ctx, changed)
        down = sorted(name for name, one in seen.items() if one["state"] == "down")
        ctx.logger.log(30 if down else 20, "%d of %d are up%s", len(seen) - len(down), len(seen), _named(down))
        result = {"healthy": not down, "down": down, "changed": changed, "services": seen}
        # The check itself succeeded, and keeps its result; with a service down it is only a partial success.
        return Partial(result) if down else result

    def _chosen(self, ctx: TaskContext, services: list[str] | None) -> Sequence[Probe]:
        if services is None:
            return self.probes
        known = {probe.name: probe for probe in self.probes}
        if unknown := sorted(set(services) - set(known)):
            ctx.give_up(f"there is no service {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        return [known[name] for name in dict.fromkeys(services)]

    async def _look(self, probe: Probe, timeout_seconds: float) -> dict[str, Any]:
        began = self.clock.monotonic()
        try:
            async with asyncio.timeout(timeout_seconds):
                error = await probe.check()
        except TimeoutError:
            error = f"no answer within {timeout_seconds:g} s"
        except Exception as trouble:  # noqa: BLE001 -- a probe that raises is an unhealthy service
            # Only its type: a driver's message may contain an address, a user or a password.
            error = type(trouble).__name__
        return {
            "kind": probe.kind,
            "state": "up" if error is None else "down",
            "error": error,
            "latency_ms": round((self.clock.monotonic() - began) * 1000, 3),
            "at": rfc3339(self.clock.now()),
        }

    async def _before(self, ctx: TaskContext) -> Mapping[str, Mapping[str, Any]]:
        """The result of the newest run before this one: of the same schedule, or of any where there is none."""
        wanted = {"schedule_id": ctx.schedule_id} if ctx.schedule_id is not None else {"kind": "task"}
        async with self.store.read(ctx.tenant_id) as tx:
            runs = await SqlRuns(tx).find(
                ctx.tenant_id, PageRequest(limit=LOOKED_AT), state="success,partial", **wanted
            )
        return next((found for run in runs if (found := _services(run, ctx)) is not None), {})

    def _tell(self, ctx: TaskContext, changed: Sequence[Mapping[str, Any]]) -> None:
        for one in changed:
            said = f": {one['error']}" if one["error"] else ""
            ctx.logger.warning("%s was %s and is %s%s", one["service"], one["was"], one["is"], said)
            ctx.progress(**one)
            log.warning("the state of a service changed", action="service_changed", **one)


def _named(down: Sequence[str]) -> str:
    return f"; down: {', '.join(down)}" if down else ""


def _services(run: RunView, ctx: TaskContext) -> Mapping[str, Mapping[str, Any]] | None:
    if run.id == ctx.run_id or (run.action or {}).get("task", TASK) != TASK or not isinstance(run.result, Mapping):
        return None
    services = run.result.get("services")
    return services if isinstance(services, Mapping) else None
