"""The action `celery`: sends a task to another application's broker, and waits for it without a slot.

The run is parked until the application's result backend knows how the task ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from foliot.core.egress import EgressRefused
from foliot.core.errors import Unavailable
from foliot.core.secrets import CannotUnseal, NamedSecrets
from foliot.core.threads import WORK
from foliot.engine.model.run import AttemptError, Cancelled, Failed, Outcome, Parked, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget, ParkedRun
from foliot.features.celery_tasks.config import read_task
from foliot.net.failures import Unreachable
from foliot.net.tcp import TcpEgress

CHECK = timedelta(seconds=2)
SLOWEST = timedelta(seconds=30)
BACKENDS = {"redis": 6379, "rediss": 6379}
"""Default ports of result backends."""
BROKERS = {"amqp": 5672, "amqps": 5671, "pyamqp": 5672, **BACKENDS}
_ENCRYPTED = frozenset({"amqps", "rediss"})
_FAILED, _REVOKED, _SUCCESS = frozenset({"FAILURE", "UNREADABLE"}), "REVOKED", "SUCCESS"


TaskClient = Any
"""The module `cluster/celery/task_client`, which is imported when it is first needed: Celery is an extra."""


class UnusableUrl(Exception):
    """The secret holds no URL of a broker that may be called, or does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUrls:
    """URLs from secrets, with the address that the SSRF guard has checked in place of the name."""

    secrets: NamedSecrets
    tcp: TcpEgress

    async def of(self, tenant_id: str, secret: str, ports: Mapping[str, int]) -> tuple[str, str]:
        """The URL to connect to, and as it was given; `UnusableUrl` or `Unavailable` otherwise."""
        try:
            values = await self.secrets.named(tenant_id, [secret])
        except CannotUnseal:
            raise UnusableUrl(f"The secret {secret} cannot be decrypted.") from None
        url = values.get(secret)
        if url is None:
            raise UnusableUrl(f"There is no secret {secret}: set it with foliot secret set {secret}.")
        try:
            parts = urlsplit(url)
            port = parts.port or ports[parts.scheme]
            host = parts.hostname or "localhost"
        except (ValueError, KeyError):
            known = ", ".join(f"{scheme}://" for scheme in ports)
            raise UnusableUrl(f"The secret {secret} must be a URL that begins with one of {known}") from None
        # Alternates and options would lead to hosts that were not checked, or switch the checks of TLS off.
        if ";" in url or "," in parts.netloc or parts.query or parts.fragment:
            raise UnusableUrl(f"The secret {secret} must be a URL of one host, without a query.")
        try:
            sock = await self.tcp.open(host, port, tenant_id)
        except EgressRefused as refused:
            raise UnusableUrl(f"The host of the secret {secret} may not be called: {refused}") from None
        except Unreachable:
            raise Unavailable(f"the host of the secret {secret} cannot be reached") from None
        address = sock.getpeername()[0]
        sock.close()
        if parts.scheme in _ENCRYPTED:
            # The certificate proves the name.
            return url, url
        user, at, _ = parts.netloc.rpartition("@")
        place = f"[{address}]" if ":" in address else address
        return urlunsplit(parts._replace(netloc=f"{user}{at}{place}:{port}")), url


