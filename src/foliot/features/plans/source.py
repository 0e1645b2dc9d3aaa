"""Reads documents from files: YAML or JSON, one file or a directory, and the place of every field.

A file holds a list of schedules, one schedule, or a mapping of lists by kind: `schedules: […]`. The parser of pipelines
reads it, so that a fault names file, line and column.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from foliot.features.pipelines.file.parse import FileLimits, UnreadableFile, YamlEntry, YamlNode, compose
from foliot.features.pipelines.file.read import place_of
from foliot.features.pipelines.model import FileFault
from foliot.features.plans.model.request import PlanDocuments

SUFFIXES = (".yaml", ".yml", ".json")
MOST_BYTES = 16 * 1024 * 1024
LIMITS = FileLimits(nodes=2_000_000, depth=72)
"""A schedule's payload may be nested 64 deep."""
KINDS = tuple(each.name for each in fields(PlanDocuments))
_PLACE = re.compile(r"([a-z_]+)\[(\d+)\]\.?(.*)")


class FaultyFiles(Exception):
    """Files that cannot be read; each fault names its place."""

    def __init__(self, faults: Sequence[FileFault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


@dataclass(slots=True)
class DocumentFiles:
    """The documents of some files, by kind, and where each of them is."""

    documents: dict[str, list[Any]] = field(default_factory=dict)
    places: dict[str, list[tuple[str, YamlNode]]] = field(default_factory=dict)
    """File and node of each document."""

    def add(self, kind: str, file: str, node: YamlNode, value: Any) -> None:
        self.documents.setdefault(kind, []).append(value)
        self.places.setdefault(kind, []).append((file, node))

    def fault(self, path: str, message: str) -> FileFault | None:
        """An error of the server, such as `schedules[3].action.url`, with its place in the files."""
        found = _PLACE.fullmatch(path)
        if found is None or int(found[2]) >= len(self.places.get(found[1], ())):
            return None
        file, node = self.places[found[1]][int(found[2])]
        line, column = place_of(node, found[3])
        named = f"{found[3]}: {message}" if found[3] else message
        return FileFault(file=file, line=line, column=column, message=named)


def read_files(path: Path) -> DocumentFiles:
    """Every file below a directory, in order of its name, or one file; `FaultyFiles` names all faults."""
    found, faults = DocumentFiles(), list[FileFault]()
    files = [path] if not path.is_dir() else list(_below(path))
    if not files:
        raise FaultyFiles([_fault(str(path), f"contains no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file")])
    for file in files:
        try:
            _read(file, found)
        except FaultyFiles as faulty:
            faults += faulty.faults
    if faults:
        raise FaultyFiles(faults)
    return found


def _below(directory: Path) -> Iterator[Path]:
    for one in sorted(directory.rglob("*")):
        hidden = any(part.startswith(".") for part in one.relative_to(directory).parts)
        if one.suffix.lower() in SUFFIXES and not hidden and one.is_file():
            yield one


def _read(path: Path, found: DocumentFiles) -> None:
    file = str(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FaultyFiles([_fault(file, f"is larger than {MOST_BYTES // 1024 // 1024} MiB", "split it")])
        text = path.read_text(encoding="utf-8")
    except OSError as failed:
        raise FaultyFiles([_fault(file, f"cannot be read ({failed.strerror or failed})")]) from None
    except UnicodeDecodeError:
        raise FaultyFiles([_fault(file, "is not UTF-8", "save it as UTF-8")]) from None
    node, value = _parsed(text, file)
    if node is not None:
        _sort(file, node, value, found)


def _parsed(text: str, file: str) -> tuple[YamlNode | None, Any]:
    """The nodes, for places, and the values."""
    value: Any = None
    is_json = text.lstrip()[:1] in {"[", "{"}
    if is_json:
        try:
            value = json.loads(text)
        except ValueError:
            # It may still be YAML in flow style.
            is_json = False
    try:
        node = compose(text, file, LIMITS)
    except UnreadableFile as broken:
        if is_json:
            # JSON may hold what YAML does not: its values are read, without their places.
            return _placeless(value), value
        raise FaultyFiles([broken.fault]) from None
    if node is None:
        return None, None
    if is_json:
        return node, value
    if node.faults:
        raise FaultyFiles(node.faults)
    return node, node.plain()


def _placeless(value: Any) -> YamlNode:
    inner: Any = value
    if isinstance(value, dict):
        inner = {name: YamlEntry(1, 1, _placeless(child)) for name, child in value.items()}
    elif isinstance(value, list):
        inner = [_placeless(child) for child in value]
    return YamlNode(1, 1, value=inner)


def _sort(file: str, node: YamlNode, value: Any, found: DocumentFiles) -> None:
    if isinstance(value, list):
        _listed(KINDS[0], file, node, value, found)
    elif not isinstance(value, dict):
        raise FaultyFiles([_fault(file, "must be a list of schedules, or a mapping of lists by kind", None, node)])
    elif "name" in value and not any(isinstance(value.get(kind), list) for kind in KINDS):
        found.add(KINDS[0], file, node, value)
    else:
        _by_kind(file, node, value, found)


def _by_kind(file: str, node: YamlNode, value: Mapping[str, Any], found: DocumentFiles) -> None:
    for name, documents in value.items():
        entry = node.value[name]
        if name.startswith("x-"):
            continue
        if name not in KINDS:
            near = difflib.get_close_matches(name[:100], KINDS, n=1)
            hint = f"did you mean {near[0]}?" if near else "keys for notes must begin with x-"
            known = f"{name[:100]} is not known here; known are {', '.join(KINDS)}"
            raise FaultyFiles([_fault(file, known, hint, entry)])
        if documents is None:
            continue
        if not isinstance(documents, list):
            raise FaultyFiles([_fault(file, f"{name} must be a list", None, entry)])
        _listed(name, file, entry.node, documents, found)


def _listed(kind: str, file: str, node: YamlNode, documents: Sequence[Any], found: DocumentFiles) -> None:
    for child, document in zip(node.value, documents, strict=True):
        if not isinstance(document, dict):
            raise FaultyFiles([_fault(file, "must be a mapping", None, child)])
        found.add(kind, file, child, document)


def _fault(file: str, message: str, suggestion: str | None = None, at: Any = None) -> FileFault:
    line, column = (None, None) if at is None else (at.line, at.column)
    return FileFault(file=file, line=line, column=column, message=message, suggestion=suggestion)
