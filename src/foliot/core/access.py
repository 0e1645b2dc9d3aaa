"""Permissions: roles, scopes and the table of what each role may do. What is not in the table is denied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from foliot.core.errors import Forbidden


class Role(StrEnum):
    """Roles, least privileged first. `system` spans all tenants; local mode has it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    SYSTEM = "system"


class Verb(StrEnum):
    """The operations of a permission."""

    READ = "read"
    WRITE = "write"
    RUN = "run"


class Thing(StrEnum):
    """The resources of a permission."""

    SCHEDULE = "schedule"
    RUN = "run"
    TASK = "task"
    """Registered functions; running one creates a run."""
    CRAWL = "crawl"
    """Requests for crawls; they create a run or a schedule."""
    ARTICLE = "article"
    """Requests for articles; they create a run."""
    DEAD_LETTER = "dead letter"
    KEY = "key"
    """API keys of the tenant."""
    SECRET = "secret"  # noqa: S105 -- the word, not one of them
    AUDIT_LOG = "trail"
    """The audit log: who changed what in the tenant."""
    TICKET = "ticket"
    """A short-lived pass to a stream, or to the dashboard."""
    SESSION = "session"
    """A sign-in at the dashboard: appears in the audit log only, no role allows or forbids it."""
    TENANT = "tenant"
    """The limits of tenants."""
    BULK = "bulk"
    """One action on many things; creating one also needs the permission for the action itself."""
    QUEUE = "queue"
    """Where runs wait: each tenant sees its own runs in it, and only the operator pauses it."""
    CALENDAR = "calendar"
    """Named days and times that schedules exclude."""
    CHANNEL = "channel"
    """Where notifications are sent."""
    ALERT_RULE = "alert rule"
    ALERT = "alert"
    MONITOR = "monitor"
    """Jobs that run elsewhere and report by pings."""
    HOST = "host"
    """A host that pages are fetched from: the operator limits it for all, a tenant slows it down for itself."""
    VIEW = "view"
    """Saved views: each user's own, and those shared in the tenant."""
    PAGE = "page"
    """Pages as they were fetched."""
    WATCH = "watch"
    """Watched pages and their changes."""
    COMMAND = "command"
    """Programs of this machine, as the action of a schedule."""
    INSTALLATION = "house"
    """The installation, over all tenants: its processes, metrics, the proof of the ledger."""


class Interface(StrEnum):
    """The interface that a request came through."""

    REST = "rest"
    DASHBOARD = "dashboard"
    """The same routes, called with a browser's session."""
    GRPC = "grpc"
    CLI = "cli"
    CODE = "code"
    FILE = "file"
    """The pipelines file, which is read when it changes."""
    DISCORD = "discord"
    MCP = "mcp"
    """An agent, by one of the tools of `/mcp`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request. The tenant comes from the token alone, never from the request."""

    tenant_id: str
    user_id: str
    role: Role
    interface: Interface = Interface.REST
    scopes: frozenset[str] | None = None
    """The scopes that an API key was narrowed to, as `scope` writes them; None is everything its role allows."""
    key_id: str | None = None
    """The API key of the request, if it has one."""
    expires_at: datetime | None = None
    """When the credential of the request expires."""
    kid: str | None = field(default=None, compare=False)
    """The name of the key that signed the token, when it gave one."""
    session_id: str | None = field(default=None, compare=False)
    """The browser's session, also behind a ticket that was created from it; a stream ends with it."""


KEEPER = "default"
"""The operator's tenant: that of local mode, of schedules declared in code, and of tasks about the installation."""

EVERY_TENANT = "all"


@dataclass(frozen=True, slots=True)
class TenantAllowList:
    """An allow-list of tenants for a task or service that the operator adds; without names it admits all of them."""

    names: frozenset[str] | None = frozenset({KEEPER})

    @classmethod
    def of(cls, tenants: str | Iterable[str]) -> TenantAllowList:
        """`"all"`, or names; `ValueError` with the rule otherwise."""
        if tenants == EVERY_TENANT:
            return cls(None)
        names = frozenset([tenants] if isinstance(tenants, str) else tenants)
        if not names or not all(str(name).strip() == name != "" for name in names):
            raise ValueError(f"must be {EVERY_TENANT!r} or the names of tenants")
        return cls(None if EVERY_TENANT in names else names)

    def __contains__(self, tenant_id: object) -> bool:
        return self.names is None or tenant_id in self.names

    def listed(self) -> list[str]:
        """The names, sorted; `["all"]` when it admits every tenant."""
        return [EVERY_TENANT] if self.names is None else sorted(self.names)


