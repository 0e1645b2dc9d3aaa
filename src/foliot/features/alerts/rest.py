"""Routes of channels, alert rules and alerts, and the page behind the link that acknowledges an alert."""

from __future__ import annotations

import re
from html import escape
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import HTMLResponse

from foliot.core.errors import Conflict, NotFound
from foliot.features.alerts import schema
from foliot.features.alerts.model.alert import ALERT, DELIVERY, AlertState
from foliot.features.alerts.model.alert_sort import ALERT_SORTS, alert_place, read_alert_sort
from foliot.features.alerts.model.channel import CHANNEL
from foliot.features.alerts.model.rule import RULE
from foliot.features.alerts.usecases.alerts import Alerts
from foliot.features.alerts.usecases.channels import Channels
from foliot.features.alerts.usecases.rules import AlertRules
from foliot.servers.http import encode
from foliot.servers.http.paging import Paged, Parted
from foliot.servers.http.permission import PUBLIC, Who, permits
from foliot.servers.http.request import Body, Cases, Document, ScheduleId
from foliot.servers.http.schema import CONFLICT, UNKNOWN, body, problem

router = APIRouter(tags=["Alerts"])

_ID = re.compile(r"[a-z]{3}_[0-9a-f]{32}")
_TOO_MANY = problem(429, "The tenant has reached its limit")


def _checked(kind: str, prefix: str, text: str) -> str:
    if not _ID.fullmatch(text) or not text.startswith(prefix):
        raise NotFound(kind, text[:64])
    return text


async def _channel_id(channel_id: Annotated[str, Path(description="A channel's id, `chn_…`.")]) -> str:
    return _checked("channel", CHANNEL, channel_id)


async def _rule_id(rule_id: Annotated[str, Path(description="An alert rule's id, `rul_…`.")]) -> str:
    return _checked("alert rule", RULE, rule_id)


async def _alert_id(alert_id: Annotated[str, Path(description="An alert's id, `alr_…`.")]) -> str:
    return _checked("alert", ALERT, alert_id)


async def _delivery_id(delivery_id: Annotated[str, Path(description="A delivery's id, `dlv_…`.")]) -> str:
    return _checked("delivery", DELIVERY, delivery_id)


ChannelId = Annotated[str, Depends(_channel_id)]
RuleId = Annotated[str, Depends(_rule_id)]
AlertId = Annotated[str, Depends(_alert_id)]
DeliveryId = Annotated[str, Depends(_delivery_id)]


@router.post(
    "/api/channels",
    dependencies=[permits(Channels.create)],
    status_code=201,
    response_model=schema.NotificationChannel,
    openapi_extra=body(schema.ChannelRequest),
    responses={**CONFLICT, **_TOO_MANY},
    summary="Create a channel",
    operation_id="channels.create",
)
async def create_channel(cases: Cases, caller: Who, asked: Body) -> Response:
    """Where notifications go. Credentials are encrypted and never shown again."""
    once = asked.once(201, schema.NotificationChannel.of)
    made = await cases[Channels].create(caller, asked.document, once)
    return encode.answer(schema.NotificationChannel.of(made), 201, {"Location": f"/api/channels/{made.channel.id}"})


@router.get(
    "/api/channels",
    dependencies=[permits(Channels.list)],
    response_model=schema.ChannelPage,
    summary="List channels",
    operation_id="channels.list",
)
async def list_channels(cases: Cases, caller: Who, part: Parted) -> Response:
    """By name, each with its last delivery."""
    shown, following = part.of(await cases[Channels].list(caller), lambda one: one.channel.id)
    items = [schema.NotificationChannel.of(one) for one in shown]
    return encode.answer(schema.ChannelPage(items=items, next_cursor=following))


