"""`foliot alert …`: alerts, and the rules that open them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, joined
from foliot.terminal.options import Json, SortAlerts, Yes, usage
from foliot.terminal.output import count, note, print_json
from foliot.terminal.reference import Reference
from foliot.terminal.reference import resolve as find

group = CommandGroup("See alerts, acknowledge them, and manage the rules that open them.")

AlertId = Annotated[
    str,
    typer.Argument(help="The alert's id (alr_…), the beginning of it, or its schedule's name.", metavar="ALERT"),
    Reference("alert"),
]
RuleId = Annotated[
    str,
    typer.Argument(help="The alert rule's name, its id (rul_…) or the beginning of it.", metavar="RULE"),
    Reference("alert_rule"),
]

ALERTS = Table(
    "id, state, severity, about: subject.name, event, times: count, since: @first_at, reason",
    empty="No alerts.",
)
DELIVERIES = Table(
    "channel: channel_id, event, state, attempts, sent: @sent_at, error", items="deliveries", empty="No messages."
)
ALERT = Facts(
    "alert: id, state, severity, about: subject.name, event, times: count, since: @first_at, last: @last_at, summary,"
    " reason, run: run_id, acknowledged by: acknowledged_by, snoozed until: @snoozed_until, resolved: @resolved_at",
    then=DELIVERIES,
)
RULES = Table(
    "id, name, on: on[], filter, after, to, enabled",
    computed={"after": lambda rule: threshold(rule["after"]), "to": joined("to", empty="no channel")},
    empty="No alert rules. Create one with foliot alert create-rule NAME --on failed --to CHANNEL.",
)
PREVIEW = Table("at: @at, event, about: subject.name, message: would_say", empty="It would have sent nothing.")


def threshold(after: Mapping[str, object] | None) -> str:
    """`3 in a row`, `5 within 1h`."""
    if not after:
        return ""
    return f"{after['count']} within {after['within']}" if "count" in after else f"{after['in_a_row']} in a row"


@group.get("/api/alerts", ALERTS, paged=True)
def list_(
    state: Annotated[
        str | None, typer.Option(help="Only open, acknowledged or resolved ones.", show_default="all")
    ] = None,
    sort: SortAlerts = None,
) -> None:
    """List alerts, newest first or in another order."""


@group.get("/api/alerts/{alert}", ALERT)
def show(alert: AlertId) -> None:
    """Show an alert, and what became of the messages about it."""


@group.post("/api/alerts/{alert}/ack", ALERT)
def ack(alert: AlertId) -> None:
    """Acknowledge an alert: it sends no more reminders, and still reports its end."""


@group.post("/api/alerts/{alert}/snooze", ALERT)
def snooze(
    alert: AlertId, for_: Annotated[str, typer.Option("--for", help="How long: 30m, 4h, 2d.")] = "4h"
) -> dict[str, object]:
    """Snooze an alert: no reminders for a while, then one."""
    return {"for": for_}


@group.post("/api/alerts/{alert}/resolve", ALERT)
def resolve(alert: AlertId) -> None:
    """Resolve an alert by hand; its channels are notified."""


@group.get("/api/alert-rules", RULES, utc=False)
def rules() -> None:
    """List the alert rules."""


@group.command()
def create_rule(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Annotated[str, typer.Argument(help="The rule's name.", metavar="NAME")],
    on: Annotated[list[str] | None, typer.Option(help="An event, such as failed, late or missed; repeatable.")] = None,
    to: Annotated[list[str] | None, typer.Option(help="A channel, by name or id; repeatable.")] = None,
    *,
    filter_: Annotated[str, typer.Option("--filter", help="Only schedules that match, such as 'tag:prices'.")] = "",
    after: Annotated[int, typer.Option(min=1, help="Failures in a row that open an alert.")] = 1,
    count_: Annotated[
        int | None, typer.Option("--count", min=1, help="Instead of --after: this many failures within --within.")
    ] = None,
    within: Annotated[str | None, typer.Option(help="The period for --count, such as 1h.")] = None,
    late_after: Annotated[
        str, typer.Option(help="How long a run may be overdue before it is late, such as 5m.")
    ] = "1m",
    slow_after: Annotated[str | None, typer.Option(help="How long a run may take, for --on slow: 30m.")] = None,
    quiet: Annotated[
        str | None,
        typer.Option(help="Quiet hours, when nothing is sent: 22:00-07:00, or 22:00-07:00 Europe/Stockholm."),
    ] = None,
    remind_every: Annotated[str | None, typer.Option(help="How often to remind while it is open, such as 24h.")] = None,
    severity: Annotated[str, typer.Option(help="warning or critical.")] = "warning",
    preview: Annotated[bool, typer.Option("--preview", help="Only show what it would have sent in 7 days.")] = False,
    as_json: Json = False,
) -> None:
    """Create an alert rule.

    foliot alert create-rule failures --on failed --on missed --after 3 --to ops-slack
    """
    if not on:
        raise usage("--on: name at least one event, such as failed")
    if (count_ is None) != (within is None):
        raise usage("--count and --within belong together")
    body = {
        "name": name,
        "on": on,
        "to": to or [],
        "filter": filter_,
        "after": {"in_a_row": after} if count_ is None else {"count": count_, "within": within},
        "late_after": late_after,
        "slow_after": slow_after,
        "quiet": _quiet(quiet),
        "remind_every": remind_every,
        "severity": severity,
    }
    with connect() as client:
        answer = client.request("POST", "/api/alert-rules/preview" if preview else "/api/alert-rules", body)
        if as_json:
            print_json(answer)
        elif preview:
            PREVIEW(JsonObject(answer))
            note(f"{count(answer['total'], 'message')} in 7 days")
        else:
            note(f"rule {answer['name']} is created: {answer['id']}")


def _quiet(text: str | None) -> dict[str, str] | None:
    """`22:00-07:00 Europe/Stockholm`; without a zone, the server's."""
    if text is None:
        return None
    hours, _, zone = text.strip().partition(" ")
    start, dash, end = hours.partition("-")
    if not dash:
        raise usage("--quiet: give both times, as in 22:00-07:00")
    return {"from": start, "to": end} | ({"timezone": zone.strip()} if zone else {})


@group.command()
def delete_rule(rule: RuleId, yes: Yes = False) -> None:
    """Delete an alert rule; its open alerts are resolved without a message."""
    if not yes and not typer.confirm(f"Delete the alert rule {rule}?", err=True):
        raise typer.Exit(1)
    with connect() as client:
        found = find(client, "alert_rule", rule)
        client.delete(f"/api/alert-rules/{segment(found)}")
        note(f"rule {rule} is deleted")
