"""Parses YAML into nodes with line and column; it constructs only scalars, lists and mappings.

It uses only PyYAML's event parser: tags are not resolved, so that a file cannot construct objects. An error in one node
is recorded on it and its ancestors, and parsing continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from foliot.core.mask import HIDDEN
from foliot.features.pipelines.file.scalars import AmbiguousScalar, meaning
from foliot.features.pipelines.model import FileFault

SECRET = re.compile(
    r"pass(?:word|wd|phrase)?$|secret|token|api.?key|private.?key|auth(?!or)|credential|cookie|signature",
    re.IGNORECASE,
)
"""Keys whose values are secret."""
AROUND = 300
"""Characters searched before and after a place."""
_GIVEN = re.compile(r"([\w.-]+)[\"']?\s*:\s+([^\s,{}\[\]][^,{}\[\]]*)")


def without_secrets(line: str, column: int) -> Callable[[str], str]:
    """A function that redacts the secrets around this place from a message."""
    # A file of one long line may have thousands of errors.
    line = line[max(0, column - AROUND) : column + AROUND]
    kept = [value for name, rest in _GIVEN.findall(line) if SECRET.search(name) for value in _forms(rest)]

    def hide(said: str) -> str:
        for value in kept:
            said = said.replace(value, HIDDEN)
        return said

    return hide


def _forms(rest: str) -> list[str]:
    """The forms in which a message may quote a value, the longest first."""
    whole = rest.strip()
    found = {whole, whole.partition(" #")[0].strip(), *(word for word in whole.split() if len(word) > 3)}
    bare = {one.strip("\"'") for one in found}
    return sorted((one for one in found | bare if len(one) > 1), key=len, reverse=True)


MAX_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_NODES = 50_000
"""Maximum nodes of a file, and of one node with its aliases expanded."""
MOST_FAULTS = 20

_MERGE = "<<"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Maximum size and depth of a file."""

    nodes: int = MAX_NODES
    depth: int = MAX_DEPTH


USUAL = FileLimits()


class UnreadableFile(Exception):
    """The file as a whole cannot be parsed."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(slots=True)
class YamlNode:
    """A value with its place; lines and columns count from 1."""

    line: int
    column: int
    end: tuple[int, int] = (0, 0)
    value: Any = None
    """A scalar, a list of nodes, or a mapping of text to `YamlEntry`."""
    size: int = 1
    """Number of values with aliases expanded."""
    faults: list[FileFault] = field(default_factory=list)
    """Errors of it and its descendants."""

    def plain(self) -> Any:
        """The plain value. Only for nodes without errors, whose size is bounded."""
        match self.value:
            case dict():
                return {name: entry.node.plain() for name, entry in self.value.items()}
            case list():
                return [node.plain() for node in self.value]
            case _:
                return self.value

    def blame(self, faults: list[FileFault]) -> None:
        # An error that aliases repeat is reported once.
        new = [fault for fault in faults if fault not in self.faults]
        self.faults += new[: max(0, MOST_FAULTS - len(self.faults))]

    def adopt(self, child: YamlNode) -> None:
        self.size += child.size
        self.blame(child.faults)


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One key of a mapping, with its place and its value."""

    line: int
    column: int
    node: YamlNode


def compose(text: str, file: str, room: FileLimits = USUAL) -> YamlNode | None:
    """The single document of a file; None when it is empty. `UnreadableFile` on a syntax error."""
    return _NodeComposer(text, file, room).document()


