"""Files that would keep a process busy, or change the time zones of other tenants."""

from __future__ import annotations

from datetime import date

import pytest

from foliot.core.errors import Invalid
from foliot.features.calendars.model.events import CalendarEvent, events_of

FIRST, LAST = date(2027, 1, 1), date(2031, 12, 31)


def read(event: str, before: str = "") -> list[CalendarEvent]:
    text = f"BEGIN:VCALENDAR\n{before}BEGIN:VEVENT\nSUMMARY:Off\n{event}\nEND:VEVENT\nEND:VCALENDAR\n"
    return list(events_of(text, FIRST, LAST, "UTC"))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;INTERVAL=0", "must have an INTERVAL of at least 1"),
        ("FREQ=DAILY;INTERVAL=7;BYDAY=TU", "combines DAILY and an INTERVAL with BYDAY"),
        ("FREQ=DAILY;BYMONTHDAY=31;BYMONTH=2", "combines DAILY with BYMONTH, BYMONTHDAY"),
        ("FREQ=YEARLY;BYDAY=MO,TU;BYHOUR=0,1;BYSECOND=0,1", "combines YEARLY with BYHOUR, BYSECOND"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "names days that do not exist"),
        ("FREQ=MONTHLY;BYDAY=6MO", "names days that do not exist"),
        ("FREQ=YEARLY;BYDAY=54MO", "names days that do not exist"),
        ("FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=30", "combines MONTHLY and an INTERVAL with BYMONTHDAY"),
        ("FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=20", "combines BYMONTHDAY with numbered weekdays"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=400", "combines MONTHLY with BYSETPOS"),
        ("FREQ=SECONDLY", "must have a FREQ of"),
    ],
)
def test_a_rule_that_could_be_searched_for_ever_is_refused(rule: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read(f"DTSTART;VALUE=DATE:20270104\nRRULE:{rule}")


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("FREQ=YEARLY", 5),
        ("FREQ=MONTHLY;BYDAY=-1FR;COUNT=3", 3),
        ("FREQ=MONTHLY;BYMONTHDAY=-1,15;UNTIL=20270331", 6),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;COUNT=4", 4),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", 1),
    ],
)
def test_rules_of_ordinary_calendars_are_read(rule: str, days: int) -> None:
    # The first time counts whether or not its rule names it.
    found = {event.start for event in read(f"DTSTART;VALUE=DATE:20270104\nRRULE:{rule}")}

    assert len(found - {date(2027, 1, 4)}) in {days, days - 1}


ZONE = (
    "BEGIN:VTIMEZONE\nTZID:W. Europe Standard Time\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
    "TZOFFSETFROM:+1400\nTZOFFSETTO:+1400\nEND:STANDARD\nEND:VTIMEZONE\n"
)


@pytest.mark.parametrize("written", [ZONE, ZONE.replace("\n", "\r\n"), ZONE.replace("VTIMEZONE", "VTIME\n ZONE")])
def test_a_zone_that_a_file_defines_is_not_kept_for_others(written: str) -> None:
    event = "DTSTART;TZID=W. Europe Standard Time:20270104T090000\nDURATION:PT1H"

    (mine,), (others,) = read(event, written), read(event)

    assert mine.start == others.start
    assert others.start.isoformat() == "2027-01-04T08:00:00+00:00"


def test_a_zone_that_is_not_known_is_named() -> None:
    with pytest.raises(Invalid, match="names the time zone 'Mars/Olympus'"):
        read("DTSTART;TZID=Mars/Olympus:20270104T090000")
    with pytest.raises(Invalid, match="VTIMEZONE"):
        read("DTSTART;VALUE=DATE:20270104", ZONE.replace("BEGIN:VTIMEZONE", "BEGIN;X=1:VTIMEZONE"))