OPERATORS_OWN = TenantAllowList()

LOCAL = Caller(KEEPER, "local", Role.SYSTEM)
"""The one caller of local mode."""

CODE = Caller(KEEPER, "code", Role.SYSTEM, Interface.CODE)
"""Code: tasks declare schedules in their modules, and they are created when a process starts."""

_SEE = frozenset(
    {
        (Verb.READ, Thing.SCHEDULE),
        (Verb.READ, Thing.RUN),
        (Verb.READ, Thing.DEAD_LETTER),
        (Verb.READ, Thing.BULK),
        (Verb.READ, Thing.QUEUE),
        (Verb.READ, Thing.TASK),
        (Verb.READ, Thing.CALENDAR),
        (Verb.READ, Thing.CHANNEL),
        (Verb.READ, Thing.ALERT_RULE),
        (Verb.READ, Thing.ALERT),
        (Verb.READ, Thing.MONITOR),
        (Verb.READ, Thing.HOST),
        (Verb.READ, Thing.VIEW),
        (Verb.WRITE, Thing.VIEW),
        (Verb.READ, Thing.PAGE),
        (Verb.READ, Thing.WATCH),
        (Verb.WRITE, Thing.TICKET),
    }
)
_OPERATE = _SEE | {
    (Verb.WRITE, Thing.SCHEDULE),
    (Verb.RUN, Thing.SCHEDULE),
    (Verb.WRITE, Thing.RUN),
    (Verb.RUN, Thing.RUN),
    (Verb.RUN, Thing.CRAWL),
    (Verb.RUN, Thing.ARTICLE),
    (Verb.WRITE, Thing.DEAD_LETTER),
    (Verb.RUN, Thing.DEAD_LETTER),
    (Verb.WRITE, Thing.BULK),
    (Verb.RUN, Thing.TASK),
    (Verb.READ, Thing.SECRET),
    (Verb.WRITE, Thing.CALENDAR),
    (Verb.WRITE, Thing.CHANNEL),
    (Verb.WRITE, Thing.ALERT_RULE),
    (Verb.WRITE, Thing.ALERT),
    (Verb.WRITE, Thing.MONITOR),
    (Verb.WRITE, Thing.WATCH),
    (Verb.RUN, Thing.WATCH),
    (Verb.WRITE, Thing.PAGE),
}
_ADMINISTER = _OPERATE | {
    (Verb.READ, Thing.KEY),
    (Verb.WRITE, Thing.KEY),
    (Verb.WRITE, Thing.SECRET),
    (Verb.WRITE, Thing.HOST),
    (Verb.WRITE, Thing.COMMAND),
    (Verb.READ, Thing.AUDIT_LOG),
}
_ALLOWED: dict[Role, frozenset[tuple[Verb, Thing]]] = {
    Role.VIEWER: _SEE,
    Role.OPERATOR: _OPERATE,
    Role.ADMIN: _ADMINISTER,
    Role.SYSTEM: _ADMINISTER
    | {
        (Verb.WRITE, Thing.QUEUE),
        (Verb.READ, Thing.INSTALLATION),
        (Verb.WRITE, Thing.INSTALLATION),
        (Verb.READ, Thing.TENANT),
        (Verb.WRITE, Thing.TENANT),
    },
}


def scope(verb: Verb, thing: Thing) -> str:
    """A permission as the scope of an API key: `schedule:read`, `dead_letter:run`."""
    return f"{thing.value.replace(' ', '_')}:{verb.value}"


SCOPES = frozenset(scope(verb, thing) for verb, thing in _ALLOWED[Role.SYSTEM])
"""Every scope there is."""


def scopes_of(role: Role) -> frozenset[str]:
    """Every scope that has a meaning for a key of this role."""
    return frozenset(scope(verb, thing) for verb, thing in _ALLOWED[role])


def may(caller: Caller, verb: Verb, thing: Thing) -> bool:
    """Whether the table allows it, and the caller's scopes too."""
    if (verb, thing) not in _ALLOWED.get(caller.role, frozenset()):
        return False
    return caller.scopes is None or scope(verb, thing) in caller.scopes


def require(caller: Caller, verb: Verb, thing: Thing) -> None:
    """`Forbidden` unless the caller may."""
    if not may(caller, verb, thing):
        what = "role" if caller.scopes is None else "key's scopes and role"
        raise Forbidden(f"the {what} {caller.role.value} may not {verb.value} a {thing.value}")


def grants(caller: Caller, role: Role) -> bool:
    """Whether this caller may grant that role: never more than its own."""
    return _ALLOWED[role] <= _ALLOWED.get(caller.role, frozenset())
