"""All settings, each with its keys, its rule and its sentence for the reference."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foliot.config import access, address_book, browsers, connections, interfaces, limits
from foliot.config import parse as reading
from foliot.config.access import AccessSettings
from foliot.config.actions import (
    ArticleSettings,
    PipelineFileSettings,
    ScrapydSettings,
    SinkSettings,
    TaskSettings,
    TransformSettings,
)
from foliot.config.address_book import ServiceSettings
from foliot.config.browsers import BrowserSettings
from foliot.config.connections import BrokerSettings, WakeupSettings, database_url, masked, sqlite_file, sqlite_path
from foliot.config.interfaces import DiscordSettings, GrpcSettings
from foliot.config.limits import LimitSettings, ProcessSettings
from foliot.config.parse import SecretValue, SettingField, SettingsError, about
from foliot.core.errors import Invalid


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(
    AccessSettings,
    LimitSettings,
    ProcessSettings,
    BrokerSettings,
    WakeupSettings,
    ServiceSettings,
    ScrapydSettings,
    ArticleSettings,
    BrowserSettings,
    SinkSettings,
    GrpcSettings,
    TaskSettings,
    TransformSettings,
    PipelineFileSettings,
    DiscordSettings,
):
    """The settings of a process. Created by `load`, which checks them. The engine applies `time_scale` to durations."""

    home: Path = field(
        metadata=about(
            "Where local mode keeps its data. Default: the user's data directory "
            "(Linux: `~/.local/share/foliot`, macOS: `~/Library/Application Support/foliot`).",
            "FOLIOT_HOME",
            read=reading.directory,
        )
    )
    database_url: str = field(
        metadata=about(
            "The database: `sqlite:///…`, `postgresql://…`, `mariadb://…` or `mysql://…`. "
            "Default: the SQLite file `foliot.db` in `FOLIOT_HOME`.",
            "FOLIOT_DATABASE_URL",
            "DATABASE_URL",
            "SCHEDULER_DB_URL",
            read=database_url,
        )
    )
    host: str = field(
        default="127.0.0.1",
        metadata=about(
            "Address the API listens on; in local mode a loopback address.",
            "FOLIOT_HOST",
            read=reading.address,
        ),
    )
    port: int = field(
        default=8000,
        metadata=about(
            "Port the API listens on; 0 takes any free one and prints it.",
            "FOLIOT_PORT",
            "API_PORT",
            read=reading.whole(0, 65535),
        ),
    )
    connections_per_address: int | None = field(
        default=None,
        metadata=about(
            "Open connections of one address to one API process, 0 for no limit; behind a proxy, they all come "
            "from the proxy. Default: 1000, or a quarter of the files that the process may open if that is less; "
            "any number in local mode.",
            "FOLIOT_CONNECTIONS_PER_ADDRESS",
            read=reading.whole(0, 1_000_000),
        ),
    )
    timezone: str = field(
        default="UTC",
        metadata=about(
            "Time zone of schedules that do not name one.",
            "FOLIOT_TIMEZONE",
            "SCHEDULER_TIMEZONE",
            read=reading.timezone,
        ),
    )
    tick_interval: float = field(
        default=1.0,
        metadata=about(
            "How long a lost wake-up can delay a run, in seconds; otherwise runs start at their scheduled time.",
            "FOLIOT_TICK_INTERVAL",
            "SCHEDULER_TICK_INTERVAL",
            read=reading.seconds(0.05, 60),
        ),
    )
    batch_size: int = field(
        default=1000,
        metadata=about(
            "How many due schedules one transaction settles.",
            "FOLIOT_BATCH_SIZE",
            "SCHEDULER_BATCH_SIZE",
            read=reading.whole(1, 10_000),
        ),
    )
    concurrency: int = field(
        default=100,
        metadata=about(
            "How many runs this process executes at once.", "FOLIOT_CONCURRENCY", read=reading.whole(1, 10_000)
        ),
    )
    queues: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Queues whose runs this process executes, separated by commas. Default: all.",
            "FOLIOT_QUEUES",
            read=reading.queues,
        ),
    )
    lease_seconds: float = field(
        default=30.0,
        metadata=about(
            "Seconds without a heartbeat after which another worker may claim an attempt's run.",
            "FOLIOT_LEASE_SECONDS",
            read=reading.seconds(1, 3600),
        ),
    )
    heartbeat_seconds: float = field(
        default=10.0,
        metadata=about(
            "Seconds between two renewals of an attempt's lease; at most half of it.",
            "FOLIOT_HEARTBEAT_SECONDS",
            read=reading.seconds(0.1, 1800),
        ),
    )
    sweep_seconds: float = field(
        default=5.0,
        metadata=about(
            "Seconds between two checks for expired leases and for buffered runs that can start.",
            "FOLIOT_SWEEP_SECONDS",
            read=reading.seconds(0.1, 600),
        ),
    )
    time_scale: float = field(
        default=1.0,
        metadata=about(
            "Multiplies lease, heartbeat, sweep and the watchdog's timeout; tests set it below 1 to see recovery "
            "sooner.",
            "FOLIOT_TIME_SCALE",
            read=reading.number(0.001, 1),
        ),
    )
    retention_days: int = field(
        default=30,
        metadata=about(
            "Ended runs older than this are deleted; the ledger still accounts for their scheduled times.",
            "FOLIOT_RETENTION_DAYS",
            read=reading.whole(1, 36_500),
        ),
    )
    shutdown_seconds: float = field(
        default=20.0,
        metadata=about(
            "Seconds that a stopping process waits for its runs before it hands them back.",
            "FOLIOT_SHUTDOWN_SECONDS",
            read=reading.seconds(0, 3600),
        ),
    )
    log_level: str = field(
        default="info",
        metadata=about(
            "The lowest level that is logged: debug, info, warning, error or critical.",
            "FOLIOT_LOG_LEVEL",
            "LOG_LEVEL",
            read=reading.choice(*reading.LEVELS, warn="warning", fatal="critical"),
        ),
    )
    log_format: str = field(
        default="console",
        metadata=about(
            "`console` for people, `json` for machines: one object per line.",
            "FOLIOT_LOG_FORMAT",
            "LOG_FORMAT",
            read=reading.choice(*reading.FORMATS),
        ),
    )
    health_file: Path | None = field(
        default=None,
        metadata=about(
            "A file that a server updates while its event loop runs, and that contains `ready` while the database "
            "answers; for container probes. Default: none.",
            "FOLIOT_HEALTH_FILE",
            read=reading.directory,
        ),
    )
    log_dir: Path | None = field(
        default=None,
        metadata=about(
            "Directory for rotating log files, in addition to the terminal: `foliot.log` of `foliot up`, "
            "`api.log`, `grpc.log`, `discord.log`, `scheduler.log`, `worker.log`; a second worker writes "
            "`worker-2.log`, and so on. Default: none.",
            "FOLIOT_LOG_DIR",
            "LOG_DIR",
            read=reading.directory,
        ),
    )
    egress_allow: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "Private targets that actions may call: networks, hosts or host:port, separated by commas. "
            "Local mode adds loopback.",
            "FOLIOT_EGRESS_ALLOW",
            read=reading.entries,
        ),
    )
    egress_ports: tuple[int, ...] = field(
        default=(80, 443, 8080, 8443),
        metadata=about(
            "Ports that actions may call; local mode allows any.", "FOLIOT_EGRESS_PORTS", read=reading.ports
        ),
    )
    egress_per_host: int = field(
        default=64,
        metadata=about(
            "Concurrent requests of this process to one host and port; further ones wait, within their time limit.",
            "FOLIOT_EGRESS_PER_HOST",
            read=reading.whole(1, 10_000),
        ),
    )
    breaker_failures: int = field(
        default=5,
        metadata=about(
            "How many attempts in a row may go unanswered before the circuit breaker of their target opens: the "
            "tenant's runs to it then wait, except for occasional trials. 0: never.",
            "FOLIOT_BREAKER_FAILURES",
            read=reading.whole(0, 1000),
        ),
    )
    breaker_seconds: float = field(
        default=30.0,
        metadata=about(
            "Seconds until the first trial of an open breaker; each failed trial doubles them, up to 300.",
            "FOLIOT_BREAKER_SECONDS",
            read=reading.seconds(0.1, 3600),
        ),
    )
    webhook_secret: SecretValue | None = field(
        default=None,
        metadata=about(
            "Signs webhooks in local mode while there is no secret `webhook_signing`: `whsec_` and base64. "
            "Default: unsigned.",
            "FOLIOT_WEBHOOK_SECRET",
            read=reading.signing_secret,
            secret=True,
        ),
    )

    @classmethod
    def load(cls, environ: Mapping[str, str], **overrides: object) -> Settings:
        """Settings from the environment, overridden by flags; None is a flag that was not given.

        Raises `SettingsError` with all errors at once.
        """
        layers = _Layers(environ, overrides)
        values = {declared.name: layers.value(declared) for declared in cls.declared()}
        known = (key for declared in cls.declared() for key in declared.keys)
        layers.complaints += reading.unknown_keys(environ, known)
        layers.complaints += access.complaints(values, layers.given, environ)
        layers.complaints += connections.complaints(values, layers.given)
        layers.complaints += interfaces.complaints(values, layers.given)
        layers.complaints += limits.complaints(values, layers.given)
        layers.complaints += browsers.complaints(values, layers.given)
        layers.complaints += address_book.complaints(values, environ)
        if values["heartbeat_seconds"] * 2 > values["lease_seconds"]:
            layers.complain(
                "FOLIOT_HEARTBEAT_SECONDS", "must be at most half of FOLIOT_LEASE_SECONDS", values["heartbeat_seconds"]
            )
        if layers.complaints:
            raise SettingsError(layers.complaints)
        values["home"] = values["home"] or _data_home(environ)
        values["database_url"] = values["database_url"] or sqlite_file(values["home"] / "foliot.db")
        values["redis_url"] = connections.joined(values)
        values["services"] = address_book.joined(values, environ)
        return cls(**values)

    @classmethod
    def declared(cls) -> list[SettingField]:
        """Every setting, in the order of the reference."""
        parts = Settings.__bases__
        inherited = {each.name for part in parts for each in fields(part)}
        return [
            SettingField(name=each.name, default=None if each.default is MISSING else each.default, **each.metadata)
            for each in sorted(fields(cls), key=lambda each: each.name in inherited)
        ]

    @property
    def is_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")

    @property
    def is_postgresql(self) -> bool:
        return self.database_url.startswith("postgresql")

    @property
    def sqlite_path(self) -> Path | None:
        """The database file; None on a server or in memory."""
        return sqlite_path(self.database_url)

    @property
    def database_name(self) -> str:
        return urlsplit(self.database_url).path.strip("/")

    @property
    def broker_shown(self) -> str | None:
        """The broker's URL without its password."""
        return None if self.broker_url is None else ";".join(map(masked, self.broker_url.reveal().split(";")))

    @property
    def database_shown(self) -> str:
        """The database URL without its password."""
        return masked(self.database_url)

    def __repr__(self) -> str:
        shown = {each.name: getattr(self, each.name) for each in fields(self)} | {"database_url": self.database_shown}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class _Layers:
    """Merges defaults, environment and flags, and collects errors."""

    def __init__(self, environ: Mapping[str, str], overrides: Mapping[str, object]) -> None:
        self.declared = {declared.name: declared for declared in Settings.declared()}
        if strange := set(overrides) - set(self.declared):
            raise TypeError(f"no such setting: {', '.join(sorted(strange))}")
        self.environ = environ
        self.overrides = overrides
        self.complaints: list[Invalid] = []

    def value(self, declared: SettingField) -> Any:
        """The value of the highest layer; the default where it is invalid, so that further errors are found too."""
        given = self.given(declared.name)
        read = []
        for key, text in given.items():
            try:
                read.append(declared.read(text))
            except ValueError as rule:
                self.complain(key, str(rule), "a secret that is not shown" if declared.secret else masked(text))
        if len(read) < len(given):
            return declared.default
        if any(value != read[0] for value in read[1:]):
            self.complaints.append(_differing(declared, given))
        return read[0] if read else declared.default

    def complain(self, key: str, rule: str, got: object) -> None:
        self.complaints.append(Invalid(key, rule, got=got))

    def given(self, name: str) -> dict[str, str]:
        """The keys under which a setting was given, and their text."""
        declared = self.declared[name]
        flag = self.overrides.get(declared.name)
        if flag is not None:
            text = ",".join(str(part) for part in flag) if isinstance(flag, tuple | list) else str(flag)
            return {declared.flag or f"--{declared.name.replace('_', '-')}": text}
        # An empty variable counts as unset: that is how compose files and shells leave things out.
        return {key: self.environ[key].strip() for key in declared.keys if self.environ.get(key, "").strip()}


def _differing(declared: SettingField, given: Mapping[str, str]) -> Invalid:
    first, *others = given
    shown = "" if declared.secret else ": " + " and ".join(repr(masked(text)) for text in given.values())
    return Invalid(first, f"must not differ from {', '.join(others)}, which means the same{shown}; keep one")


def _data_home(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "foliot"
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "foliot"
    shared = environ.get("XDG_DATA_HOME", "")
    # By the XDG specification, a relative path is invalid and must be ignored.
    return (Path(shared) if shared.startswith("/") else home / ".local" / "share") / "foliot"
