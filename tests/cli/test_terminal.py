"""Declared commands: what their flags send, and how their answers are printed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import foliot
from foliot.terminal.access import SERVER, needs, needs_of
from foliot.terminal.client import Client
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import CLIENT_VARIABLES, SERVER_VARIABLES

Name = Annotated[str, typer.Argument(help="Its name.")]
THINGS = Table("id, owner: owner.name", empty="No things.")


class Asked:
    """Answers in the place of a server, and remembers what it was sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
        self.sent: list[tuple[str, str, Any]] = []
        monkeypatch.setattr(Client, "send", self._send)
        self.answer = answer

    def _send(self, method: str, path: str, *, body: Any = None, query: Any = None) -> tuple[int, Any]:
        self.sent.append((method, path, query if method == "GET" else body))
        return 200, self.answer


def run(group: CommandGroup, *words: str) -> str:
    result = CliRunner().invoke(group, list(words))
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def things() -> CommandGroup:
    group = CommandGroup("Things.")

    @group.get("/things", THINGS, paged=True, utc=False)
    def list_(type_: Annotated[str | None, typer.Option("--type", help="Its type.")] = None) -> None:
        """List things."""

    @group.post("/things/{name}/stop", Facts("id, since: @since"))
    def stop(name: Name) -> None:
        """Stop one."""

    @group.post("/things/{name}", Facts("id"), utc=False)
    def move(name: Name, to: Annotated[str | None, typer.Option(help="Where.")] = None) -> dict[str, object]:
        """Move one."""
        return {"place": to, "quickly": True}

    return group


def test_flags_are_sent_under_their_names_with_those_of_paging(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, {"items": []})

    assert run(things(), "list", "--type", "blue", "--limit", "3") == "No things.\n"

    assert asked.sent == [("GET", "/things", {"type": "blue", "limit": 3, "cursor": None})]


def test_arguments_of_the_path_are_quoted_and_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, {"id": "1", "since": "2027-01-01T09:00:00Z"})

    assert run(things(), "stop", "a/b", "--utc") == "id     1\nsince  2027-01-01 09:00:00Z\n"

    assert asked.sent == [("POST", "/things/a%2Fb/stop", None)]


def test_a_function_that_returns_a_mapping_says_what_is_sent_without_what_is_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Asked(monkeypatch, {"id": "1"})

    assert run(things(), "move", "x", "--json") == '{\n  "id": "1"\n}\n'

    assert asked.sent == [("POST", "/things/x", {"quickly": True})]


def test_a_command_asks_a_server_unless_it_states_what_it_needs() -> None:
    group = CommandGroup("Things.")

    @group.command()
    def remote() -> None: ...

    @group.command()
    @needs()
    def local() -> None: ...

    assert (needs_of(remote), needs_of(local)) == (SERVER, frozenset())
    assert [command.epilog for command in group.registered_commands] == [CLIENT_VARIABLES, None]
    assert SERVER_VARIABLES != CLIENT_VARIABLES


def test_a_value_is_read_by_its_path_and_an_absent_one_is_none() -> None:
    answer = JsonObject({"error": {"message": "no"}, "state": "failed"})

    assert answer["error.message"] == "no"
    assert answer["error.code.name"] is None
    assert answer["state.name"] is None
    assert answer.each("items") == []


# --- who may import what ----------------------------------------------------------------------------------------------

SOURCE = Path(foliot.__file__).parent
COMMANDS = [path for path in SOURCE.glob("features/*/**/*.py") if {"cli", "view"} & {path.stem, path.parent.name}]
CLOSED = {"cli", "rest", "rpc", "action", "actor", "wiring"}
"""Modules of a feature that no other feature imports."""


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("module", sorted((SOURCE / "terminal").glob("*.py")), ids=lambda module: module.stem)
def test_the_toolkit_knows_no_feature(module: Path) -> None:
    ours = [name for name in imported(module) if name.startswith("foliot.")]

    assert [name for name in ours if not name.startswith(("foliot.terminal.", "foliot.core."))] == []


@pytest.mark.parametrize(
    "module", sorted(COMMANDS), ids=lambda module: module.relative_to(SOURCE / "features").as_posix()
)
def test_commands_import_no_interface_of_another_feature(module: Path) -> None:
    feature = module.relative_to(SOURCE / "features").parts[0]
    others = [
        name.split(".")
        for name in imported(module)
        if name.startswith("foliot.features.") and not name.startswith(f"foliot.features.{feature}.")
    ]

    assert [name for name in imported(module) if name.startswith(("foliot.cli", "foliot.app", "foliot.servers"))] == []
    assert [name for name in others if CLOSED & set(name[3:4])] == []
