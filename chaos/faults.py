"""The faults of a campaign. Each strikes at once and heals later; which and whom, the seed decides."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from chaos.brokers import Broker
from chaos.databases import Database
from chaos.history import Scribe
from chaos.plan import Plan
from chaos.stage import BESIDE, Player, Stage
from chaos.wire import Wire

LONGER = (1.1, 1.6)
"""Leases for which a process is frozen or cut off."""

START_SECONDS = 15.0
"""A process takes no longer than this to start."""

HALF_OPEN = 1.0
"""Leases after which a dead connection is noticed."""


@dataclass(frozen=True, slots=True)
class Servers:
    """What the processes lean on."""

    database: Database
    broker: Broker | None = None
    lines: Mapping[str, Wire] = field(default_factory=dict)
    """From workers to the broker, where connections can be reset."""


@dataclass
class Faults:
    """Strikes, heals, and tells the history of both."""

    plan: Plan
    stage: Stage
    servers: Servers
    wires: Mapping[str, Wire]
    scribe: Scribe
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    _healing: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _apart: set[str] = field(default_factory=set)
    """Processes that cannot reach the database."""
    _deck: list[str] = field(default_factory=list)
    _bold: bool | None = None
    """Whether the card at hand spares nobody, the last scheduler at work neither."""
    _away: float = float("-inf")
    """When the database was last out of somebody's reach."""

    def until(self, seconds: float, most: float) -> None:
        """Fault after fault for so long, and until there were enough of them, but never longer than `most`."""
        began = following = time.monotonic()
        while (now := time.monotonic()) - began < most:
            if now - began >= seconds and self.done.total() >= self.plan.faults:
                return
            time.sleep(0.05)
            self.heal()
            self.look()
            if time.monotonic() >= following and self._strike():
                following = time.monotonic() + self.chance.uniform(*self.plan.campaign.pause)

    def _strike(self) -> bool:
        """Play the next card of the deck; one for which nobody is fit is kept until somebody is."""
        if not self.plan.deck:
            return False
        if not self._deck:
            self._deck = [name for name, count in self.plan.deck.items() for _ in range(count)]
            self.chance.shuffle(self._deck)
        if self._bold is None:
            self._bold = self.chance.random() < self.plan.both
        played: bool = getattr(self, f"_{self._deck[-1]}")()
        if played:
            self._deck.pop()
            self._bold = None
        return played

    def heal(self, *, everything: bool = False) -> None:
        """Undo what has lasted long enough."""
        due = [one for one in self._healing if everything or time.monotonic() >= one[0]]
        self._healing = [one for one in self._healing if one not in due]
        for _, undo in due:
            undo()

    def look(self) -> None:
        """See who has come up, and that nobody has ended by itself; who finds no database at its start may."""
        for player in self._targets():
            player.ready_for()
            if not player.running():
                if player.ready_since is not None or time.monotonic() - self._away > START_SECONDS:
                    self.scribe.tell("wrong", what=f"{player.name} ended by itself: {_tail(player.log)}")
                player.start()

    # --- whom ---------------------------------------------------------------------------------------------------------

    def _targets(self) -> list[Player]:
        return [player for name, player in self.stage.players.items() if name not in BESIDE]

    def _well(self, player: Player) -> bool:
        return player.ready_for() > 0 and player.name not in self._apart

    def _victim(self) -> Player | None:
        """Somebody who has been at work for a while: most of the time not the last scheduler that is."""
        only, spared = self.plan.campaign.only, self.plan.spared
        fit = [player for player in self._targets() if self._well(player) and player.name.startswith(only)]
        ripe = [player for player in fit if player.ready_for() > spared]
        if not ripe:
            return None
        # Doors have less to lose than schedulers and workers.
        (player,) = self.chance.choices(ripe, [1 if one.name.startswith("api") else 2 for one in ripe])
        others = [one for one in self._targets() if _schedules(one) and one is not player]
        spare = not others or any(map(self._well, others))
        return player if spare or not _schedules(player) or self._bold else None

    # --- faults -------------------------------------------------------------------------------------------------------

    def _kill(self) -> bool:
        if (player := self._victim()) is None:
            return False
        self._struck("kill", player.name, pid=player.pid)
        player.kill()
        player.start()
        return True

    def _freeze(self) -> bool:
        if (player := self._victim()) is None:
            return False
        seconds = self.plan.lease * self.chance.uniform(*LONGER)
        self._struck("freeze", player.name, seconds, player.pid)
        player.freeze()
        self._later(seconds, player.thaw)
        return True

    def _restart_fast(self) -> bool:
        return self._restart("fast")

    def _restart_immediate(self) -> bool:
        return self._restart("immediate")

    def _restart(self, mode: str) -> bool:
        if not any(_schedules(player) and self._well(player) for player in self._targets()):
            return False
        began = time.time()
        self.scribe.tell("server", who="database", what="down")
        self.servers.database.stop(mode)
        time.sleep(self.chance.uniform(0, 1))
        self.servers.database.start()
        self.scribe.tell("server", who="database", what="up")
        self._struck(f"restart_{mode}", "database", time.time() - began, since=began)
        return True

    def _broker_restart(self) -> bool:
        return self.servers.broker is not None and self._break(self.servers.broker.restart, "broker_restart")

    def _broker_wipe(self) -> bool:
        return self.servers.broker is not None and self._break(self.servers.broker.wipe, "broker_wipe")

    def _break(self, how: Callable[[], None], name: str) -> bool:
        began = time.time()
        self.scribe.tell("server", who="broker", what="down")
        how()
        self.scribe.tell("server", who="broker", what="up")
        self._struck(name, "broker", time.time() - began, since=began)
        return True

    def _broker_cut(self) -> bool:
        """Every connection of one worker to the broker is reset; new ones are fine."""
        well = [name for name in sorted(self.servers.lines) if self._well(self.stage.players[name])]
        if not well:
            return False
        name = self.chance.choice(well)
        self._struck("broker_cut", name, pid=self.stage.players[name].pid)
        self.servers.lines[name].cut()
        return True

    def _eat_commit(self) -> bool:
        player = self._victim()
        if player is None or self.wires[player.name].hungry:
            return False
        wire, pid = self.wires[player.name], player.pid
        wire.ate = lambda: self._struck("eat_commit", player.name, pid=pid, told="eaten")
        wire.eat()
        return True

    def _cut(self) -> bool:
        if (player := self._victim()) is None:
            return False
        self._struck("cut", player.name, pid=player.pid, told="cut")
        self.wires[player.name].cut()
        return True

    def _half_open(self) -> bool:
        if (player := self._victim()) is None:
            return False
        seconds, wire = self.plan.lease * HALF_OPEN, self.wires[player.name]
        self._struck("half_open", player.name, seconds, player.pid)
        self._part(player, wire.half_open)
        self._later(seconds, partial(self._rejoin, player, wire.mend))
        return True

    def _partition(self) -> bool:
        player = self._victim()
        return player is not None and self._hold([player], "partition")

    def _partition_all(self) -> bool:
        everybody = [player for player in self._targets() if self._well(player)]
        return len(everybody) == len(self._targets()) and self._hold(everybody, "partition_all")

    def _hold(self, players: list[Player], name: str) -> bool:
        seconds, forgotten = self.plan.lease * self.chance.uniform(*LONGER), self.chance.random() < 0.5
        self._struck(name, players[0].name if len(players) == 1 else "everybody", seconds, players[0].pid)
        for player in players:
            wire = self.wires[player.name]
            self._part(player, wire.hold)
            self._later(seconds, partial(self._rejoin, player, partial(wire.release, forgotten=forgotten)))
        return True

    def _part(self, player: Player, how: Callable[[], None]) -> None:
        self._apart.add(player.name)
        self.scribe.tell("process", who=player.name, what="held", pid=player.pid)
        how()

    def _rejoin(self, player: Player, how: Callable[[], None]) -> None:
        how()
        self._apart.discard(player.name)
        if player.ready_since is not None:
            self.scribe.tell("process", who=player.name, what="released", pid=player.pid)

    # --- telling ------------------------------------------------------------------------------------------------------

    def _later(self, seconds: float, undo: Callable[[], None]) -> None:
        self._healing.append((time.monotonic() + seconds, undo))

    def _struck(
        self, fault: str, who: str, seconds: float = 0.0, pid: int = 0, *, told: str = "", since: float | None = None
    ) -> None:
        self.done[fault] += 1
        if fault not in ("kill", "freeze"):
            self._away = time.monotonic() + seconds
        began = time.time() if since is None else since
        self.scribe.tell("fault", who=who, what=fault, pid=pid, until=began + seconds, began=began)
        if told:
            self.scribe.tell("process", who=who, what=told, pid=pid)


def _schedules(player: Player) -> bool:
    return player.name.startswith("scheduler")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-500:] if log.exists() else ""