@router.get(
    "/api/channels/{channel_id}",
    dependencies=[permits(Channels.get)],
    response_model=schema.NotificationChannel,
    responses=UNKNOWN,
    summary="One channel",
    operation_id="channels.get",
)
async def get_channel(cases: Cases, caller: Who, channel_id: ChannelId) -> Response:
    return encode.answer(schema.NotificationChannel.of(await cases[Channels].get(caller, channel_id)))


@router.patch(
    "/api/channels/{channel_id}",
    dependencies=[permits(Channels.change)],
    response_model=schema.NotificationChannel,
    openapi_extra=body(schema.ChannelChange),
    responses={**UNKNOWN, **CONFLICT},
    summary="Change a channel",
    operation_id="channels.change",
)
async def change_channel(cases: Cases, caller: Who, channel_id: ChannelId, document: Document) -> Response:
    """`config` is replaced as a whole; a credential that is `***` stays as it was."""
    return encode.answer(schema.NotificationChannel.of(await cases[Channels].change(caller, channel_id, document)))


@router.delete(
    "/api/channels/{channel_id}",
    dependencies=[permits(Channels.delete)],
    status_code=204,
    responses={**UNKNOWN, **CONFLICT},
    summary="Delete a channel",
    operation_id="channels.delete",
)
async def delete_channel(cases: Cases, caller: Who, channel_id: ChannelId) -> Response:
    """Refused (409) while a rule notifies it."""
    await cases[Channels].delete(caller, channel_id)
    return Response(status_code=204)


@router.post(
    "/api/channels/{channel_id}/test",
    dependencies=[permits(Channels.test)],
    status_code=202,
    response_model=schema.AlertDelivery,
    responses=UNKNOWN,
    summary="Send a test",
    operation_id="channels.test",
)
async def test_channel(cases: Cases, caller: Who, channel_id: ChannelId, asked: Body) -> Response:
    """Sends a test message; `GET /api/deliveries/{delivery_id}` shows what became of it."""
    once = asked.once(202, schema.AlertDelivery.of)
    made = await cases[Channels].test(caller, channel_id, once)
    return encode.answer(schema.AlertDelivery.of(made), 202, {"Location": f"/api/deliveries/{made.id}"})


@router.get(
    "/api/deliveries/{delivery_id}",
    dependencies=[permits(Channels.delivery)],
    response_model=schema.AlertDelivery,
    responses=UNKNOWN,
    summary="One delivery",
    operation_id="deliveries.get",
)
async def get_delivery(cases: Cases, caller: Who, delivery_id: DeliveryId) -> Response:
    return encode.answer(schema.AlertDelivery.of(await cases[Channels].delivery(caller, delivery_id)))


@router.post(
    "/api/alert-rules/preview",
    dependencies=[permits(AlertRules.preview)],
    response_model=schema.AlertRulePreview,
    openapi_extra=body(schema.AlertRulePreviewRequest),
    summary="Preview what a rule would have reported",
    operation_id="alert_rules.preview",
)
async def preview_rule(cases: Cases, caller: Who, asked: Body) -> Response:
    """Replays the last days through the rule; nothing is saved or sent."""
    return encode.answer(schema.AlertRulePreview.of(await cases[AlertRules].preview(caller, asked.document)))


@router.post(
    "/api/alert-rules",
    dependencies=[permits(AlertRules.create)],
    status_code=201,
    response_model=schema.AlertRule,
    openapi_extra=body(schema.AlertRuleRequest),
    responses={**CONFLICT, **_TOO_MANY},
    summary="Create an alert rule",
    operation_id="alert_rules.create",
)
async def create_rule(cases: Cases, caller: Who, asked: Body) -> Response:
    """Takes effect with the next run that ends."""
    made = await cases[AlertRules].create(caller, asked.document, asked.once(201, schema.AlertRule.of))
    return encode.answer(schema.AlertRule.of(made), 201, {"Location": f"/api/alert-rules/{made.id}"})