class _NodeComposer:
    def __init__(self, text: str, file: str, room: FileLimits) -> None:
        self.text = text
        self.room = room
        self.lines = text.split("\n")
        self.file = file
        self.events: Iterator[Any] = iter(())
        self.anchors: dict[str, YamlNode | None] = {}
        self.nodes = 0
        self.copied = 0
        """Entries copied by `<<`: each costs memory in every mapping again."""

    def document(self) -> YamlNode | None:
        try:
            self.events = iter(yaml.parse(self.text, Loader=_LOADER))
            return self._document()
        except yaml.reader.ReaderError as broken:
            raise UnreadableFile(self._unprintable(broken)) from None
        except yaml.MarkedYAMLError as broken:
            raise UnreadableFile(self._syntax(broken)) from None

    def _document(self) -> YamlNode | None:
        root: YamlNode | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    line, column = _place(event)
                    raise UnreadableFile(self._fault(line, column, "a second document begins here", "keep one of them"))
                root = self._node(next(self.events), 0)
        return root if root is not None and (root.value is not None or root.faults) else None

    def _node(self, event: Any, depth: int) -> YamlNode:
        self.nodes += 1
        line, column = _place(event)
        if self.nodes > self.room.nodes:
            message = f"a file may contain {self.room.nodes} values, and this one contains more"
            raise UnreadableFile(self._fault(line, column, message, "split it"))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        node = YamlNode(line, column, _end(event))
        if event.anchor is not None:
            # Until it is complete, an alias to it would be a cycle.
            self.anchors[event.anchor] = None
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._blame(node, event, f"{tag[:100]} is a tag: a file of pipelines has none", "remove the tag")
        self._fill(node, event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _fill(self, node: YamlNode, event: Any, depth: int) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(node, event)
        elif depth >= self.room.depth:
            self._blame(node, event, f"is nested deeper than {self.room.depth} levels", None)
            self._skip()
        elif isinstance(event, yaml.SequenceStartEvent):
            self._sequence(node, depth)
        else:
            self._mapping(node, depth)

    def _scalar(self, node: YamlNode, event: Any) -> None:
        node.value = event.value
        if event.implicit[0]:
            try:
                node.value = meaning(event.value)
            except AmbiguousScalar as unclear:
                self._blame(node, event, str(unclear), unclear.suggestion)
        elif "\x00" in event.value:
            self._blame(node, event, "must not contain the character U+0000", None)

    def _sequence(self, node: YamlNode, depth: int) -> None:
        node.value = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                node.end = _place(event)
                return
            child = self._node(event, depth + 1)
            node.value.append(child)
            self._hold(node, child)

    def _mapping(self, node: YamlNode, depth: int) -> None:
        node.value = {}
        merged: list[YamlNode] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                node.end = _place(event)
                break
            key = self._node(event, depth + 1)
            node.blame(key.faults)
            child = self._node(next(self.events), depth + 1)
            if key.value == _MERGE and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
                merged += self._merged(node, child)
                continue
            self._hold(node, child)
            self._enter(node, key, child)
        for other in merged:
            self._hold(node, other)
            self.copied += len(other.value)
            if self.copied > self.room.nodes:
                self._too_large(node)
                break
            node.value = {**other.value, **node.value}

    def _enter(self, node: YamlNode, key: YamlNode, child: YamlNode) -> None:
        if not isinstance(key.value, str):
            self._blame_at(key, key, "a key must be a word", "quote it")
            node.blame(key.faults)
            if not isinstance(key.value, int | float):
                return
            key.value = str(key.value)
        if key.faults:
            # An error of a key counts for its value too, but not for other aliases of that value.
            child = replace(child, faults=[*child.faults])
            child.blame(key.faults)
        before = node.value.get(key.value)
        if before is not None:
            message = f"{key.value[:100]} appears a second time, first in line {before.line}"
            self._blame_at(node, key, message, "keep one of them")
        node.value[key.value] = YamlEntry(key.line, key.column, child)

    def _merged(self, node: YamlNode, child: YamlNode) -> list[YamlNode]:
        """The mappings that `<<` merges: one, or a list in which the first has precedence."""
        several = child.value if isinstance(child.value, list) else [child]
        if child.faults:
            node.blame(child.faults)
        elif not all(isinstance(each.value, dict) for each in several):
            self._blame_at(node, child, "<< must lead to a mapping, or to a list of them", None)
            return []
        return [each for each in reversed(several) if isinstance(each.value, dict)]

    def _alias(self, event: Any) -> YamlNode:
        line, column = _place(event)
        known = self.anchors.get(event.anchor)
        if known is not None:
            return known
        node = YamlNode(line, column, _end(event))
        if event.anchor in self.anchors:
            self._blame(node, event, f"*{event.anchor} is inside what it refers to: it would never end", None)
        else:
            self._blame(node, event, f"*{event.anchor} refers to nothing above it", "quote it if it is not an alias")
        return node

    def _hold(self, node: YamlNode, child: YamlNode) -> None:
        if node.size + child.size <= self.room.nodes:
            node.adopt(child)
            return
        self._too_large(node)
        node.blame(child.faults)

    def _too_large(self, node: YamlNode) -> None:
        if not any("every alias expanded" in fault.message for fault in node.faults):
            message = f"with every alias expanded, this would contain more than {self.room.nodes} values"
            self._blame_at(node, node, message, "use fewer aliases")

    def _skip(self) -> None:
        """Skips the events of a node."""
        open_ = 1
        while open_:
            event = next(self.events)
            self.nodes += 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_ += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                open_ -= 1

    def _blame(self, node: YamlNode, event: Any, message: str, suggestion: str | None) -> None:
        line, column = _place(event)
        node.blame([self._fault(line, column, message, suggestion)])

    def _blame_at(self, node: YamlNode, where: YamlNode, message: str, suggestion: str | None) -> None:
        node.blame([self._fault(where.line, where.column, message, suggestion)])

    def _fault(self, line: int | None, column: int | None, message: str, suggestion: str | None = None) -> FileFault:
        here = "" if line is None or line > len(self.lines) else self.lines[line - 1]
        hide = without_secrets(here, column or 1)
        return FileFault(
            file=self.file,
            line=line,
            column=column,
            message=hide(message),
            suggestion=None if suggestion is None else hide(suggestion),
        )

    def _unprintable(self, broken: Any) -> FileFault:
        """Converts the parser's character offset to line and column."""
        found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", self.text)
        at = broken.position if found is None else found.start()
        before = self.text[:at]
        line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
        code = ord(self.text[at]) if at < len(self.text) else 0
        return self._fault(line, column, f"the character U+{code:04X} is not allowed in YAML", "remove it")

    def _syntax(self, broken: yaml.MarkedYAMLError) -> FileFault:
        mark = broken.problem_mark or broken.context_mark
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        told = " ".join(part for part in (broken.context, broken.problem) if part) or "is not valid YAML"
        return self._fault(line, column, told, _hint(self.text, line, column, told))


def _hint(text: str, line: int | None, column: int | None, told: str) -> str | None:
    """A hint at the usual mistake behind a syntax error."""
    if line is None or column is None:
        return None
    lines = text.splitlines()
    here = lines[line - 1] if line <= len(lines) else ""
    rest = here[max(0, column - 2) :].lstrip()
    if "alias" in told or rest.startswith(("*", "@", "`", "%", "&", "!")):
        start = re.search(r"[*@`%&!]", here)
        value = here[start.start() :].strip() if start else rest
        if start and re.search(r"[{\[]", here[: start.start()]):
            value = re.split(r"[,}\]]", value, maxsplit=1)[0].strip()
        return f'quote it: "{value}"'
    if here[: len(here) - len(here.lstrip())].count("\t") or rest.startswith("\t"):
        return "indent with spaces: YAML allows no tabs"
    if "mapping values" in told:
        return "quote text that contains a colon, or begin a new line"
    if "quoted scalar" in told:
        return "close the quotes"
    return None


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _end(event: Any) -> tuple[int, int]:
    return event.end_mark.line + 1, event.end_mark.column + 1
