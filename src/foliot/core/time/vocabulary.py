"""The words of triggers in plain English: units, days, months, numbers, and what may stand between them."""

from __future__ import annotations

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 0, "year": 0}
SHORT = {"s": "second", "sec": "second", "secs": "second", "m": "minute", "min": "minute", "mins": "minute"} | {
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "w": "week",
}
RHYTHMS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year"}
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "half": 0}
EVERY_SECOND = frozenset({"other", "second", "2nd"})
"""After "every": each second one of what follows, counted from the first."""
PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
HOURS = {"midnight": 0, "noon": 12, "midday": 12}
FILLERS = frozenset(
    {"at", "on", "the", "and", "of", ",", "each", "every", "in", "past", "clock", "o", "during", "only"}
)
GROUPS = {"weekday": (1, 2, 3, 4, 5), "workday": (1, 2, 3, 4, 5), "weekend": (6, 0)}

VOCABULARY = sorted(
    {
        *UNITS,
        *(f"{unit}s" for unit in UNITS),
        *RHYTHMS,
        *DAYS,
        *MONTHS,
        *PLACES,
        *HOURS,
        *GROUPS,
        "weekdays",
        "weekends",
    }
    | {"every", "other", "fortnight", "between", "tomorrow", "today", "from", "until"}
)
"""Words that a misspelt one is compared with."""
