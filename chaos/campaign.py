"""One campaign: two schedulers and two doors under load, killed and frozen again and again, then judged."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from chaos import checker
from chaos.checker import Call, Entry, History, Made, Rhythm
from chaos.stage import Player, Stage, answers, ask, free_port, listens, wait_until

SCALE = 0.1
LEASE = 30.0 * SCALE
SETTLE_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard, and how long."""

    url: str
    work: Path
    seconds: float = 60
    schedules: int = 100
    every: int = 2
    seed: int = 1
    lead: float = 10
    """Seconds from the first creation to the first instant."""
    pause: tuple[float, float] = (0.6, 1.8)
    """Seconds between two faults, at least and at most."""
    spared: float = 2
    """Seconds for which a process that is up again is left alone, so that it gets to do something worth killing."""
    both: float = 0.2
    """How often the last scheduler at work is not spared."""


@dataclass(slots=True)
class Report:
    """What was done, what came of it, and what is wrong with that."""

    seconds: float = 0
    schedules: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    freezes: Counter[str] = field(default_factory=Counter)
    instants: int = 0
    runs: int = 0
    in_ledger: int = 0
    states: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    refused_by_receiver: int = 0
    duplicate_effects: int = 0
    claimed_again: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    timeline: list[str] = field(default_factory=list)
    """Every fault with its moment."""
    settled_after: float = 0
    lateness: dict[str, float] = field(default_factory=dict)
    audit: str = ""
    violations: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.violations

    def as_dict(self) -> dict[str, Any]:
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**told, "verdict": "sound" if self.sound else "BROKEN"}


