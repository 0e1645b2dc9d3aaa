"""A trial runs a schedule's action once, and stores no schedule."""

from __future__ import annotations

import pytest

from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Forbidden, Invalid
from foliot.engine.model.run import RunState
from foliot.engine.model.views import PageRequest
from foliot.features.filters.model import FilterQuery
from foliot.features.filters.usecases import Search
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.trial import Trials
from tests.world import EVERY_MINUTE, World


async def test_only_a_run_is_left_of_a_trial(world: World) -> None:
    run = await world.cases[Trials].trial(LOCAL, {**EVERY_MINUTE, "retry_policy": {"max_retries": 9}})

    assert await world.cases[Search].schedules(LOCAL, PageRequest(), FilterQuery()) == []
    (listed,) = await world.cases[Runs].list(LOCAL, PageRequest())
    assert (listed.id, listed.schedule_id, listed.max_attempts) == (run.id, None, 1)
    await world.end(run.id, RunState.FAILED, {"code": "http_500", "message": "no"})
    (ended,) = await world.cases[Runs].list(LOCAL, PageRequest())
    assert ended.state is RunState.FAILED


async def test_an_invalid_document_is_refused_as_it_would_be_when_saved(world: World) -> None:
    with pytest.raises(Invalid, match="name"):
        await world.cases[Trials].trial(LOCAL, {**EVERY_MINUTE, "name": ""})
    assert await world.cases[Runs].list(LOCAL, PageRequest()) == []


async def test_who_may_not_write_schedules_may_not_try_one(world: World) -> None:
    for scopes in ({"schedule:run"}, {"schedule:write"}):
        caller = Caller("default", "key", Role.ADMIN, scopes=frozenset(scopes))
        with pytest.raises(Forbidden):
            await world.cases[Trials].trial(caller, EVERY_MINUTE)
