"""Permissions: stated by every use case, checked before anything else, and no weaker than the table says."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import pytest

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases, permissions_of
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Role, Thing, Verb, scope
from foliot.core.errors import Forbidden
from foliot.features.bulk.usecases import BulkItemActions
from tests.matrix import routes
from tests.permissions import NEEDED
from tests.world import World, open_world

NOBODY = Caller("default", "nobody", Role.SYSTEM, scopes=frozenset())
SILENT = {
    # The caller is known, and that is enough.
    "Sessions.begin",
    "Sessions.end",
    "Sessions.counts",
    # Answers less to callers who may less, and nothing to the others.
    "Tasks.faults",
    # Parts of what creates schedules; their callers state the permission.
    "NamedCalendars.drafted",
    "ScheduleBatches.refusals",
    "Schedules.check_for",
    # One of two permissions: of all tenants with the one, of the caller's with the other.
    "LedgerVerifier.prove",
}
NOT_ASKED = (Limiter, BulkItemActions)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


def asked(cases: UseCases) -> Iterator[tuple[str, object, Callable[..., Any]]]:
    """Every method that takes a caller."""
    for case in cases._by_type.values():
        if isinstance(case, NOT_ASKED):
            continue
        for name, method in inspect.getmembers(type(case), inspect.isfunction):
            taken = list(inspect.signature(method).parameters)[1:2]
            if not name.startswith("_") and taken in (["caller"], ["ctx"]) and not _helper(method):
                yield f"{type(case).__name__}.{name}", case, method


def _helper(method: Callable[..., Any]) -> bool:
    """Part of a larger change: it takes the context itself, and is in no envelope."""
    return "ctx" in inspect.signature(method).parameters and not hasattr(method, "__wrapped__")


async def test_every_use_case_states_a_permission(world: World) -> None:
    found = {name for name, _, method in asked(world.cases) if not hasattr(method, "permissions")}

    assert found == SILENT


async def test_no_use_case_does_anything_for_a_caller_without_its_permission(world: World) -> None:
    refused = []
    for name, case, method in asked(world.cases):
        if name in SILENT:
            continue
        with pytest.raises(Forbidden):
            await method(case, NOBODY)
        refused.append(name)

    assert len(refused) > 90


async def test_each_permission_of_a_use_case_is_needed(world: World) -> None:
    for name, case, method in asked(world.cases):
        if name in SILENT:
            continue
        needs = permissions_of(method)
        for left_out in needs:
            scopes = frozenset(scope(*one) for one in needs if one != left_out)
            with pytest.raises(Forbidden):
                await method(case, Caller("default", "bot", Role.SYSTEM, scopes=scopes))


def test_every_route_needs_the_scope_that_the_table_names() -> None:
    table = {route: needed for needed, named in NEEDED.items() for route in named}
    stated = {
        str(route): scope(*route.permission)
        for route in routes(create_app(cast("UseCases", None)))
        if route.permission is not None
    }

    assert stated == table, "a permission was changed: change tests/permissions.py too, if that is meant"


def test_the_table_names_scopes_that_there_are() -> None:
    assert set(NEEDED) <= {scope(verb, thing) for verb in Verb for thing in Thing}
