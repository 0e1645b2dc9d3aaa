"""The figures of a campaign, from its history alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from chaos import chains, checker, history, lateness, recovery
from chaos.oracle import expected

MOST_TOLD = 20

SOUND, BROKEN, NO_VERDICT = "sound", "BROKEN", "no verdict"


@dataclass(slots=True)
class Report:
    """What was done, what came of it, and what is wrong with that."""

    name: str = ""
    seed: int = 0
    scale: float = 0.0
    seconds: float = 0.0
    schedules: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    instants: int = 0
    runs: int = 0
    by_hand: int = 0
    in_ledger: int = 0
    states: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    lost: int = 0
    stale_accepted: int = 0
    calls: int = 0
    repeated_effects: int = 0
    lost_attempts: int = 0
    worst_firing: float = 0.0
    worst_begun: float = 0.0
    worst_taken_again: float = 0.0
    worst_dispatched: float = 0.0
    broker_returns: int = 0
    """How many of them tell how soon runs went on."""
    lateness: dict[str, float] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    chains: str = ""
    settled_after: float = 0.0
    audit: str = ""
    violations: list[str] = field(default_factory=list)
    hindered: list[str] = field(default_factory=list)
    """Why it can say neither."""

    @property
    def verdict(self) -> str:
        """A campaign that could not do its work has none: what it did not do can have neither held nor broken."""
        if self.hindered:
            return NO_VERDICT
        return BROKEN if self.violations else SOUND

    def as_dict(self) -> dict[str, Any]:
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**told, "verdict": self.verdict}


def of(directory: Path) -> Report:
    """Judge what a directory holds."""
    kept, events = history.read(directory), history.lines(directory / history.EVENTS)
    named = {one["event"]: one for one in events}
    owed = expected(kept.eras, checker.finish(kept))
    planned, settled = [run for run in kept.runs if run.at is not None], named.get("settled", {})
    worst = recovery.worst(kept)
    wrong = checker.violations(kept)
    first = named["campaign"]
    return Report(
        name=first["name"],
        seed=first["seed"],
        scale=first["scale"],
        seconds=round(events[-1]["t"] - first["t"], 1),
        schedules=len({era.schedule for era in kept.eras}),
        faults=dict(Counter(one.what for one in kept.faults)),
        instants=sum(map(len, owed.values())),
        runs=len(planned),
        by_hand=len(kept.runs) - len(planned),
        in_ledger=sum(entry.count for entry in kept.ledger),
        states=dict(Counter(run.state for run in kept.runs)),
        duplicates=sum(" runs for " in one or "accounted for twice" in one for one in wrong),
        lost=sum(one.endswith("is lost") for one in wrong),
        stale_accepted=len(checker.stale(kept)),
        calls=len(kept.calls),
        repeated_effects=checker.repeated_effects(kept),
        lost_attempts=sum(one.outcome == "lost" for one in kept.attempts),
        worst_firing=worst.fired,
        worst_begun=worst.begun,
        worst_taken_again=worst.taken_again,
        worst_dispatched=worst.dispatched,
        broker_returns=len(recovery.dispatched(kept)),
        lateness=lateness.figures(kept),
        asked=settled.get("asked", {}),
        requests=settled.get("requests", {}),
        chains=chains.rounds(kept),
        settled_after=settled.get("after", 0.0),
        audit=named.get("audit", {}).get("said", ""),
        violations=wrong,
        hindered=[*kept.hindered, *_idle(kept)],
    )


def _idle(kept: history.History) -> list[str]:
    """What a campaign must have had for its verdict to mean anything."""
    needed = {"no schedule was made": kept.eras, "no run was made": kept.runs}
    if not kept.calm:
        needed["no fault struck"] = kept.faults
    return [what for what, had in needed.items() if not had]


def told(made: Report) -> str:
    """The same, for people."""
    late, again = made.lateness, (recovery.LEASE + recovery.SWEEP) * made.scale + recovery.REST
    created = ", ".join(f"p{share} {late[f'created_p{share}']}" for share in (50, 99, 100))
    called = ", ".join(f"p{share} {late[f'called_p{share}']}" for share in (50, 99, 100))
    waited = ", ".join(f"p{share} {late[f'waited_p{share}']}" for share in (50, 99, 100))
    effects = f"{made.calls} calls, {made.repeated_effects} repeated with the same webhook-id"
    recovered = f"fired within {made.worst_firing} s, begun within {made.worst_begun} s, "
    recovered += f"taken again within {made.worst_taken_again} of {again:g} s"
    if made.broker_returns:
        recovered += f", begun within {made.worst_dispatched} s of each of the broker's {made.broker_returns} returns"
    lines = [
        f"campaign    {made.name}, seed {made.seed}, time scale {made.scale:g}, {made.seconds:g} s",
        f"load        {made.schedules} schedules, {made.instants} instants, {made.by_hand} runs by hand, {made.asked}",
        f"faults      {sum(made.faults.values())}: {made.faults}",
        f"accounted   {made.runs} runs + {made.in_ledger} in the ledger; {made.states}",
        f"promises    {made.duplicates} twice, {made.lost} lost, {made.stale_accepted} stale writes accepted",
        f"effects     {effects}, {made.lost_attempts} attempts lost with their worker",
        f"recovery    {recovered}",
        f"lateness    run made {created} s; called {called} s",
        f"waited      without the outages, to begin: {waited} s",
        f"chains      {made.chains}",
        f"doors       {made.requests}",
        f"settled     {made.settled_after} s after the last fault",
        f"audit       {made.audit}",
    ]
    lines += [f"HINDERED    {what}" for what in made.hindered]
    word = "SEEN" if made.hindered else "VIOLATED"
    lines += [f"{word:<11} {what}" for what in made.violations[:MOST_TOLD]]
    if len(made.violations) > MOST_TOLD:
        lines.append(f"            … and {len(made.violations) - MOST_TOLD} more")
    lines.append(f"verdict     {made.verdict}")
    return "\n".join(lines)