@router.get(
    "/api/alert-rules",
    dependencies=[permits(AlertRules.list)],
    response_model=schema.AlertRulePage,
    summary="List alert rules",
    operation_id="alert_rules.list",
)
async def list_rules(cases: Cases, caller: Who, part: Parted) -> Response:
    """By name."""
    shown, following = part.of(await cases[AlertRules].list(caller), lambda one: one.id)
    return encode.answer(schema.AlertRulePage(items=[schema.AlertRule.of(one) for one in shown], next_cursor=following))


@router.get(
    "/api/schedules/{schedule_id}/alert-rules",
    dependencies=[permits(AlertRules.of_schedule)],
    response_model=schema.NotifyingRulePage,
    responses=UNKNOWN,
    operation_id="alert_rules.of_schedule",
    summary="List the alert rules about a schedule",
)
async def rules_of_schedule(cases: Cases, caller: Who, schedule_id: ScheduleId) -> Response:
    """Who is notified about it, and by which rules."""
    found = await cases[AlertRules].of_schedule(caller, schedule_id)
    return encode.answer(schema.NotifyingRulePage(items=[schema.NotifyingRule.of(one) for one in found]))


@router.get(
    "/api/alert-rules/{rule_id}",
    dependencies=[permits(AlertRules.get)],
    response_model=schema.AlertRule,
    responses=UNKNOWN,
    summary="One alert rule",
    operation_id="alert_rules.get",
)
async def get_rule(cases: Cases, caller: Who, rule_id: RuleId) -> Response:
    return encode.answer(schema.AlertRule.of(await cases[AlertRules].get(caller, rule_id)))


@router.patch(
    "/api/alert-rules/{rule_id}",
    dependencies=[permits(AlertRules.change)],
    response_model=schema.AlertRule,
    openapi_extra=body(schema.AlertRuleChange),
    responses={**UNKNOWN, **CONFLICT},
    summary="Change an alert rule",
    operation_id="alert_rules.change",
)
async def change_rule(cases: Cases, caller: Who, rule_id: RuleId, document: Document) -> Response:
    """Fields that are absent stay. Open alerts stay open unless the rule is disabled or drops their event."""
    return encode.answer(schema.AlertRule.of(await cases[AlertRules].change(caller, rule_id, document)))


@router.delete(
    "/api/alert-rules/{rule_id}",
    dependencies=[permits(AlertRules.delete)],
    status_code=204,
    responses=UNKNOWN,
    summary="Delete an alert rule",
    operation_id="alert_rules.delete",
)
async def delete_rule(cases: Cases, caller: Who, rule_id: RuleId) -> Response:
    """Its open alerts are resolved without a message."""
    await cases[AlertRules].delete(caller, rule_id)
    return Response(status_code=204)


@router.get(
    "/api/alerts",
    dependencies=[permits(Alerts.list)],
    response_model=schema.AlertPage,
    summary="List alerts, newest first or in another order",
    operation_id="alerts.list",
)
async def list_alerts(
    cases: Cases,
    caller: Who,
    page: Paged,
    state: Annotated[AlertState | None, Query(description="Only alerts in this state.")] = None,
    schedule_id: Annotated[str | None, Query(max_length=64, description="Only about this schedule.")] = None,
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(ALERT_SORTS)}; by default newest first.")
    ] = None,
) -> Response:
    order = read_alert_sort(sort)
    found = await cases[Alerts].list(caller, [state] if state else (), page.more(), schedule_id, order)
    shown, following = page.of(found, lambda one: alert_place(one.alert, order))
    return encode.answer(schema.AlertPage(items=[schema.AlertDetail.of(one) for one in shown], next_cursor=following))


@router.get(
    "/api/alerts/counts",
    dependencies=[permits(Alerts.counts)],
    response_model=schema.AlertCounts,
    summary="How many alerts are not resolved",
    operation_id="alerts.counts",
)
async def count_alerts(cases: Cases, caller: Who) -> Response:
    counts = await cases[Alerts].counts(caller)
    return encode.answer(schema.AlertCounts(open=counts.get("open", 0), acknowledged=counts.get("acknowledged", 0)))


