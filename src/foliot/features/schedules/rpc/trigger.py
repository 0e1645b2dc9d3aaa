"""Converts triggers between `schedule_config` of the gRPC service and the fields of a schedule's document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foliot.core.document import Complaints, Fields, rfc3339
from foliot.core.errors import Invalid
from foliot.core.time.trigger import LONGEST, After, Cron, FixedInterval, OneOff, Rule, TriggerType
from foliot.proto import scheduler_service_pb2 as pb

WHERE = "schedule_config.config"

_LEAST = {"minute": "0", "hour": "0", "day": "1", "month": "1"}
"""From the finest unit to the coarsest: units finer than all that are given are set to their least value."""
_CRON = ("second", *_LEAST, "day_of_week")
_PARTS = ("seconds", "minutes", "hours", "days")
_UNITS = {
    "second": "second",
    "minute": "minute",
    "hour": "hour",
    "day of month": "day",
    "month": "month",
    "day of week": "day_of_week",
}
"""How validation errors about an expression begin, and the key of the configuration that is meant."""


def read_config(message: pb.ScheduleConfig) -> dict[str, Any]:
    """The trigger fields of a schedule's document."""
    try:
        kind = TriggerType(message.type)
    except ValueError:
        listed = ", ".join(one.value for one in TriggerType)
        raise Invalid("schedule_config.type", f"must be one of {listed}", got=message.type) from None
    fields = Fields.of(WHERE, dict(message.config))
    read = _read(kind, fields)
    fields.finish()
    return {"type": kind.value, **read}


def _read(kind: TriggerType, fields: Fields) -> dict[str, Any]:
    match kind:
        case TriggerType.CRON:
            return {"cron_expr": _expression(fields)}
        case TriggerType.INTERVAL:
            return {"interval": _interval(fields)}
        case TriggerType.ONEOFF:
            return {"run_at": _given(fields, "run_at")}
        case TriggerType.AFTER:
            return {"after": _followed(fields)}


def _expression(fields: Fields) -> str:
    given = {name: text for name in _CRON if (text := fields.value(name)) is not None}
    expression = fields.value("expression")
    if expression is not None:
        # An answer holds both, and may be sent back as it is.
        if given and " ".join(_completed(given)) != expression:
            raise Invalid(fields.path("expression"), f"contradicts {', '.join(given)}: give one of the two")
        return str(expression)
    known = [name for name in fields.raw if name in fields.asked]
    if not known:
        fields.finish()
        listed = "minute, hour, day, month, day_of_week"
        raise Invalid(WHERE, f"is empty; type cron takes {listed}, or expression")
    wrong = Complaints()
    for name, text in given.items():
        with wrong.collect():
            if not text or text.split() != [text]:
                raise Invalid(fields.path(name), "must be one field of a cron expression", got=text)
    wrong.speak()
    return " ".join(_completed(given))


def _completed(given: Mapping[str, str]) -> list[str]:
    """Completes what is given: `*` if a finer unit is, else its least. `hour: 10` is once a day, not once a minute."""
    fields, finer = {}, "second" in given
    for name, least in _LEAST.items():
        fields[name] = given.get(name, "*" if finer else least)
        if name == "hour" and "day_of_week" in given:
            finer = True
        finer = finer or name in given
    seconds = [given["second"]] if "second" in given else []
    return [*seconds, *fields.values(), given.get("day_of_week", "*")]


def _interval(fields: Fields) -> dict[str, int]:
    wrong, parts = Complaints(), {}
    for name in _PARTS:
        text = fields.value(name)
        if text is None:
            continue
        with wrong.collect():
            if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LONGEST))):
                raise Invalid(fields.path(name), "must be a whole number", got=text)
            parts[name] = int(text)
    wrong.speak()
    if not parts:
        fields.finish()
        raise Invalid(WHERE, f"is empty; type interval takes {', '.join(_PARTS)}")
    return parts


def _given(fields: Fields, name: str) -> str:
    text = fields.value(name)
    if not text:
        raise Invalid(fields.path(name), "is required, as in 2027-01-01T09:00:00Z")
    return str(text)


def _followed(fields: Fields) -> dict[str, Any]:
    """Parents separated by commas, where none of them is one with a comma in its name: those are given by id."""
    parents = [parent for text in _given(fields, "schedule").split(",") if (parent := text.strip())]
    after: dict[str, Any] = {"schedule": parents}
    if (outcome := fields.value("outcome")) is not None:
        after["outcome"] = outcome
    if (every_one := fields.value("all")) is not None:
        if every_one not in {"true", "false"}:
            raise Invalid(fields.path("all"), "must be true or false", got=every_one)
        after["all"] = every_one == "true"
    return after


def meant(error: Invalid, config: Mapping[str, str]) -> str | None:
    """The key of the configuration that an error about the document is about; None when it is about something else."""
    first, _, rest = error.field.partition(".")
    match first:
        case "cron_expr" if "expression" in config:
            return f"{WHERE}.expression"
        case "cron_expr":
            unit = _UNITS.get(error.message.partition(":")[0])
            return f"{WHERE}.{unit}" if unit is not None and unit in config else WHERE
        case "interval_seconds" | "interval" | "after":
            return f"{WHERE}.{rest.partition('[')[0]}" if rest else WHERE
        case "run_at":
            return f"{WHERE}.run_at"
        case "type":
            return "schedule_config.type"
        case _:
            return None


def config_of(rule: Rule) -> pb.ScheduleConfig:
    """The configuration that would create this rule."""
    match rule:
        case Cron(expression):
            parts = expression.split()
            named = dict(zip(_CRON[-len(parts) :], parts, strict=True))
            return pb.ScheduleConfig(type=TriggerType.CRON, config={"expression": expression, **named})
        case FixedInterval(seconds):
            return pb.ScheduleConfig(type=TriggerType.INTERVAL, config={"seconds": str(seconds)})
        case OneOff(at):
            return pb.ScheduleConfig(type=TriggerType.ONEOFF, config={"run_at": rfc3339(at) or ""})
        case After(parents, outcome, every_one):
            config = {"schedule": ",".join(parents), "outcome": outcome.value, "all": str(every_one).lower()}
            return pb.ScheduleConfig(type=TriggerType.AFTER, config=config)
