"""The action `command`: one program per attempt; its output is the log, its exit code the outcome."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from foliot.cluster.machine import PLACE
from foliot.core.access import TenantAllowList, Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import Invalid, Unavailable
from foliot.core.secret_template import filled
from foliot.core.secrets import CannotUnseal, NamedSecrets, NotForHost, names_in
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.commands.config import read_command
from foliot.features.commands.program import Program

DESTINATION = "command://"
"""Not a host: a secret that is for certain hosts is given to no command, which could send it anywhere."""
OFF = "is switched off on this server: set FOLIOT_COMMANDS=1, for servers and workers, to run programs of this machine"
_SHELL = "/bin/sh"


class CommandAction:
    """Runs a program as the user that Foliot runs as."""

    kind = "command"
    timeout = timedelta(hours=1)
    permission = (Verb.WRITE, Thing.COMMAND)

    def __init__(self, *, tenants: TenantAllowList | None, secrets: NamedSecrets) -> None:
        """`tenants`: those that may run programs; None where commands are switched off."""
        self._tenants = tenants
        self._secrets = secrets

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        return read_command(config)

    def check_for(self, tenant_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a tenant that may run programs."""
        if refusal := self._refusal(tenant_id):
            raise Invalid("kind", refusal, got=self.kind)
        return self.check(config)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """The program, so that one that hangs does not take every slot."""
        words = config.get("argv") or [""]
        return AttemptTarget(f"command:{str(words[0])[:80]}")

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Run it once, to its end."""
        if refusal := self._refusal(ctx.tenant_id):
            # Another worker may run them.
            return Failed(AttemptError("commands_off", f"The action command {refusal}."))
        try:
            program = await self._program(ctx)
        except UnfitCommand as unfit:
            ctx.log(f"Not started: {unfit.problem.message}", level="error")
            return Failed(unfit.problem, permanent=unfit.permanent)
        ctx.log(f"Started {_shown(ctx.config)}, attempt {ctx.attempt} of {ctx.max_attempts}")

        def pass_line(line: str, stream: str) -> None:
            ctx.log(line, level="warning" if stream == "stderr" else "info")

        try:
            code = await program.run(pass_line, ctx.room)
        except OSError as error:
            problem = AttemptError("not_started", f"{program.path} could not be started: {error.strerror or error}.")
            return Failed(problem)
        return _outcome(code)

    def _refusal(self, tenant_id: str) -> str:
        if self._tenants is None:
            return OFF
        return "" if tenant_id in self._tenants else "is not allowed for this tenant"

    async def _program(self, ctx: ActionContext) -> Program:
        return _located(ctx.config, await self._environment(ctx))

    async def _environment(self, ctx: ActionContext) -> dict[str, str]:
        """Built from nothing: no variable of ours but those of locale and directories."""
        given: Mapping[str, str] = ctx.config.get("env") or {}
        wanted = names_in(given)
        try:
            secrets = await self._secrets.named(ctx.tenant_id, wanted, DESTINATION) if wanted else {}
        except (CannotUnseal, Unavailable):
            raise UnfitCommand(UNAVAILABLE) from None
        except NotForHost as bound:
            raise UnfitCommand(_bound(bound), permanent=True) from None
        if missing := sorted(wanted - secrets.keys()):
            problem = f"There is no secret {', '.join(missing)}: set it with foliot secret set {missing[0]}."
            raise UnfitCommand(AttemptError("secret_missing", problem), permanent=True)
        ctx.hide(*secrets.values())
        place = {name: os.environ[name] for name in PLACE if name in os.environ}
        return {
            **place,
            **{name: filled(value, secrets) for name, value in given.items()},
            "FOLIOT_RUN_ID": ctx.run_id,
            "FOLIOT_ATTEMPT": str(ctx.attempt),
            "FOLIOT_SCHEDULE_ID": ctx.schedule_id or "",
            "FOLIOT_SCHEDULED_FOR": rfc3339(ctx.scheduled_for) or "",
        }


def _located(config: Mapping[str, Any], environment: Mapping[str, str]) -> Program:
    """The program with its path and directory on this worker."""
    cwd = str(config.get("cwd") or environment.get("HOME") or Path.home())
    if not Path(cwd).is_dir():
        raise UnfitCommand(AttemptError("cwd_missing", f"There is no directory {cwd} on this worker."))
    words = [str(word) for word in config["argv"]]
    if config.get("shell"):
        words = [_SHELL, "-c", words[0], "sh", *words[1:]]
    path = shutil.which(words[0], path=environment.get("PATH", os.defpath)) if "/" not in words[0] else words[0]
    if path is not None:
        path = str(Path(cwd, path))
    if path is None or not os.access(path, os.X_OK):
        missing = f"There is no program {words[0]} on this worker, or it may not be executed."
        raise UnfitCommand(AttemptError("program_missing", missing))
    return Program(
        path=path, arguments=words[1:], environment=environment, cwd=cwd, stdin=str(config.get("stdin") or "")
    )


def _shown(config: Mapping[str, Any]) -> str:
    return " ".join(map(str, config["argv"]))[:500]


def _outcome(code: int) -> Outcome:
    if code == 0:
        return Succeeded(result={"exit_code": 0})
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        return Failed(AttemptError("killed_by_signal", f"The program was killed by signal {name}.", name))
    return Failed(AttemptError("exit_code", f"The program exited with code {code}.", f"exit_{code}"))


class UnfitCommand(Exception):
    """A command that cannot be started as configured."""

    def __init__(self, problem: AttemptError, *, permanent: bool = False) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.permanent = permanent


UNAVAILABLE = AttemptError(
    "secret_unavailable",
    "A secret that this command needs cannot be decrypted: the stored secret or the master key has changed.",
)


def _bound(bound: NotForHost) -> AttemptError:
    why = f"it is for {', '.join(bound.hosts)}" if bound.hosts else "FOLIOT_SECRETS_REQUIRE_HOSTS requires hosts"
    return AttemptError("secret_not_for_host", f"The secret {bound.name} may not be given to a command: {why}.")
