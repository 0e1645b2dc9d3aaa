"""`foliot schedule edit`: changes a schedule by flags, or as a YAML document in an editor."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.features.schedules.cli.flags import ScheduleFlags, describes_a_schedule
from foliot.features.schedules.view import SCHEDULE
from foliot.terminal.client import Client, connect, field_lines, segment
from foliot.terminal.group import CommandGroup, print_answer
from foliot.terminal.options import Json, ScheduleId, Utc, document, usage
from foliot.terminal.output import Exit, Failure, note
from foliot.terminal.reference import resolve

if TYPE_CHECKING:
    from foliot.features.pipelines.file.parse import YamlNode

group = CommandGroup()

EDITORS = ("nano", "vim", "vi")
"""Tried in this order when neither VISUAL nor EDITOR is set."""
APART = ("status", "paused_reason")
"""Fields of an exported document that an edit does not change."""
MOST_TRIES = 100
MARK = "# ^ error: "
_HEAD = """\
# Schedule {name} ({id}), version {version}.
# Save and close to apply. Close without a change, or empty the file, to leave the schedule as it is.
# A line that you remove goes back to its default. Whether it is paused is not part of it.
"""


@group.command()
@describes_a_schedule
def edit(
    schedule: ScheduleId,
    *,
    name: Annotated[str | None, typer.Option(help="Rename it.")] = None,
    flags: ScheduleFlags,
    file: Annotated[
        str | None, typer.Option(help="The whole new document as JSON (- for standard input), without an editor.")
    ] = None,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Edit a schedule: by flags only those fields; without any, the whole document in $VISUAL or $EDITOR.

    What the server refuses is marked in the document, and the editor opens again. If the schedule was changed in the
    meantime, nothing is overwritten.

    foliot schedule edit nightly-prices --cron '30 3 * * *' --retries 5
    """
    with connect() as client:
        changes = flags.fields if name is None else flags.fields | {"name": name}
        if flags.request:
            changes["action"] = flags.request
        if changes and file is not None:
            raise usage("give either --file with the whole document, or flags for single fields")
        whole = None if file is None else document("--file", file)
        path = f"/api/schedules/{segment(resolve(client, 'schedule', schedule))}"
        now = client.get(path)
        if whole is not None:
            answer = client.put(path, whole, version=now["version"])
        elif changes:
            answer = client.patch(path, changes, version=now["version"])
        else:
            answer = _Editing(client, path, now).edit()
        if answer is None:
            note(f"nothing was changed: {now['name']} stays as it is")
        else:
            print_answer(answer, SCHEDULE, as_json=as_json, utc=utc)


@dataclass(slots=True)
class _Editing:
    """One document in an editor, until it is accepted or left alone."""

    client: Client
    path: str
    schedule: Mapping[str, Any]

    def edit(self) -> Any:
        """The changed schedule; None when the document was not changed."""
        editor = _editor()
        written = _HEAD.format_map(self.schedule) + _explained(self._exported())
        text, original = written, _document(written)
        with tempfile.TemporaryDirectory(prefix="foliot-") as folder:
            file = Path(folder) / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self.schedule['name']) or 'schedule'}.yml"
            for _ in range(MOST_TRIES):
                file.write_text(text, encoding="utf-8")
                _open(editor, file)
                edited = file.read_text(encoding="utf-8")
                if edited == text and text != written:
                    raise _kept(edited, "the document was refused, and closed without a change")
                if not _stripped(edited) or edited == written:
                    return None
                try:
                    document = _document(edited)
                    if document == original:
                        return None
                    return self.client.put(self.path, document, version=self.schedule["version"])
                except Failure as refused:
                    if refused.code is Exit.UNREACHABLE or refused.details.get("status") in {401, 403, 404, 412}:
                        raise _kept(edited, str(refused)) from None
                    text = _marked(_stripped_marks(edited), refused)
                    note(f"{str(refused).splitlines()[0]}: it is marked in the document")
        raise _kept(text, f"it was refused {MOST_TRIES} times")

    def _exported(self) -> str:
        pieces = self.client.download("/api/schedules/export", "*/*", ids=self.schedule["id"], format="yaml")
        lines = b"".join(pieces).decode().splitlines()
        # One item of a list: the document is indented by two.
        return "\n".join(line[2:] for line in lines if not line[2:].startswith(tuple(f"{name}:" for name in APART)))


