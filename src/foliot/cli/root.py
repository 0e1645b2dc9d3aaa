"""The program `foliot`: which module holds each command. A command is imported when it is called.

To import and build all of them takes longer than most of them take to run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

import foliot
from foliot.terminal.output import ERRORS_AS_JSON, EXIT_CODES, Exit, Failure, fail
from foliot.terminal.plain_values import read_plainly

SERVER = "Run a server"
UPKEEP = "Maintain a server"
CLIENT = "Talk to a running server"

USAGE_ERROR: Any = typer.BadParameter.__bases__[0]
"""What typer raises about a command line that cannot be read; it exports only this one of its kinds."""


class CommandSource(NamedTuple):
    """The module whose `group` is this command, or, when not nested, has it among its commands."""

    module: str
    panel: str
    nested: bool = True


def _feature(name: str, *, nested: bool = True) -> CommandSource:
    return CommandSource(f"foliot.features.{name}.cli", CLIENT, nested)


def _own(name: str, panel: str, *, nested: bool = False) -> CommandSource:
    return CommandSource(f"foliot.cli.{name}", panel, nested)


COMMANDS: Mapping[str, CommandSource] = {
    "up": _own("serve", SERVER),
    "api": _own("serve", SERVER),
    "grpc": _own("serve", SERVER),
    "discord": _own("serve", SERVER),
    "scheduler": _own("serve", SERVER),
    "worker": _own("worker", SERVER, nested=True),
    "migrate": _own("database", UPKEEP),
    "check": _own("check.command", UPKEEP),
    "backup": _own("database", UPKEEP),
    "restore": _own("database", UPKEEP),
    "token": _own("token", UPKEEP),
    "ledger": _own("ledger", UPKEEP, nested=True),
    "audit": _own("audit", UPKEEP, nested=True),
    "attention": _feature("insights", nested=False),
    "timeline": _feature("insights", nested=False),
    "calendar": _feature("insights", nested=False),
    "ranking": _feature("insights", nested=False),
    "alert": _feature("alerts"),
    "channel": CommandSource("foliot.features.alerts.cli.channels", CLIENT),
    "monitor": _feature("monitors"),
    "ping": CommandSource("foliot.features.monitors.cli.ping_command", CLIENT, nested=False),
    "why": _feature("explanations", nested=False),
    "plan": _feature("plans", nested=False),
    "apply": _feature("plans", nested=False),
    "import": _feature("imports", nested=False),
    "mcp": _feature("mcp", nested=False),
    "watch": CommandSource("foliot.features.watches.cli.changes", CLIENT, nested=False),
    "watches": CommandSource("foliot.features.watches.cli.watches", CLIENT),
    "changes": CommandSource("foliot.features.watches.cli.changes", CLIENT, nested=False),
    "endpoints": _feature("endpoints"),
    "schedule": _feature("schedules"),
    "calendars": _feature("calendars"),
    "quality": _feature("expectations"),
    "run": _feature("runs"),
    "task": _feature("tasks"),
    "preset": _feature("presets"),
    "dead-letter": _feature("dead_letters"),
    "bulk": _feature("bulk"),
    "view": _feature("views"),
    "queue": _feature("queues"),
    "host": _own("hosts", CLIENT, nested=True),
    "pages": _feature("stored_pages"),
    "apikey": _feature("api_keys"),
    "tenant": _feature("tenants"),
    "crawl": _feature("crawls"),
    "scrapyd": CommandSource("foliot.features.crawls.cli.scrapyd_front.command", CLIENT, nested=False),
    "articles": _feature("articles"),
    "pipeline": _own("pipeline", CLIENT, nested=True),
    "secret": _own("secrets", CLIENT, nested=True),
    "listen": _feature("webhooks", nested=False),
    "open": _own("open", CLIENT),
    "demo": _feature("demo"),
    "login-link": _feature("sessions", nested=False),
    "sign-out": _feature("sessions", nested=False),
    "members": _feature("sessions", nested=False),
    "invite": _feature("invites", nested=False),
    "health": _feature("health", nested=False),
}
"""In the order of `foliot --help`."""


@cache
def _built(name: str) -> Any:
    """The command as typer builds it, from its module alone."""
    source = COMMANDS[name]
    alone = typer.Typer()
    alone.add_typer(import_module(source.module).group, name=name if source.nested else None)
    command: Any = typer.main.get_group(alone).commands[name]
    command.rich_help_panel = source.panel
    return command


class LazyCommands(Mapping[str, Any]):
    """Builds each command when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def get(self, name: str, default: Any = None) -> Any:
        return _built(name) if name in COMMANDS else default


class RootGroup(TyperGroup):
    """The top level, which imports no command before it is called or listed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # typer only reads it.
        self.commands = LazyCommands()  # type: ignore[assignment]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """With `--json` among the words, wrong usage is a JSON object too, instead of a box for people."""
        words = sys.argv[1:] if args is None else args
        run = super().main
        if not standalone_mode or "--json" not in words:
            return run(args, prog_name, complete_var, standalone_mode, windows_expand_args, **extra)
        try:
            code = run(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except USAGE_ERROR as wrong:
            failed = Failure(wrong.format_message(), Exit.USAGE)
        except typer.Abort:
            failed = Failure("aborted")
        else:
            sys.exit(code if isinstance(code, int) else Exit.DONE)
        ERRORS_AS_JSON.set(True)
        sys.exit(fail(failed).exit_code)


read_plainly()
app = typer.Typer(
    name="foliot",
    cls=RootGroup,
    help="Schedule webhooks, crawls and tasks. Each runs exactly once at its time, and you see what happened and why.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def is_server(words: list[str]) -> bool:
    """Whether a command line runs a server, which stays and creates more objects than the others."""
    return bool(words) and words[0] in COMMANDS and COMMANDS[words[0]].panel == SERVER


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foliot {foliot.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
