"""`foliot calendars …`: named days and times that schedules exclude."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import Json, Yes, usage
from foliot.terminal.output import confirm, note, print_json
from foliot.terminal.reference import Reference, resolve

group = CommandGroup("Manage calendars: public holidays, dates and iCalendar events that schedules exclude.")

CalendarRef = Annotated[
    str,
    typer.Argument(help="The calendar's name, its id (cal_…) or the beginning of it.", metavar="CALENDAR"),
    Reference("calendar"),
]
Holidays = Annotated[
    str | None, typer.Option(help="Public holidays of this country, by its ISO 3166 code.", metavar="COUNTRY")
]
Subdivision = Annotated[str | None, typer.Option(help="A state or region of the country, such as BY.")]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--date", help="A day or a range, with a name if you like: 2027-01-01, '2027-07-01/2027-07-31 Summer'."
    ),
]
Ics = Annotated[
    Path | None, typer.Option(help="An iCalendar file; - reads standard input.", allow_dash=True, dir_okay=False)
]
Description = Annotated[str | None, typer.Option(help="What it is for.")]


def _place(calendar: JsonObject) -> str:
    return "-".join(filter(None, [calendar["holidays"], calendar["subdivision"]]))


def _next(calendar: JsonObject) -> str:
    upcoming = calendar.each("upcoming")
    return f"{upcoming[0]['date']} {upcoming[0]['name']}".strip() if upcoming else ""


CALENDARS = Table(
    "id, name, holidays, days, schedules, next, revision",
    computed={"holidays": _place, "next": _next},
    empty="No calendars. Create one with foliot calendars create SE --holidays SE",
)
_CALENDAR = Facts(
    "calendar: id, name, description, holidays, subdivision, dates, days, schedules, revision, "
    "known until: @resolved_until, changed: @updated_at",
    computed={"dates": lambda calendar: ", ".join(_date(one) for one in calendar["dates"])},
)
UPCOMING = Table("date, name, from: @start_at, until: @end_at", empty="No day lies ahead.")


def _date(one: Any) -> str:
    return one if isinstance(one, str) else f"{one['date']} {one['name']}"


def show_calendar(calendar: JsonObject) -> None:
    """Its settings, then the next days."""
    _CALENDAR(calendar)
    UPCOMING(JsonObject({"items": list(calendar["upcoming"])}, calendar.utc))


@group.get("/api/calendars", CALENDARS)
def list_() -> None:
    """List calendars."""


@group.get("/api/calendars/{calendar}", show_calendar)
def show(calendar: CalendarRef) -> None:
    """Show a calendar and its next days."""


@group.post("/api/calendars", show_calendar)
def create(
    name: Annotated[str, typer.Argument(help="Its name: schedules exclude calendar:NAME.", metavar="NAME")],
    *,
    holidays: Holidays = None,
    subdivision: Subdivision = None,
    dates: Dates = None,
    ics: Ics = None,
    description: Description = None,
) -> dict[str, object]:
    """Create a calendar.

    foliot calendars create SE --holidays SE --date '2027-06-24/2027-06-25 Midsummer break'
    """
    return _document(name, holidays, subdivision, dates) | {"ics": _text(ics), "description": description}


@group.post("/api/calendars/preview", show_calendar)
def preview(
    *, holidays: Holidays = None, subdivision: Subdivision = None, dates: Dates = None, ics: Ics = None
) -> dict[str, object]:
    """Show the days that a calendar would stand for."""
    return _document("preview", holidays, subdivision, dates) | {"ics": _text(ics)}


@group.command()
def update(  # noqa: PLR0913 -- as many as there are things to change
    calendar: CalendarRef,
    *,
    name: Annotated[str | None, typer.Option(help="Its new name, if no schedule uses it.")] = None,
    holidays: Holidays = None,
    subdivision: Subdivision = None,
    dates: Dates = None,
    ics: Ics = None,
    description: Description = None,
    as_json: Json = False,
) -> None:
    """Change a calendar: what you give replaces what it has. Its schedules get a new version."""
    with connect() as client:
        path = f"/api/calendars/{segment(resolve(client, 'calendar', calendar))}"
        known = client.get(path)
        kept = {each: known[each] for each in ("name", "description", "holidays", "subdivision", "dates", "ics")}
        given = _document(name, holidays, subdivision, dates) | {"ics": _text(ics), "description": description}
        answer = client.request("PUT", path, kept | {each: value for each, value in given.items() if value is not None})
        if as_json:
            print_json(answer)
        else:
            note(f"calendar {answer['name']} has revision {answer['revision']}; {answer['schedules']} schedules use it")


@group.command()
def delete(calendar: CalendarRef, yes: Yes = False) -> None:
    """Delete a calendar that no schedule uses."""
    confirm(f"Delete the calendar {calendar}?", "nothing was deleted", yes=yes)
    with connect() as client:
        client.delete(f"/api/calendars/{segment(resolve(client, 'calendar', calendar))}")
        note(f"calendar {calendar} is deleted")


def _document(
    name: str | None, holidays: str | None, subdivision: str | None, dates: list[str] | None
) -> dict[str, object]:
    listed = None if dates is None else [_named(one) for one in dates]
    return {"name": name, "holidays": holidays, "subdivision": subdivision, "dates": listed}


def _named(text: str) -> str | dict[str, str]:
    date, _, name = text.strip().partition(" ")
    return {"date": date, "name": name.strip()} if name.strip() else date


def _text(ics: Path | None) -> str | None:
    if ics is None:
        return None
    try:
        return sys.stdin.read() if str(ics) == "-" else ics.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"--ics: {ics} cannot be read ({error})") from None
