"""Converts request messages to the documents that the use cases read, and maps their errors back to message fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from foliot.core.document import Complaints
from foliot.core.errors import Invalid, InvalidMany, NotFound
from foliot.core.queue_name import queue_name
from foliot.engine.model.schedule import POLICIES
from foliot.features.schedules.rpc import trigger
from foliot.proto import scheduler_service_pb2 as pb
from foliot.servers.grpc.method import plain, plain_list

KIND = "grpc"
"""The action kind that `target_service` and `target_method` imply."""
JOB_TYPE = "job_type:"
"""Prefix of the tag that holds the type of a job."""
MAX_PAGE = 500

_SCHEDULE_ID = re.compile(r"sch_[0-9a-f]{32}")
_RUN_ID = re.compile(r"run_[0-9a-f]{32}")
MESSAGE = pb.CreateScheduledJobRequest.DESCRIPTOR.fields_by_name
_SIMPLE = (
    *("name", "description", "timezone"),
    *(name for name in POLICIES if name in MESSAGE and MESSAGE[name].message_type is None),
)
_NESTED = ("retry_policy", "catchup", "alert")
_ENTRIES = ("exclude", "only")
_MOMENTS = ("start_at", "end_at")
_CALL = ("target_service", "target_method", "parameters")
FIELDS = (*_SIMPLE, *_NESTED, *_ENTRIES, *_MOMENTS, *_CALL, "schedule_config", "tags", "job_type", "action")
"""Fields of a job; the same in a creation and an update."""

Job = pb.CreateScheduledJobRequest | pb.UpdateScheduledJobRequest


def is_run(job_id: str) -> bool:
    return _RUN_ID.fullmatch(job_id) is not None


def schedule_id(job_id: str) -> str:
    """The id, if it has the form of a schedule's."""
    if not _SCHEDULE_ID.fullmatch(job_id):
        raise NotFound("job", job_id[:64])
    return job_id


def draft(request: pb.CreateScheduledJobRequest) -> dict[str, Any]:
    """The document of a new schedule."""
    document = _said(request, [name for name in FIELDS if _is_set(request, name)])
    # An empty string cannot be distinguished from an absent one.
    document = {name: value for name, value in document.items() if value != ""}
    if request.job_type:
        document.setdefault("queue", queue_name(request.job_type.lower(), "job_type"))
        document["tags"] = [*document.get("tags", ()), JOB_TYPE + request.job_type]
    document.setdefault("action", {"kind": KIND})
    return document


def change(request: pb.UpdateScheduledJobRequest, tags: Sequence[str]) -> dict[str, Any]:
    """The merge patch of a schedule's document, whose tags are these: null resets a field to its default."""
    named = _masked(request) if request.HasField("update_mask") else [n for n in FIELDS if _is_set(request, n)]
    document = _said(request, [name for name in named if _is_set(request, name)])
    document |= _forgotten(name for name in named if not _is_set(request, name))
    kept = document.get("tags", [tag for tag in tags if not tag.startswith(JOB_TYPE)])
    types = [tag for tag in tags if tag.startswith(JOB_TYPE)]
    if "job_type" in named:
        types = [JOB_TYPE + request.job_type] if request.job_type else []
        if request.job_type:
            document.setdefault("queue", queue_name(request.job_type.lower(), "job_type"))
    if "tags" in named or "job_type" in named:
        document["tags"] = [*(kept or ()), *types]
    return document


def _said(request: Job, names: Sequence[str]) -> dict[str, Any]:
    """These fields of a message, all of which are set, as fields of a document."""
    wrong = Complaints()
    document: dict[str, Any] = {name: getattr(request, name) for name in names if name in _SIMPLE}
    document |= {name: _parts(getattr(request, name)) for name in names if name in _NESTED}
    document |= {name: plain_list(getattr(request, name)) for name in names if name in _ENTRIES}
    for name in names:
        with wrong.collect():
            if name in _MOMENTS:
                document[name] = moment(name, getattr(request, name))
            elif name == "schedule_config":
                document |= trigger.read_config(request.schedule_config)
            elif name == "tags":
                document["tags"] = list(request.tags)
    with wrong.collect():
        if action := _action(request, names):
            document["action"] = action
    wrong.speak()
    return document