@router.get(
    "/api/alerts/{alert_id}",
    dependencies=[permits(Alerts.get)],
    response_model=schema.AlertDetail,
    responses=UNKNOWN,
    summary="One alert",
    operation_id="alerts.get",
)
async def get_alert(cases: Cases, caller: Who, alert_id: AlertId) -> Response:
    return encode.answer(schema.AlertDetail.of(await cases[Alerts].get(caller, alert_id)))


@router.post(
    "/api/alerts/{alert_id}/ack",
    dependencies=[permits(Alerts.acknowledge)],
    response_model=schema.AlertDetail,
    responses={**UNKNOWN, **CONFLICT},
    summary="Acknowledge an alert",
    operation_id="alerts.acknowledge",
)
async def acknowledge(cases: Cases, caller: Who, alert_id: AlertId, asked: Body) -> Response:
    """It sends no more reminders; its end is still reported."""
    once = asked.once(200, schema.AlertDetail.of)
    return encode.answer(schema.AlertDetail.of(await cases[Alerts].acknowledge(caller, alert_id, once)))


@router.post(
    "/api/alerts/{alert_id}/snooze",
    dependencies=[permits(Alerts.snooze)],
    response_model=schema.AlertDetail,
    openapi_extra=body(schema.SnoozeRequest),
    responses={**UNKNOWN, **CONFLICT},
    summary="Snooze an alert",
    operation_id="alerts.snooze",
)
async def snooze(cases: Cases, caller: Who, alert_id: AlertId, asked: Body) -> Response:
    """At the end of that time there is one reminder, if the alert is still open."""
    once = asked.once(200, schema.AlertDetail.of)
    return encode.answer(schema.AlertDetail.of(await cases[Alerts].snooze(caller, alert_id, asked.document, once)))


@router.post(
    "/api/alerts/{alert_id}/resolve",
    dependencies=[permits(Alerts.resolve)],
    response_model=schema.AlertDetail,
    responses=UNKNOWN,
    summary="Resolve an alert",
    operation_id="alerts.resolve",
)
async def resolve(cases: Cases, caller: Who, alert_id: AlertId, asked: Body) -> Response:
    """Its channels are notified. The next failure counts from one again."""
    once = asked.once(200, schema.AlertDetail.of)
    return encode.answer(schema.AlertDetail.of(await cases[Alerts].resolve(caller, alert_id, once)))


@router.get("/ack/{alert_id}/{signature}", dependencies=[PUBLIC], include_in_schema=False)
async def ask_to_acknowledge(cases: Cases, alert_id: AlertId, signature: str) -> Response:
    """A page with a button: mail scanners open links, and must not acknowledge by that."""
    alert = await cases[Alerts].by_link(alert_id, signature)
    form = '<form method="post"><button type="submit">Acknowledge</button></form>'
    if alert.state is not AlertState.OPEN:
        form = f"<p>It is already {alert.state.value}.</p>"
    return _page(alert.summary, f"<p>{escape(alert.reason)}</p>{form}")


@router.post("/ack/{alert_id}/{signature}", dependencies=[PUBLIC], include_in_schema=False)
async def acknowledge_by_link(cases: Cases, alert_id: AlertId, signature: str) -> Response:
    try:
        await cases[Alerts].acknowledge_by_link(alert_id, signature)
    except Conflict:
        return _page("Already done", "<p>The alert was acknowledged or resolved before.</p>", 409)
    return _page("Acknowledged", "<p>No more reminders are sent. You are notified when it is over.</p>")


def _page(title: str, content: str, status: int = 200) -> HTMLResponse:
    style = "font:16px system-ui;max-width:36rem;margin:4rem auto;padding:0 1rem"
    html = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    html += f'<title>{escape(title)}</title><body style="{style}"><h1>{escape(title)}</h1>{content}</body>'
    return HTMLResponse(html, status, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
