"""Groups of commands; most commands are declared as a route of the API, its flags, and how the answer is printed.

Declares how an answer of the API is printed: as a table or as a list of properties, by the paths of its values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import Parameter
from string import Formatter
from typing import Any, ClassVar, TypeVar

import typer
from typer.core import TyperGroup

from foliot.terminal import output
from foliot.terminal.access import SERVER, asks, needs_of
from foliot.terminal.client import connect, segment
from foliot.terminal.follow import watch
from foliot.terminal.options import CLIENT_VARIABLES, SERVER_VARIABLES, Cursor, Json, Limit, Utc, Watch
from foliot.terminal.output import ERRORS_AS_JSON, note, print_json, when
from foliot.terminal.reference import references, resolve
from foliot.terminal.table import cell, table

Command = TypeVar("Command", bound=Callable[..., Any])
Flags = Callable[..., Mapping[str, object] | None]
PAGE = 50

_PAGING = (
    Parameter("limit", Parameter.KEYWORD_ONLY, default=PAGE, annotation=Limit),
    Parameter("cursor", Parameter.KEYWORD_ONLY, default=None, annotation=Cursor),
)
_JSON = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=Json)
_WATCH = Parameter("watching", Parameter.KEYWORD_ONLY, default=False, annotation=Watch)
_UTC = Parameter("utc", Parameter.KEYWORD_ONLY, default=None, annotation=Utc)


class CommandGroup(typer.Typer):
    """The commands of a feature. One that does not state `@needs` asks a server.

    `get`, `post` and `delete` declare a command by the flags of a function: those that the path names become part of
    it, the others the query or the body, under their names. A function that returns a mapping says itself what is sent.
    """

    def __init__(self, help: str | None = None, **options: Any) -> None:  # noqa: A002 -- as typer calls it
        # Without a text of its own, the docstring of the callback is the help.
        own = {} if help is None else {"help": help}
        given: dict[str, Any] = {"no_args_is_help": True, "epilog": CLIENT_VARIABLES, **own, **options}
        super().__init__(**given)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Command], Command]:
        register = super().command

        def add(function: Command) -> Command:
            if needs_of(function) is None:
                asks(function)
            needs = needs_of(function)
            epilog = CLIENT_VARIABLES if needs == SERVER else SERVER_VARIABLES if needs else None

            @wraps(function)
            def run(*arguments: Any, **flags: Any) -> Any:
                ERRORS_AS_JSON.set(bool(flags.get("as_json")))
                return function(*arguments, **flags)

            register(name or function.__name__.rstrip("_").replace("_", "-"), epilog=epilog, **options)(run)
            return function

        return add

    def get(
        self, path: str, view: View, *, paged: bool = False, utc: bool = True
    ) -> Callable[[Flags], Callable[..., None]]:
        """A table can be watched."""
        watch = (_WATCH,) if isinstance(view, Table) else ()
        common = (*(_PAGING if paged else ()), *watch, _JSON, *((_UTC,) if utc else ()))
        return self._declare("GET", path, view, common)

    def post(
        self, path: str, view: View, *, name: str | None = None, utc: bool = True
    ) -> Callable[[Flags], Callable[..., None]]:
        return self._declare("POST", path, view, (_JSON, _UTC) if utc else (_JSON,), name)

    def put(self, path: str, view: View, *, name: str | None = None) -> Callable[[Flags], Callable[..., None]]:
        return self._declare("PUT", path, view, (_JSON, _UTC), name)

    def delete(self, path: str, view: View, *, utc: bool = False) -> Callable[[Flags], Callable[..., None]]:
        return self._declare("DELETE", path, view, (_JSON, _UTC) if utc else (_JSON,))

    def _declare(
        self, method: str, path: str, view: View, common: tuple[Parameter, ...], command_name: str | None = None
    ) -> Callable[[Flags], Callable[..., None]]:
        in_path = {name for _, name, _, _ in Formatter().parse(path) if name}

        def declare(flags: Flags) -> Callable[..., None]:
            own = inspect.signature(flags, eval_str=True).parameters
            marked = references(own)

            def ask(as_json: bool, utc: bool | None = None, watching: bool = False, **given: Any) -> None:
                with connect() as client:
                    chosen = {name: given.pop(name) for name in own}
                    sent = flags(**chosen)
                    if sent is None and own.keys() > in_path:
                        sent = {name.rstrip("_"): chosen[name] for name in own if name not in in_path}
                    # What is left of the flags is paging.
                    sent = {**(sent or {}), **given} if given else sent
                    # After the flags were checked: wrong usage sends nothing.
                    for name, kind in marked.items():
                        if isinstance(text := chosen[name], str):
                            chosen[name] = resolve(client, kind, text)
                            sent = {**sent, name: chosen[name]} if sent and name in sent else sent
                    target = path.format_map({name: segment(chosen[name]) for name in in_path})

                    def show(answer: Any) -> None:
                        view(JsonObject(answer, utc, sent or {}))

                    if watching:
                        watch(lambda: client.request(method, target, sent), show, as_json=as_json)
                        return
                    answer = client.request(method, target, sent)
                    if as_json:
                        print_json(answer)
                    else:
                        show(answer)

            ask.__name__, ask.__doc__ = flags.__name__, flags.__doc__
            ask.__annotations__ = {one.name: one.annotation for one in (*own.values(), *common)}
            ask.__signature__ = inspect.Signature([*own.values(), *common])  # type: ignore[attr-defined]
            return self.command(command_name)(ask)

        return declare


class DefaultCommandGroup(TyperGroup):
    """Gives what is no command, such as `foliot crawl https://…` or `foliot crawl --depth 2 https://…`, to `start`."""

    default: ClassVar[str] = "start"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


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
            note(f"for more: --cursor {answer['next_cursor']}")
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
        text = output.state(value) if name in output.COLOURED else value
        typer.echo(f"{output.faint(f'{name:<{width}}')}  {text}")
