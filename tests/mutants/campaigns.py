"""Ways to break guarantees that a campaign of `chaos/` must notice from outside: `make mutants ARGS=chaos`."""

from __future__ import annotations

from chaos.stage import fake_clock
from tests.mutants.table import MUTANTS, Edit, Mutant

SKEW = ("--skew", "7") if fake_clock() is not None else ()
CALM = (*("calm", "--database", "sqlite", "--seed", "7", "--seconds", "10", "--rate", "20"), "--long", "0.05")
"""No faults on one process: lateness, and requests whose effect is exact."""
SHORT = (
    *("short", "--seed", "7", "--seconds", "8", "--faults", "6", "--rate", "24", "--slow", "0.1", *SKEW),
    *("--lead", "2", "--spared", "0.3", "--settle", "30", "--patience", "3"),
)
"""As in tests/acceptance/test_chaos.py."""
OUTAGE = (
    *("freeze", "--database", "sqlite", "--seed", "7", "--seconds", "10", "--faults", "2", "--rate", "40"),
    *("--lead", "2", "--spared", "1", "--patience", "3", "--long", "0.02"),
)
"""The only process stands still for longer than a lease: instants are missed, and made up for as far as is allowed."""
KILLS = ("kill9", "--seed", "7", "--seconds", "6", "--faults", "3", "--rate", "24", "--lead", "2", "--spared", "1")
HANGING = ("isolation", "--attacks", "hanging_target", "--seconds", "5", "--size", "0.15")
FORBIDDEN = ("isolation", "--attacks", "forbidden_targets", "--seconds", "4", "--size", "0.15")

_EDITS = {mutant.name: mutant.edits for mutant in MUTANTS}


def _seen(guarantee: str, name: str, *edits: Edit, campaign: tuple[str, ...] = SHORT) -> Mutant:
    """Without edits, those of the mutant of this name that a test of the suite notices."""
    found = edits or _EDITS[name]
    return Mutant(f"chaos {guarantee}: {name}", found, fast=False, guarantee=guarantee, campaign=campaign)


CAMPAIGNS = (
    _seen("G1", "race: no row lock, no unique constraint, no cursor check"),
    _seen("G2", "the ledger forgets missed instants", campaign=OUTAGE),
    _seen("G3", "catch-up ignores the window", campaign=OUTAGE),
    _seen("G4", "publish without sweep: the janitor never reclaims"),
    _seen("G5", "the janitor reclaims before the lease ends"),
    _seen("G5", "race: claim is read, then write"),
    _seen("G6", "no fence"),
    _seen(
        "G7",
        "each attempt has an id of its own",
        Edit(
            "src/foliot/features/webhooks/action.py",
            '"webhook-id": ctx.run_id,',
            '"webhook-id": f"{ctx.run_id}.{ctx.attempt}",',
        ),
    ),
    _seen(
        "G8",
        "a ticker rests for six seconds",
        Edit(
            "src/foliot/engine/ticker.py",
            "        return rest_until(self._next, self.clock.now(), self.longest_rest, SHORTEST)\n",
            "        return max(rest_until(self._next, self.clock.now(), self.longest_rest, SHORTEST), 6.0)\n",
        ),
        campaign=CALM,
    ),
    _seen(
        "G9",
        "the janitor sweeps every minute, whatever the lease",
        Edit(
            "src/foliot/engine/janitor.py",
            "return JanitorRound(lost, released, pruned, BUSY if more else self.period)",
            "return JanitorRound(lost, released, pruned, BUSY if more else 60.0)",
        ),
        campaign=KILLS,
    ),
    _seen("G10", "retry counts one too many"),
    _seen(
        "G11",
        "a cancel of a waiting run is only noted",
        Edit(
            "src/foliot/engine/sql/endings.py",
            "    ends = or_(runs.c.state.in_(sorted(CLAIMABLE)), cut)\n",
            "    ends = cut\n",
        ),
        campaign=CALM,
    ),
    _seen(
        "G12",
        "a resumed schedule catches up its pause",
        Edit(
            "src/foliot/features/schedules/usecases/schedules.py",
            'replace(schedule, status=ScheduleStatus.ACTIVE, paused_reason="", paused_at=None, paused_by=None)',
            'replace(schedule, status=ScheduleStatus.ACTIVE, paused_reason="", paused_by=None)',
        ),
        Edit(
            "src/foliot/features/schedules/usecases/change.py",
            "cursor = None if exhausted else spec.trigger.next_after(now)",
            "cursor = None if exhausted else spec.trigger.next_after(schedule.paused_at or now)",
        ),
        campaign=CALM,
    ),
    _seen(
        "G12",
        "a deletion is answered and not written",
        Edit(
            "src/foliot/features/schedules/usecases/schedules.py",
            "        compare(schedule, match)\n        await self.remove(ctx, schedule)\n",
            "        compare(schedule, match)\n",
        ),
        campaign=CALM,
    ),
    _seen("G13", "overlap skip ignores open runs"),
    _seen(
        "G13",
        "buffered runs do not wait",
        Edit(
            "src/foliot/engine/sql/settled_rows.py",
            '"lane": [None if run.buffered else spec.queue for _, spec, run in made],\n'
            '        "buffered_of": [due.id if run.buffered else None for due, _, run in made],',
            '"lane": [spec.queue for _, spec, run in made],\n        "buffered_of": [None for _ in made],',
        ),
    ),
    _seen(
        "G14",
        "a key is not looked up",
        Edit(
            "src/foliot/commands/idempotency.py",
            "        if earlier is None:\n            return\n",
            "        if earlier is None or earlier.fingerprint == self.fingerprint:\n            return\n",
        ),
        campaign=CALM,
    ),
    _seen(
        "G15",
        "schedules of all tenants are listed",
        Edit(
            "src/foliot/engine/sql/schedules.py",
            'select(schedules).where(schedules.c.tenant_id == bindparam("tenant"))\n    query = query.where(',
            "select(schedules)\n    query = query.where(",
        ),
        campaign=HANGING,
    ),
    _seen(
        "G16",
        "each process believes its own clock",
        Edit("src/foliot/engine/clock_sync.py", "        self.clock.adjust(moment, monotonic)\n", ""),
        Edit("src/foliot/engine/sql/due_schedules.py", "schedules.c.next_at <= clock)", "schedules.c.next_at <= now)"),
    ),
    _seen(
        "G17",
        "a tenant may have every slot, for as long as its target hangs",
        Edit(
            "src/foliot/engine/admission.py",
            "        if target is not None:\n            turned = self._ask_breaker",
            "        if False:\n            turned = self._ask_breaker",
        ),
        Edit("src/foliot/engine/admission.py", "        turned = turned or self._ask_tenant(claimed.tenant_id)\n", ""),
        Edit(
            "src/foliot/engine/slots.py",
            "            if now - one.since < self.stall or len(found) >= most:\n",
            "            if True:\n",
        ),
        campaign=HANGING,
    ),
    _seen(
        "G18",
        "a target that is not allowed is called",
        Edit(
            "src/foliot/net/guard.py",
            "        if not self.rules.allows_port(target.host, target.port):\n",
            "        if not target.port:\n",
        ),
        campaign=FORBIDDEN,
    ),
)
