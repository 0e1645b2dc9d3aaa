"""One campaign: two schedulers, two doors and, with a broker, two workers; under load, struck, then judged."""

from __future__ import annotations

import contextlib
import json
import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from chaos import collect, databases, picture, report
from chaos.brokers import Broker
from chaos.doors import Doors
from chaos.faults import Faults, Servers
from chaos.generator import Generator, Hindered
from chaos.history import CALLS, WEB, Scribe
from chaos.plan import Plan
from chaos.report import Report
from chaos.stage import BESIDE, Player, Stage, answers, listens, skewed, wait_until
from chaos.wire import Exchange, Wire
from tests.services import free_port

ASKED = 0.6
"""The share of a campaign without faults in which requests are sent."""

PIPELINES = """pipelines:
  chaos:
    chain:
      - class: HttpFetcher
        kwargs: {{urls: ["http://127.0.0.1:{port}/list"]}}
      - class: JsonParser
      - class: JsonlSink
        kwargs: {{path: chaos.jsonl}}
"""


@dataclass
class Run:
    """Holds everything a campaign is made of; `close` ends what it started."""

    plan: Plan
    things: ExitStack = field(default_factory=ExitStack)

    def open(self) -> None:
        plan = self.plan
        plan.work.mkdir(parents=True, exist_ok=True)
        self.scribe = Scribe(plan.work)
        self.things.callback(self.scribe.close)
        about = {"seed": plan.seed, "scale": plan.scale, "rate": plan.rate, "patience": plan.patience}
        self.scribe.tell("campaign", name=plan.name, calm=plan.calm, **about)
        self.database = databases.begin(plan.database, plan.work)
        self.things.callback(self.database.end)
        self.wires: dict[str, Wire] = {}
        self.lines: dict[str, Wire] = {}
        """From workers to the broker."""
        if plan.wired or plan.resets:
            self.exchange = Exchange()
            self.things.callback(self.exchange.close)
        settings = {
            "FOLIOT_TIME_SCALE": str(plan.scale),
            "FOLIOT_LOG_LEVEL": "warning",
            "FOLIOT_SHUTDOWN_SECONDS": "5",
            "FOLIOT_GRPC_PORT": "off",
        }
        self.web = free_port()
        pipelines = plan.work / "pipelines.yml"
        pipelines.write_text(PIPELINES.format(port=self.web))
        settings |= {"FOLIOT_PIPELINES": str(pipelines), "FOLIOT_SCRAPYD_URL": f"http://127.0.0.1:{self.web}"}
        self.broker = Broker.begin(plan.carried_by) if plan.carried_by is not None else None
        if self.broker is not None:
            self.things.callback(self.broker.end)
            settings["FOLIOT_BROKER_URL"] = self.broker.url
        self.stage = Stage(plan.work, self.database.url(), settings, self._tell)
        self.things.callback(self.stage.close)
        self._enter()

    def _enter(self) -> None:
        """The target, the schema, then the processes."""
        self.target, self.ports = free_port(), [free_port(), free_port()]
        plan = self.plan
        script, calls = Path(__file__).with_name("receiver.py"), plan.work / CALLS
        manner = [str(value) for value in (plan.seed, plan.slow, plan.long, plan.lease)]
        self.stage.player("receiver", str(script), str(self.target), str(calls), *manner).start()
        self.stage.player("web", str(script.with_name("web.py")), str(self.web), str(plan.work / WEB)).start()
        if plan.database == "sqlite":
            # One process does everything, and migrates by itself.
            self.ports = self.ports[:1]
            self._player("scheduler-1", "up", "--port", str(self.ports[0]))
        else:
            self._cluster()
        wait_until(lambda: listens(self.target) and listens(self.web), 20, "the target")
        everybody = [player for name, player in self.stage.players.items() if name not in BESIDE]
        try:
            wait_until(lambda: all(player.ready_for() > 0 for player in everybody), 60, "the start of every process")
        except TimeoutError as late:
            raise Hindered(str(late)) from late

    def _cluster(self) -> None:
        migrated = self.stage.run("migrate")
        if migrated.returncode != 0:
            raise RuntimeError(f"foliot migrate failed: {migrated.stdout}{migrated.stderr}")
        for number, port in enumerate(self.ports, 1):
            self._player(f"scheduler-{number}", "scheduler")
            self._player(f"api-{number}", "api", "--port", str(port))
            if self.broker is not None:
                self._player(f"worker-{number}", "worker")

    def _player(self, name: str, *command: str) -> None:
        if self.plan.wired:
            self.wires[name] = self.exchange.wire(self.database.port)
        port = self.wires[name].port if name in self.wires else None
        player = self.stage.player(name, "-m", "foliot", *command, url=self.database.url(port))
        if self.broker is not None and self.plan.resets and name.startswith("worker"):
            self.lines[name] = self.exchange.wire(self.broker.port)
            player.environment = {**player.environment, "FOLIOT_BROKER_URL": self.broker.through(self.lines[name].port)}
        if name.endswith("-2") and self.plan.skew:
            player.environment = {**player.environment, **skewed(self.plan.skew)}
        player.start()

    def _tell(self, player: Player, what: str) -> None:
        self.scribe.tell("process", who=player.name, what=what, pid=player.pid)

    def play(self) -> None:
        plan = self.plan
        doors = Doors(self.ports, self.scribe)
        self.generator = Generator(doors, self.scribe, random.Random(f"{plan.seed} load"), plan.rate, self.target)
        self.generator.web, self.generator.pause = self.web, plan.campaign.requests
        self.generator.chains = plan.chains
        chance = random.Random(f"{plan.seed} faults")
        servers = Servers(self.database, self.broker, self.lines)
        self.faults = Faults(plan, self.stage, servers, self.wires, self.scribe, chance)
        self.generator.create(plan.lead, plan.seconds)
        self.generator.start(plan.seconds * ASKED if plan.calm else plan.seconds)
        self.faults.until(plan.seconds, most=plan.seconds * 2 + 20 * plan.faults * max(1.0, plan.lease))
        self.scribe.tell("last fault")
        self.faults.heal(everything=True)
        wait_until(lambda: all(answers(port) for port in self.ports), 60, "both doors")
        self.faults.look()
        self.generator.stop()
        self._settle()

    def _settle(self) -> None:
        began = time.monotonic()
        try:
            wait_until(
                lambda: collect.settled(self.database.url()),
                max(self.plan.settle, 6 * self.plan.lease),
                "settling",
                every=0.5,
            )
        except TimeoutError as late:
            self.scribe.tell("wrong", what=f"G4: {late}: runs are open, or schedules active")
        audited = self.stage.run("audit")
        said = (audited.stdout + audited.stderr).strip()
        self.scribe.tell("audit", code=audited.returncode, said=said)
        if audited.returncode != 0:
            self.scribe.tell("wrong", what=f"G2: foliot audit answered {audited.returncode}: {said}")
        facts = {"requests": dict(self.generator.doors.heard), "asked": dict(self.generator.asked)}
        self.scribe.tell("settled", after=round(time.monotonic() - began, 1), **facts)
        collect.collect(self.database.url(), self.plan.work)

    def break_off(self, failure: Exception) -> None:
        """What can still be read is judged all the same, unless the campaign itself is to blame."""
        whose = "hindered" if isinstance(failure, Hindered) else "wrong"
        self.scribe.tell(whose, what=f"the campaign broke off: {type(failure).__name__}: {failure}")
        with contextlib.suppress(Exception):
            collect.collect(self.database.url(), self.plan.work)

    def close(self) -> None:
        self.things.close()


def run(plan: Plan) -> Report:
    """The whole campaign; every process and server it started has ended when it returns."""
    one = Run(plan)
    try:
        try:
            one.open()
        except Hindered as failure:
            one.break_off(failure)
        else:
            _play(one)
    finally:
        one.close()
    return judge(plan.work)


def _play(one: Run) -> None:
    try:
        one.play()
    except Exception as failure:  # noqa: BLE001 -- told, and judged
        one.break_off(failure)


def judge(directory: Path) -> Report:
    """What a kept history says; writes the report and the picture beside it."""
    made = report.of(directory)
    (directory / "report.json").write_text(json.dumps(made.as_dict(), indent=2) + "\n")
    # A campaign that broke off before anything happened has no picture.
    with contextlib.suppress(ValueError):
        (directory / "timeline.svg").write_text(picture.draw(directory))
    return made
