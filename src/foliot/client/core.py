"""What a call does, without I/O: requests, answers, problems and retries. The two clients run its attempts."""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2

from foliot.client.errors import FoliotError, TooMany, Unavailable, error_of
from foliot.client.operations import OPERATIONS, VERSION, Operation

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT = 30.0
RETRIES = 2
STREAM_TIMEOUT = 45.0
"""Streams send a comment every 15 s: one that is silent for longer is cut."""
LONGEST_WAIT = 60.0
"""A server that asks for a longer pause than this is not asked again: the caller decides."""
FOLLOW_PAUSES = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 10.0)
"""Seconds between the tries to reopen a stream: a restart of the server is shorter."""
_BACKOFF, _BACKOFF_MOST = 0.5, 8.0
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_BUSY = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation."""

    operation: Operation
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether the same request may be sent again when its first answer was lost."""
        method = self.operation.method
        return method == "GET" or "Idempotency-Key" in self.headers or (method == "PUT" and not self._conditional)

    @property
    def _conditional(self) -> bool:
        return "If-Match" in self.headers

    @property
    def name(self) -> str:
        return f"{self.operation.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request to send after a pause."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    stream: bool
    timeout: httpx2.Timeout
    wait: float


Attempts = Generator[Attempt, httpx2.Response, httpx2.Response]


def call_of(
    name: str,
    path: Mapping[str, str],
    query: Mapping[str, Any] | None = None,
    body: Mapping[str, Any] | None = None,
    *,
    idempotency_key: str | None = None,
    if_match: int | None = None,
) -> Call:
    """A call of the operation with this name."""
    operation = OPERATIONS[name]
    place = operation.path.format_map({key: quote(segment, safe="") for key, segment in path.items()})
    return call_to(operation, place, query, body, idempotency_key=idempotency_key, if_match=if_match)


def call_to(
    operation: Operation,
    path: str,
    query: Mapping[str, Any] | None = None,
    body: object = None,
    *,
    idempotency_key: str | None = None,
    if_match: int | None = None,
) -> Call:
    headers: dict[str, str] = {}
    if operation.keyed:
        # The same for every attempt: a request whose answer was lost takes effect once.
        headers["Idempotency-Key"] = idempotency_key or uuid.uuid4().hex
    if if_match is not None:
        headers["If-Match"] = f'"{if_match}"'
    content = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(body, default=_plain, allow_nan=False).encode()
    given = {key: _parameter(value) for key, value in (query or {}).items() if value is not None}
    return Call(operation, path, given, content, headers)


def streamed(call: Call, accept: str, last_id: str | None = None) -> Call:
    """The same call, its answer read piece by piece."""
    headers = {**call.headers, "Accept": accept} | ({} if last_id is None else {"Last-Event-ID": last_id})
    return replace(call, headers=headers, stream=True)


def fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as the fields of a body: `from_` is the field `from`."""
    return {name.removesuffix("_"): value for name, value in given.items()}


@dataclass(frozen=True, slots=True)
class Core:
    """The server and how patiently it is asked."""

    url: str
    token: str | None = field(repr=False)
    timeout: float = TIMEOUT
    retries: int = RETRIES

    @classmethod
    def of(cls, url: str | None, token: str | None, timeout: float, retries: int) -> Core:
        """Values that are not given come from the environment, as those of the command line."""
        found = url or os.environ.get("FOLIOT_URL") or _local()
        parts = urlsplit(found)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ValueError(f"url: must be the address of a server, such as {DEFAULT_URL}")
        return cls(found.rstrip("/"), token or os.environ.get("FOLIOT_TOKEN") or None, timeout, retries)

    def with_options(self, timeout: float | None, retries: int | None) -> Core:
        return replace(
            self,
            timeout=self.timeout if timeout is None else timeout,
            retries=self.retries if retries is None else retries,
        )

    def attempts(self, call: Call) -> Attempts:
        """Every attempt of a call, until one succeeds; raises the problem of the last one."""
        wait = 0.0
        for tried in count():
            try:
                response = yield self._attempt(call, wait)
            except httpx2.TransportError as failed:
                pause = self._after_failure(call, failed, tried)
                if pause is None:
                    raise self._unreachable(call, failed) from failed
            else:
                if response.is_success:
                    return response
                problem = _problem(call, response)
                pause = self._after_answer(call, problem, tried)
                if pause is None:
                    raise problem
            wait = pause
        raise AssertionError("a loop without an end has ended")

    def _attempt(self, call: Call, wait: float) -> Attempt:
        headers = {"Accept": "application/json", "User-Agent": f"foliot-python/{VERSION}", **call.headers}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        url = f"{self.url}{call.path}" + (f"?{urlencode(call.query)}" if call.query else "")
        timeout = httpx2.Timeout(self.timeout, read=STREAM_TIMEOUT if call.stream else self.timeout)
        return Attempt(call.operation.method, url, headers, call.content, call.stream, timeout, wait)

    def _after_failure(self, call: Call, failed: httpx2.TransportError, tried: int) -> float | None:
        """Seconds until the next attempt; None when there is none."""
        if tried >= self.retries or not (call.repeatable or isinstance(failed, _NEVER_SENT)):
            return None
        return _backoff(tried)

    def _after_answer(self, call: Call, problem: FoliotError, tried: int) -> float | None:
        asked = problem.retry_after
        refused = isinstance(problem, TooMany) or (problem.status == 503 and asked is not None)
        if tried >= self.retries or not (refused or (problem.status in _BUSY and call.repeatable)):
            return None
        wait = _backoff(tried) if asked is None else asked
        return wait if wait <= LONGEST_WAIT else None

    def _unreachable(self, call: Call, failed: httpx2.TransportError) -> Unavailable:
        reason = str(failed) or type(failed).__name__
        return Unavailable(f"no answer from {self.url}: {reason}", request=call.name)


def decoded(call: Call, response: httpx2.Response) -> Any:
    """The answer's value; None for an answer without a body."""
    if not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError:
        raise error_of(response.status_code, None, call.name, None) from None


