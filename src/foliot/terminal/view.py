"""Declares how an answer of the API is printed: as a table or as a list of properties, by the paths of its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foliot.terminal.output import facts, moment, note, table


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object of an answer. Values are read by dotted path (`error.message`); an absent one is None."""

    raw: Any
    utc: bool = False
    sent: Mapping[str, Any] = field(default_factory=dict)
    """The query or the body that was answered."""

    def __getitem__(self, path: str) -> Any:
        value = self.raw
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def at(self, *paths: str) -> str:
        """The first of these times that there is, as people read it."""
        return moment(next((value for path in paths if (value := self[path]) is not None), None), utc=self.utc)

    def each(self, path: str) -> list[JsonObject]:
        return [JsonObject(item, self.utc) for item in self[path] or ()]

    def value(self, column: Field) -> object:
        return self[column] if isinstance(column, str) else column(self)


Field = str | Callable[[JsonObject], object]
"""A path, or what is made of the whole record."""
View = Callable[[JsonObject], None]


def at(*paths: str) -> Field:
    return lambda record: record.at(*paths)


def took(path: str) -> Field:
    """Milliseconds, in seconds when there are many."""
    return lambda record: duration(record[path])


def joined(path: str, by: str = ", ", empty: str = "") -> Field:
    return lambda record: by.join(map(str, record[path] or ())) or empty


def duration(milliseconds: object) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.1f} s"


@dataclass(frozen=True, slots=True)
class Table:
    """A row per item. Without items it says `empty`, or nothing where that is empty too."""

    columns: Mapping[str, Field]
    empty: Field = ""
    items: str = "items"
    then: View | None = None

    def __call__(self, answer: JsonObject) -> None:
        rows = [[item.value(column) for column in self.columns.values()] for item in answer.each(self.items)]
        empty = self.empty if isinstance(self.empty, str) else str(self.empty(answer))
        if rows or empty:
            table(tuple(self.columns), rows, empty=empty)
        if answer["next_cursor"]:
            note(f"there are more: --cursor {answer['next_cursor']}")
        if self.then is not None:
            self.then(answer)


@dataclass(frozen=True, slots=True)
class Facts:
    """A line per property that has a value."""

    fields: Mapping[str, Field]
    then: View | None = None

    def __call__(self, answer: JsonObject) -> None:
        facts((name, answer.value(column)) for name, column in self.fields.items())
        if self.then is not None:
            self.then(answer)
