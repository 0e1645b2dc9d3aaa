"""The campaign `isolation`: a hostile tenant attacks beside a good one, whose lateness and refusals are measured."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt

from chaos import databases
from chaos.attacks import ATTACKS, Attack, Scene, calm
from chaos.good_tenant import Figures, GoodTenant
from chaos.stage import Stage, wait_until
from tests.services import free_port

SECRET = "uq3nK9s_Zf0-vT7xYb2mWc8eRd5gHj1LpA6oQi4Sk"
LATEST = 3.0
"""Seconds that the good tenant's calls may be late at p99, whatever the hostile one does."""
MEMORY = 1 << 30
"""What deploy/ gives a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard and how long; `patience` multiplies the bounds on a machine with other things to do."""

    work: Path
    seconds: float = 25.0
    """For each attack."""
    quiet: float = 10.0
    size: float = 1.0
    patience: float = 1.0
    database: str = "sqlite"
    attacks: Sequence[Attack] = ATTACKS


@dataclass(slots=True)
class Report:
    """The good tenant's figures, quiet and beside each attack."""

    stretches: list[Figures] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.violations

    def as_dict(self) -> dict[str, Any]:
        return {
            "stretches": [one.as_dict() for one in self.stretches],
            "violations": self.violations,
            "verdict": "sound" if self.sound else "BROKEN",
        }


def token(tenant: str, **changes: Any) -> str:
    now = int(time.time())
    said = {"sub": f"{tenant} user", "tenant_id": tenant, "role": "admin", "aud": "foliot", "iat": now}
    return jwt.encode({**said, "exp": now + 7200, **changes}, SECRET, algorithm="HS256")


def memory(pid: int) -> int:
    """Bytes that a process and its descendants hold, shared pages divided among those who share them."""
    total, waiting = 0, [pid]
    while waiting:
        one = Path("/proc") / str(waiting.pop())
        with contextlib.suppress(OSError, ValueError):
            rollup = (one / "smaps_rollup").read_text()
            total += 1024 * int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1])
            for task in (one / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return total


class Isolation:
    """Starts Foliot, its hostile servers and the good tenant, plays the attacks, judges."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.report = plan, Report()
        self.port, self.hostile, self.target, self.decoy = (free_port() for _ in range(4))

    def run(self) -> Report:
        with contextlib.ExitStack() as things:
            self._start(things)
            asyncio.run(self._play())
        (self.plan.work / "report.json").write_text(json.dumps(self.report.as_dict(), indent=2) + "\n")
        return self.report

    def _start(self, things: contextlib.ExitStack) -> None:
        self.plan.work.mkdir(parents=True, exist_ok=True)
        database = databases.begin(self.plan.database, self.plan.work)
        things.callback(database.end)
        settings = {
            "FOLIOT_JWT_SECRET": SECRET,
            "FOLIOT_EGRESS_ALLOW": "127.0.0.0/8",
            "FOLIOT_EGRESS_PORTS": f"{self.hostile},{self.target}",
            "FOLIOT_TASKS": "chaos.operator_tasks",
            "FOLIOT_SERVICES": f"billing=127.0.0.1:{self.hostile}",
            "FOLIOT_GRPC_PORT": "off",
            "FOLIOT_LOG_LEVEL": "warning",
            "FOLIOT_HOST_RATE": "0",
            "FOLIOT_CONCURRENCY": str(max(10, int(100 * self.plan.size))),
        }
        stage = Stage(self.plan.work, database.url(), settings)
        things.callback(stage.close)
        script = str(Path(__file__).with_name("hostile.py"))
        stage.player("hostile", script, str(self.hostile)).start()
        self.foliot = stage.player("foliot", "-m", "foliot", "up", "--port", str(self.port))
        self.foliot.start()
        wait_until(lambda: self.foliot.ready_for() > 0 or not self.foliot.running(), 60, "the start of Foliot")
        if not self.foliot.running():
            raise RuntimeError(f"Foliot did not start: {self.foliot.log.read_text()[-2000:]}")

    async def _play(self) -> None:
        plan = self.plan
        scene = Scene(self.port, self.hostile, token("hostile"), plan.size, self.decoy)
        async with GoodTenant(self.port, self.target, self.decoy, self.hostile, token("good")).at_work() as good:
            await good.measure("start", 2)
            self._judge(await self._stretch(good, "quiet", plan.quiet))
            for attack in plan.attacks:
                print(f"  {attack.__name__}: {attack.__doc__}", flush=True)
                with under(attack, scene):
                    self._judge(await self._stretch(good, attack.__name__, plan.seconds))
                await asyncio.to_thread(calm, scene)
                await good.measure("between", min(1.0, plan.seconds / 4))

    async def _stretch(self, good: GoodTenant, name: str, seconds: float) -> Figures:
        measured = asyncio.create_task(good.measure(name, seconds, LATEST * self.plan.patience))
        most = 0
        while not measured.done():
            most = max(most, await asyncio.to_thread(memory, self.foliot.pid))
            await asyncio.wait([measured], timeout=0.25)
        figures = await measured
        figures.memory = most
        return figures

    def _judge(self, figures: Figures) -> None:
        seen, bound = figures.as_dict(), LATEST * self.plan.patience
        if figures.missing:
            figures.wrong.append(f"{figures.missing} calls are missing")
        if seen["late_p99"] > bound:
            figures.wrong.append(f"calls were {seen['late_p99']} s late at p99, at most {bound:g} are allowed")
        if seen["answer_p99"] > bound:
            figures.wrong.append(f"requests took {seen['answer_p99']} s at p99, at most {bound:g} are allowed")
        if seen["article_p99"] > 2 * bound:
            figures.wrong.append(f"an article took {seen['article_p99']} s, at most {2 * bound:g} are allowed")
        if figures.refused:
            figures.wrong.append(f"{len(figures.refused)} requests were refused: {figures.refused[0]}")
        if figures.memory > MEMORY:
            figures.wrong.append(f"Foliot took {figures.memory >> 20} MiB, at most {MEMORY >> 20} are allowed")
        self.report.stretches.append(figures)
        for what in dict.fromkeys(figures.wrong):
            guarantee, _, told = what.partition(": ") if what.startswith("G1") else ("G17", "", what)
            self.report.violations.append(f"{guarantee}: {figures.name}: {told}")


@contextlib.contextmanager
def under(attack: Attack, scene: Scene) -> Iterator[None]:
    """The attack, in a process of its own: what it costs is not the good tenant's to pay."""
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()
    process = spawn.Process(target=attack, args=(scene, stop), daemon=True)
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join(5)
        if process.is_alive():
            process.kill()
            process.join()


def told(report: Report) -> str:
    """The report for people: a line for each stretch."""
    head = ("", "calls", "missing", "late p50", "p99", "answer p50", "p99", "article p99", "refused", "MiB")
    rows: list[tuple[str, ...]] = [head]
    for figures in report.stretches:
        one = figures.as_dict()
        keys = ("name", "calls", "missing", "late_p50", "late_p99", "answer_p50", "answer_p99", "article_p99")
        rows.append((*(str(one[key]) for key in keys), str(len(figures.refused)), str(one["memory_mib"])))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines += [f"VIOLATED    {what}" for what in report.violations]
    lines.append(f"verdict     {'sound' if report.sound else 'BROKEN'}")
    return "\n".join(lines)


def run(plan: Plan) -> Report:
    """The whole campaign; every process that it started has ended when it returns."""
    return Isolation(plan).run()
