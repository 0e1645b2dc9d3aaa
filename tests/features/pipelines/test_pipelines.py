"""The file of pipelines and the store: what is new, changed, gone or broken, on every database."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.app.use_cases import use_cases
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, NotFound
from foliot.db.database import Database
from foliot.engine.model.schedule import ManagedBy, Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.expectations.usecases import DataJudge
from foliot.features.pipelines import schema as pipelines_schema
from foliot.features.pipelines.action import PipelineAction
from foliot.features.pipelines.file.read import PipelineFileReader
from foliot.features.pipelines.model import FileContents, FileFault
from foliot.features.pipelines.usecases.pipelines import Pipelines, PipelineStatus
from foliot.features.pipelines.usecases.reconcile import PATIENCE, PipelineReconciler
from foliot.features.pipelines.wiring import StoredDefinitions, load
from foliot.features.presets.usecases import Presets
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tenants.usecases import Tenants
from foliot.testing import GivenActions, StoppedClock, drain
from foliot.wakeups.feed import MemoryFeed
from tests.asgi import Client
from tests.callers import Names
from tests.declared import conforms
from tests.givens import sql, statements

MONDAY = datetime(2027, 1, 4, 12, tzinfo=UTC)
CATALOGUE = load(())
CHAIN = "chain: [{class: JsonParser}]"
HOURLY = f'  hourly: {{schedule: {{cron: "0 * * * *"}}, {CHAIN}}}\n'
HALVES = f'  hourly: {{schedule: {{cron: "0,30 * * * *"}}, {CHAIN}}}\n'
WRONG = f'  hourly: {{schedule: {{cron: "61 * * * *"}}, {CHAIN}}}\n'
OFTEN = f"  often: {{schedule: {{interval: 60}}, {CHAIN}}}\n"
BY_HAND = f"  by_hand: {{{CHAIN}}}\n"


@dataclass
class Text:
    """A file of which a test knows the text."""

    sheet: FileContents | None = None
    forgotten: int = 0

    async def look(self, now: datetime) -> FileContents | None:
        sheet, self.sheet = self.sheet, None
        return sheet

    def forget(self) -> None:
        self.forgotten += 1


@dataclass
class House:
    """A scheduler that reads a file."""

    store: Database
    clock: StoppedClock = field(default_factory=lambda: StoppedClock(MONDAY))
    book: Text = field(default_factory=Text)

    def __post_init__(self) -> None:
        outside: Any = None  # no step here leaves the house
        definitions = StoredDefinitions(self.store)
        judge = DataJudge(store=self.store, clock=self.clock)
        self.action = PipelineAction(definitions=definitions, catalogue=CATALOGUE, outside=outside, judge=judge)
        self.cases = use_cases(self.store, self.clock, MemoryFeed(), GivenActions.of(self.action))
        self.reconciler = PipelineReconciler(
            store=self.store, book=self.book, declaring=self.cases[Presets].declaring, tenant_id=LOCAL.tenant_id
        )

    async def write(self, *texts: str) -> None:
        """Save the file; the clock goes on, as it does."""
        reader = PipelineFileReader(catalogue=CATALOGUE, zone="Europe/Stockholm")
        text = "pipelines:\n" + "".join(texts) if texts else "pipelines: {}"
        self.clock.advance(1)
        self.book.sheet = reader.read(text.encode(), "pipelines.yml", self.clock.now())
        await self.reconciler.run_once()

    async def standing(self) -> dict[str, PipelineStatus]:
        return {one.kept.name: one for one in await self.cases[Pipelines].list(LOCAL)}

    async def schedules(self) -> dict[str, Schedule]:
        return {one.name: one for one in await self.cases[Schedules].list(LOCAL, PageRequest(100))}

    async def runs(self) -> Sequence[RunView]:
        return await self.cases[Runs].list(LOCAL, PageRequest(100))


@pytest.fixture
def house(store: Database) -> House:
    return House(store)


async def test_a_file_makes_schedules_and_runs_what_has_none_once(house: House) -> None:
    await house.write(HOURLY, OFTEN, BY_HAND)

    schedules = await house.schedules()
    assert {name: one.managed_by for name, one in schedules.items()} == dict.fromkeys(("hourly", "often"), "file")
    assert schedules["hourly"].next_at == datetime(2027, 1, 4, 13, tzinfo=UTC)
    assert schedules["hourly"].spec.trigger.rule.zone == "Europe/Stockholm"
    await drain(house.store, house.clock, house.action)
    (run,) = await house.runs()
    assert (run.state, run.action) == ("success", {"pipeline": "by_hand"})
    assert list(await house.standing()) == ["hourly", "often", "by_hand"]
    last = (await house.standing())["by_hand"].last
    assert last is not None
    assert (last.id, last.state) == (run.id, run.state)

    house.clock.advance(3600)
    await drain(house.store, house.clock, house.action)
    standing, passed = await house.cases[Pipelines].get(LOCAL, "hourly")
    assert [(one.run.state, [step["name"] for step in one.steps]) for one in passed] == [("success", ["JsonParser"])]
    assert standing.last == passed[0].run


async def test_an_edit_changes_what_it_changes_and_nothing_else(house: House) -> None:
    await house.write(HOURLY, OFTEN)
    before = await house.schedules()
    await house.cases[Schedules].pause(LOCAL, before["hourly"].id, {"reason": "a holiday"})

    await house.write("  # moved down\n", HALVES, OFTEN, BY_HAND)

    after = await house.schedules()
    assert after["often"] == before["often"]
    assert after["hourly"].id == before["hourly"].id
    assert (after["hourly"].status, after["hourly"].paused_reason) == (ScheduleStatus.PAUSED, "a holiday")
    assert after["hourly"].spec != before["hourly"].spec
    assert set(await house.standing()) == {"hourly", "often", "by_hand"}

    await house.write(OFTEN)

    assert set(await house.schedules()) == {"often"}
    assert set(await house.standing()) == {"often"}
    gone = await house.cases[Schedules].get(LOCAL, before["hourly"].id)
    assert gone.status is ScheduleStatus.DELETED
    await house.write()
    assert (await house.schedules(), await house.standing()) == ({}, {})


async def test_a_broken_edit_changes_nothing_and_says_why(house: House) -> None:
    await house.write(HOURLY, OFTEN)
    before = await house.schedules()

    await house.write(WRONG, OFTEN)

    assert await house.schedules() == before
    broken = (await house.standing())["hourly"].kept
    assert broken.fault is not None
    assert (broken.fault.file, broken.fault.line) == ("pipelines.yml", 2)
    assert "61" in broken.fault.message
    assert broken.definition is not None
    assert broken.definition.draft is not None
    assert broken.definition.draft["cron_expr"] == "0 * * * *"
    assert (await house.standing())["often"].kept.fault is None
    assert len(house.reconciler.troubles) == 1

    await house.write(OFTEN, "  hourly: {chain: [\n")  # a syntax error

    assert await house.schedules() == before
    assert {name: one.kept.fault is None for name, one in (await house.standing()).items()} == {
        "often": True,
        "hourly": False,
    }

    await house.write("  hourly: {chain: [")  # in which nothing can be read, and one may be hidden

    assert await house.schedules() == before
    assert all(one.kept.fault for one in (await house.standing()).values())

    await house.write(HOURLY, OFTEN)

    assert await house.schedules() == before
    assert [one.kept.fault for one in (await house.standing()).values()] == [None, None]
    assert house.reconciler.troubles == []


async def test_a_file_that_is_gone_removes_nothing(house: House) -> None:
    await house.write(HOURLY)
    before = await house.schedules()

    gone = FileFault(file="pipelines.yml", line=None, column=None, message="cannot be read (No such file or directory)")
    house.book.sheet = FileContents(file="pipelines.yml", fault=gone)
    await house.reconciler.run_once()

    assert await house.schedules() == before
    assert (await house.standing())["hourly"].kept.fault == gone


async def test_what_a_broken_file_may_only_hide_is_not_removed(house: House) -> None:
    await house.write(HOURLY, OFTEN)
    read = PipelineFileReader(catalogue=CATALOGUE, zone="Europe/Stockholm").read(
        f"pipelines:\n{OFTEN}".encode(), "p.yml", MONDAY
    )

    house.book.sheet = replace(read, partial=True)
    await house.reconciler.run_once()
    assert set(await house.schedules()) == {"hourly", "often"}

    house.book.sheet = read
    await house.reconciler.run_once()
    assert set(await house.schedules()) == {"often"}


async def test_what_is_broken_from_the_start_is_shown_and_cannot_be_run(house: House) -> None:
    await house.write(WRONG, BY_HAND, "  'no name': {}\n")

    assert {name: one.kept.definition is None for name, one in (await house.standing()).items()} == {
        "hourly": True,
        "by_hand": False,
    }
    with pytest.raises(Conflict, match="61"):
        await house.cases[Pipelines].run(LOCAL, "hourly")
    assert await house.schedules() == {}


async def test_a_pipeline_without_a_schedule_runs_once_for_each_revision(house: House) -> None:
    other = "  by_hand: {on_error: skip, chain: [{class: JsonParser}]}\n"

    await house.write(BY_HAND)
    await house.write("  # the same, a line lower\n", BY_HAND)
    assert len(await house.runs()) == 1
    await House(house.store, book=Text()).write(BY_HAND)  # after a restart
    assert len(await house.runs()) == 1
    await house.write(other)
    assert len(await house.runs()) == 2
    await drain(house.store, house.clock, house.action)
    await house.write()
    await house.write(BY_HAND)  # a revision that has had its run
    assert len(await house.runs()) == 2
    await house.cases[Pipelines].run(LOCAL, "by_hand")
    assert len(await house.runs()) == 3


async def test_schedulers_that_read_the_same_file_at_once_make_everything_once(house: House) -> None:
    other = Database(house.store.url, bind_clock=True) if ":memory:" not in house.store.url else house.store
    second = House(other)
    try:
        for text in ((HOURLY, OFTEN, BY_HAND), (HALVES, BY_HAND), (OFTEN,)):
            await asyncio.gather(house.write(*text), second.write(*text))
    finally:
        if other is not house.store:
            await other.close()

    assert set(await house.schedules()) == {"often"}
    assert len(await house.runs()) == 1
    assert len(await house.cases[Schedules].list(LOCAL, PageRequest(100), status="deleted")) == 2


async def test_an_edit_of_one_pipeline_costs_nothing_for_the_others(house: House) -> None:
    many = [f"  p{number}: {{schedule: {{interval: 60}}, {CHAIN}}}\n" for number in range(20)]
    await house.write(*many)

    with statements(house.store) as seen:
        await house.write(*many[:-1], many[-1].replace("60", "90"))

    assert len(seen) < 30
    assert (await house.schedules())["p19"].spec.trigger.as_dict()["interval_seconds"] == 90


async def test_a_schedule_that_vanished_is_made_again(house: House) -> None:
    await house.write(HOURLY)
    vanished = (await house.schedules())["hourly"]
    await sql(house.store, "DELETE FROM schedules WHERE id = :id", id=vanished.id)

    await house.write(HOURLY)

    assert (await house.schedules())["hourly"].id != vanished.id


async def test_a_schedule_that_is_taken_from_a_pipeline_ends_and_comes_back(house: House) -> None:
    await house.write(HOURLY)
    await house.write(f"  hourly: {{{CHAIN}}}\n")

    assert await house.schedules() == {}
    assert (await house.standing())["hourly"].schedule is None
    assert len(await house.runs()) == 1

    await house.write(HOURLY)
    assert set(await house.schedules()) == {"hourly"}


async def test_what_the_file_made_is_edited_in_the_file(house: House) -> None:
    await house.write(HOURLY)
    schedule = (await house.schedules())["hourly"]
    document = {
        "name": "x",
        "type": "interval",
        "interval_seconds": 5,
        "action": {"kind": "pipeline", "pipeline": "hourly"},
    }

    for edit in (
        house.cases[Schedules].patch(LOCAL, schedule.id, {"name": "mine"}),
        house.cases[Schedules].replace(LOCAL, schedule.id, document),
        house.cases[Schedules].delete(LOCAL, schedule.id),
    ):
        with pytest.raises(Conflict, match="edit or remove the pipeline 'hourly' there"):
            await edit
    assert await house.schedules() == {"hourly": schedule}

    assert (await house.cases[Schedules].pause(LOCAL, schedule.id)).status is ScheduleStatus.PAUSED
    assert (await house.cases[Schedules].resume(LOCAL, schedule.id)).status is ScheduleStatus.ACTIVE
    run = await house.cases[Schedules].run_now(LOCAL, schedule.id)
    last = (await house.standing())["hourly"].last
    assert last is not None
    assert last.id == run.id
    mine = await house.cases[Schedules].create(LOCAL, document)
    assert mine.managed_by is ManagedBy.API
    await house.cases[Schedules].patch(LOCAL, mine.id, {"name": "mine"})


async def test_a_limit_that_stands_in_the_way_is_a_fault_of_that_pipeline_alone(house: House) -> None:
    system = Caller(LOCAL.tenant_id, "root", Role.SYSTEM)
    await house.cases[Tenants].put(system, LOCAL.tenant_id, {"limits": {"schedules": 1}})

    await house.write(HOURLY, OFTEN, BY_HAND)

    assert set(await house.schedules()) == {"hourly"}
    faults = {name: one.kept.fault for name, one in (await house.standing()).items()}
    assert faults["often"] is not None
    assert "cannot be created" in faults["often"].message
    assert (faults["hourly"], faults["by_hand"]) == (None, None)


async def test_what_had_no_room_is_made_when_there_is_some(house: House) -> None:
    system = Caller(LOCAL.tenant_id, "root", Role.SYSTEM)
    await house.cases[Tenants].put(system, LOCAL.tenant_id, {"limits": {"schedules": 1}})
    await house.write(HOURLY, OFTEN)
    (told,) = house.reconciler.troubles

    house.clock.advance(PATIENCE.total_seconds())
    await house.reconciler.run_once()
    assert (set(await house.schedules()), house.reconciler.troubles) == ({"hourly"}, [told])

    await house.cases[Tenants].put(system, LOCAL.tenant_id, {"limits": {"schedules": 2}})
    house.clock.advance(PATIENCE.total_seconds())
    await house.reconciler.run_once()

    assert (set(await house.schedules()), house.reconciler.troubles) == ({"hourly", "often"}, [])
    assert (await house.standing())["often"].kept.fault is None


async def test_what_another_has_removed_meanwhile_is_not_made_after_all(house: House) -> None:
    system = Caller(LOCAL.tenant_id, "root", Role.SYSTEM)
    await house.cases[Tenants].put(system, LOCAL.tenant_id, {"limits": {"schedules": 1}})
    await house.write(HOURLY, OFTEN)
    await House(house.store, house.clock).write(HOURLY)

    await house.cases[Tenants].put(system, LOCAL.tenant_id, {"limits": {"schedules": 2}})
    house.clock.advance(PATIENCE.total_seconds())
    await house.reconciler.run_once()

    assert set(await house.standing()) == {"hourly"}


async def test_pipelines_are_one_tenants_own(house: House) -> None:
    await house.write(BY_HAND)
    stranger = Caller("other", "eve", Role.ADMIN)

    assert await house.cases[Pipelines].list(stranger) == []
    with pytest.raises(NotFound):
        await house.cases[Pipelines].get(stranger, "by_hand")
    with pytest.raises(NotFound):
        await house.cases[Pipelines].run(stranger, "by_hand")


async def test_the_http_door_says_the_same(house: House) -> None:
    await house.write(HOURLY, WRONG.replace("hourly", "wrong"), BY_HAND)
    await drain(house.store, house.clock, house.action)
    callers = {"ada": Caller(LOCAL.tenant_id, "ada", Role.OPERATOR), "vera": Caller(LOCAL.tenant_id, "v", Role.VIEWER)}
    client = Client(create_app(house.cases, identity=Names(callers)))
    ada, vera = {"Authorization": "Bearer ada"}, {"Authorization": "Bearer vera"}

    listed = await client.get("/api/pipelines", **vera)
    conforms(pipelines_schema.PipelinePage, listed.json)
    hourly, wrong, by_hand = listed.json["items"]
    assert hourly["schedule"] == {
        "type": "cron",
        "cron_expr": "0 * * * *",
        "interval_seconds": None,
        "timezone": "Europe/Stockholm",
    }
    assert (hourly["state"], hourly["next_run_at"], hourly["error"]) == ("loaded", "2027-01-04T13:00:00Z", None)
    assert (wrong["state"], wrong["error"]["line"], wrong["revision"]) == ("broken", 3, None)
    assert (by_hand["last_run"]["state"], by_hand["schedule"]) == ("success", None)

    one = await client.get("/api/pipelines/by_hand", **vera)
    conforms(pipelines_schema.PipelineDetail, one.json)
    assert one.json["yaml"] == BY_HAND.strip()
    assert one.json["steps"] == [
        {"class": "JsonParser", "name": "JsonParser", "kwargs": {}, "on_error": "fail", "line": 4}
    ]
    assert [step["state"] for step in one.json["runs"][0]["steps"]] == ["done"]

    first = await client.post("/api/pipelines/by_hand/run", **ada, Idempotency_Key="k")
    again = await client.post("/api/pipelines/by_hand/run", **ada, Idempotency_Key="k")
    conforms(runs_schema.Run, first.json)
    assert (first.status, again.body) == (202, first.body)
    assert (first.json["queue"], first.json["user_id"]) == ("manual", "ada")
    assert (await client.post("/api/pipelines/by_hand/run", {"x": 1}, **ada)).status == 422
    assert (await client.post("/api/pipelines/by_hand/run", **vera)).status == 403
    assert (await client.post("/api/pipelines/wrong/run", **ada)).status == 409
    assert (await client.get("/api/pipelines/nothing", **ada)).status == 404
    schedule = await client.get(f"/api/schedules/{hourly['schedule_id']}", **vera)
    assert schedule.json["managed_by"] == "file"
    assert (await client.delete(f"/api/schedules/{hourly['schedule_id']}", **ada)).status == 409