def _action(request: Job, names: Sequence[str]) -> dict[str, Any]:
    call = [name for name in _CALL if name in names]
    if "action" in names:
        if call:
            raise Invalid("action", f"cannot be combined with {', '.join(call)}: give one of the two")
        return plain(request.action)
    said: dict[str, Any] = {name: getattr(request, name) for name in call if name != "parameters"}
    if "parameters" in call:
        said["parameters"] = plain(request.parameters)
    if isinstance(request, pb.CreateScheduledJobRequest) or "target_service" in call:
        said["kind"] = KIND
    return said


def _masked(request: pb.UpdateScheduledJobRequest) -> list[str]:
    paths = list(request.update_mask.paths)
    for path in paths:
        if path not in FIELDS:
            raise Invalid(
                "update_mask", f"is not a field of a job; known are {', '.join(sorted(FIELDS))}", got=path[:100]
            )
    return paths


def _forgotten(names: Iterator[str]) -> dict[str, Any]:
    """Fields that the update mask names and that are not set: they are reset to their defaults."""
    document: dict[str, Any] = {}
    for name in names:
        if name in ("schedule_config", "action", "target_service", "target_method"):
            raise Invalid(name, "cannot be cleared: a job needs one")
        if name == "parameters":
            document["action"] = {"parameters": {}}
        elif name != "job_type":
            document[name] = None
    return document


def _is_set(request: Message, name: str) -> bool:
    """Whether it is set; for a field without presence, whether it is not empty."""
    field = request.DESCRIPTOR.fields_by_name[name]
    return request.HasField(name) if field.has_presence else bool(getattr(request, name))


def _parts(message: Message) -> dict[str, Any]:
    return {field.name: list(value) if field.is_repeated else value for field, value in message.ListFields()}


def moment(name: str, message: Timestamp) -> datetime:
    try:
        return message.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Invalid(name, "must be a time in the years 1 to 9999", got=message.seconds) from None


def page_size(asked: int) -> int:
    if not 0 <= asked <= MAX_PAGE:
        raise Invalid("page_size", f"must be a whole number from 1 to {MAX_PAGE}", got=asked)
    return asked or 50


def texts(**values: str) -> dict[str, str | None]:
    """Filters that every database accepts; an empty one is None."""
    for name, value in values.items():
        if len(value) > 200:
            raise Invalid(name, "must be at most 200 characters", got=f"{len(value)} characters")
        if "\x00" in value:
            raise Invalid(name, "must not contain the character U+0000")
    return {name: value or None for name, value in values.items()}


@contextmanager
def in_its_words(request: Message) -> Iterator[None]:
    """Errors about the document are raised with the field names of the message it was converted from."""
    try:
        yield
    except InvalidMany as error:
        raise InvalidMany([_renamed(one, request) for one in error.errors]) from None
    except Invalid as error:
        raise _renamed(error, request) from None


_OTHER_WORDS = {"cursor": "page_token", "limit": "page_size", "q": "query"}


def _renamed(error: Invalid, request: Message) -> Invalid:
    place, meant = _place(error, request), error.suggestion
    return Invalid(place, error.message, got=error.got, position=error.position, suggestion=meant)


def _place(error: Invalid, request: Message) -> str:
    if isinstance(request, pb.CreateScheduledJobRequest | pb.UpdateScheduledJobRequest):
        found = trigger.meant(error, request.schedule_config.config)
        if found is not None:
            return found
        if not request.HasField("action"):
            # Only the parameters can be wrong as a whole.
            return "parameters" if error.field == "action" else error.field.removeprefix("action.")
    if error.field.startswith("payload."):
        return error.field.removeprefix("payload.")
    return _OTHER_WORDS.get(error.field, error.field)