class CeleryAction:
    """Sends a task by name, with the run's id as its own."""

    kind = "celery"
    timeout = timedelta(hours=1)

    def __init__(self, *, urls: BrokerUrls, client: Callable[[], TaskClient]) -> None:
        """`client` returns None where Celery is not installed."""
        self._urls = urls
        self._client = client

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        return read_task(config)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        return AttemptTarget(f"celery:{config.get('broker')}", frozenset({"broker_unavailable"}))

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Send the task once; a second delivery has the same id."""
        client = self._client()
        if client is None:
            return Failed(AttemptError("celery_missing", "This worker has no Celery: pip install 'foliot[cluster]'."))
        config = ctx.config
        message = client.TaskMessage(
            task_id=ctx.run_id,
            **{name: config[name] for name in ("task", "args", "kwargs", "queue", "priority") if name in config},
            expires_seconds=config.get("expires_seconds"),
        )
        handle = {"task_id": ctx.run_id, "broker": config["broker"], "backend": config.get("backend"), "looks": 0}
        try:
            url, given = await self._urls.of(ctx.tenant_id, str(config["broker"]), BROKERS)
            ctx.hide(url, given)
            if config["wait"]:
                await ctx.note(handle)
            await WORK.run(client.send, url, message)
        except UnusableUrl as unusable:
            return Failed(AttemptError("broker_refused", str(unusable)), permanent=True)
        except Unavailable as down:
            return Failed(AttemptError("broker_unavailable", str(down)))
        ctx.log(f"Sent {config['task']} to {config.get('queue') or 'the default queue'}, task id {ctx.run_id}")
        if not config["wait"]:
            return Succeeded(result={"task_id": ctx.run_id})
        return Parked(handle, CHECK)

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        """The states of parked tasks, those of one backend at a time."""
        client = self._client()
        if client is None:
            return {}
        groups: dict[tuple[str, str], list[ParkedRun]] = {}
        for each in looks:
            groups.setdefault((each.ctx.tenant_id, str(each.handle["backend"])), []).append(each)
        found: dict[str, Outcome] = {}
        for (tenant_id, backend), those in groups.items():
            found |= await self._group(client, tenant_id, backend, those)
        return found

    async def _group(
        self, client: TaskClient, tenant_id: str, backend: str, looks: Sequence[ParkedRun]
    ) -> Mapping[str, Outcome]:
        try:
            url, _ = await self._urls.of(tenant_id, backend, BACKENDS)
            states = await WORK.run(client.states, url, [str(each.handle["task_id"]) for each in looks])
        except (UnusableUrl, Unavailable) as down:
            # Those whose time is up end; the others are looked at again.
            return {each.ctx.run_id: over for each in looks if (over := _overdue(each, str(down))) is not None}
        found: dict[str, Outcome] = {}
        for each in looks:
            outcome = _outcome(each, states[str(each.handle["task_id"])])
            if each.cancel or each.ended or _gives_up(outcome):
                await self._revoke(client, each)
            found[each.ctx.run_id] = Cancelled() if each.cancel and isinstance(outcome, Parked) else outcome
        return found

    async def _revoke(self, client: TaskClient, look: ParkedRun) -> None:
        try:
            url, _ = await self._urls.of(look.ctx.tenant_id, str(look.handle["broker"]), BROKERS)
            await WORK.run(client.revoke, url, str(look.handle["task_id"]))
        except (UnusableUrl, Unavailable) as down:
            look.ctx.log(f"The task could not be revoked: {down}", level="warning")


NO_RESULT = "no_result"


def _gives_up(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.problem.code == NO_RESULT


def _outcome(look: ParkedRun, state: Any) -> Outcome:
    if state.state == _SUCCESS:
        return Succeeded(result={"task_id": look.handle["task_id"], "result": state.result})
    if state.state in _FAILED:
        return Failed(AttemptError("task_failed", str(state.result)[:2000]))
    if state.state == _REVOKED:
        return Cancelled("the task was revoked")
    if over := _overdue(look, f"the task is {state.state}"):
        return over
    looks = int(look.handle.get("looks", 0)) + 1
    return Parked({**look.handle, "looks": looks}, min(CHECK * (1 + looks // 10), SLOWEST))


def _overdue(look: ParkedRun, why: str) -> Failed | None:
    limit = look.ctx.limit or CeleryAction.timeout
    if look.ctx.now - look.started_at < limit:
        return None
    return Failed(AttemptError(NO_RESULT, f"No result came within {limit.total_seconds():g} s: {why}."))
