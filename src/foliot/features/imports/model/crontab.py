"""Crontabs of Debian's cron and cronie: a command for each line, with the environment that stands before it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from foliot.core.errors import Invalid
from foliot.core.time.cron import MACROS, resolve
from foliot.features.imports.model.imported import (
    AS_IT_WAS,
    LONGEST_RUN,
    Imported,
    UnknownTerm,
    UnreadableSource,
    checked_zone,
)

_SETTING = re.compile(r"""\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*')\s*=\s*(?P<value>.*?)\s*$""")
_FIELD = r"[0-9A-Za-z*,/~#-]+"
_FIELDS = re.compile(rf"\s*(?P<when>{_FIELD}(?:\s+{_FIELD}){{4}})\s+(?P<rest>\S.*)$")
_MACRO = re.compile(r"\s*(?P<when>@[A-Za-z]+)\s+(?P<rest>\S.*)$")
_RANDOM = re.compile(r"(?P<low>\d*)~(?P<high>\d*)")
_WORD = re.compile(r"(?:[^\s\\]|\\.)+")
_UNUSED = frozenset(
    {"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING", "CRON_TZ", "SHELL", "RANDOM_DELAY"}
)
SHELL = "/bin/sh"
LONGEST_TITLE = 80


@dataclass(slots=True)
class Crontab:
    """One crontab, line by line."""

    imported: Imported
    zone: str
    users: bool
    """Whether each line names its user, as in /etc/crontab and /etc/cron.d."""
    variables: dict[str, str] = field(default_factory=dict)
    comment: str = ""
    """The comment directly above a line, which becomes its description."""

    def line(self, number: int, text: str) -> None:
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            self.comment = "" if self.comment else _title(stripped.lstrip("#").strip())
            return
        if (setting := _SETTING.match(text)) and not _MACRO.match(text):
            self._set(_unquoted(setting["name"]), _unquoted(setting["value"]))
            return
        entry = _MACRO.match(text) or _FIELDS.match(text)
        if entry is None:
            raise UnreadableSource(
                f"line {number}: must be five fields and a command, NAME=value or a comment: {text!r}"
            )
        comment, self.comment = self.comment, ""
        try:
            self._entry(number, entry["when"], entry["rest"], comment)
        except UnknownTerm as unknown:
            self.imported.left_out(f"line {number}", unknown)

    def _set(self, name: str, value: str) -> None:
        self.variables[name] = value
        if name == "MAILTO" and value:
            text = f"MAILTO={value}: output is not mailed; it is the log of the run. Create an alert rule for failures"
            self.imported.note(text)
        if name == "RANDOM_DELAY":
            self.imported.note("RANDOM_DELAY: has no equivalent for a whole file; set jitter_seconds of the schedules")

    def _entry(self, number: int, when: str, rest: str, comment: str) -> None:
        if self.users:
            user, _, rest = rest.strip().partition(" ")
            rest = rest.strip()
            if not rest:
                raise UnreadableSource(f"line {number}: names no command after the user {user!r}")
            self.imported.note(f"lines of the user {user} run as the user that Foliot runs as")
        command, stdin = _split_input(rest)
        zone = checked_zone(self.variables["CRON_TZ"]) if self.variables.get("CRON_TZ") else self.zone
        shell = self.variables.get("SHELL") or SHELL
        action: dict[str, object] = {"kind": "command"}
        action |= {"argv": [command], "shell": True} if shell == SHELL else {"argv": [shell, "-c", command]}
        if variables := {name: value for name, value in self.variables.items() if name not in _UNUSED}:
            action["env"] = variables
        if stdin:
            action["stdin"] = stdin
        self.imported.add(
            comment or _name_of(command),
            {"type": "cron", "cron_expr": self._expression(number, when), "timezone": zone},
            action,
            description=f"Line {number} of the crontab.",
            timeout_seconds=LONGEST_RUN,
            **AS_IT_WAS,
        )

    def _expression(self, number: int, when: str) -> str:
        if when.startswith("@"):
            if when.upper() not in MACROS:
                raise UnknownTerm(f"{when} is not a time: there is no equivalent")
            return when.lower()
        expression = " ".join(_random(part) for part in when.split())
        if expression != " ".join(when.split()):
            self.imported.note(f"line {number}: the random times of {when} are chosen once for the schedule, by H")
        try:
            resolve(expression, "")
        except Invalid as wrong:
            raise UnreadableSource(f"line {number}: {wrong.message}") from None
        return expression


def _title(comment: str) -> str:
    """A comment that may name the line below it: short, and neither a disabled line nor the head of a table."""
    table = comment.startswith(("m h", "*", ".", "|", "-", "=", "+"))
    return "" if table or len(comment) > LONGEST_TITLE or _FIELDS.match(comment) or "command" in comment else comment


def _random(part: str) -> str:
    """`0~30` of cronie and OpenBSD, a random value that is chosen once, as `H(0-30)`."""

    def chosen(found: re.Match[str]) -> str:
        return "H" if not found["low"] and not found["high"] else f"H({found['low'] or 0}-{found['high'] or 59})"

    return _RANDOM.sub(chosen, part)


def _split_input(rest: str) -> tuple[str, str]:
    """The command, and its standard input: what follows the first `%`, each further one being a line break."""
    parts = re.split(r"(?<!\\)%", rest.strip())
    command, *lines = [part.replace("\\%", "%") for part in parts]
    return command.strip(), "\n".join(lines) + "\n" if lines else ""


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _name_of(command: str) -> str:
    """The program without its path, and its words."""
    words = _WORD.findall(command)
    return " ".join([words[0].rpartition("/")[2] or words[0], *words[1:]]) if words else command


def read_crontab(text: str, zone: str, *, users: bool = False) -> Imported:
    """Every line of a crontab; `zone` is that of the machine, for lines that no `CRON_TZ` precedes."""
    imported = Imported("crontab")
    crontab = Crontab(imported, checked_zone(zone), users)
    for number, line in enumerate(text.splitlines(), 1):
        crontab.line(number, line)
    return imported
