"""Commands: what a program is given, what is kept of it, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from foliot.app.use_cases import use_cases
from foliot.auth.keyring import Keyring
from foliot.commands.envelope import UseCases
from foliot.core.access import LOCAL, OPERATORS_OWN, Caller, Role, TenantAllowList
from foliot.core.errors import Forbidden, Invalid
from foliot.db.database import Database
from foliot.engine.model.views import RunView
from foliot.features.commands.action import CommandAction
from foliot.features.commands.config import read_command
from foliot.features.commands.program import Program
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import SecretCache
from foliot.features.secrets.usecases import Secrets
from foliot.testing import GivenActions, StoppedClock, drain, open_store
from foliot.wakeups.feed import MemoryFeed
from tests.cluster.test_process_tree import all_gone, started
from tests.givens import events_of

VAULT = Keyring.of(("key-" * 8,))
ADMIN = Caller("default", "ann", Role.ADMIN)
OPERATOR = Caller("default", "otto", Role.OPERATOR)


@dataclass
class Machine:
    """A Foliot that may run programs."""

    store: Database
    clock: StoppedClock
    tenants: TenantAllowList | None = field(default_factory=lambda: OPERATORS_OWN)

    @property
    def action(self) -> CommandAction:
        return CommandAction(tenants=self.tenants, secrets=SecretCache(store=self.store, clock=self.clock, vault=VAULT))

    @property
    def cases(self) -> UseCases:
        return use_cases(self.store, self.clock, MemoryFeed(), GivenActions.of(self.action), vault=VAULT)

    def document(self, **config: Any) -> dict[str, Any]:
        action = {"kind": "command", **config}
        retry = {"max_retries": 0, "dead_letter": False}
        return {"name": "x", "type": "interval", "interval_seconds": 3600, "action": action, "retry_policy": retry}

    async def run(self, *argv: str, **config: Any) -> RunView:
        schedule = await self.cases[Schedules].create(ADMIN, self.document(argv=list(argv), **config))
        run = await self.cases[Schedules].run_now(OPERATOR, schedule.id, {})
        await drain(self.store, self.clock, self.action)
        return await self.cases[Runs].get(LOCAL, run.id)

    async def log(self, run: RunView) -> list[tuple[str | None, str]]:
        events = await events_of(self.store, run.id)
        return [(event.level, event.message) for event in events if event.type == "log"]


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    async with open_store() as store:
        yield Machine(store, StoppedClock())


async def test_the_output_is_the_log_and_zero_is_success(machine: Machine) -> None:
    run = await machine.run("/bin/sh", "-c", "echo one; echo two >&2; printf three")

    assert (run.state, run.result) == ("success", {"exit_code": 0})
    lines = await machine.log(run)
    assert ("info", "one") in lines
    assert ("warning", "two") in lines
    assert ("info", "three") in lines


async def test_another_exit_code_fails_the_attempt_and_is_named(machine: Machine) -> None:
    run = await machine.run("exit 3", shell=True)

    assert run.state == "failed"
    assert run.error is not None
    assert (run.error["code"], run.error["message"]) == ("exit_code", "The program exited with code 3.")


async def test_a_signal_is_named(machine: Machine) -> None:
    run = await machine.run("kill -SEGV $$", shell=True)

    assert run.error is not None
    assert (run.error["code"], run.error["cause"]) == ("killed_by_signal", "SIGSEGV")


async def test_words_are_no_shell_unless_it_is_asked_for(machine: Machine) -> None:
    plain = await machine.run("echo", "$HOME; false")
    shell = await machine.run('echo "$1" | tr a-z A-Z', "word", shell=True)

    assert ("info", "$HOME; false") in await machine.log(plain)
    assert ("info", "WORD") in await machine.log(shell)


async def test_a_program_gets_its_directory_and_its_input(machine: Machine, tmp_path: Path) -> None:
    run = await machine.run("pwd; cat", shell=True, cwd=str(tmp_path), stdin="first\nsecond")

    lines = [line for _, line in await machine.log(run)]
    assert lines[1:] == [str(tmp_path), "first", "second"]


async def test_the_environment_holds_what_was_given_and_no_secret_of_ours(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIOT_SECRET_KEY", "ours-and-nobody-elses")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:ours-too@db/x")
    run = await machine.run("/usr/bin/env", env={"SHOP": "north"})

    lines = [line for _, line in await machine.log(run)]
    assert "SHOP=north" in lines
    assert f"FOLIOT_RUN_ID={run.id}" in lines
    assert not [line for line in lines if "ours" in line]


async def test_a_secret_reaches_the_program_and_not_the_log(machine: Machine) -> None:
    await machine.cases[Secrets].put(LOCAL, "shop_token", {"value": "very-secret-value"})
    run = await machine.run(
        'test "$TOKEN" = very-secret-value && echo "$TOKEN"', shell=True, env={"TOKEN": "{{ secret.shop_token }}"}
    )

    assert run.state == "success"
    assert "very-secret-value" not in str(await machine.log(run))


async def test_a_secret_that_is_for_hosts_is_given_to_no_command(machine: Machine) -> None:
    await machine.cases[Secrets].put(LOCAL, "partner", {"value": "very-secret-value", "hosts": ["api.partner.com"]})
    run = await machine.run("/bin/true", env={"TOKEN": "{{ secret.partner }}"})

    assert run.error is not None
    assert run.error["code"] == "secret_not_for_host"


async def test_a_missing_program_or_directory_is_named(machine: Machine) -> None:
    program = await machine.run("no-such-program")
    directory = await machine.run("/bin/true", cwd="/no/such/directory")

    assert program.error is not None
    assert directory.error is not None
    assert (program.error["code"], directory.error["code"]) == ("program_missing", "cwd_missing")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")
async def test_a_cancelled_program_is_killed_with_what_it_has_started_in_sessions_of_their_own(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"echo $$ >> {pids}; setsid sh -c 'echo $$ >> {pids}; trap \"\" TERM; sleep 600 & wait; sleep 600' & wait"
    program = Program(
        path="/bin/sh", arguments=["-c", script], environment={"PATH": "/usr/bin:/bin"}, cwd="/", grace=0.3
    )

    running = asyncio.create_task(program.run(lambda _line, _stream: None, _room))
    found = await asyncio.to_thread(started, pids)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await asyncio.to_thread(all_gone, found)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")
async def test_a_cancelled_program_may_clean_up_first(tmp_path: Path) -> None:
    began, cleaned = tmp_path / "began", tmp_path / "cleaned"
    script = f"trap 'echo yes > {cleaned}; exit 0' TERM; echo $$ >> {began}; echo $$ >> {began}; sleep 600 & wait"
    program = Program(path="/bin/sh", arguments=["-c", script], environment={"PATH": "/usr/bin:/bin"}, cwd="/")

    running = asyncio.create_task(program.run(lambda _line, _stream: None, _room))
    await asyncio.to_thread(started, began)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert cleaned.read_text() == "yes\n"


async def test_lines_without_end_are_split(machine: Machine) -> None:
    run = await machine.run("head -c 40000 /dev/zero | tr '\\0' x", shell=True)

    assert sum(line.count("x") for level, line in (await machine.log(run))[1:] if level == "info") == 40_000


async def test_only_an_admin_may_write_a_command(machine: Machine) -> None:
    document = machine.document(argv=["/bin/true"])
    schedules = machine.cases[Schedules]

    with pytest.raises(Forbidden, match="operator may not write a command"):
        await schedules.create(OPERATOR, document)
    schedule = await schedules.create(ADMIN, document)
    with pytest.raises(Forbidden):
        await schedules.patch(OPERATOR, schedule.id, {"action": {"argv": ["/bin/false"]}})
    with pytest.raises(Forbidden):
        await schedules.run_now(OPERATOR, schedule.id, {"payload": {"argv": ["/bin/false"]}})
    run = await schedules.run_now(OPERATOR, schedule.id, {})
    assert run.kind == "command"


async def test_commands_are_off_unless_they_are_switched_on_and_then_the_operators_own(machine: Machine) -> None:
    other = Caller("other", "eve", Role.ADMIN)
    with pytest.raises(Invalid, match="is not allowed for this tenant"):
        await machine.cases[Schedules].create(other, machine.document(argv=["/bin/true"]))
    machine.tenants = None
    with pytest.raises(Invalid, match="FOLIOT_COMMANDS=1"):
        await machine.cases[Schedules].create(ADMIN, machine.document(argv=["/bin/true"]))


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, "argv"),
        ({"argv": "echo hello"}, "argv"),
        ({"argv": []}, "argv"),
        ({"argv": ["echo", 1]}, "argv[1]"),
        ({"argv": ["echo", "{{ secret.token }}"]}, "argv[1]"),
        ({"argv": ["echo"], "cwd": "relative"}, "cwd"),
        ({"argv": ["echo"], "env": {"A B": "x"}}, "env"),
        ({"argv": ["echo"], "env": {"FOLIOT_URL": "x"}}, "env.FOLIOT_URL"),
        ({"argv": ["echo"], "env": {"TOKEN": "{{ secrets.token }}"}}, "env.TOKEN"),
        ({"argv": ["echo"], "shell": "bash"}, "shell"),
        ({"argv": ["echo"], "comand": "x"}, "comand"),
        ({"argv": ["echo", "a\x00b"]}, "argv[1]"),
    ],
)
def test_a_wrong_configuration_names_its_field(config: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        read_command(config)

    assert wrong.value.field == field


def test_the_stored_form_is_accepted_again() -> None:
    stored = read_command({"argv": ["a | b"], "shell": True, "env": {"A": "1"}, "cwd": "/srv", "stdin": "x"})

    assert read_command(stored) == stored


async def _room() -> None:
    """Always."""
