"""Calls a method by its service's descriptors; fetches them again when the service has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foliot.core.document import rfc3339
from foliot.core.errors import Invalid
from foliot.core.threads import WORK
from foliot.engine.ports import ActionContext
from foliot.features.grpc_calls.answer import decode
from foliot.features.grpc_calls.config import MethodName
from foliot.features.grpc_calls.errors import BadAnswer
from foliot.features.grpc_calls.parameters import encode
from foliot.features.grpc_calls.service_catalogue import ServiceCatalogue, ServiceCatalogues, ServiceMethod
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcAnswers, GrpcRequest

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress

_SHORTEST = timedelta(milliseconds=10)
_BULKY = 64 * 1024
"""From this many bytes on, an answer is decoded in a thread."""


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was encoded by the service's own descriptors."""

    catalogue: ServiceCatalogue
    method: ServiceMethod
    request: bytes


@dataclass(frozen=True, slots=True)
class GrpcCaller:
    """Encodes, sends and decodes calls."""

    calls: GrpcEgress
    catalogues: ServiceCatalogues

    async def prepare(self, config: Mapping[str, Any]) -> PreparedCall:
        """`Invalid` when the service does not have the method or a field."""
        service = str(config["target_service"])
        catalogue = await self.catalogues.of(service)
        try:
            return self._prepared(catalogue, config)
        except Invalid:
            newer = await self.catalogues.newer(service, catalogue)
            if newer is None:
                raise
        return self._prepared(newer, config)

    def _prepared(self, catalogue: ServiceCatalogue, config: Mapping[str, Any]) -> PreparedCall:
        entry = self.calls.book.address_of(str(config["target_service"]))
        seen = catalogue if entry is None or entry.methods is None else catalogue.only(entry.allows)
        method = seen.find(MethodName.read(str(config["target_method"])))
        return PreparedCall(catalogue, method, encode(method, config.get("parameters") or {}))

    async def perform(self, ctx: ActionContext) -> tuple[Any, GrpcAnswers]:
        """The result, and the raw answers."""
        ends = asyncio.get_running_loop().time() + ctx.timeout.total_seconds()
        prepared = await self.prepare(ctx.config)
        try:
            answers = await self._call(ctx, prepared, ends)
        except CallFailed as failed:
            if failed.status is not CallStatus.UNIMPLEMENTED:
                raise
            newer = await self._changed(ctx, prepared)
            if newer is None:
                raise
            # A service that answers UNIMPLEMENTED has not begun: calling again repeats no effect.
            prepared = newer
            answers = await self._call(ctx, prepared, ends)
        return await self._result(ctx, prepared, answers.messages), answers

    async def _call(self, ctx: ActionContext, prepared: PreparedCall, ends: float) -> GrpcAnswers:
        service, path = str(ctx.config["target_service"]), prepared.method.path
        ctx.log(f"{path} of {service}, attempt {ctx.attempt} of {ctx.max_attempts}")
        left = timedelta(seconds=ends - asyncio.get_running_loop().time())
        return await self.calls.call(
            GrpcRequest(
                service=service,
                path=path,
                messages=[prepared.request],
                metadata=metadata(ctx),
                timeout=max(_SHORTEST, left),
                tenant_id=ctx.tenant_id,
            )
        )

    async def _result(self, ctx: ActionContext, prepared: PreparedCall, messages: Sequence[bytes]) -> Any:
        try:
            return await _decoded(prepared.method, messages)
        except BadAnswer:
            newer = await self._changed(ctx, prepared)
            if newer is None:
                raise
        return await _decoded(newer.method, messages)

    async def _changed(self, ctx: ActionContext, prepared: PreparedCall) -> PreparedCall | None:
        """The call by new descriptors, if the service has changed since they were fetched."""
        newer = await self.catalogues.anew(str(ctx.config["target_service"]))
        return None if newer is prepared.catalogue else self._prepared(newer, ctx.config)


async def _decoded(method: ServiceMethod, messages: Sequence[bytes]) -> Any:
    if sum(map(len, messages)) < _BULKY:
        return decode(method, messages)
    return await WORK.run(decode, method, messages)


def metadata(ctx: ActionContext) -> dict[str, str]:
    """Identifies the run and the attempt: the service can tell a retry from a new run."""
    headers = {
        "foliot-run-id": ctx.run_id,
        "foliot-attempt": str(ctx.attempt),
        "foliot-tenant-id": ctx.tenant_id,
        "foliot-schedule-id": ctx.schedule_id,
        "foliot-scheduled-for": rfc3339(ctx.scheduled_for),
        "idempotency-key": ctx.run_id,
    }
    return {name: value for name, value in headers.items() if value and value.isascii() and value.isprintable()}
