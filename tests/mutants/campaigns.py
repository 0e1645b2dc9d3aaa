"""Ways to break guarantees that a campaign of `chaos/` must notice from outside: `make mutants ARGS=chaos`."""

from __future__ import annotations

from tests.mutants.table import MUTANTS, Edit, Mutant

CAMPAIGN = "tests/acceptance/test_chaos.py::test_nothing_is_lost_or_doubled_whatever_breaks"
ISOLATION = (
    "tests/acceptance/test_isolation.py::test_a_hostile_tenant_delays_a_good_one_by_nothing_and_refuses_it_nothing"
)

_EDITS = {mutant.name: mutant.edits for mutant in MUTANTS}


def _seen(guarantee: str, name: str, *edits: Edit, killer: str = CAMPAIGN) -> Mutant:
    """Without edits, those of the mutant of this name that a test of the suite notices."""
    return Mutant(f"chaos {guarantee}: {name}", edits or _EDITS[name], killer, fast=False)


CAMPAIGNS = (
    _seen("G1", "race: no row lock, no unique constraint, no cursor check"),
    _seen("G2", "the ledger forgets missed instants"),
    _seen("G3", "catch-up ignores the window"),
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
    _seen("G10", "retry counts one too many"),
    _seen("G13", "overlap skip ignores open runs"),
    _seen(
        "G13",
        "buffered runs do not wait",
        Edit(
            "src/foliot/engine/sql/due_schedules.py",
            '"lane": [None if run.buffered else spec.queue for _, spec, run in made],\n'
            '        "buffered_of": [due.id if run.buffered else None for due, _, run in made],',
            '"lane": [spec.queue for _, spec, run in made],\n        "buffered_of": [None for _ in made],',
        ),
    ),
    _seen(
        "G16",
        "each process believes its own clock",
        Edit("src/foliot/engine/clock_sync.py", "        self.clock.adjust(moment, monotonic)\n", ""),
        Edit("src/foliot/engine/sql/due_schedules.py", "schedules.c.next_at <= clock)", "schedules.c.next_at <= now)"),
    ),
    _seen(
        "G18",
        "a target that is not allowed is called",
        Edit(
            "src/foliot/net/guard.py",
            "        if not self.rules.allows_port(target.host, target.port):\n",
            "        if not target.port:\n",
        ),
        killer=ISOLATION,
    ),
)
