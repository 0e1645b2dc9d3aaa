"""Routes of calendars."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from foliot.features.calendars import schema
from foliot.features.calendars.model.calendar import NamedCalendarRequest, StoredCalendar
from foliot.features.calendars.model.public_holidays import countries
from foliot.features.calendars.usecases import NamedCalendars
from foliot.servers.http import encode
from foliot.servers.http.paging import Parted
from foliot.servers.http.permission import Who, permits
from foliot.servers.http.request import Body, Cases, Document
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(prefix="/api/calendars", tags=["Calendars"])

CalendarId = Annotated[str, Path(description="A calendar's id, `cal_…`.")]


@router.post(
    "",
    dependencies=[permits(NamedCalendars.create)],
    status_code=201,
    response_model=schema.NamedCalendar,
    openapi_extra=body(NamedCalendarRequest),
    responses={**CONFLICT, **problem(429, "The tenant has as many calendars as it may have")},
    summary="Create a calendar",
    operation_id="calendars.create",
)
async def create(cases: Cases, caller: Who, asked: Body) -> Response:
    """Public holidays, dates and iCalendar events under a name; schedules name it as `calendar:NAME`."""
    now = cases[NamedCalendars].clock.now()

    def shown(calendar: StoredCalendar) -> schema.NamedCalendar:
        return schema.NamedCalendar.of(calendar, now)

    made = await cases[NamedCalendars].create(caller, asked.document, asked.once(201, shown))
    return encode.answer(shown(made), 201, {"Location": f"/api/calendars/{made.id}"})


@router.post(
    "/preview",
    dependencies=[permits(NamedCalendars.preview)],
    response_model=schema.NamedCalendar,
    openapi_extra=body(NamedCalendarRequest),
    summary="Preview a calendar",
    operation_id="calendars.preview",
)
async def preview(cases: Cases, caller: Who, asked: Body) -> Response:
    """The days that a request stands for. Nothing is stored."""
    now = cases[NamedCalendars].clock.now()

    def shown(calendar: StoredCalendar) -> schema.NamedCalendar:
        return schema.NamedCalendar.of(calendar, now)

    return encode.answer(shown(await cases[NamedCalendars].preview(caller, asked.document, asked.once(200, shown))))


@router.get(
    "",
    dependencies=[permits(NamedCalendars.list)],
    response_model=schema.NamedCalendarPage,
    summary="List calendars",
    operation_id="calendars.list",
)
async def list_(cases: Cases, caller: Who, part: Parted) -> Response:
    """In order of name."""
    now = cases[NamedCalendars].clock.now()
    shown, following = part.of(await cases[NamedCalendars].list(caller), lambda one: one.settings.name)
    items = [schema.NamedCalendar.of(one, now, whole=False) for one in shown]
    return encode.answer(schema.NamedCalendarPage(items=items, next_cursor=following))


@router.get(
    "/countries",
    dependencies=[permits(NamedCalendars.list)],
    response_model=schema.HolidayCountries,
    summary="List countries with public holidays",
    operation_id="calendars.countries",
)
async def list_countries(_caller: Who) -> Response:
    """The countries and subdivisions that `holidays` and `subdivision` may name."""
    items = [
        schema.HolidayCountry(code=code, subdivisions=sorted(names)) for code, names in sorted(countries().items())
    ]
    return encode.answer(schema.HolidayCountries(items=items))


@router.get(
    "/{calendar_id}",
    dependencies=[permits(NamedCalendars.get)],
    response_model=schema.NamedCalendar,
    responses=UNKNOWN,
    summary="Show a calendar",
    operation_id="calendars.show",
)
async def show(cases: Cases, caller: Who, calendar_id: CalendarId) -> Response:
    """Its settings, and the next days that it stands for."""
    found = await cases[NamedCalendars].get(caller, calendar_id)
    return encode.answer(schema.NamedCalendar.of(found, cases[NamedCalendars].clock.now()))


@router.put(
    "/{calendar_id}",
    dependencies=[permits(NamedCalendars.replace)],
    response_model=schema.NamedCalendar,
    openapi_extra=body(NamedCalendarRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Replace a calendar",
    operation_id="calendars.replace",
)
async def replace(cases: Cases, caller: Who, calendar_id: CalendarId, document: Document) -> Response:
    """Schedules that name it get a new version with the new days: what is past stays as it was decided."""
    became = await cases[NamedCalendars].replace(caller, calendar_id, document)
    return encode.answer(schema.NamedCalendar.of(became, cases[NamedCalendars].clock.now()))


@router.delete(
    "/{calendar_id}",
    dependencies=[permits(NamedCalendars.delete)],
    status_code=204,
    responses={**UNKNOWN, **CONFLICT},
    summary="Delete a calendar",
    operation_id="calendars.delete",
)
async def delete(cases: Cases, caller: Who, calendar_id: CalendarId) -> Response:
    """Refused while a schedule names it."""
    await cases[NamedCalendars].delete(caller, calendar_id)
    return Response(status_code=204)
