"""What a campaign is: its name, its faults, and how hard and how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Campaign:
    """A deck of faults, each so many times, which the seed shuffles.

    `pause` lies between two faults, at least and at most, in seconds.
    """

    about: str
    faults: Mapping[str, int]
    pause: tuple[float, float] = (0.6, 1.8)
    requests: tuple[float, float] = (0.3, 1.2)
    """The same between two requests of the load."""
    only: str = ""
    """Strike only processes whose name begins so."""
    broker: str | None = None
    """Through which broker runs travel, unless the plan says otherwise."""


_PROCESSES = {"kill": 6, "freeze": 2}
_DATABASE = {"restart_fast": 1, "restart_immediate": 1}
_WIRES = {"eat_commit": 6, "cut": 2, "half_open": 1}
_PARTITION = {"partition": 3, "partition_all": 1}
_BROKER = {"broker_restart": 2, "broker_wipe": 3}
_RESETS = {"broker_cut": 1}

STRUCK: Mapping[str, frozenset[str]] = {
    "postgresql": frozenset({*_PROCESSES, *_DATABASE, *_WIRES, *_PARTITION, *_BROKER, *_RESETS}),
    # A wire reads PostgreSQL's protocol to eat a commit.
    "mariadb": frozenset({*_PROCESSES, *_DATABASE, *_WIRES, *_PARTITION, *_BROKER, *_RESETS}) - {"eat_commit"},
    "sqlite": frozenset(_PROCESSES),
}
"""Which faults can strike processes on each database."""

CAMPAIGNS: Mapping[str, Campaign] = {
    "calm": Campaign("no faults: lateness, and what was asked for, often twice", {}, requests=(0.05, 0.25)),
    "kill9": Campaign("kill -9 of schedulers and doors, one after the other, sometimes both", {"kill": 1}),
    "freeze": Campaign("SIGSTOP for longer than a lease, then SIGCONT", {"freeze": 1}),
    "database": Campaign("PostgreSQL restarted, in good order and by a crash", _DATABASE, pause=(2.0, 5.0)),
    "commit-eater": Campaign(
        "a commit goes through and its answer is eaten; connections are cut, or die unnoticed", _WIRES, (0.4, 1.2)
    ),
    "partition": Campaign("one process, or all, cut off from PostgreSQL for longer than a lease", _PARTITION),
    "broker": Campaign(
        "the broker restarted and wiped, workers killed; RabbitMQ, or --broker redis",
        {**_BROKER, "kill": 4},
        (4.0, 8.0),
        broker="rabbitmq",
    ),
    "resets": Campaign(
        "connections between workers and the broker reset, Redis unless --broker says otherwise; --faults 100",
        _RESETS,
        (0.2, 0.6),
        broker="redis",
    ),
    "mixed": Campaign("all of these", {**_PROCESSES, **_DATABASE, **_WIRES, **_PARTITION}, (0.8, 2.4)),
    "short": Campaign(
        "a little of each, on schedulers alone: what the test suite runs",
        {"kill": 1, "restart_immediate": 1, "eat_commit": 2, "partition": 2},
        (0.2, 0.5),
        only="scheduler",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One campaign to run."""

    name: str
    work: Path
    """Where its history is kept."""
    seed: int = 1
    seconds: float = 60
    """At least so long are instants due while faults strike."""
    faults: int = 0
    """At least so many faults strike."""
    rate: float = 30
    """Instants a second."""
    scale: float = 0.1
    """1 is the lease of a real Foliot, 30 s."""
    lead: float = 6
    """Seconds from the first creation to the first instant."""
    spared: float = 2
    """Seconds for which a process that is up again is left alone, so that it gets to do something worth killing."""
    both: float = 0.2
    """How often the last scheduler at work is not spared."""
    slow: float = 0.03
    """The share of calls that take seconds, so that instants meet open runs, and faults meet attempts."""
    long: float = 0.1
    """The share of calls that take longer than a lease."""
    chains: int = 1
    """Behind so many schedules there is a chain of three that follow."""
    skew: float = 0.0
    """Seconds by which the clocks of every second process are ahead, where libfaketime is installed."""
    database: str = "postgresql"
    """`postgresql`, `mariadb` or `sqlite`."""
    broker: str | None = None
    """`rabbitmq` or `redis`: schedulers hand runs to two workers through it, instead of executing them."""
    patience: float = 1
    """How many times longer than promised recovery may take, on a machine with other things to do."""
    settle: float = 90
    """Seconds in which everything must have ended after the last fault."""

    @property
    def campaign(self) -> Campaign:
        return CAMPAIGNS[self.name]

    @property
    def deck(self) -> Mapping[str, int]:
        """The faults of the campaign that this database can have, each so many times."""
        return {name: count for name, count in self.campaign.faults.items() if name in STRUCK[self.database]}

    @property
    def calm(self) -> bool:
        """Whether no fault is to strike, on any database."""
        return not self.campaign.faults

    @property
    def wired(self) -> bool:
        """Whether processes reach the database through wires."""
        return bool(self.deck.keys() & {*_WIRES, *_PARTITION})

    @property
    def resets(self) -> bool:
        """Whether workers reach the broker through wires."""
        return bool(self.deck.keys() & {*_RESETS})

    @property
    def carried_by(self) -> str | None:
        return self.broker or self.campaign.broker

    @property
    def lease(self) -> float:
        return 30.0 * self.scale
