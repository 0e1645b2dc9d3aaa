"""Encodes and decodes broker messages in the format of Celery's workers."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from foliot.cluster.celery.app import TASK
from foliot.cluster.frames import PARCEL, BrokerMessage
from foliot.core.ids import RUN
from foliot.core.queue_name import PRIORITIES

_EMBED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
_HEADERS: Mapping[str, Any] = {
    "lang": "py",
    "task": TASK,
    "shadow": None,
    "eta": None,
    "expires": None,
    "group": None,
    "group_index": None,
    "retries": 0,
    "timelimit": [None, None],
    "parent_id": None,
    "kwargsrepr": "{}",
    "origin": "foliot",
    "ignore_result": True,
    "replaced_task_nesting": 0,
    "stamped_headers": None,
    "stamps": {},
}
LONGEST_ID = 40


class MalformedMessage(Exception):
    """A message that no scheduler of ours has sent."""


def headers(parcel: BrokerMessage) -> dict[str, Any]:
    task_id = str(uuid.uuid4())
    first, *others = parcel.run_ids
    shown = f"({first!r})" if not others else f"({first!r} and {len(others)} more)"
    return {**_HEADERS, "id": task_id, "root_id": task_id, "argsrepr": shown}


def body(parcel: BrokerMessage) -> bytes:
    arguments = [list(parcel.run_ids), parcel.offered_at.isoformat(), parcel.queue, parcel.priority]
    return orjson.dumps([arguments, {}, _EMBED])


def on_list(parcel: BrokerMessage, step: int) -> bytes:
    """The whole message, as it lies in a list of Redis."""
    named = headers(parcel)
    properties = {
        "correlation_id": named["id"],
        "reply_to": "",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": parcel.queue},
        "priority": step,
        "body_encoding": "base64",
        "delivery_tag": str(uuid.uuid4()),
    }
    return orjson.dumps(
        {
            "body": base64.b64encode(body(parcel)).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": named,
            "properties": properties,
        }
    )


def opened(arguments: Sequence[Any], named: Mapping[str, Any]) -> BrokerMessage:
    """The parcel in a message; `MalformedMessage` when it is none: other programs may write to a broker too."""
    if named or len(arguments) != 4:
        raise MalformedMessage(f"must have four arguments, got {len(arguments)} and {len(named)} by name")
    run_ids, offered_at, queue, priority = arguments
    if not isinstance(run_ids, list) or not 1 <= len(run_ids) <= PARCEL or not all(_is_run(one) for one in run_ids):
        raise MalformedMessage(f"must name 1 to {PARCEL} runs")
    if not isinstance(queue, str) or not isinstance(priority, int) or priority not in PRIORITIES:
        raise MalformedMessage("must name its queue and a priority from 1 to 10")
    try:
        moment = datetime.fromisoformat(offered_at)
    except (TypeError, ValueError):
        raise MalformedMessage("must say when it was offered") from None
    if moment.tzinfo is None:
        raise MalformedMessage("must say in which time zone it was offered")
    return BrokerMessage(queue, priority, list(dict.fromkeys(run_ids)), moment)


def _is_run(value: object) -> bool:
    return isinstance(value, str) and value.startswith(f"{RUN}_") and len(value) <= LONGEST_ID and value.isascii()
