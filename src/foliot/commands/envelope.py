"""The envelope of use cases: permission, tenant transaction, retry on conflict, idempotency, audit entry and wake-ups.

`@command` changes something, `@query` reads, `@requires` states a permission alone. Callers pass a `Caller` where the
method takes a context. Interfaces read the permission from the method: `permission_of(Queues.pause)`.

The use cases of one process, looked up by their type.

Runs a transaction again after a deadlock, a serialization failure or a lock timeout.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from foliot.commands.audit import AuditedChange, entry
from foliot.commands.audit_sql import AuditEntry, SqlAuditLog, audit_change
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.errors import Contended
from foliot.core.limits import TenantLimits
from foliot.core.ports import Clock
from foliot.db.batch_statements import Change
from foliot.db.database import Database, Transaction
from foliot.wakeups.feed import Feed

T = TypeVar("T")


class UseCases:
    """The use cases of one process, for interfaces to call: `cases[Schedules].pause(…)`."""

    __slots__ = ("_by_type", "feed")

    def __init__(self, feed: Feed, cases: Iterable[object]) -> None:
        self.feed = feed
        self._by_type: dict[type[Any], Any] = {type(case): case for case in cases}

    def __getitem__(self, kind: type[T]) -> T:
        case: T = self._by_type[kind]
        return case

    def but(self, *cases: object) -> UseCases:
        """A copy with these instances in place of those of the same type."""
        return UseCases(self.feed, [*self._by_type.values(), *cases])


P = ParamSpec("P")

TRIES = 20
PATIENCE = 10.0
"""Seconds after which a conflict is raised instead of retried."""


def again(ask: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Retry after `Contended`: the first try was rolled back, and the other transaction has ended by then."""

    @wraps(ask)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        for _ in range(TRIES - 1):
            try:
                return await ask(*args, **kwargs)
            except Contended:
                if loop.time() >= until:
                    raise
        return await ask(*args, **kwargs)

    return wrapper


Permission: TypeAlias = tuple[Verb, Thing]


class Reads(Protocol):
    """The attributes that `@query` needs of a class."""

    @property
    def store(self) -> Database: ...


class Writes(Reads, Protocol):
    """The attributes that `@command` needs of a class."""

    @property
    def clock(self) -> Clock: ...
    @property
    def feed(self) -> Feed: ...


S = TypeVar("S")
R = TypeVar("R", bound=Reads)
W = TypeVar("W", bound=Writes)


class QueryContext:
    """One call of a query: the caller, and transactions that see the caller's tenant alone."""

    __slots__ = ("_store", "caller")

    def __init__(self, store: Database, caller: Caller) -> None:
        self._store = store
        self.caller = caller

    @property
    def tenant_id(self) -> str:
        return self.caller.tenant_id

    def read(self, *, across_tenants: bool = False) -> AbstractAsyncContextManager[Transaction]:
        """A consistent read of the caller's tenant; `across_tenants` reads what belongs to no tenant, or to all."""
        return self._store.read(None if across_tenants else self.caller.tenant_id)


class CommandContext(QueryContext):
    """One call of a command. What precedes `begin` happens outside the transaction; what follows, inside.

    The envelope commits when the method returns and rolls back when it raises. `tx`, `now` and `limits` are set by
    `begin`.
    """

    __slots__ = (
        "_after",
        "_clock",
        "_entries",
        "_feed",
        "_once",
        "_stack",
        "_topics",
        "audit_time",
        "limits",
        "now",
        "tx",
    )

    tx: Transaction
    now: datetime
    limits: TenantLimits
    audit_time: datetime | None
    """Overrides the time of audit entries: the demo backdates its data, and its entries state the real time."""

    def __init__(self, parts: Writes, caller: Caller, once: IdempotentRequest = EACH_TIME) -> None:
        super().__init__(parts.store, caller)
        self._clock = parts.clock
        self._feed = parts.feed
        self._once = once
        self._stack = AsyncExitStack()
        self._entries: list[AuditEntry] = []
        self._topics: dict[str, None] = {}
        self._after: list[Callable[[], object]] = []
        self.audit_time = None

    async def begin(self, limiter: Limiter | None = None, *, across_tenants: bool = False) -> Transaction:
        """Open the transaction and reserve the idempotency key in it, before anything else is written.

        The limiter looks up the tenant's limits first, outside the transaction: it may read them from the database.
        """
        if hasattr(self, "tx"):
            raise RuntimeError("a command has one transaction, and this one has begun")
        if limiter is not None:
            self.limits = await limiter.of(self.caller.tenant_id)
        tenant_id = None if across_tenants else self.caller.tenant_id
        self.tx = await self._stack.enter_async_context(self._store.begin(tenant_id))
        self.now = self._clock.now()
        await self._once.begin(self.tx, self.caller, self.now)
        return self.tx

    def audit(self, *changes: AuditedChange, at: datetime | None = None) -> None:
        """Entries of the audit log, written before the commit in one statement: they and the change, or neither."""
        moment = self.audit_time or at or self.now
        self._entries += [entry(self.caller, moment, change) for change in changes]

    def take_audit(self) -> tuple[Change, ...]:
        """The entries noted so far, for a statement that writes them with its rows; the envelope leaves them out."""
        entries, self._entries = self._entries, []
        return audit_change(entries)

    def wake(self, *topics: str) -> None:
        """Topics to wake after the commit; none when it is rolled back."""
        self._topics.update(dict.fromkeys(topics))

    def after_commit(self, effect: Callable[[], object]) -> None:
        """Run this after the commit, before the wake-ups: for what a process keeps in memory."""
        self._after.append(effect)

    async def perform(self, body: Callable[[CommandContext], Awaitable[T]]) -> T:
        """Run the method and commit. For the envelope, not for methods."""
        async with self._stack:
            answer = await body(self)
            if hasattr(self, "tx"):
                if self._entries:
                    await SqlAuditLog(self.tx).add(self._entries)
                await self._once.keep(self.tx, self.caller, answer)
        for effect in self._after:
            effect()
        if self._topics:
            self._feed.wake(*self._topics)
        return answer


