"""The webhook action: one signed request per attempt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson

from foliot import __version__
from foliot.actions.webhook.config import read_config
from foliot.actions.webhook.signing import BadKey, Secrets, sign
from foliot.actions.webhook.verdict import judge, phrase
from foliot.domain.reading import rfc3339
from foliot.domain.run import Failed, Outcome, Problem
from foliot.ports import Context, Egress, EgressFailed, EgressRefused, Outgoing

KEPT = 64 * 1024
READ = 10 * 1024 * 1024
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Webhook:
    """Calls a URL, tells the target which run it is, and reads its verdict from the status."""

    kind = "webhook"
    timeout = timedelta(seconds=300)

    def __init__(self, *, egress: Egress, secrets: Secrets) -> None:
        self._egress = egress
        self._secrets = secrets

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        return read_config(config, self._egress)

    async def perform(self, ctx: Context) -> Outcome:
        """Send once. Without a usable key for a tenant that signs, nothing leaves."""
        method = str(ctx.config.get("method", "POST"))
        body = _payload(method, ctx.config.get("body"))
        try:
            signature = sign(await self._secrets.signing(ctx.tenant_id), ctx.run_id, ctx.now, body or b"")
        except BadKey:
            return _no_key(ctx)
        request = Outgoing(
            method=method,
            url=str(ctx.config["url"]),
            headers=_headers(ctx, body, signature),
            body=body,
            timeout=ctx.timeout,
            keep=KEPT,
            most=READ,
            tenant_id=ctx.tenant_id,
        )
        ctx.log(f"{method} to {urlsplit(request.url).hostname}, attempt {ctx.attempt} of {ctx.max_attempts}")
        return await self._send(ctx, request)

    async def _send(self, ctx: Context, request: Outgoing) -> Outcome:
        try:
            reply = await self._egress.send(request)
        except EgressRefused as refusal:
            ctx.log(f"Not sent: {refusal}", level="error")
            return Failed(Problem("address_refused", str(refusal)), permanent=True)
        except EgressFailed as failure:
            ctx.log(failure.message, level="warning")
            return Failed(Problem(failure.code, failure.message))
        outcome = judge(reply, ctx.now + reply.elapsed)
        milliseconds = round(reply.elapsed.total_seconds() * 1000)
        level = "warning" if isinstance(outcome, Failed) else "info"
        ctx.log(f"The target answered {phrase(reply.status)} after {milliseconds} ms", level=level)
        return outcome


def _payload(method: str, body: object) -> bytes | None:
    """A receiver of a POST expects JSON, so a webhook without a body sends an empty object."""
    if body is None:
        return b"{}" if method in _WITH_BODY else None
    return orjson.dumps(body)


def _headers(ctx: Context, body: bytes | None, signature: str | None) -> dict[str, str]:
    """The user's headers, then ours: ours win."""
    headers = {str(name): str(value) for name, value in (ctx.config.get("headers") or {}).items()}
    if body is not None and "content-type" not in map(str.lower, headers):
        headers["Content-Type"] = "application/json"
    headers |= {
        "User-Agent": f"Foliot/{__version__}",
        "Idempotency-Key": ctx.run_id,
        "webhook-id": ctx.run_id,
        "webhook-timestamp": str(int(ctx.now.timestamp())),
        "X-Foliot-Attempt": str(ctx.attempt),
    }
    if signature is not None:
        headers["webhook-signature"] = signature
    scheduled_for = rfc3339(ctx.scheduled_for)
    if scheduled_for is not None:
        headers["X-Foliot-Scheduled-For"] = scheduled_for
    return headers


def _no_key(ctx: Context) -> Failed:
    message = "The signing secret cannot be used: it must be whsec_ followed by base64 of at least 16 bytes."
    ctx.log(f"Not sent: {message}", level="error")
    return Failed(Problem("signing_key_invalid", message), permanent=True)
