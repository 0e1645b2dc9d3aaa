"""Timers of systemd, with the services that they start: unit files, or what `systemctl cat` prints of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foliot.features.imports.model.calendar_spec import calendar_trigger
from foliot.features.imports.model.imported import (
    LONGEST_RUN,
    Imported,
    UnknownTerm,
    UnreadableSource,
    changes_clocks,
    checked_zone,
)

_HEADER = re.compile(r"# (?P<path>/\S+\.(?:timer|service|conf))\s*")
_SPAN = re.compile(r"(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[a-zA-Z]*)\s*")
_UNITS = {
    "": 1, "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600, "d": 86_400, "day": 86_400, "days": 86_400,
    "w": 604_800, "week": 604_800, "weeks": 604_800, "ms": 0.001, "msec": 0.001, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip
_SPECIFIER = re.compile(r"%(.)")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_LOST = {
    "Service": (
        "ExecStartPre", "ExecStartPost", "ExecStopPost", "ExecCondition", "EnvironmentFile", "DynamicUser",
        "PrivateTmp", "MemoryMax", "CPUQuota", "OnFailure", "StandardInput", "RootDirectory",
    ),
    "Unit": ("OnFailure", "OnSuccess", "ConditionPathExists"),
}  # fmt: skip
CLOCKS = (
    "at a clock change of {zone}, systemd leaves out a time that is skipped, here it runs as the skipped hour ends; of "
    "the hour that comes twice, systemd starts only the first, here what runs every hour or more often runs in both"
)
MOST_JITTER = 86_400


@dataclass(slots=True)
class Unit:
    """The settings of a unit, each as often as it was assigned."""

    settings: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def read(self, text: str) -> None:
        section = ""
        for line in re.sub(r"\\\n\s*", " ", text).splitlines():
            stripped = line.strip()
            if not stripped or stripped[0] in "#;":
                continue
            if stripped.startswith("[") and stripped.endswith("]"):
                section = stripped[1:-1]
                continue
            name, equals, value = stripped.partition("=")
            if equals:
                values = self.settings.setdefault((section, name.strip()), [])
                # An empty assignment takes back what was assigned before.
                values.append(value.strip()) if value.strip() else values.clear()

    def all(self, section: str, name: str) -> list[str]:
        return self.settings.get((section, name), [])

    def last(self, section: str, name: str) -> str | None:
        found = self.all(section, name)
        return found[-1] if found else None

    def flag(self, section: str, name: str) -> bool:
        return (self.last(section, name) or "no").lower() in {"1", "yes", "true", "on", "y", "t"}


def read_systemd(files: Sequence[tuple[str, str]], zone: str) -> Imported:
    """Every timer; `zone` is that of the machine, for specifications that name none."""
    units = _units(files)
    timers = {name: unit for name, unit in units.items() if name.endswith(".timer")}
    if not timers:
        raise UnreadableSource(
            "SOURCE: holds no timer; give a directory of unit files, or what this prints: "
            "systemctl cat '*.timer' '*.service'"
        )
    imported = Imported("systemd")
    named = checked_zone(zone)
    for name, timer in sorted(timers.items()):
        try:
            _add(imported, name, timer, units, named)
        except UnknownTerm as unknown:
            imported.left_out(name, unknown)
    return imported


def _units(files: Iterable[tuple[str, str]]) -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for name, text in files:
        for path, part in _parts(name, text):
            # A drop-in, /etc/systemd/system/NAME.timer.d/override.conf, changes its unit.
            *_, folder, file = ["", *path.split("/")]
            unit = folder.removesuffix(".d") if file.endswith(".conf") else file
            units.setdefault(unit, Unit()).read(part)
    return units


def _parts(name: str, text: str) -> list[tuple[str, str]]:
    """The files of an output of `systemctl cat`; a file alone is its own part."""
    parts: list[tuple[str, list[str]]] = [(name, [])]
    for line in text.splitlines():
        if found := _HEADER.fullmatch(line):
            parts.append((found["path"], []))
        else:
            parts[-1][1].append(line)
    return [(path, "\n".join(lines)) for path, lines in parts if lines]


def _add(imported: Imported, name: str, timer: Unit, units: Mapping[str, Unit], zone: str) -> None:
    title = name.removesuffix(".timer")
    started = timer.last("Timer", "Unit") or f"{title}.service"
    stem, at, instance = started.removesuffix(".service").partition("@")
    service = units.get(started) or (units.get(f"{stem}@.service") if at else None)
    if service is None:
        raise UnknownTerm(f"starts {started}, which is not in the source")
    triggers = _triggers(imported, title, timer, zone)
    action = _action(imported, title, service, {"i": instance, "I": instance, "n": started, "p": stem, "%": "%"})
    more = _policies(imported, title, timer, service)
    for trigger in triggers:
        imported.add(title, trigger, action, description=f"{name} starts {started}.", **more)
    if len(triggers) > 1:
        imported.note("has several times: each is a schedule of its own, and where two coincide both run", title)
    if changes_clocks(zone) and any(trigger["type"] == "cron" for trigger in triggers):
        imported.note(CLOCKS.format(zone=zone))


def _triggers(imported: Imported, title: str, timer: Unit, zone: str) -> list[dict[str, Any]]:
    triggers = [calendar_trigger(text, zone) for text in timer.all("Timer", "OnCalendar")]
    for name in ("OnUnitActiveSec", "OnUnitInactiveSec"):
        for text in timer.all("Timer", name):
            seconds = _seconds(text)
            if seconds < 1 or not float(seconds).is_integer():
                raise UnknownTerm(f"{name}={text}: an interval is a whole number of seconds, at least 1")
            triggers.append({"type": "interval", "interval_seconds": int(seconds), "timezone": zone})
            imported.note(f"{name}={text} is counted from the moment of resuming, at a fixed rate", title)
    for name in ("OnBootSec", "OnStartupSec", "OnActiveSec"):
        if timer.all("Timer", name):
            imported.note(f"{name}={timer.last('Timer', name)}: the start of a machine is not a time here", title)
    if not triggers:
        raise UnknownTerm("has neither OnCalendar nor OnUnitActiveSec")
    return triggers


def _policies(imported: Imported, title: str, timer: Unit, service: Unit) -> dict[str, Any]:
    more: dict[str, Any] = {
        # A service that runs already is not started again.
        "overlap": "skip",
        "retry_policy": {"max_retries": 0},
        "timeout_seconds": LONGEST_RUN,
        "catchup": {"mode": "latest", "window_seconds": 604_800}
        if timer.flag("Timer", "Persistent")
        else {"mode": "none", "grace_seconds": 60},
    }
    if delay := timer.last("Timer", "RandomizedDelaySec"):
        more["jitter_seconds"] = min(int(_seconds(delay)), MOST_JITTER)
    for name in ("RuntimeMaxSec", "TimeoutStartSec", "TimeoutSec"):
        if (limit := service.last("Service", name)) and limit != "infinity":
            more["timeout_seconds"] = max(int(_seconds(limit)), 1)
            break
    if accuracy := timer.last("Timer", "AccuracySec"):
        imported.note(f"AccuracySec={accuracy}: here it runs at its time", title)
    if service.last("Service", "Restart") not in {None, "no"}:
        imported.note(f"Restart={service.last('Service', 'Restart')}: set retry_policy", title)
    return more


def _action(imported: Imported, title: str, service: Unit, specifiers: Mapping[str, str]) -> dict[str, Any]:
    lines = service.all("Service", "ExecStart")
    if not lines:
        raise UnknownTerm("its service has no ExecStart")
    env = _environment(service)
    commands = [_words(imported, title, line, env, specifiers) for line in lines]
    action: dict[str, Any] = {"kind": "command"}
    if len(commands) == 1:
        action["argv"] = commands[0]
    else:
        action |= {"argv": [" && ".join(map(shlex.join, commands))], "shell": True}
    if env:
        action["env"] = env
    if (folder := service.last("Service", "WorkingDirectory")) and not folder.startswith(("-", "~")):
        action["cwd"] = _specified(folder, specifiers)
    user = service.last("Service", "User")
    imported.note(f"services of the user {user or 'root'} run as the user that Foliot runs as")
    for section, names in _LOST.items():
        for name in names:
            if service.all(section, name):
                imported.note(f"{name} has no equivalent", title)
    return action


def _environment(service: Unit) -> dict[str, str]:
    env: dict[str, str] = {}
    for line in service.all("Service", "Environment"):
        for pair in _split(line):
            name, equals, value = pair.partition("=")
            if equals:
                env[name] = value
    return env


def _words(
    imported: Imported, title: str, line: str, env: Mapping[str, str], specifiers: Mapping[str, str]
) -> list[str]:
    program = line.lstrip("-@:+!|")
    if "-" in line[: len(line) - len(program)]:
        imported.note("a failure of its program is ignored by systemd (ExecStart=-…); here the run fails", title)

    def value(found: re.Match[str]) -> str:
        if found[1] not in env:
            imported.note(f"the variable {found[1]} is not known here and is left out of the command", title)
        return env.get(found[1], "")

    return [_specified(_VARIABLE.sub(value, word), specifiers) for word in _split(program)]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as wrong:
        raise UnknownTerm(f"{line!r} cannot be read: {wrong}") from None


def _specified(word: str, specifiers: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in specifiers:
            raise UnknownTerm(f"the specifier %{found[1]} in {word!r} has no equivalent")
        return specifiers[found[1]]

    return _SPECIFIER.sub(value, word)


def _seconds(text: str) -> float:
    """`1h 30min`, `90s`, `45`."""
    place, total = 0, 0.0
    for found in _SPAN.finditer(text.strip()):
        if found.start() != place or found["unit"] not in _UNITS:
            break
        total += float(found["count"]) * _UNITS[found["unit"]]
        place = found.end()
    if not text.strip() or place != len(text.strip()):
        raise UnknownTerm(f"{text!r} is not a time span")
    return total