def _editor() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    found = next((one for one in EDITORS if shutil.which(one)), None)
    if found is None or not sys.stdin.isatty():
        reason = "there is no editor to open" if found is None else "an editor needs a terminal"
        raise Failure(f"{reason}: set EDITOR, or give flags such as --cron '0 3 * * *'", Exit.USAGE)
    return [found]


def _open(editor: Sequence[str], file: Path) -> None:
    try:
        ended = subprocess.run([*editor, str(file)], check=False)  # noqa: S603 -- the user's own editor
    except OSError as failed:
        reason = failed.strerror or str(failed)
        raise Failure(f"the editor {editor[0]!r} does not start ({reason}): set EDITOR", Exit.USAGE) from None
    if ended.returncode:
        raise Failure(f"the editor {editor[0]!r} ended with exit code {ended.returncode}: nothing was changed")


def _explained(document: str) -> str:
    """The document with the allowed values beside those fields that have a few."""
    from foliot.core.time.trigger import TriggerType
    from foliot.engine.model.outcome import BackoffStrategy
    from foliot.engine.model.schedule import CatchupMode, Overlap

    allowed = {"type": TriggerType, "overlap": Overlap, "  mode": CatchupMode, "  strategy": BackoffStrategy}
    notes = {name: ", ".join(option.value for option in options) for name, options in allowed.items()}
    notes |= {
        "timezone": "an IANA name, such as Europe/Stockholm",
        "priority": "1 (most urgent) to 10",
        "cron_expr": "5 fields, 6 with seconds first, or @daily",
        "interval_seconds": "real time, also across a clock change",
    }
    lines = []
    for line in document.splitlines():
        name = line.partition(":")[0]
        lines.append(f"{line}  # {notes[name]}" if name in notes and not line.endswith(("|", ">", ":")) else line)
    return "\n".join(lines) + "\n"


def _node(text: str) -> YamlNode | None:
    from foliot.features.pipelines.file.parse import UnreadableFile, compose

    try:
        node = compose(text, "document")
    except UnreadableFile as broken:
        fault = broken.fault
        raise Failure(f"invalid YAML: {fault.message}", Exit.REFUSED, {"line": fault.line}) from None
    if node is not None and node.faults:
        first = node.faults[0]
        raise Failure(f"invalid YAML: {first.message}", Exit.REFUSED, {"line": first.line})
    return node


def _document(text: str) -> Any:
    node = _node(text)
    document = None if node is None else node.plain()
    if not isinstance(document, dict):
        raise Failure("the document must be a mapping of fields, such as `name: prices`", Exit.REFUSED, {"line": 1})
    return document


def _marked(text: str, refused: Failure) -> str:
    """The document with each error below the line it is about; what has no line is marked at the top."""
    marks: dict[int, list[str]] = {}
    errors = refused.details.get("errors") or ()
    for error in errors:
        for line in field_lines(error):
            marks.setdefault(_line_of(text, str(error.get("field", ""))), []).append(line.strip())
    if not errors:
        marks[int(refused.details.get("line") or 0)] = [str(refused).splitlines()[0]]
    lines = [f"{MARK}{line}" for line in marks.pop(0, ())]
    for number, line in enumerate(text.splitlines(), 1):
        lines.append(line)
        lines += [f"{MARK}{mark}" for mark in marks.get(number, ())]
    return "\n".join(lines) + "\n"


def _line_of(text: str, field: str) -> int:
    """The line of a field, or of the nearest mapping around it; 0 when there is none."""
    node, line = _node(text), 0
    for name in re.findall(r"[^.\[\]]+", field):
        entries = node.value if node is not None else None
        if isinstance(entries, dict) and name in entries:
            line, node = entries[name].line, entries[name].node
        elif isinstance(entries, list) and name.isdigit() and int(name) < len(entries):
            node = entries[int(name)]
            line = node.line
        else:
            return line
    return line


def _stripped(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def _stripped_marks(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(MARK)) + "\n"


def _kept(text: str, reason: str) -> Failure:
    """A failure that says where the edited document is: the work in it is not lost."""
    with tempfile.NamedTemporaryFile("w", prefix="foliot-", suffix=".yml", delete=False, encoding="utf-8") as file:
        file.write(text)
    return Failure(f"{reason}\n  nothing was changed; your edit is in {file.name}", Exit.REFUSED)