def _backoff(tried: int) -> float:
    """Exponential, with jitter: clients that failed together do not come back together."""
    return float(min(_BACKOFF_MOST, _BACKOFF * 2**tried)) * (0.5 + random.random() / 2)  # noqa: S311


def _problem(call: Call, response: httpx2.Response) -> FoliotError:
    try:
        document = json.loads(response.content)
    except ValueError:
        document = None
    if response.is_redirect:
        document = {"detail": f"the server redirects to {response.headers.get('location')!r}: is the URL right?"}
    return error_of(response.status_code, document, call.name, _retry_after(response))


def _retry_after(response: httpx2.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdecimal() else None


def _local() -> str:
    port = os.environ.get("FOLIOT_PORT") or os.environ.get("API_PORT")
    return f"http://127.0.0.1:{port}" if port else DEFAULT_URL


def _parameter(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return _time(value)
        case str():
            return value
        case Sequence() | AbstractSet():
            return ",".join(_parameter(part) for part in value)
        case _:
            return str(value)


def _plain(value: object) -> object:
    """What JSON has no word for."""
    match value:
        case datetime():
            return _time(value)
        case Mapping():
            return dict(value)
        case Sequence() | AbstractSet():
            return list(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no JSON value")


def _time(value: datetime) -> str:
    if value.utcoffset() is None:
        raise ValueError(f"{value.isoformat()} has no time zone: give a datetime with one")
    return value.isoformat()


# --- pages and streams ------------------------------------------------------------------------------------------------


def items_of(operation: Operation, page: Mapping[str, Any]) -> list[Any]:
    (items,) = (page[name] for name in operation.items.split() if name in page)
    return list(items)


def next_page(operation: Operation, query: Mapping[str, Any], page: Mapping[str, Any]) -> dict[str, Any] | None:
    """The query of the page that follows; None after the last."""
    if operation.paged_by == "skip":
        items = len(items_of(operation, page))
        return {**query, "skip": query.get("skip", 0) + items} if items else None
    follows = page.get("next_cursor")
    return None if follows is None else {**query, operation.paged_by: follows}


@dataclass(slots=True)
class StreamPosition:
    """Where a reader of a stream stands: the last id that it received, and how often the stream was cut since."""

    last_id: str | None
    ended: bool = False
    cuts: int = 0

    def received(self, event: httpx2.ServerSentEvent) -> dict[str, Any] | None:
        """What the event says; None for the one that ends the stream."""
        try:
            said = json.loads(event.data)
        except ValueError:
            # A connection that ended within an event: the whole of it comes again.
            raise httpx2.ReadError("the stream was cut within an event") from None
        self.cuts = 0
        self.last_id = event.id or self.last_id
        if event.event == "end":
            self.ended = True
            return None
        return said if isinstance(said, dict) else {"message": said}

    def pause(self, call: Call, cut: Exception | None) -> float:
        """Seconds until the stream is opened again; raises when it does not come back."""
        if self.cuts >= len(FOLLOW_PAUSES):
            reason = cut or "the server closed it before its end"
            raise Unavailable(f"the stream was cut and did not come back: {reason}", request=call.name) from cut
        self.cuts += 1
        return FOLLOW_PAUSES[self.cuts - 1]
