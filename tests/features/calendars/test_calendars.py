"""Calendars on every database: what they exclude stands in the ledger, and stays proved when they are edited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.app.http import create_app
from foliot.core.access import LOCAL, Caller, Role
from foliot.core.errors import Conflict, Forbidden, Invalid, InvalidMany, NotFound
from foliot.core.time.resolved_calendar import ResolvedCalendar
from foliot.core.time.trigger import Cron
from foliot.db.database import Database
from foliot.engine.model import restrictions
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.engine.sql.schedule_rows import VersionHooks
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.calendars import actor as calendar_actor
from foliot.features.calendars.actor import CalendarRefresher
from foliot.features.calendars.model.calendar import YEARS_LEFT
from foliot.features.calendars.sql import record_uses
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.explanations.usecases import Explanations
from foliot.features.ledger.usecases import LedgerProof, LedgerVerifier
from foliot.features.plans.usecases.plans import Plans
from foliot.features.schedules.usecases import calendars as calendar_turns
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.versions import Versions
from tests.asgi import Client
from tests.engine.sql.test_firing import ticker
from tests.givens import NOON, keep, schedule, spec, statements
from tests.world import EVERY_MINUTE, HOURLY, World

SWEDEN = {"name": "SE", "holidays": "SE"}
EXCLUDING = {**HOURLY, "timezone": "Europe/Stockholm", "exclude": ["calendar:SE"]}
EPIPHANY = "calendar SE, Epiphany"
HOUR = timedelta(hours=1)
STRANGER = Caller("globex", "mallory", Role.ADMIN)


@pytest.fixture
def world(store: Database) -> World:
    made = World.on(store)
    store.caches[VersionHooks] = VersionHooks(record_uses)
    return made


async def prove(world: World) -> LedgerProof:
    proof = await world.cases[LedgerVerifier].prove(LOCAL)
    assert list(proof.holes) == []
    return proof


async def hours(world: World, number: int) -> None:
    for _ in range(number):
        world.clock.advance(3600)
        await world.tick()


async def entries(world: World, schedule_id: str) -> list[LedgerEntry]:
    async with world.store.read() as tx:
        everything = datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)
        return [entry for _, entry in await SqlSchedules(tx).ledger(schedule_id, *everything)]


async def fired(world: World, schedule_id: str) -> list[datetime]:
    async with world.store.read() as tx:
        everything = datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)
        return [at for at, _, _ in await SqlSchedules(tx).instants(schedule_id, *everything, 1000)]


async def current(world: World, schedule_id: str) -> Schedule:
    return await world.cases[Schedules].get(LOCAL, schedule_id)


def utc(day: int, hour: int) -> datetime:
    """An hour of January 2027."""
    return datetime(2027, 1, day, hour, tzinfo=UTC)


async def test_a_holiday_makes_no_run_and_stands_in_the_ledger_with_its_name(world: World) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule(EXCLUDING, overlap="allow_all")

    await hours(world, 72)

    # Epiphany is 6 January: in Stockholm it begins and ends at 23:00 UTC.
    lines = await entries(world, made.id)
    assert lines == [LedgerEntry(utc(5, 23), utc(6, 22), 24, LedgerKind.SKIPPED, LedgerReason.CALENDAR, note=EPIPHANY)]
    assert await fired(world, made.id) == [
        at for at in (NOON + place * HOUR for place in range(1, 73)) if not utc(5, 23) <= at <= utc(6, 22)
    ]
    assert (await prove(world)).instants == 72


async def test_the_past_stays_as_it_was_decided_when_the_calendar_is_edited(world: World) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, {"name": "closed", "dates": ["2027-01-04"]})
    made = await world.schedule({**HOURLY, "exclude": ["calendar:closed"]}, overlap="allow_all")
    await hours(world, 6)

    await world.cases[NamedCalendars].replace(
        LOCAL, calendar.id, {"name": "closed", "dates": [{"date": "2027-01-05", "name": "Inventory"}]}
    )
    edited = await current(world, made.id)
    await hours(world, 24)

    assert edited.version == made.version + 1
    assert [(one.first, one.last, one.count, one.note) for one in await entries(world, made.id)] == [
        (utc(4, 13), utc(4, 18), 6, "calendar closed"),
        (utc(5, 0), utc(5, 18), 19, "calendar closed, Inventory"),
    ]
    assert await fired(world, made.id) == [utc(4, hour) for hour in range(19, 24)]
    assert (await prove(world)).instants == 30
    versions = await world.cases[Versions].list(LOCAL, made.id, PageRequest())
    assert [one.change for one in versions] == ["calendar", "create"]


async def test_an_outage_tells_what_was_missed_from_what_was_excluded(world: World) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule(
        {**EVERY_MINUTE, "exclude": ["calendar:SE", {"from": "22:00", "to": "06:00"}], "timezone": "UTC"},
        catchup={"mode": "all", "max_runs": 3, "window_seconds": 86_400},
    )

    world.clock.advance(timedelta(days=3))
    await world.tick()

    lines = await entries(world, made.id)
    assert [(one.reason, one.first, one.last, one.note) for one in lines] == [
        (LedgerReason.CATCHUP_ALL, NOON + timedelta(minutes=1), utc(4, 21) + timedelta(minutes=59), ""),
        (LedgerReason.CALENDAR, utc(4, 22), utc(5, 5) + timedelta(minutes=59), "22:00 to 06:00"),
        (LedgerReason.CATCHUP_ALL, utc(5, 6), utc(5, 21) + timedelta(minutes=59), ""),
        (LedgerReason.CALENDAR, utc(5, 22), utc(5, 23) + timedelta(minutes=59), "22:00 to 06:00"),
        (LedgerReason.CALENDAR, utc(6, 0), utc(6, 23) + timedelta(minutes=59), EPIPHANY),
        (LedgerReason.CALENDAR, utc(7, 0), utc(7, 5) + timedelta(minutes=59), "22:00 to 06:00"),
        (LedgerReason.CATCHUP_ALL, utc(7, 6), utc(7, 11) + timedelta(minutes=56), ""),
    ]
    assert len(await fired(world, made.id)) == 4
    assert (await prove(world)).instants == 3 * 1440


async def test_catching_up_takes_the_newest_that_may_run_and_accounts_for_the_excluded_between(world: World) -> None:
    made = await world.schedule(
        {**HOURLY, "exclude": [{"from": "02:00", "to": "08:00"}]},
        catchup={"mode": "all", "max_runs": 5, "window_seconds": 86_400}, overlap="allow_all",
    )  # fmt: skip

    world.clock.advance(timedelta(hours=22))
    await world.tick()

    assert await fired(world, made.id) == [utc(4, 23), *(utc(5, hour) for hour in (0, 1, 8, 9, 10))]
    assert [(one.reason, one.count) for one in await entries(world, made.id)] == [
        (LedgerReason.CATCHUP_ALL, 10), (LedgerReason.CALENDAR, 6),
    ]  # fmt: skip
    await prove(world)


async def test_max_runs_ends_a_schedule_whose_next_times_are_excluded(world: World) -> None:
    made = await world.schedule({**HOURLY, "exclude": ["2027-01-05"]}, max_runs=11, overlap="allow_all")

    await hours(world, 30)

    assert (await current(world, made.id)).status == "completed"
    assert len(await fired(world, made.id)) == 11
    await prove(world)


async def test_what_falls_on_a_holiday_moves_to_the_next_business_day(world: World) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    daily = {**HOURLY, "cron_expr": "0 9 * * *", "timezone": "Europe/Stockholm", "exclude": ["calendar:SE"]}
    made = await world.schedule({**daily, "shift": "next_business_day"}, overlap="allow_all")

    await hours(world, 24 * 8)

    # The 6th is Epiphany, the 9th and 10th are a weekend: each moves onto a day that has its own.
    assert await fired(world, made.id) == [utc(day, 8) for day in (5, 7, 8, 11, 12)]
    assert await entries(world, made.id) == []
    await prove(world)


async def test_a_run_at_an_excluded_time_is_a_hole(world: World) -> None:
    made = await world.schedule({**HOURLY, "exclude": ["2027-01-05"]}, overlap="allow_all")
    await hours(world, 14)
    await world.sql("DELETE FROM ledger")
    await world.sql(
        "UPDATE runs SET scheduled_for = '2027-01-05 00:00:00.000000' "
        "WHERE scheduled_for = '2027-01-04 23:00:00.000000'"
    )

    proof = await world.cases[LedgerVerifier].prove(LOCAL)

    assert "is at a time that is excluded (2027-01-05)" in proof.holes[0].what
    await world.sql("DELETE FROM runs WHERE scheduled_for >= '2027-01-04 20:00:00'")
    await world.sql(
        "INSERT INTO ledger (schedule_id, first_at, fate, tenant_id, last_at, count, version, reason) VALUES "
        f"('{made.id}', '2027-01-04 20:00:00.000000', 'skipped', 'default', '2027-01-05 02:00:00.000000', 7, 1,"
        " 'calendar')"
    )
    assert "covers instants that no calendar excludes" in (
        (await world.cases[LedgerVerifier].prove(LOCAL)).holes[0].what
    )


async def test_instants_next_run_and_why_agree_about_an_excluded_time(world: World) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule({**EXCLUDING, "cron_expr": "0 12 6,7 * *"})

    assert made.next_at == utc(6, 11)
    assert made.next_run_at == utc(7, 11)
    ahead, _ = await world.cases[Instants].list(LOCAL, made.id, NOON, utc(8, 0), 10)
    assert [(one.at, one.outcome, one.reason) for one in ahead] == [
        (utc(6, 11), "skipped", EPIPHANY), (utc(7, 11), "planned", ""),
    ]  # fmt: skip
    before = await world.cases[Explanations].of_schedule(LOCAL, made.id, utc(6, 11))
    await hours(world, 60)
    after = await world.cases[Explanations].of_schedule(LOCAL, made.id, utc(6, 11))
    for answer in (before, after):
        (fact,) = [one for one in answer.facts if one.code == "excluded_by_calendar"]
        assert EPIPHANY in fact.words
        assert fact.proof["calendars"] == [
            {"id": (await world.cases[NamedCalendars].list(LOCAL))[0].id, "name": "SE", "revision": 1}
        ]
    (fact,) = after.facts
    assert fact.proof["ledger"] == [utc(6, 11).isoformat(), utc(6, 11).isoformat()]


async def test_an_actor_resolves_calendars_further_and_turns_the_schedules_that_are_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = [await world.schedule({**EXCLUDING, "name": f"Job {place}"}) for place in range(3)]
    refresher = CalendarRefresher(clock=world.clock, store=world.store, cases=world.cases[NamedCalendars])
    world.clock.advance(timedelta(days=2))
    assert await refresher.run_once() == (await refresher.run_once()).__class__(0, 0, 60.0)

    for one in made:
        await world.cases[Schedules].pause(LOCAL, one.id)
    world.clock.advance(timedelta(days=366 * (11 - YEARS_LEFT)))
    monkeypatch.setattr(calendar_turns, "MOST_TURNED", 1)
    rounds = [await refresher.run_once() for _ in range(4)]

    now = await world.cases[NamedCalendars].get(LOCAL, calendar.id)
    assert [one.calendars for one in rounds] == [1, 0, 0, 0]
    assert rounds[-1].rest > 0
    assert now.resolved.revision == 2
    assert now.until > calendar.until
    for one in made:
        held = (await current(world, one.id)).spec.calendars["SE"]
        assert (held.revision, len(held.days)) == (2, len(now.resolved.days))
    await prove(world)


async def test_a_tick_of_a_thousand_schedules_with_calendars_is_a_handful_of_statements(store: Database) -> None:
    days = dict.fromkeys([NOON.date()], "Closed")
    calendar = ResolvedCalendar(id="cal_1", name="SE", revision=1, days=days)
    closed = spec(Cron("* * * * *", "UTC"), exclude=("calendar:SE",), calendars={"SE": calendar}).restricted()
    opened = spec(Cron("* * * * *", "UTC"), exclude=({"from": "22:00", "to": "06:00"},)).restricted()
    await keep(store, *(schedule(closed if place % 2 else opened) for place in range(1000)))

    with statements(store) as seen:
        ticked = await ticker(store).run_once()

    assert (ticked.settled, ticked.runs) == (1000, 500)
    assert len(seen) <= 8, seen


async def test_a_calendar_in_use_keeps_its_name_and_is_not_deleted(world: World) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule(EXCLUDING)

    with pytest.raises(Conflict, match="cannot be deleted: schedules use it, such as 'Hourly'"):
        await world.cases[NamedCalendars].delete(LOCAL, calendar.id)
    with pytest.raises(Conflict, match="keeps its name"):
        await world.cases[NamedCalendars].replace(LOCAL, calendar.id, {**SWEDEN, "name": "Sweden"})
    await world.cases[Schedules].patch(LOCAL, made.id, {"exclude": None})
    await world.cases[NamedCalendars].delete(LOCAL, calendar.id)
    assert await world.cases[NamedCalendars].list(LOCAL) == []


async def test_tenants_have_calendars_of_their_own(world: World) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)

    assert await world.cases[NamedCalendars].list(STRANGER) == []
    with pytest.raises(NotFound):
        await world.cases[NamedCalendars].get(STRANGER, calendar.id)
    with pytest.raises(NotFound):
        await world.cases[NamedCalendars].replace(STRANGER, calendar.id, SWEDEN)
    with pytest.raises(Invalid, match="is not a calendar"):
        await world.cases[Schedules].create(STRANGER, EXCLUDING)
    with pytest.raises(Forbidden):
        await world.cases[NamedCalendars].create(Caller("default", "vera", Role.VIEWER), {**SWEDEN, "name": "x"})
    with pytest.raises(Conflict, match="already exists"):
        await world.cases[NamedCalendars].create(LOCAL, SWEDEN)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"exclude": ["calendar:SEE"]}, "exclude[0]", "did you mean calendar:SE?"),
        ({"exclude": ["calendar:Nowhere"]}, "exclude[0]", "is not a calendar; there are: SE"),
        ({"only": ["2020-01-01"]}, "only", "leaves no scheduled time"),
        ({"type": "after", "after": {"schedule": "Other"}, "cron_expr": None}, "exclude", "has none"),
        ({"cron_expr": "* * * * *", "shift": "next_business_day"}, "shift", "at most 24 times a day"),
        ({"shift": "sideways"}, "shift", "must be one of"),
    ],
)
async def test_a_schedule_that_cannot_follow_its_calendar_is_refused(
    world: World, changes: dict[str, Any], field: str, words: str
) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    await world.schedule({**HOURLY, "name": "Other"})

    with pytest.raises(Invalid) as refused:
        await world.schedule({**EXCLUDING, **changes})
    assert refused.value.field == field
    assert words in str(refused.value)


async def test_an_edit_keeps_the_days_that_the_schedule_holds(world: World) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule(EXCLUDING)

    renamed = await world.cases[Schedules].patch(LOCAL, made.id, {"name": "Renamed"})

    assert renamed.spec.exclude == ("calendar:SE",)
    assert renamed.spec.calendars["SE"].days == made.spec.calendars["SE"].days
    replaced = await world.cases[Schedules].replace(LOCAL, made.id, {**EXCLUDING, "only": [{"days": ["mon"]}]})
    assert replaced.next_run_at == NOON + HOUR
    assert replaced.spec.trigger.next_run_after(utc(4, 22)) == utc(10, 23)


async def test_a_request_describes_what_a_calendar_stands_for(world: World) -> None:
    client = Client(create_app(world.cases))
    ics = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y//EN\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Sprint review\r\n"
        "DTSTART;TZID=Europe/Stockholm:20270104T140000\r\nDTEND;TZID=Europe/Stockholm:20270104T160000\r\n"
        "RRULE:FREQ=WEEKLY;COUNT=2\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:2\r\nSUMMARY:Fair\r\n"
        "DTSTART;VALUE=DATE:20270110\r\nDTEND;VALUE=DATE:20270112\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    shown = await client.post("/api/calendars/preview", {"name": "x", "ics": ics, "dates": ["2027-01-20"]})
    assert shown.status == 200
    assert [(one["date"], one["name"], one["start_at"]) for one in shown.json["upcoming"]] == [
        ("2027-01-04", "Sprint review", "2027-01-04T13:00:00Z"),
        ("2027-01-10", "Fair", None),
        ("2027-01-11", "Fair", None),
        ("2027-01-11", "Sprint review", "2027-01-11T13:00:00Z"),
        ("2027-01-20", "", None),
    ]
    assert (await client.get("/api/calendars")).json["items"] == []
    made = await client.post("/api/calendars", {**SWEDEN, "description": "Days off"})
    assert (made.status, made.json["schedules"], made.json["upcoming"][0]["name"]) == (201, 0, "Epiphany")
    await world.schedule(EXCLUDING)
    (listed,) = (await client.get("/api/calendars")).json["items"]
    assert (listed["schedules"], listed["revision"], listed["ics"]) == (1, 1, None)
    preview = await client.post(
        "/api/schedules/preview", {**{name: EXCLUDING[name] for name in ("type", "cron_expr", "timezone", "exclude")},
                                   "count": 2, "start_at": "2027-01-05T22:00:00Z"},
    )  # fmt: skip
    assert [one["at"] for one in preview.json["next"]] == ["2027-01-05T22:00:00Z", "2027-01-06T23:00:00Z"]
    (excluded,) = preview.json["excluded"]
    assert (excluded["count"], excluded["reason"], excluded["first_local"]) == (
        24,
        EPIPHANY,
        "2027-01-06T00:00:00+01:00",
    )
    countries = (await client.get("/api/calendars/countries")).json["items"]
    assert "BY" in next(one["subdivisions"] for one in countries if one["code"] == "DE")


async def test_a_file_defines_calendars_and_the_schedules_that_name_them(world: World) -> None:
    async def apply(*calendars: Any, **more: Any) -> Sequence[tuple[str, str, str]]:
        asked = {"file": "office", "documents": {"schedules": [EXCLUDING], "calendars": list(calendars)}, **more}
        plan = await world.cases[Plans].plan(LOCAL, asked)
        await world.cases[Plans].apply(LOCAL, {**asked, "digest": plan.digest})
        return [(one.thing, one.name, one.act.value) for one in plan.changes]

    assert await apply(SWEDEN) == [("calendars", "SE", "create"), ("schedules", "Hourly", "create")]
    assert await apply(SWEDEN) == [("calendars", "SE", "none"), ("schedules", "Hourly", "none")]
    changed = {**SWEDEN, "dates": [{"date": "2027-01-05", "name": "Inventory"}]}
    assert await apply(changed) == [("calendars", "SE", "change"), ("schedules", "Hourly", "none")]
    (made,) = await world.cases[Schedules].list(LOCAL, PageRequest())
    assert made.next_run_at == utc(4, 13)
    assert made.spec.trigger.excluded(utc(5, 12)) == "calendar SE, Inventory"
    # An edit by hand is left alone.
    (calendar,) = await world.cases[NamedCalendars].list(LOCAL)
    await world.cases[NamedCalendars].replace(LOCAL, calendar.id, {**SWEDEN, "holidays": "NO"})
    assert (await apply(changed))[0] == ("calendars", "SE", "drift")
    with pytest.raises(InvalidMany) as refused:
        await apply({**SWEDEN, "holidays": "XX"})
    assert refused.value.errors[0].field == "calendars[0].holidays"


FRIDAYS = {**HOURLY, "cron_expr": "0 9 * * 5", "timezone": "UTC", "exclude": ["calendar:closed"]}
MONDAYS = {**FRIDAYS, "cron_expr": "0 9 * * 1"}
EMPTY, FRIDAY, MONDAY = ({"name": "closed", "dates": days} for days in (["2027-12-24"], ["2027-01-08"], ["2027-01-11"]))


@pytest.mark.parametrize(
    ("document", "shift", "before", "after", "runs"),
    [
        # The 8th has run: it does not move to the 11th.
        (FRIDAYS, "next_business_day", EMPTY, FRIDAY, [utc(8, 9), utc(15, 9)]),
        # The 8th was moved to the 11th, which is still ahead.
        (FRIDAYS, "next_business_day", FRIDAY, EMPTY, [utc(11, 9), utc(15, 9)]),
        # The 11th is still ahead, and moves.
        (MONDAYS, "next_business_day", EMPTY, MONDAY, [utc(12, 9)]),
        # The 11th has run on the 8th: it does not run again.
        (MONDAYS, "previous_business_day", MONDAY, EMPTY, [utc(8, 9)]),
        # The 11th would move to the 8th, which is over.
        (MONDAYS, "previous_business_day", EMPTY, MONDAY, [utc(11, 9)]),
    ],
)
async def test_a_changed_calendar_neither_repeats_nor_loses_what_is_moved_to_a_business_day(
    world: World, document: Any, shift: str, before: Any, after: Any, runs: list[datetime]
) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, before)
    made = await world.schedule({**document, "shift": shift}, overlap="allow_all")
    await hours(world, 24 * 5)

    # It is Saturday the 9th.
    await world.cases[NamedCalendars].replace(LOCAL, calendar.id, after)
    await world.cases[Schedules].replace(LOCAL, made.id, {**document, "shift": shift, "overlap": "allow_all"})
    await hours(world, 24 * 7)

    assert (await current(world, made.id)).version == 3
    assert await fired(world, made.id) == runs
    await prove(world)


async def test_a_completed_schedule_is_not_revived_by_its_calendar(world: World) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, EMPTY)
    once = {**FRIDAYS, "type": "oneoff", "run_at": "2027-01-08T09:00:00Z", "shift": "next_business_day"}
    made = await world.schedule({name: value for name, value in once.items() if name != "cron_expr"})
    await hours(world, 24 * 5)
    ended = await current(world, made.id)
    assert ended.status == "completed"

    await world.cases[NamedCalendars].replace(LOCAL, calendar.id, FRIDAY)
    await hours(world, 24 * 4)

    assert await current(world, made.id) == ended
    assert await fired(world, made.id) == [utc(8, 9)]
    await prove(world)


async def test_a_calendar_that_cannot_be_read_hides_no_other_and_is_deleted(world: World) -> None:
    broken = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    other = await world.cases[NamedCalendars].create(LOCAL, EMPTY)
    await world.sql(f"UPDATE calendars SET settings = 'not JSON' WHERE id = '{broken.id}'")

    assert [one.id for one in await world.cases[NamedCalendars].list(LOCAL)] == [other.id]
    with pytest.raises(Invalid, match="delete it and create it again"):
        await world.cases[NamedCalendars].get(LOCAL, broken.id)
    await world.cases[NamedCalendars].delete(LOCAL, broken.id)
    again = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)

    assert [one.id for one in await world.cases[NamedCalendars].list(LOCAL)] == [again.id, other.id]


async def test_calendars_that_cannot_be_resolved_are_put_off_and_hold_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    await world.cases[NamedCalendars].create(LOCAL, {**SWEDEN, "name": "Sweden"})
    await world.sql("UPDATE calendars SET resolved = 'not JSON' WHERE name = 'SE'")
    monkeypatch.setattr(calendar_actor, "BATCH", 1)
    refresher = CalendarRefresher(clock=world.clock, store=world.store, cases=world.cases[NamedCalendars])
    world.clock.advance(timedelta(days=2))

    rests = [(await refresher.run_once()).rest for _ in range(3)]

    assert rests == [0.0, 0.0, 60.0]


async def test_a_calendar_that_does_not_fit_one_of_its_schedules_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, EMPTY)
    made = await world.schedule({**HOURLY, "exclude": ["calendar:closed"]})
    monkeypatch.setattr(restrictions, "MOST_CALENDAR_TEXT", 200)

    with pytest.raises(Invalid, match=r"would give the schedule 'Hourly' calendars of .* characters; at most 200"):
        await world.cases[NamedCalendars].replace(LOCAL, calendar.id, {**EMPTY, "dates": ["2027-01-05/2027-01-31"]})

    assert (await current(world, made.id)).version == 1
    assert (await world.cases[NamedCalendars].get(LOCAL, calendar.id)).resolved.revision == 1


async def test_a_schedule_that_further_years_do_not_fit_stays_as_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calendar = await world.cases[NamedCalendars].create(LOCAL, SWEDEN)
    made = await world.schedule(EXCLUDING)
    await world.cases[Schedules].pause(LOCAL, made.id)
    refresher = CalendarRefresher(clock=world.clock, store=world.store, cases=world.cases[NamedCalendars])
    world.clock.advance(timedelta(days=366 * (11 - YEARS_LEFT)))
    monkeypatch.setattr(restrictions, "MOST_CALENDAR_TEXT", 200)

    rounds = [await refresher.run_once() for _ in range(2)]

    assert [(one.calendars, one.schedules, one.rest) for one in rounds] == [(1, 0, 60.0), (0, 0, 60.0)]
    assert (await world.cases[NamedCalendars].get(LOCAL, calendar.id)).resolved.revision == 2
    assert (await current(world, made.id)).version == 2
