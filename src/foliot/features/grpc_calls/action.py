"""The action `grpc`: one unary or server-streaming call per attempt, and its status as an outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog

from foliot.core.egress import EgressRefused
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.grpc_calls.config import read_config
from foliot.features.grpc_calls.service_catalogue import ServiceError
from foliot.net.grpc_call import AnswerTooLarge, CallFailed, CallStatus

if TYPE_CHECKING:
    from foliot.features.grpc_calls.call import GrpcCaller
    from foliot.net.grpc_client import GrpcEgress


def is_permanent(status: CallStatus) -> bool:
    """Whether a retry of the same call would fail in the same way."""
    match status:
        case (
            CallStatus.UNAVAILABLE
            | CallStatus.DEADLINE_EXCEEDED
            | CallStatus.RESOURCE_EXHAUSTED
            | CallStatus.ABORTED
            | CallStatus.CANCELLED
            | CallStatus.INTERNAL
            | CallStatus.UNKNOWN
        ):
            return False
        case (
            CallStatus.INVALID_ARGUMENT
            | CallStatus.NOT_FOUND
            | CallStatus.ALREADY_EXISTS
            | CallStatus.PERMISSION_DENIED
            | CallStatus.UNAUTHENTICATED
            | CallStatus.FAILED_PRECONDITION
            | CallStatus.OUT_OF_RANGE
            | CallStatus.UNIMPLEMENTED
            | CallStatus.DATA_LOSS
        ):
            return True


def judge(service: str, failed: CallFailed, elapsed: timedelta) -> Failed:
    """The status decides whether to retry; the service may say when."""
    permanent = is_permanent(failed.status)
    return Failed(
        AttemptError(f"grpc_{failed.status.lower()}", sentence(service, failed)),
        permanent=permanent,
        retry_after=None if permanent else failed.retry_after,
        response=describe(failed.status, elapsed, failed),
    )


def sentence(service: str, failed: CallFailed) -> str:
    message = "; ".join([failed.message, *(f"{field}: {what}" for field, what in failed.violations)]).strip("; ")
    return f"{service} ended the call with {failed.status}" + (f": {message}" if message else ".")


def describe(status: str, elapsed: timedelta, failed: CallFailed | None = None) -> dict[str, Any]:
    """What is stored of the answer on the attempt."""
    kept: dict[str, Any] = {"status": str(status), "duration_ms": round(elapsed.total_seconds() * 1000)}
    if failed is not None:
        kept["message"] = failed.message
        kept["violations"] = [{"field": field, "message": what} for field, what in failed.violations]
    return kept


log = structlog.get_logger("foliot.grpc_calls")

PATIENCE = timedelta(seconds=2)
"""How long the creation of a schedule waits for the service to confirm the method and its fields."""
SILENT = frozenset({"grpc_unavailable", "grpc_deadline_exceeded", "timeout"})
"""Error codes of calls that got no answer."""
_TOLD = 5
TOO_LARGE = "at most 4 MiB are sent or received"


class GrpcCall:
    """Calls a method of a service in the address book, with parameters as JSON; the answer, as JSON, is the result."""

    kind = "grpc"
    timeout = timedelta(seconds=300)

    def __init__(self, *, calls: GrpcEgress, clock: Clock) -> None:
        self._calls = calls
        self._clock = clock
        self._made: GrpcCaller | None = None

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field; as the operator's own tenant sees it."""
        return read_config(config, self._calls.book)

    def check_for(self, tenant_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a tenant; a service of another tenant is reported like one that does not exist."""
        return read_config(config, self._calls.book, tenant_id)

    async def examine(self, tenant_id: str, config: Mapping[str, Any]) -> str | None:
        """`Invalid` when the service does not have the method or a field; the reason, when it could not be reached."""
        service = str(config["target_service"])
        try:
            await self._calls.admit(service, tenant_id)
            async with asyncio.timeout(PATIENCE.total_seconds()):
                await self._calling.prepare(config)
        except EgressRefused as refused:
            if not self._calls.book.entries:
                return f"no service is known here yet. {refused}"
            raise Invalid("target_service", f"must be a service that may be called. {refused}", got=service) from None
        except ServiceError as trouble:
            raise Invalid(
                "target_service", f"must be a service that can be reached; it {trouble}", got=service
            ) from None
        except TimeoutError:
            return f"{service} did not answer reflection in time"
        except CallFailed as failed:
            return sentence(service, failed)
        return None

    async def methods(self, service: str) -> Sequence[str]:
        """The methods of a service; raises like `GrpcEgress.call`, and `ServiceError`."""
        return (await self._calling.catalogues.of(service)).names

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """The service that it calls."""
        return AttemptTarget(f"grpc:{config.get('target_service')}", SILENT)

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Call once, and derive the outcome from the status."""
        loop = asyncio.get_running_loop()
        service, began = str(ctx.config["target_service"]), loop.time()
        failed: Failed
        try:
            await self._calls.admit(service, ctx.tenant_id)
            result, answers = await self._calling.perform(ctx)
        except EgressRefused as refused:
            failed = _never("address_refused", str(refused))
        except Invalid as wrong:
            failed = _never("invalid_call", f"{service} cannot be called like this: {_all(wrong)}")
        except ServiceError as trouble:
            failed = _never(trouble.code, f"{service} {trouble}.")
        except AnswerTooLarge:
            failed = _never("answer_too_large", f"The message for {service} is too large: {TOO_LARGE}.")
        except CallFailed as ended:
            failed = judge(service, ended, timedelta(seconds=loop.time() - began))
            log.info("a call failed", action="call_failed", service=service, status=ended.status.value, said=ended.said)
        else:
            ctx.log(f"{service} answered after {round(answers.elapsed.total_seconds() * 1000)} ms")
            return Succeeded(result=result, response=describe("OK", answers.elapsed))
        ctx.log(failed.problem.message, level="error" if failed.permanent else "warning")
        return failed

    @property
    def _calling(self) -> GrpcCaller:
        if self._made is None:
            # Importing protobuf is slow: only processes that make calls pay for it.
            from foliot.features.grpc_calls.call import GrpcCaller
            from foliot.features.grpc_calls.service_catalogue import ServiceCatalogues

            self._made = GrpcCaller(self._calls, ServiceCatalogues(self._calls, self._clock))
        return self._made


def _all(wrong: Invalid) -> str:
    return "; ".join(map(str, wrong.errors[:_TOLD])) if isinstance(wrong, InvalidMany) else str(wrong)


def _never(code: str, message: str) -> Failed:
    return Failed(AttemptError(code, message), permanent=True)
