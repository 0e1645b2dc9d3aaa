"""Groups of commands; most commands are declared as a route of the API, its flags, and how the answer is printed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from string import Formatter
from typing import Any, ClassVar, TypeVar

import typer
from typer.core import TyperGroup

from foliot.terminal.access import SERVER, asks, needs_of
from foliot.terminal.client import connect, segment
from foliot.terminal.options import CLIENT_VARIABLES, SERVER_VARIABLES, Cursor, Json, Limit, Utc, Watch
from foliot.terminal.output import ERRORS_AS_JSON, print_json
from foliot.terminal.reference import references, resolve
from foliot.terminal.view import JsonObject, Table, View
from foliot.terminal.watch import watch

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
