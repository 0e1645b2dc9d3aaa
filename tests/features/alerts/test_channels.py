"""Channels: their settings, and what each kind of service is sent."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from standardwebhooks import Webhook

from foliot.core.errors import Invalid
from foliot.features.alerts.channels import apprise
from foliot.features.alerts.channels.http import DeliveryFailed, post
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.channels.send import ChannelSender
from foliot.features.alerts.channels.smtp import send_mail
from foliot.features.alerts.model.alert import Alert, AlertState, AlertSubject, DeliveryEvent, SubjectKind
from foliot.features.alerts.model.channel import Channel, ChannelKind, read_channel
from foliot.features.alerts.model.rule import AlertEvent, AlertSeverity
from foliot.net.allow import EgressRules
from foliot.net.client import HttpEgress
from foliot.net.guard import EgressGuard
from foliot.net.proxy import EgressProxy
from foliot.net.tcp import TcpEgress
from tests.asgi import Client
from tests.features.alerts.alerting import Receiver
from tests.mail_server import mail_server, mails
from tests.net.outside import serving

NOON = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

CONFIGS: dict[str, dict[str, Any]] = {
    "webhook": {"url": "https://hooks.example/x", "secret": SECRET},
    "slack": {"url": "https://hooks.slack.example/services/T/B/x"},
    "discord": {"url": "https://discord.example/api/webhooks/1/x"},
    "teams": {"url": "https://teams.example/x"},
    "telegram": {"token": "1:abc", "chat_id": "42", "base_url": "https://telegram.example"},
    "pagerduty": {"routing_key": "R1", "base_url": "https://pd.example"},
    "opsgenie": {"api_key": "K1", "base_url": "https://og.example"},
    "ntfy": {"url": "https://ntfy.example/alerts", "token": "tk_1"},
    "gotify": {"url": "https://gotify.example", "token": "G1"},
}


def channel(kind: str, config: dict[str, Any]) -> Channel:
    settings = read_channel({"name": kind, "kind": kind, "config": config})
    return Channel(
        id="chn_1", tenant_id="acme", name=kind, kind=settings.kind, config=settings.config, secrets=settings.secrets,
        created_by="ada", created_at=NOON, updated_at=NOON,
    )  # fmt: skip


def message(event: DeliveryEvent = DeliveryEvent.OPENED, **changes: Any) -> Message:
    resolved = event is DeliveryEvent.RESOLVED
    alert = Alert(
        id="alr_1", tenant_id="acme", rule_id="rul_1", event=AlertEvent.FAILED, severity=AlertSeverity.CRITICAL,
        state=AlertState.RESOLVED if resolved else AlertState.OPEN, count=3, first_at=NOON, opened_at=NOON,
        last_at=NOON, subject=AlertSubject(SubjectKind.SCHEDULE, "sch_1", "Prices"), summary="Prices failed",
        reason="The target answered 503 (http_503)", resolved_at=NOON if resolved else None,
    )  # fmt: skip
    links = {"alert": "https://foliot.example/alerts/alr_1"}
    standing: dict[str, Any] = {"alerts": [alert], "rule_name": "failures", "links": links, "incident": "alr_1"}
    return Message(id="dlv_1", event=event, now=NOON, **{**standing, **changes})


async def sent(kind: str, note: Message | None = None) -> tuple[str, dict[str, str], Any]:
    receiver = Receiver()
    await post(channel(kind, CONFIGS[kind]), note or message(), receiver)
    (request,) = receiver.requests
    return request.url, dict(request.headers), orjson.loads(request.body or b"")


async def test_a_webhook_gets_the_documented_json_with_a_signature() -> None:
    receiver = Receiver()
    await post(channel("webhook", CONFIGS["webhook"]), message(), receiver)
    (request,) = receiver.requests
    document = orjson.loads(request.body or b"")
    assert document["type"] == "alert.opened"
    assert (document["alert"]["id"], document["alert"]["count"]) == ("alr_1", 3)
    assert document["links"] == {"alert": "https://foliot.example/alerts/alr_1"}
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}".encode()
    assert request.headers["webhook-signature"] == Webhook(SECRET).sign(
        request.headers["webhook-id"], NOON, (request.body or b"").decode()
    ), signed


async def test_slack_gets_blocks_in_which_no_text_is_markup() -> None:
    _, _, document = await sent("slack", message(alerts=[], event=DeliveryEvent.TEST))
    assert document["text"] == "Foliot: this is a test"
    _, _, document = await sent("slack")
    assert "Critical: Prices failed" in document["blocks"][0]["text"]["text"]


async def test_discord_mentions_no_one() -> None:
    _, _, document = await sent("discord")
    assert document["allowed_mentions"] == {"parse": []}
    assert document["embeds"][0]["title"] == "Critical: Prices failed"


async def test_teams_gets_an_adaptive_card() -> None:
    _, _, document = await sent("teams")
    card = document["attachments"][0]["content"]
    assert (card["type"], card["body"][0]["text"]) == ("AdaptiveCard", "Critical: Prices failed")


async def test_telegram_is_called_by_the_bots_token() -> None:
    url, _, document = await sent("telegram")
    assert url == "https://telegram.example/bot1:abc/sendMessage"
    assert document["chat_id"] == "42"
    assert document["text"].startswith("Critical: Prices failed")


async def test_pagerduty_resolves_the_incident_that_it_triggered() -> None:
    url, _, opened = await sent("pagerduty")
    assert url == "https://pd.example/v2/enqueue"
    assert (opened["event_action"], opened["dedup_key"]) == ("trigger", "alr_1")
    assert opened["payload"]["severity"] == "critical"
    _, _, resolved = await sent("pagerduty", message(DeliveryEvent.RESOLVED))
    assert (resolved["event_action"], resolved["dedup_key"]) == ("resolve", "alr_1")


async def test_opsgenie_closes_the_alert_that_it_created() -> None:
    url, headers, document = await sent("opsgenie")
    assert (url, headers["Authorization"]) == ("https://og.example/v2/alerts", "GenieKey K1")
    assert (document["alias"], document["priority"]) == ("alr_1", "P1")
    url, _, _ = await sent("opsgenie", message(DeliveryEvent.RESOLVED))
    assert url == "https://og.example/v2/alerts/alr_1/close?identifierType=alias"


async def test_ntfy_and_gotify_get_their_tokens_in_headers() -> None:
    url, headers, document = await sent("ntfy")
    assert (url, headers["Authorization"], document["topic"]) == ("https://ntfy.example/", "Bearer tk_1", "alerts")
    url, headers, document = await sent("gotify")
    assert (url, headers["X-Gotify-Key"]) == ("https://gotify.example/message", "G1")


@pytest.mark.parametrize(("status", "permanent"), [(400, True), (404, True), (429, False), (500, False), (302, True)])
async def test_an_answer_that_cannot_improve_is_not_retried(status: int, permanent: bool) -> None:
    receiver = Receiver([status], {"Retry-After": "30"})
    with pytest.raises(DeliveryFailed) as failed:
        await post(channel("slack", CONFIGS["slack"]), message(), receiver)
    assert failed.value.permanent is permanent
    assert failed.value.retry_after is not None
    assert failed.value.retry_after.total_seconds() == 30


def test_a_message_says_what_since_when_how_often_and_why() -> None:
    text = message().text
    assert text.startswith("Critical: Prices failed")
    assert "The target answered 503 (http_503)" in text
    assert "3 times since 2027-01-04 12:00 UTC." in text.lower().replace("utc", "UTC")


# --- e-mail, to a real server -----------------------------------------------------------------------------------------


def local_tcp() -> TcpEgress:
    return TcpEgress(guard=EgressGuard(EgressRules.read(loopback=True, allow=(), ports=())))


async def test_an_e_mail_arrives_as_text_and_html_under_a_stable_id(tmp_path: Path) -> None:
    async with mail_server(tmp_path / "mail") as port:
        config = {"host": "127.0.0.1", "port": port, "tls": "none", "from": "foliot@x.example", "to": ["ops@x.example"]}
        tcp = local_tcp()
        await send_mail(channel("email", config), message(), tcp)
        tcp.close()
        (mail,) = mails(tmp_path / "mail")
    assert "Subject: Critical: Prices failed" in mail
    assert "Message-ID: <dlv_1@foliot>" in mail
    assert "text/html" in mail
    assert "https://foliot.example/alerts/alr_1" in mail


async def test_a_mail_server_that_is_not_there_is_tried_again_and_one_inside_is_refused() -> None:
    async with serving() as closed:
        pass
    config = {"host": "127.0.0.1", "port": closed.port, "tls": "none", "from": "a@x.example", "to": "b@x.example"}
    with pytest.raises(DeliveryFailed) as failed:
        await send_mail(channel("email", config), message(), local_tcp())
    assert not failed.value.permanent
    guarded = TcpEgress(guard=EgressGuard(EgressRules.read(loopback=False, allow=(), ports=[closed.port])))
    with pytest.raises(DeliveryFailed) as refused:
        await send_mail(channel("email", config), message(), guarded)
    assert refused.value.permanent


# --- Apprise, through the proxy ---------------------------------------------------------------------------------------


async def by_apprise(url: str, *, loopback: bool = True, ports: tuple[int, ...] = ()) -> None:
    tcp = TcpEgress(guard=EgressGuard(EgressRules.read(loopback=loopback, allow=(), ports=list(ports))))
    proxy = EgressProxy(tcp=tcp)
    await proxy.start()
    try:
        await apprise.send_by_apprise(channel("apprise", {"url": url}), message(), proxy)
    finally:
        await proxy.close()
        tcp.close()


async def test_apprise_sends_through_the_proxy() -> None:
    async with serving() as target:
        await by_apprise(f"gotify://127.0.0.1:{target.port}/TOKEN")
    assert target.requests
    assert b"POST /message" in target.requests[0]


async def test_apprise_cannot_pass_the_guard() -> None:
    async with serving() as sink:
        with pytest.raises(DeliveryFailed):
            await by_apprise(f"gotify://127.0.0.1:{sink.port}/TOKEN", loopback=False, ports=(sink.port,))
    assert sink.connections == 0


async def test_an_apprise_plug_in_that_ignores_the_proxy_reaches_nothing() -> None:
    async with serving() as sink:
        with pytest.raises(DeliveryFailed):
            await by_apprise(f"mailto://127.0.0.1:{sink.port}/?from=a@x.example&to=b@x.example&mode=insecure")
    assert sink.connections == 0


async def test_processes_of_apprise_are_bounded_and_half_of_them_are_left_to_other_tenants() -> None:
    slots = apprise.AppriseSlots(2, 0.05)
    async with slots.taken("acme"):
        with pytest.raises(DeliveryFailed) as refused:
            async with slots.taken("acme"):
                pass
        async with slots.taken("other"):
            with pytest.raises(DeliveryFailed):
                async with slots.taken("third"):
                    pass
    assert not refused.value.permanent
    async with slots.taken("acme"), slots.taken("third"):
        pass


FORBIDDEN = [
    ("webhook", {"url": "http://169.254.169.254/latest"}, "config.url"),
    ("slack", {"url": "http://127.0.0.1/hook"}, "config.url"),
    ("pagerduty", {"routing_key": "R1", "base_url": "http://[::1]/"}, "config.base_url"),
    ("gotify", {"url": "http://10.0.0.7/", "token": "G1"}, "config.url"),
    ("email", {"host": "192.168.1.1", "from": "a@x.example", "to": ["b@x.example"]}, "config.host"),
    ("email", {"host": "mail.example", "port": 22, "from": "a@x.example", "to": ["b@x.example"]}, "config.host"),
    ("apprise", {"url": "gotify://10.0.0.7/TOKEN"}, "config.url"),
    ("apprise", {"url": "gotify://8.8.8.8:22/TOKEN"}, "config.url"),
    ("apprise", {"url": "json://hooks.example/"}, "config.url"),
    ("apprise", {"url": "hooks.example"}, "config.url"),
]


def guarded_ways() -> ChannelSender:
    def tcp(ports: tuple[int, ...]) -> TcpEgress:
        return TcpEgress(guard=EgressGuard(EgressRules.read(loopback=False, allow=(), ports=ports)))

    return ChannelSender(egress=HttpEgress(), mail=tcp((25, 587)), proxy=EgressProxy(tcp=tcp((80, 443))))


@pytest.mark.parametrize(("kind", "config", "field"), FORBIDDEN)
def test_a_target_that_the_guard_forbids_is_refused_when_the_channel_is_made(
    kind: str, config: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        guarded_ways().check(read_channel({"name": "x", "kind": kind, "config": config}))
    assert refused.value.field == field


@pytest.mark.parametrize("url", ["slack://TokenA/TokenB/TokenC", "mailtos://a:b@mail.example", "gotifys://8.8.8.8/T"])
def test_what_may_be_a_token_is_no_target(url: str) -> None:
    guarded_ways().check(read_channel({"name": "x", "kind": "apprise", "config": {"url": url}}))


@pytest.mark.parametrize("url", ["json://127.0.0.1/", "syslog://", "nonsense", "file:///etc/passwd"])
async def test_apprise_urls_that_are_not_allowed_fail_for_good(url: str) -> None:
    with pytest.raises(DeliveryFailed) as failed:
        await by_apprise(url)
    assert failed.value.permanent


# --- the API ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in CONFIGS if kind != "apprise"])
async def test_credentials_are_never_shown_again_and_stay_when_put_back(client: Client, kind: str) -> None:
    made = await client.post("/api/channels", {"name": kind, "kind": kind, "config": CONFIGS[kind]})
    assert made.status == 201, made.json
    secrets = {name for name, value in made.json["config"].items() if value == "***"}
    assert secrets
    shown = (await client.get("/api/channels")).body.decode()
    assert not any(str(CONFIGS[kind][name]) in shown for name in secrets)
    changed = await client.patch(f"/api/channels/{made.json['id']}", {"config": made.json["config"], "name": "other"})
    assert (changed.status, changed.json["config"]) == (200, made.json["config"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "slack", "config": {"url": "https://x.example"}}, "name"),
        ({"name": "x", "config": {}}, "kind"),
        ({"name": "x", "kind": "sms", "config": {}}, "kind"),
        ({"name": "x", "kind": "slack"}, "config"),
        ({"name": "x", "kind": "slack", "config": {}}, "config.url"),
        ({"name": "x", "kind": "slack", "config": {"url": "ftp://x"}}, "config.url"),
        ({"name": "x", "kind": "slack", "config": {"url": "https://x.example", "token": "1"}}, "config.token"),
        ({"name": "x", "kind": "email", "config": {"host": "h", "from": "nobody", "to": "a@b.example"}}, "config.from"),
    ],
)
async def test_a_channel_that_could_not_work_is_refused(client: Client, body: dict[str, Any], field: str) -> None:
    answer = await client.post("/api/channels", body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field), answer.json


async def test_a_channel_that_a_rule_uses_is_not_deleted(client: Client) -> None:
    made = await client.post("/api/channels", {"name": "hook", "kind": "webhook", "config": CONFIGS["webhook"]})
    await client.post("/api/alert-rules", {"name": "failures", "on": ["failed"], "to": ["hook"]})
    answer = await client.delete(f"/api/channels/{made.json['id']}")
    assert answer.status == 409
    assert "failures" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "on": ["fialed"]}, "on"),
        ({"name": "x", "on": []}, "on"),
        ({"name": "x", "on": ["failed"], "to": ["nowhere"]}, "to"),
        ({"name": "x", "on": ["failed"], "filter": "tga:prices"}, "filter"),
        ({"name": "x", "on": ["failed"], "after": {"count": 3}}, "after.within"),
        ({"name": "x", "on": ["failed"], "after": 0}, "after"),
        ({"name": "x", "on": ["failed"], "remind_every": "soon"}, "remind_every"),
        ({"name": "x", "on": ["failed"], "quiet": {"from": "22:00", "to": "25:00"}}, "quiet.to"),
        ({"name": "x", "on": ["failed"], "severity": "bad"}, "severity"),
        ({"name": "x", "on": ["failed"], "colour": "red"}, "colour"),
    ],
)
async def test_a_rule_that_could_not_work_is_refused(client: Client, body: dict[str, Any], field: str) -> None:
    answer = await client.post("/api/alert-rules", body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, field), answer.json


async def test_an_unknown_event_gets_a_suggestion(client: Client) -> None:
    answer = await client.post("/api/alert-rules", {"name": "x", "on": ["fialed"]})
    assert "did you mean 'failed'?" in answer.json["errors"][0]["message"]


def test_every_kind_has_a_sender() -> None:
    assert set(CONFIGS) | {"email", "apprise"} == set(ChannelKind)