@dataclass
class Campaign:
    """Holds the stage and the story so far."""

    plan: Plan
    stage: Stage
    chance: random.Random
    ports: tuple[int, int]
    receiver_port: int
    report: Report = field(default_factory=Report)
    rhythms: dict[str, Rhythm] = field(default_factory=dict)

    @property
    def calls_file(self) -> Path:
        return self.plan.work / "calls.jsonl"

    def targets(self) -> list[Player]:
        return [player for name, player in self.stage.players.items() if name != "receiver"]

    # --- acts ---------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        stage = self.stage
        receiver = stage.player(
            "receiver", str(Path(__file__).with_name("receiver.py")), str(self.receiver_port), str(self.calls_file)
        )
        receiver.start()
        migrated = stage.run("migrate")
        if migrated.returncode != 0:
            raise RuntimeError(f"foliot migrate failed: {migrated.stdout}{migrated.stderr}")
        for number in (1, 2):
            stage.player(f"scheduler-{number}", "-m", "foliot", "scheduler").start()
            stage.player(f"api-{number}", "-m", "foliot", "api", "--port", str(self.ports[number - 1])).start()
        wait_until(lambda: listens(self.receiver_port), 20, "the receiver")
        wait_until(lambda: all(answers(port) for port in self.ports), 40, "both doors")

    def create(self) -> None:
        """Create every schedule once, through doors that are being killed: the key makes a second try harmless."""
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=self.plan.lead)
        end = start + timedelta(seconds=self.plan.seconds)
        for number in range(self.plan.schedules):
            if number in (self.plan.schedules // 3, 2 * self.plan.schedules // 3):
                self.kill(self.stage.players[f"api-{1 + number % 2}"])
            begin = start + timedelta(seconds=self.plan.every * number / self.plan.schedules)
            made = self.insist(
                "/api/schedules", self.schedule(number, begin, end), {"Idempotency-Key": f"chaos-{number}"}
            )
            created = datetime.fromisoformat(made["created_at"])
            self.rhythms[made["id"]] = Rhythm(begin, timedelta(seconds=self.plan.every), end, created)
        self.report.schedules = len(self.rhythms)

    def schedule(self, number: int, begin: datetime, end: datetime) -> dict[str, Any]:
        return {
            "name": f"Chaos {number}",
            "type": "interval",
            "interval_seconds": self.plan.every,
            "start_at": begin.isoformat(),
            "end_at": end.isoformat(),
            "action": {"kind": "webhook", "url": f"http://127.0.0.1:{self.receiver_port}/{number}"},
            "retry_policy": {"strategy": "fixed", "max_retries": 50, "delay_seconds": 0.2, "jitter": 0},
            "overlap": "allow_all",
            "catchup": {"mode": "all", "max_runs": 1000},
        }

    def insist(self, path: str, body: Any, headers: dict[str, str]) -> Any:
        """Ask one door, then the other, until one answers."""
        deadline = time.monotonic() + 60
        turn = 0
        while time.monotonic() < deadline:
            turn += 1
            reply = self.try_once(self.ports[turn % 2], "POST", path, body, headers)
            if reply is not None and reply[0] == 201:
                return reply[1]
            if reply is not None and reply[0] not in (409, 503):
                raise RuntimeError(f"{path} answered {reply}")
            time.sleep(0.05)
        raise TimeoutError(f"{path} was not answered within 60 s")

    def try_once(
        self, port: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any] | None:
        try:
            status, answer = ask(port, method, path, body, headers, timeout=2)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            self.report.requests["unanswered"] += 1
            return None
        self.report.requests[f"{status // 100}xx"] += 1
        if status >= 500 and status != 503:
            self.report.violations.append(f"{method} {path} answered {status}: {answer}")
        return status, answer

    def torment(self) -> None:
        """Fault after fault until the last instant has passed."""
        until = max(rhythm.end for rhythm in self.rhythms.values()).timestamp()
        while time.time() < until:
            time.sleep(self.chance.uniform(*self.plan.pause))
            self.thaw_those_due()
            self.try_once(self.chance.choice(self.ports), "GET", "/api/runs?limit=5")
            self.look_for_the_dead()
            if (player := self.victim()) is None:
                continue
            if self.chance.random() < 0.3 and not any(one.frozen for one in self.targets()):
                player.freeze(LEASE * self.chance.uniform(1.1, 1.6))
                self.report.freezes[player.name] += 1
                self.note("freeze", player)
            else:
                self.kill(player)

    def look_for_the_dead(self) -> None:
        for player in self.targets():
            if not player.running():
                self.report.violations.append(f"{player.name} ended by itself: {_tail(player.log)}")
                player.start()

    def victim(self) -> Player | None:
        """Somebody who has been at work for a while: most of the time not the last scheduler that is."""
        ripe = [player for player in self.targets() if player.ready_for() > self.plan.spared]
        if not ripe:
            return None
        # Schedulers have more to lose.
        (player,) = self.chance.choices(ripe, [2 if _schedules(one) else 1 for one in ripe])
        others = [one for one in self.targets() if _schedules(one) and one is not player and one.ready_for() > 0]
        return player if others or not _schedules(player) or self.chance.random() < self.plan.both else None

    def kill(self, player: Player) -> None:
        player.kill()
        self.report.kills[player.name] += 1
        self.note("kill", player)
        player.start()

    def note(self, what: str, player: Player) -> None:
        self.report.timeline.append(f"{datetime.now(UTC).isoformat()} {what} {player.name}")

    def thaw_those_due(self) -> None:
        for player in self.targets():
            if player.frozen and time.monotonic() >= player.frozen_until:
                player.thaw()
                self.note("thaw", player)

    def settle(self) -> None:
        for player in self.targets():
            if player.frozen:
                time.sleep(max(0.0, player.frozen_until - time.monotonic()))
                player.thaw()
        began = time.monotonic()
        try:
            wait_until(lambda: asyncio.run(_settled(self.plan.url)), SETTLE_SECONDS, "settling")
        except TimeoutError as late:
            self.report.violations.append(str(late))
        self.report.settled_after = round(time.monotonic() - began, 1)

    def judge(self) -> None:
        history = asyncio.run(_read(self.plan.url, self.rhythms, _calls(self.calls_file)))
        audited = self.stage.run("audit")
        report = self.report
        report.seconds = self.plan.seconds
        report.instants = sum(len(rhythm.instants()) for rhythm in self.rhythms.values())
        report.runs = len(history.runs)
        report.in_ledger = sum(entry.count for entry in history.ledger)
        report.states = dict(Counter(run.state for run in history.runs))
        report.calls = len(history.calls)
        report.refused_by_receiver = sum(call.status != 200 for call in history.calls)
        report.duplicate_effects = checker.duplicates(history)
        report.claimed_again = sum(run.claims - 1 for run in history.runs if run.claims > 1)
        report.lateness = checker.lateness(history)
        report.audit = (audited.stdout + audited.stderr).strip()
        report.violations += checker.violations(history)
        if audited.returncode != 0:
            report.violations.append(f"foliot audit answered {audited.returncode}: {report.audit}")
        if len({run.schedule for run in history.runs} - set(self.rhythms)):
            report.violations.append("a schedule was created twice")


def run(plan: Plan) -> Report:
    """The whole campaign; every process it started has ended when it returns."""
    settings = {"FOLIOT_TIME_SCALE": str(SCALE), "FOLIOT_LOG_LEVEL": "warning", "FOLIOT_SHUTDOWN_SECONDS": "5"}
    stage = Stage(plan.work, plan.url, settings)
    campaign = Campaign(plan, stage, random.Random(plan.seed), (free_port(), free_port()), free_port())
    try:
        campaign.open()
        campaign.create()
        campaign.torment()
        campaign.settle()
        campaign.judge()
    finally:
        stage.close()
    return campaign.report


# --- reading ----------------------------------------------------------------------------------------------------------


async def _rows(url: str, *queries: str) -> list[Sequence[Any]]:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return [list((await connection.execute(text(query))).all()) for query in queries]
    finally:
        await engine.dispose()


async def _settled(url: str) -> bool:
    open_runs, active = await _rows(
        url,
        "SELECT id FROM runs WHERE finished_at IS NULL LIMIT 1",
        "SELECT id FROM schedules WHERE next_at IS NOT NULL LIMIT 1",
    )
    return not open_runs and not active


async def _read(url: str, rhythms: dict[str, Rhythm], calls: list[Call]) -> History:
    runs, ledger = await _rows(
        url,
        "SELECT id, schedule_id, scheduled_for, state, epoch, attempt, max_attempts, created_at FROM runs",
        "SELECT schedule_id, first_at, last_at, count AS counted FROM ledger",
    )
    return History(
        rhythms,
        [
            Made(run, schedule, _moment(at), state, epoch, attempt, most, _moment(created))
            for run, schedule, at, state, epoch, attempt, most, created in runs
        ],
        [Entry(line[0], _moment(line[1]), _moment(line[2]), int(line[3])) for line in ledger],
        calls,
    )


def _calls(file: Path) -> list[Call]:
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [
        Call(
            line["webhook_id"],
            datetime.fromisoformat(line["at"]),
            line["attempt"],
            datetime.fromtimestamp(line["seen"], UTC),
            line["status"],
        )
        for line in lines
    ]


def _moment(value: Any) -> datetime:
    assert isinstance(value, datetime)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _schedules(player: Player) -> bool:
    return player.name.startswith("scheduler")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-500:] if log.exists() else ""
