"""One call over one channel: sends the messages, reads bounded answers, maps errors."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import Any

from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from foliot.net.grpc_call import AnswerTooLarge, CallFailed, CallStatus, GrpcRequest

MOST_ANSWERS = 10_000
"""Messages of one stream of answers."""
_DETAILS = "grpc-status-details-bin"
_MOST_TEXT = 1000
_MOST_VIOLATIONS = 20
_LONGEST_WAIT = timedelta(days=7)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_ADDRESS = re.compile(r"(?:ipv4|ipv6|unix|dns):\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?")
_TOO_LARGE = re.compile(r"(?i)message (?:is )?larger than max|message length larger than|message exceeds maximum size")
_UNREACHABLE = "The service could not be reached, or is not ready."
_LATE = "The service did not answer in time."


async def exchange(channel: aio.Channel, call: GrpcRequest, seconds: float) -> list[bytes]:
    """Works for every kind of method: on the wire, one message is a stream of one."""
    metadata = [(name, value) for name, value in call.metadata.items()]
    patience = max(seconds, 0.001)
    if len(call.messages) == 1:
        # A refusal that arrives while a stream is being sent can be lost; a single message is sent whole.
        stream = channel.unary_stream(call.path)(call.messages[0], timeout=patience, metadata=metadata)
    else:
        stream = channel.stream_stream(call.path)(iter(call.messages), timeout=patience, metadata=metadata)
    answers: list[bytes] = []
    left = call.most
    try:
        async for answer in stream:
            answers.append(answer)
            left -= len(answer)
            if left < 0 or len(answers) > MOST_ANSWERS:
                raise AnswerTooLarge
    except aio.AioRpcError as error:
        raise failure(error) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # The caller was not cancelled: the connection was closed during the call.
        raise CallFailed(CallStatus.CANCELLED, "The connection was closed.") from None
    finally:
        stream.cancel()
    return answers


def failure(error: aio.AioRpcError) -> CallFailed | AnswerTooLarge:
    """The public part of a failed call. gRPC's messages about connections name addresses, and are not repeated."""
    status = CallStatus(error.code().name)
    details = error.details() or ""
    if status is CallStatus.RESOURCE_EXHAUSTED and _TOO_LARGE.search(details):
        return AnswerTooLarge()
    match status:
        case CallStatus.UNAVAILABLE:
            message = _UNREACHABLE
        case CallStatus.DEADLINE_EXCEEDED:
            message = _LATE
        case _:
            message = plain(details)
    retry_after, violations = _details(error.trailing_metadata())
    return CallFailed(status, message, retry_after=retry_after, violations=violations, said=details[:_MOST_TEXT])


def plain(text: str) -> str:
    """An external message on one line, shortened, without addresses."""
    return _ADDRESS.sub("…", _CONTROL.sub(" ", text[: 2 * _MOST_TEXT])).strip()[:_MOST_TEXT]


def _details(trailing: Any) -> tuple[timedelta | None, list[tuple[str, str]]]:
    """Retry delay and invalid fields, if the service sends them in the standard error details."""
    retry_after: timedelta | None = None
    violations: list[tuple[str, str]] = []
    for detail in _packed(trailing):
        retry, request = error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
        try:
            if detail.Unpack(retry):
                wait = timedelta(seconds=min(retry.retry_delay.seconds, _LONGEST_WAIT.total_seconds()))
                retry_after = max(timedelta(), wait + timedelta(microseconds=retry.retry_delay.nanos // 1000))
            elif detail.Unpack(request):
                violations += [(plain(each.field), plain(each.description)) for each in request.field_violations]
        except DecodeError:
            continue
    return retry_after, violations[:_MOST_VIOLATIONS]


def _packed(trailing: Any) -> list[Any]:
    for name, value in trailing or ():
        if name == _DETAILS and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []
