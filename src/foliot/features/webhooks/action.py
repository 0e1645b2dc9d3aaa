"""The action `webhook`: one signed HTTP request per attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson

from foliot import __version__
from foliot.core.document import rfc3339
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.core.errors import Unavailable
from foliot.core.mask import shown_text
from foliot.core.secret_template import filled
from foliot.core.secrets import CannotUnseal, NotForHost
from foliot.engine.model.run import EXCHANGE, AttemptError, Failed, Outcome, is_test
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.webhooks.config import MOST_HEADER_BYTES, read_config
from foliot.features.webhooks.header_plan import HeaderPlan, HeaderPlans, size_of
from foliot.features.webhooks.model import place
from foliot.features.webhooks.signature import BadSigningKey, SigningSecrets, sign
from foliot.features.webhooks.verdict import judge, phrase

KEPT = 64 * 1024
READ = 10 * 1024 * 1024
SILENT = frozenset({"target_timeout", "target_unreachable", "timeout"})
"""Error codes of requests that got no answer."""
_MARGIN = timedelta(milliseconds=90)
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_AGENT = f"Foliot/{__version__}"


class PoliteSender(Protocol):
    """Sends a request when its host's turn has come."""

    async def send(self, request: OutgoingRequest, caller: str) -> OutgoingResponse: ...


