"""Declares how an answer of the API is printed: as a table or as a list of properties, by the paths of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import typer

from foliot.terminal import style
from foliot.terminal.output import note, print_json
from foliot.terminal.table import cell, table
from foliot.terminal.times import when


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object of an answer. Values are read by dotted path (`error.message`); an absent one is None."""

    raw: Any
    utc: bool | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)
    """The query or the body that was answered."""
    brief: bool = False
    """A row of a table: its times are short."""

    def __getitem__(self, path: str) -> Any:
        value = self.raw
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def at(self, *paths: str) -> str:
        """The first of these times that there is, as people read it."""
        first = next((value for path in paths if (value := self[path]) is not None), None)
        return when(first, utc=self.utc, brief=self.brief)

    def each(self, path: str) -> list[JsonObject]:
        return [JsonObject(item, self.utc) for item in self[path] or ()]

    def value(self, column: Field) -> object:
        return self[column] if isinstance(column, str) else column(self)


Field = str | Callable[[JsonObject], object]
"""A path, or what is computed of the whole record."""
View = Callable[[JsonObject], None]


def columns(spec: str, computed: Mapping[str, Field]) -> dict[str, Field]:
    """Labels and fields from `label: path, …`; a label alone is also the path, unless `computed` has a function for it.

    A label that ends in `?` is left out where the terminal is too narrow for it.
    `@path` is a time (`@first|second`: the first that there is), `~path` a duration in milliseconds, `path[]` a list.
    """
    fields: dict[str, Field] = {}
    for part in spec.split(","):
        label, _, path = (text.strip() for text in part.partition(":"))
        name = label.removesuffix("?")
        fields[label] = computed.get(name) or _field(path or name.replace(" ", "_"))
    return fields


def _field(path: str) -> Field:
    if path.startswith("@"):
        return lambda record: record.at(*path[1:].split("|"))
    if path.startswith("~"):
        return lambda record: duration(record[path[1:]])
    if path.endswith("[]"):
        return lambda record: ", ".join(map(str, record[path[:-2]] or ()))
    return path


def joined(path: str, by: str = ", ", empty: str = "") -> Field:
    return lambda record: by.join(map(str, record[path] or ())) or empty


def duration(milliseconds: object) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.1f} s"


def print_answer(answer: Any, view: View, *, as_json: bool, utc: bool | None = None) -> None:
    """As the server gave it, or as people read it."""
    if as_json:
        print_json(answer)
    else:
        view(JsonObject(answer, utc))


@dataclass(frozen=True, slots=True)
class Table:
    """A row per item, with the columns of `spec`. Without items it prints `empty`, if that is not empty too."""

    spec: str
    empty: Field = ""
    items: str = "items"
    computed: Mapping[str, Field] = field(default_factory=dict)
    then: View | None = None
    wrap: bool = False
    """Whether text that does not fit is wrapped; else it is cut."""

    def __call__(self, answer: JsonObject) -> None:
        shown = columns(self.spec, self.computed)
        items = [replace(item, brief=True) for item in answer.each(self.items)]
        rows = [[item.value(column) for column in shown.values()] for item in items]
        empty = self.empty if isinstance(self.empty, str) else str(self.empty(answer))
        if rows or empty:
            times = [part.partition(":")[0].strip() for part in self.spec.split(",") if "@" in part]
            table(tuple(shown), rows, empty=empty, rigid=times, wrap=self.wrap)
        if answer["next_cursor"]:
            note(f"there are more: --cursor {answer['next_cursor']}")
        if self.then is not None:
            self.then(answer)


@dataclass(frozen=True, slots=True)
class Facts:
    """A line per property of `spec` that has a value."""

    spec: str
    computed: Mapping[str, Field] = field(default_factory=dict)
    then: View | None = None

    def __call__(self, answer: JsonObject) -> None:
        facts((name, answer.value(column)) for name, column in columns(self.spec, self.computed).items())
        if self.then is not None:
            self.then(answer)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """A line per property; properties without a value are left out."""
    shown = [(name, cell(value)) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        text = style.state(value) if name in style.COLOURED else value
        typer.echo(f"{style.faint(f'{name:<{width}}')}  {text}")