def query(
    verb: Verb, thing: Thing, *also: Permission
) -> Callable[
    [Callable[Concatenate[R, QueryContext, P], Awaitable[T]]],
    Callable[Concatenate[R, Caller, P], Coroutine[Any, Any, T]],
]:
    """A use case that reads, by `ctx.read()`; the caller needs all of these permissions."""
    needs = ((verb, thing), *also)

    def decorated(
        method: Callable[Concatenate[R, QueryContext, P], Awaitable[T]],
    ) -> Callable[Concatenate[R, Caller, P], Coroutine[Any, Any, T]]:
        @wraps(method)
        async def wrapper(self: R, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
            _demand(caller, needs)
            return await method(self, QueryContext(self.store, caller), *args, **kwargs)

        return _stating(needs, wrapper)

    return decorated


def command(
    verb: Verb, thing: Thing, *also: Permission
) -> Callable[
    [Callable[Concatenate[W, CommandContext, P], Awaitable[T]]],
    Callable[Concatenate[W, Caller, P], Coroutine[Any, Any, T]],
]:
    """A use case that changes something, in the one transaction that `ctx.begin()` opens.

    A parameter named `once` makes it idempotent: its key is reserved by `begin`, and the answer kept before the commit.
    After a conflict the method runs again from its first line; the first try was rolled back.
    """
    needs = ((verb, thing), *also)

    def decorated(
        method: Callable[Concatenate[W, CommandContext, P], Awaitable[T]],
    ) -> Callable[Concatenate[W, Caller, P], Coroutine[Any, Any, T]]:
        perform = unchecked_command(method)

        @wraps(method)
        async def wrapper(self: W, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
            _demand(caller, needs)
            return await perform(self, caller, *args, **kwargs)

        return _stating(needs, wrapper)

    return decorated


def unchecked_command(
    method: Callable[Concatenate[W, CommandContext, P], Awaitable[T]],
) -> Callable[Concatenate[W, Caller, P], Coroutine[Any, Any, T]]:
    """A command without a permission: checked by the use case that calls it, or not needed (actors, signing out)."""
    once_of = _once_of(method)

    @again
    async def perform(self: W, caller: Caller, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        context = CommandContext(self, caller, once_of(args, kwargs))
        return await context.perform(lambda ctx: cast("Any", method)(self, ctx, *args, **kwargs))

    @wraps(method)
    async def wrapper(self: W, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await perform(self, caller, args, kwargs)

    return wrapper


def requires(
    verb: Verb, thing: Thing, *also: Permission
) -> Callable[[Callable[Concatenate[S, Caller, P], T]], Callable[Concatenate[S, Caller, P], T]]:
    """A permission alone: for use cases with several transactions, group commit, or none. The method may be sync."""
    needs = ((verb, thing), *also)

    def decorated(method: Callable[Concatenate[S, Caller, P], T]) -> Callable[Concatenate[S, Caller, P], T]:
        if inspect.iscoroutinefunction(method):

            @wraps(method)
            async def awaited(self: S, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> Any:
                _demand(caller, needs)
                return await cast("Any", method)(self, caller, *args, **kwargs)

            return _stating(needs, cast("Callable[Concatenate[S, Caller, P], T]", awaited))

        @wraps(method)
        def wrapper(self: S, caller: Caller, /, *args: P.args, **kwargs: P.kwargs) -> T:
            _demand(caller, needs)
            return method(self, caller, *args, **kwargs)

        return _stating(needs, wrapper)

    return decorated


def permissions_of(use_case: Callable[..., object]) -> tuple[Permission, ...]:
    """Every permission that a use case states; `TypeError` when it states none."""
    permissions: tuple[Permission, ...] | None = getattr(use_case, "permissions", None)
    if not permissions:
        raise TypeError(f"{getattr(use_case, '__qualname__', use_case)} states no permission")
    return permissions


def permission_of(use_case: Callable[..., object]) -> Permission:
    """The first permission that a use case states: the one that documents and the access matrix name."""
    return permissions_of(use_case)[0]


F = TypeVar("F", bound=Callable[..., object])


def _stating(needs: tuple[Permission, ...], wrapper: F) -> F:
    wrapper.permissions = needs  # type: ignore[attr-defined]
    return wrapper


def _demand(caller: Caller, needs: tuple[Permission, ...]) -> None:
    for verb, thing in needs:
        require(caller, verb, thing)


def _once_of(method: Callable[..., object]) -> Callable[[tuple[Any, ...], dict[str, Any]], IdempotentRequest]:
    """Where a method takes its idempotency key from: by name, or by position after `self` and the context."""
    names = list(inspect.signature(method).parameters)[2:]
    if "once" not in names:
        return lambda _args, _kwargs: EACH_TIME
    place = names.index("once")

    def once_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> IdempotentRequest:
        once: IdempotentRequest = args[place] if len(args) > place else kwargs.get("once", EACH_TIME)
        return once

    return once_of