class WebhookAction:
    """Calls a URL with headers that identify the run, and derives the outcome from the status."""

    kind = "webhook"
    timeout = timedelta(seconds=300)

    def __init__(self, *, egress: Egress, secrets: SigningSecrets, polite: PoliteSender | None = None) -> None:
        self._egress = egress
        self._polite = polite
        self._secrets = secrets
        self._plans = HeaderPlans()

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        return read_config(config, self._egress)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget | None:
        """The host and port that it calls."""
        return _target(config.get("url"))

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Send once. When a secret that it needs is missing, nothing is sent."""
        method = str(ctx.config.get("method", "POST"))
        body = _payload(method, ctx.config.get("body"))
        plan = self._plans.of(ctx.config.get("headers") or {})
        try:
            headers = await self._headers(ctx, plan, body)
        except UnfitRequest as unfit:
            ctx.log(f"Not sent: {unfit.problem.message}", level="error")
            return Failed(unfit.problem, permanent=unfit.permanent)
        request = OutgoingRequest(
            method=method,
            url=str(ctx.config["url"]),
            headers=headers,
            body=body,
            # A little less than the attempt has, so that a late answer is reported by its phase.
            timeout=ctx.timeout - min(_MARGIN, ctx.timeout / 20),
            keep=KEPT,
            most=READ,
            tenant_id=ctx.tenant_id,
        )
        ctx.log(f"{method} to {_host(request.url)}, attempt {ctx.attempt} of {ctx.max_attempts}")
        return await self._send(ctx, request, plan)

    async def _headers(self, ctx: ActionContext, plan: HeaderPlan, body: bytes | None) -> dict[str, str]:
        """The user's headers with their secrets, then Foliot's own, which take precedence."""
        try:
            keys = await self._secrets.signing(ctx.tenant_id)
            secrets = (
                await self._secrets.named(ctx.tenant_id, plan.wanted, str(ctx.config["url"])) if plan.wanted else {}
            )
        except (CannotUnseal, Unavailable):
            raise UnfitRequest(UNAVAILABLE) from None
        except NotForHost as bound:
            raise UnfitRequest(_elsewhere(bound, str(ctx.config["url"])), permanent=True) from None
        if missing := sorted(plan.wanted - secrets.keys()):
            raise UnfitRequest(_missing(missing), permanent=True)
        ctx.hide(*keys, *secrets.values())
        headers, size = plan.given, plan.size
        if secrets:
            headers = {name: filled(value, secrets) for name, value in headers.items()}
            size = size_of(headers)
        if size > MOST_HEADER_BYTES:
            raise UnfitRequest(TOO_LARGE, permanent=True)
        try:
            signature = sign(keys, ctx.run_id, ctx.now, body or b"")
        except BadSigningKey:
            raise UnfitRequest(BAD_KEY, permanent=True) from None
        return {**headers, **_ours(ctx, body, signature, typed=plan.typed)}

    async def _send(self, ctx: ActionContext, request: OutgoingRequest, plan: HeaderPlan) -> Outcome:
        try:
            reply = await self._reply(ctx, request)
        except EgressRefused as refusal:
            ctx.log(f"Not sent: {refusal}", level="error")
            return Failed(AttemptError("address_refused", str(refusal)), permanent=True)
        except EgressFailed as failure:
            ctx.log(failure.detail, level="warning")
            problem = AttemptError(failure.code, failure.detail, failure.cause)
            return Failed(problem, response={EXCHANGE: _exchange(request, plan, failure.timing)})
        outcome = judge(reply, request.url, ctx.now + reply.elapsed)
        if outcome.response is not None:
            outcome.response[EXCHANGE] = _exchange(request, plan, reply.timing)
        milliseconds = round(reply.elapsed.total_seconds() * 1000)
        level = "warning" if isinstance(outcome, Failed) else "info"
        ctx.log(f"The target answered {phrase(reply.status)} after {milliseconds} ms", level=level)
        return outcome

    async def _reply(self, ctx: ActionContext, request: OutgoingRequest) -> OutgoingResponse:
        """Within the limits of the host where the action is marked polite: they are shared with every fetch."""
        if not ctx.config.get("polite") or self._polite is None:
            return await self._egress.send(request)
        try:
            async with asyncio.timeout(request.timeout.total_seconds()):
                return await self._polite.send(request, ctx.schedule_id or ctx.run_id)
        except TimeoutError:
            raise EgressFailed(
                "target_timeout",
                "There was no turn at the host, or no answer, within the time limit.",
                cause="no_turn",
            ) from None


@lru_cache(maxsize=10_000)
def _target(url: object) -> AttemptTarget | None:
    name = place(url)
    return None if name is None else AttemptTarget(name, SILENT)


def _exchange(request: OutgoingRequest, plan: HeaderPlan, timing: Mapping[str, float | None]) -> dict[str, Any]:
    """What is kept of a request: the headers as configured, with templates for secrets and masked credentials."""
    headers = {**request.headers, **plan.shown}
    return {"request": {"method": request.method, "url": _shown_url(request.url), "headers": headers}, "timing": timing}


_shown_url = lru_cache(maxsize=10_000)(shown_text)


@lru_cache(maxsize=10_000)
def _host(url: str) -> str | None:
    return urlsplit(url).hostname


def _payload(method: str, body: object) -> bytes | None:
    """A receiver of a POST expects JSON, so a webhook without a body sends an empty object."""
    if body is None:
        return b"{}" if method in _WITH_BODY else None
    return orjson.dumps(body)


def _ours(ctx: ActionContext, body: bytes | None, signature: str | None, *, typed: bool) -> dict[str, str]:
    headers = {
        "User-Agent": _AGENT,
        "Idempotency-Key": ctx.run_id,
        "webhook-id": ctx.run_id,
        "webhook-timestamp": str(int(ctx.now.timestamp())),
        "X-Foliot-Attempt": str(ctx.attempt),
    }
    if body is not None and not typed:
        headers["Content-Type"] = "application/json"
    if is_test(WebhookAction.kind, ctx.config):
        headers["X-Foliot-Test"] = "true"
    if signature is not None:
        headers["webhook-signature"] = signature
    scheduled_for = rfc3339(ctx.scheduled_for)
    if scheduled_for is not None:
        headers["X-Foliot-Scheduled-For"] = scheduled_for
    return headers


class UnfitRequest(Exception):
    """A request that cannot be built as configured, and so is not sent."""

    def __init__(self, problem: AttemptError, *, permanent: bool = False) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.permanent = permanent


UNAVAILABLE = AttemptError(
    "secret_unavailable",
    "A secret that this webhook needs cannot be decrypted: the stored secret or the master key has changed.",
)
TOO_LARGE = AttemptError(
    "headers_too_large", "With their secrets filled in, the headers are more than 16 KiB in total."
)
BAD_KEY = AttemptError(
    "signing_key_invalid",
    "The signing secret cannot be used: it must be whsec_ followed by base64 of at least 16 bytes.",
)


def _elsewhere(bound: NotForHost, url: str) -> AttemptError:
    host = _host(url)
    where = (
        f"it is for {', '.join(bound.hosts)}"
        if bound.hosts
        else "it names no hosts, which FOLIOT_SECRETS_REQUIRE_HOSTS requires"
    )
    return AttemptError("secret_not_for_host", f"The secret {bound.name} may not be sent to {host}: {where}.")


def _missing(missing: Sequence[str]) -> AttemptError:
    listed = ", ".join(missing)
    return AttemptError("secret_missing", f"There is no secret {listed}: set it with foliot secret set {missing[0]}.")
