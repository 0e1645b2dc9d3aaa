"""Stand-ins of the services that channels notify: they check requests as the documented APIs do, and keep them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

KEY = "key-1"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Reply = tuple[int, object]


class Refused(Exception):
    """What the API answers instead."""

    def __init__(self, status: int, body: object) -> None:
        super().__init__(status)
        self.reply: Reply = (status, body)


@dataclass
class Arrived:
    """What one service has accepted."""

    documents: list[Any] = field(default_factory=list)
    open: set[str] = field(default_factory=set)
    """Incidents, of services that have some."""


def need(found: object, status: int, body: object) -> None:
    if not found:
        raise Refused(status, body)


def slack(path: str, _: Any, document: Any, __: Arrived) -> Reply:
    need(path == f"/services/{KEY}", 404, "no_service")
    need(isinstance(document.get("text"), str) and document["text"], 400, "no_text")
    blocks = document["blocks"]
    need(len(blocks) <= 50, 400, "invalid_blocks")
    for block in blocks:
        texts = [block["text"]] if block["type"] == "section" else block["elements"]
        need(all(each["type"] == "mrkdwn" and 0 < len(each["text"]) <= 3000 for each in texts), 400, "invalid_blocks")
    return 200, "ok"


def discord(path: str, _: Any, document: Any, __: Arrived) -> Reply:
    need(path == f"/api/webhooks/1/{KEY}", 401, {"message": "Invalid Webhook Token", "code": 50027})
    for embed in document["embeds"]:
        fits = len(embed["title"]) <= 256 and len(embed["description"]) <= 4096 and 0 <= embed["color"] < 1 << 24
        need(fits, 400, {"code": 50035, "message": "Invalid Form Body"})
    need(len(document["embeds"]) <= 10, 400, {"code": 50035, "message": "Invalid Form Body"})
    return 204, ""


def teams(path: str, _: Any, document: Any, __: Arrived) -> Reply:
    need(path == f"/workflows/{KEY}", 401, {"error": {"code": "DirectApiAuthorizationRequired"}})
    (attachment,) = document["attachments"]
    need(document["type"] == "message", 400, {"error": "type"})
    need(attachment["contentType"] == "application/vnd.microsoft.card.adaptive", 400, {"error": "contentType"})
    card = attachment["content"]
    need((card["type"], card["version"]) == ("AdaptiveCard", "1.4"), 400, {"error": "card"})
    need(all(each["type"] == "Action.OpenUrl" and each["url"] for each in card["actions"]), 400, {"error": "actions"})
    return 202, ""


def telegram(path: str, _: Any, document: Any, __: Arrived) -> Reply:
    need(path == f"/bot1:{KEY}/sendMessage", 401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
    bad = {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}
    need(document["chat_id"] == "42", 400, bad)
    need(0 < len(document["text"]) <= 4096, 400, {**bad, "description": "Bad Request: message is too long"})
    return 200, {"ok": True, "result": {"message_id": 1}}


def pagerduty(path: str, _: Any, document: Any, arrived: Arrived) -> Reply:
    def invalid(*errors: str) -> dict[str, object]:
        return {"status": "invalid event", "message": "Event object is invalid", "errors": errors}

    need(path == "/v2/enqueue", 404, "")
    need(document["routing_key"] == KEY, 400, invalid("Invalid routing key"))
    key, payload = document["dedup_key"], document["payload"]
    need(len(key) <= 255, 400, invalid("Length of 'dedup_key' is incorrect"))
    need(payload["severity"] in {"critical", "warning", "error", "info"}, 400, invalid("severity"))
    need(payload["source"] and 0 < len(payload["summary"]) <= 1024, 400, invalid("summary"))
    need(all(link["href"].startswith("http") for link in document["links"]), 400, invalid("links"))
    if document["event_action"] == "trigger":
        arrived.open.add(key)
    else:
        arrived.open.discard(key)
    return 202, {"status": "success", "message": "Event processed", "dedup_key": key}


def opsgenie(path: str, headers: Any, document: Any, arrived: Arrived) -> Reply:
    need(headers["Authorization"] == f"GenieKey {KEY}", 401, {"message": "Could not authenticate"})
    closed = re.fullmatch(r"/v2/alerts/([^/]+)/close\?identifierType=alias", path)
    if closed:
        arrived.open.discard(closed[1])
        return 202, {"result": "Request will be processed", "requestId": "1"}
    need(path == "/v2/alerts", 404, {"message": "no such route"})
    fits = 0 < len(document["message"]) <= 130 and len(document["description"]) <= 15_000
    need(fits and document["priority"] in {"P1", "P2", "P3", "P4", "P5"}, 422, {"message": "Request body is invalid"})
    arrived.open.add(document["alias"])
    return 202, {"result": "Request will be processed", "requestId": "1"}


def ntfy(path: str, headers: Any, document: Any, _: Arrived) -> Reply:
    denied = {"code": 40301, "http": 403, "error": "forbidden"}
    need(headers["Authorization"] == f"Bearer {KEY}", 403, denied)
    need(path == "/" and document["topic"] == "alerts", 403, denied)
    need(1 <= document["priority"] <= 5 and document["message"], 400, {"code": 40007, "error": "invalid priority"})
    return 200, {"id": "1", "event": "message", "topic": document["topic"]}


def gotify(path: str, headers: Any, document: Any, _: Arrived) -> Reply:
    need(headers["X-Gotify-Key"] == KEY, 401, {"error": "Unauthorized", "errorCode": 401})
    need(path == "/message" and document["message"], 400, {"error": "Bad Request", "errorCode": 400})
    return 200, {"id": 1, "appid": 1}


def webhook(path: str, headers: Any, document: Any, _: Arrived) -> Reply:
    need(path == "/", 404, "")
    try:
        Webhook(SECRET).verify(headers["-raw"], dict(headers))
    except WebhookVerificationError:
        raise Refused(401, "bad signature") from None
    return 204, ""


SERVICES: dict[str, Callable[[str, Any, Any, Arrived], Reply]] = {
    each.__name__: each for each in (slack, discord, teams, telegram, pagerduty, opsgenie, ntfy, gotify, webhook)
}


class NotificationServices(ThreadingHTTPServer):
    """Each service under its name: `/slack/services/…`. While `busy` names one, it answers 429."""

    daemon_threads = True

    def __init__(self) -> None:
        self.arrived = {name: Arrived() for name in SERVICES}
        self.busy = ""
        super().__init__(("127.0.0.1", 0), Service)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Service(BaseHTTPRequestHandler):
    server: NotificationServices

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        _, name, rest = self.path.split("/", 2)
        if name == self.server.busy:
            self._answer(429, "slow down", {"Retry-After": "77"})
            return
        document = json.loads(raw)
        headers = {**dict(self.headers.items()), "-raw": raw.decode()}
        missing: dict[str, str] = dict.fromkeys(("Authorization", "X-Gotify-Key"), "")
        arrived = self.server.arrived[name]
        try:
            status, body = SERVICES[name](f"/{rest}", {**missing, **headers}, document, arrived)
        except Refused as refused:
            status, body = refused.reply
        else:
            arrived.documents.append(document)
        self._answer(status, body)

    def _answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        text = b"" if status == 204 else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def notification_services() -> Iterator[NotificationServices]:
    with NotificationServices() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
