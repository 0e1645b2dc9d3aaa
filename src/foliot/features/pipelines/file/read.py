"""Reads a file of pipelines: each valid one becomes a definition, each invalid one a list of faults."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from foliot.core.errors import Invalid, InvalidMany
from foliot.core.json_values import check_plain
from foliot.engine.model.schedule import POLICIES
from foliot.engine.model.trigger_document import TriggerContext
from foliot.features.expectations.model.facts import EXPECT
from foliot.features.expectations.model.read import read_expect
from foliot.features.pipelines.chain.check import TransformCatalogue, check_steps, confides, shown
from foliot.features.pipelines.file.mask import excerpt, masked
from foliot.features.pipelines.file.parse import (
    MAX_BYTES,
    MAX_NODES,
    MOST_FAULTS,
    UnreadableFile,
    YamlEntry,
    YamlNode,
    compose,
)
from foliot.features.pipelines.file.recover import PipelineText, pieces
from foliot.features.pipelines.model import (
    NAME,
    PIPELINE,
    FileContents,
    FileFault,
    OnError,
    PipelineDefinition,
    PipelineEntry,
    StepSpec,
    revision_of,
)
from foliot.features.schedules.model.document import read_draft

MAX_PIPELINES = 1000
MAX_STEPS = 100
MOST_IN_ALL = 2 * MAX_NODES
"""Maximum nodes of all pipelines of a file with aliases expanded, because each is stored."""
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_KEYS = ("schedule", "chain", "on_error", EXPECT)
_STEP_KEYS = ("class", "kwargs", "name", "on_error")
_POLICIES = (
    *("retry_policy", *(name for name in POLICIES if name != "max_runs")),
    *("start_at", "end_at", "description", "tags"),
)
_SCHEDULE_KEYS = ("cron", "interval", "timezone", *_POLICIES)
_WRITTEN_AS = {"cron_expr": "cron", "interval_seconds": "interval"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFileReader:
    """Parses and validates a pipelines file."""

    catalogue: TransformCatalogue
    zone: str
    """Default time zone of schedules."""

    def read(self, raw: bytes, file: str, now: datetime) -> FileContents:
        """The contents of the file; errors in it are returned as faults, not raised."""
        try:
            text = _text(raw, file)
            return self._read(text, file, now)
        except UnreadableFile as broken:
            return FileContents(file=file, fault=broken.fault)

    def _read(self, text: str, file: str, now: datetime) -> FileContents:
        try:
            root = compose(text, file)
        except UnreadableFile:
            room = _DefinitionBudget()
            parts = [self._part(piece, file, now, room) for piece in pieces(text)]
            if not any(part.definition is not None for part in parts):
                raise
            return FileContents(file=file, pipelines=parts, partial=True)
        return FileContents(file=file, pipelines=self._pipelines(root, text, file, now, _DefinitionBudget()))

    def _part(self, piece: PipelineText, file: str, now: datetime, room: _DefinitionBudget) -> PipelineEntry:
        """Reads one pipeline of a file with a syntax error elsewhere."""
        try:
            return self._pipelines(compose(piece.text, file), piece.text, file, now, room)[0]
        except UnreadableFile as broken:
            fault = replace(broken.fault, message=f"pipeline {piece.name}: {broken.fault.message}")
            return PipelineEntry(name=piece.name, line=piece.line, definition=None, faults=[fault])

    def _pipelines(
        self, root: YamlNode | None, text: str, file: str, now: datetime, room: _DefinitionBudget
    ) -> list[PipelineEntry]:
        entries = _entries(root, file)
        lines = text.split("\n")
        read = []
        for name, entry in entries.items():
            one = _PipelineReader(self, file, name, entry)
            fits = room.takes(entry.node)
            definition = one.definition(now, fits=fits)
            faults = one.faults[:MOST_FAULTS]
            steps = () if faults or definition is None else [self._shown(step) for step in definition.steps]
            read.append(
                PipelineEntry(
                    name=name,
                    line=entry.line,
                    definition=None if faults else definition,
                    faults=faults,
                    steps=steps,
                    yaml=excerpt(lines, entry, self._confides) if fits else "",
                )
            )
        return read

    def _confides(self, cls: str, name: str) -> bool:
        return confides(cls, name, self.catalogue)

    def _shown(self, step: StepSpec) -> dict[str, Any]:
        return {**step.to_dict(), "kwargs": masked(shown(step, self.catalogue))}


@dataclass(slots=True)
class _DefinitionBudget:
    """Remaining nodes for the pipelines of one file."""

    left: int = MOST_IN_ALL

    def takes(self, node: YamlNode) -> bool:
        self.left -= node.size
        return self.left >= 0


def _text(raw: bytes, file: str) -> str:
    def refuse(line: int | None, message: str, suggestion: str) -> UnreadableFile:
        fault = FileFault(
            file=file, line=line, column=None if line is None else 1, message=message, suggestion=suggestion
        )
        return UnreadableFile(fault)

    if len(raw) > MAX_BYTES:
        line = raw.count(b"\n", 0, MAX_BYTES) + 1
        raise refuse(line, f"may be {MAX_BYTES // 1024} KiB, and exceeds that here", "make it shorter")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        raise refuse(raw.count(b"\n", 0, wrong.start) + 1, "is not UTF-8", "save the file as UTF-8") from None


def _entries(root: YamlNode | None, file: str) -> Mapping[str, YamlEntry]:
    """The pipelines of a file; raises the fault of the file as a whole."""

    def refuse(node: YamlNode | YamlEntry | None, message: str, suggestion: str | None = None) -> UnreadableFile:
        line, column = (None, None) if node is None else (node.line, node.column)
        return UnreadableFile(FileFault(file=file, line=line, column=column, message=message, suggestion=suggestion))

    if root is None:
        # An editor may truncate the file before it writes: an empty file must not remove all pipelines.
        raise refuse(None, "is empty", "write pipelines: {} to have none")
    if not isinstance(root.value, dict):
        raise refuse(root, "must be a mapping with the key pipelines", "begin with pipelines:")
    for name, entry in root.value.items():
        if name != "pipelines" and not name.startswith("x-"):
            raise refuse(
                entry,
                f"{name[:100]} is not known here",
                _near(name, ("pipelines",)) or "keys for notes must begin with x-",
            )
    entry = root.value.get("pipelines")
    if entry is None:
        raise refuse(root, "must have the key pipelines", "begin with pipelines:")
    if not isinstance(entry.node.value, dict):
        raise refuse(entry, "pipelines must be a mapping of names", "write pipelines: {} to have none")
    if len(entry.node.value) > MAX_PIPELINES:
        raise refuse(entry, f"may be at most {MAX_PIPELINES} pipelines, and there are {len(entry.node.value)}")
    _refuse_outside(root, entry)
    found: Mapping[str, YamlEntry] = entry.node.value
    return found


def _refuse_outside(root: YamlNode, entry: YamlEntry) -> None:
    """Errors outside of every pipeline are faults of the file: a tag, or a duplicate name.

    Extension keys are ignored unless a pipeline refers to them; the total size is counted per pipeline.
    """
    notes = [each for name, each in root.value.items() if name != "pipelines"]
    inside = {fault for each in (*notes, *entry.node.value.values()) for fault in each.node.faults}
    for fault in (*root.faults, *entry.node.faults):
        if fault not in inside and "every alias expanded" not in fault.message:
            raise UnreadableFile(fault)


@dataclass(slots=True)
class _PipelineReader:
    """Reads one pipeline and collects its faults."""

    reader: PipelineFileReader
    file: str
    name: str
    entry: YamlEntry
    faults: list[FileFault] = field(default_factory=list)

    def definition(self, now: datetime, *, fits: bool) -> PipelineDefinition | None:
        node = self.entry.node
        self.faults += node.faults
        if not fits:
            message = f"with every alias expanded, the file would contain more than {MOST_IN_ALL} values up to here"
            self._blame("", message, "use fewer aliases")
        if not NAME.fullmatch(self.name):
            self._blame("", "its name must be 1 to 100 letters, digits, dots, dashes and underscores")
        if self.faults:
            return None
        if not isinstance(node.value, dict):
            self._blame("", "must be a mapping with chain, and optionally schedule")
            return None
        self._known("", node, _KEYS)
        on_error = self._on_error("on_error", node, "fail")
        steps = self._steps(node, on_error)
        if not self.faults:
            self._checked(lambda: check_steps(steps, self.reader.catalogue))
            self._checked(lambda: check_plain("chain", [step.to_dict() for step in steps]))
        draft = self._draft(node, now)
        expect = self._expect(node)
        revision = "" if self.faults else revision_of(steps, draft, on_error, expect)
        return PipelineDefinition(
            name=self.name, steps=tuple(steps), draft=draft, on_error=on_error, expect=expect, revision=revision
        )

    def _expect(self, node: YamlNode) -> dict[str, Any] | None:
        entry = node.value.get(EXPECT)
        if entry is None or entry.node.value is None:
            return None
        stored: dict[str, Any] = {}
        self._checked(lambda: stored.update(read_expect(entry.node.plain())))
        return stored

    def _steps(self, node: YamlNode, on_error: OnError) -> list[StepSpec]:
        chain = node.value.get("chain")
        if chain is None:
            self._blame("", "needs a chain: a list of steps", "chain: [{class: …}]")
            return []
        if not isinstance(chain.node.value, list) or not 1 <= len(chain.node.value) <= MAX_STEPS:
            self._blame("chain", f"must be a list of 1 to {MAX_STEPS} steps")
            return []
        made: list[StepSpec] = []
        for number, step in enumerate(chain.node.value):
            one = self._step(f"chain[{number}]", step, on_error, {each.name for each in made})
            if one is not None:
                made.append(one)
        return made

    def _step(self, where: str, node: YamlNode, on_error: OnError, taken: set[str]) -> StepSpec | None:
        if not isinstance(node.value, dict):
            self._blame(where, "must be a mapping with class, and optionally kwargs", "- class: …")
            return None
        self._known(where, node, _STEP_KEYS)
        written: dict[str, Any] = {name: entry.node.plain() for name, entry in node.value.items()}
        cls, kwargs = written.get("class"), written.get("kwargs") or {}
        if not isinstance(cls, str) or not 1 <= len(cls) <= 200:
            self._blame(f"{where}.class", "a step needs the name of its class")
            return None
        if not isinstance(kwargs, dict):
            self._blame(f"{where}.kwargs", "must be a mapping")
            return None
        name = written.get("name") or _free(cls.rpartition(".")[2], taken)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            self._blame(f"{where}.name", "must be 1 to 100 letters, digits, dots, dashes and underscores")
            return None
        if name in taken:
            self._blame(f"{where}.name", f"{name} is the name of an earlier step", "give it another name")
            return None
        mode = self._on_error(f"{where}.on_error", node, on_error)
        return StepSpec(cls=cls, name=name, kwargs=kwargs, on_error=mode, line=node.line)

    def _on_error(self, where: str, node: YamlNode, default: OnError) -> OnError:
        entry = node.value.get("on_error")
        match None if entry is None else entry.node.value:
            case None:
                return default
            case "skip":
                return "skip"
            case "fail":
                return "fail"
            case got:
                near = _near(got, ("skip", "fail")) if isinstance(got, str) else None
                self._blame(where, "must be skip or fail", near)
                return default

    def _draft(self, node: YamlNode, now: datetime) -> dict[str, Any] | None:
        """The schedule as a request of the REST API; None when the pipeline has none."""
        entry = node.value.get("schedule")
        if entry is None or entry.node.value is None:
            return None
        if not isinstance(entry.node.value, dict):
            self._blame("schedule", "must be a mapping with cron or interval", 'cron: "0 9 * * 1-5"')
            return None
        self._known("schedule", entry.node, _SCHEDULE_KEYS)
        given: dict[str, Any] = entry.node.plain()
        cron, interval = given.get("cron"), given.get("interval")
        if (cron is None) == (interval is None):
            what = "must have cron or interval" if cron is None else "has both cron and interval: give one of the two"
            self._blame("schedule", what, 'cron: "0 9 * * 1-5"' if cron is None else None)
            return None
        kept = {name: given[name] for name in _POLICIES if given.get(name) is not None}
        draft = {**kept, "timezone": given.get("timezone") or self.reader.zone, **_rule(cron, interval)}
        whole = {**draft, "name": self.name, "action": {"kind": PIPELINE, PIPELINE: self.name}}
        self._checked(lambda: read_draft(whole, lambda _, config: dict(config), _standing(self, now)), "schedule.")
        return draft

    def _known(self, where: str, node: YamlNode, known: Sequence[str]) -> None:
        for name in node.value:
            if name not in known:
                inner = f"{where}.{name}" if where else name
                self._blame(inner, f"{name[:100]} is not known here; known are {', '.join(known)}", _near(name, known))

    def _checked(self, check: Callable[[], object], prefix: str = "") -> None:
        try:
            check()
        except Invalid as wrong:
            for one in wrong.errors if isinstance(wrong, InvalidMany) else [wrong]:
                first, dot, rest = one.field.partition(".")
                place = prefix + _WRITTEN_AS.get(first, first) + dot + rest
                got = "" if one.got is None else f", got {str(one.got)[:100]!r}"
                hint = f"did you mean {one.suggestion}?" if one.suggestion else None
                self._blame(place, f"{place}: {one.message}{got}", hint)

    def _blame(self, where: str, message: str, suggestion: str | None = None) -> None:
        line, column = place_of(self.entry.node, where, (self.entry.line, self.entry.column))
        self.faults.append(
            FileFault(
                file=self.file,
                line=line,
                column=column,
                message=f"pipeline {self.name[:100]}: {message}",
                suggestion=suggestion,
            )
        )


def _standing(one: _PipelineReader, now: datetime) -> TriggerContext:
    return TriggerContext(one.name, now, one.reader.zone)


def _rule(cron: object, interval: object) -> dict[str, Any]:
    if cron is not None:
        return {"type": "cron", "cron_expr": cron}
    return {"type": "interval", ("interval_seconds" if isinstance(interval, int) else "interval"): interval}


def _free(name: str, taken: set[str]) -> str:
    """Appends a number to the name of a repeated step."""
    names = [name, *(f"{name}-{number}" for number in range(2, MAX_STEPS + 2))]
    return next(each for each in names if each not in taken)


def _near(name: str, known: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(name[:100], known, n=1)
    return f"did you mean {close[0]}?" if close else None


def place_of(node: YamlNode, field: str, key: tuple[int, int] | None = None) -> tuple[int, int]:
    """Line and column of a path such as `chain[1].kwargs.urls`, or of its nearest existing ancestor."""
    place = key or (node.line, node.column)
    for name, number in _PART.findall(field):
        if number and isinstance(node.value, list) and int(number) < len(node.value):
            node = node.value[int(number)]
            place = node.line, node.column
        elif name and isinstance(node.value, dict) and name in node.value:
            entry = node.value[name]
            node, place = entry.node, (entry.line, entry.column)
        else:
            break
    return place
