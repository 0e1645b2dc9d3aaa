"""HTTP client of one Scrapyd. Answers are validated: they may come from a proxy, and may be its error page."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

import orjson

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse

PATIENCE = timedelta(seconds=10)
START_PATIENCE = timedelta(seconds=30)
"""Timeout of a start: for the first crawl of a project Scrapyd lists its spiders, and blocks meanwhile."""
MOST_ANSWER = 32 * 1024 * 1024
"""Maximum bytes of `listjobs.json`, which repeats every argument of every pending crawl."""
_SLACK = 4096
_SPAN = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)")


class NodeFailed(Exception):
    """The node gave no usable answer. The message is a sentence for users, without the node's name."""

    code = "node_failed"


class NodeUnreachable(NodeFailed):
    """No connection or a timeout: further requests to this node would fail the same way now."""


class NodeAnswerTooLarge(NodeFailed):
    """The answer exceeds the size limit."""


class NodeRefused(NodeFailed):
    """Scrapyd understood the request and refused it."""

    code = "node_refused"


@dataclass(frozen=True, slots=True)
class ScrapydNode:
    """Address, credentials and name of a Scrapyd."""

    url: str
    """Without user and password."""
    authorization: str | None = field(default=None, repr=False)
    name: str = "Scrapyd"
    """Its name in messages to tenants, who must not learn the operator's network."""

    @classmethod
    def of(cls, url: str) -> ScrapydNode:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2]
        shown = parts._replace(netloc=place).geturl().rstrip("/")
        if parts.username is None:
            return cls(shown)
        known = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return cls(shown, f"Basic {b64encode(known.encode()).decode()}")

    @property
    def place(self) -> str:
        """Host and port, in the form of `FOLIOT_EGRESS_ALLOW`."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class ScrapydLoad:
    """Numbers of pending and running crawls of a node."""

    pending: int
    running: int
    finished: int


@dataclass(frozen=True, slots=True)
class ScrapydJob:
    """A job of `listjobs.json`."""

    state: str
    """pending, running or finished."""
    has_log: bool = True
    has_items: bool = True


@dataclass(frozen=True, slots=True)
class FileRange:
    """A byte range of a file, and the size of the file."""

    data: bytes
    total: int
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class ScrapydClient:
    """The API of one node."""

    node: ScrapydNode
    egress: Egress
    patience: timedelta = PATIENCE
    """Timeout of a request."""

    def within(self, patience: timedelta) -> ScrapydClient:
        """The same client with a shorter timeout."""
        return replace(self, patience=min(patience, self.patience))

    async def load(self) -> ScrapydLoad:
        answer = await self._ask("daemonstatus.json")
        return ScrapydLoad(_count(answer, "pending"), _count(answer, "running"), _count(answer, "finished"))

    async def projects(self) -> list[str]:
        return _names(await self._ask("listprojects.json"), "projects")

    async def spiders(self, project: str) -> list[str]:
        return _names(await self._ask("listspiders.json", {"project": project}), "spiders")

    async def jobs(self, project: str) -> dict[str, ScrapydJob]:
        """Every crawl of a project that Scrapyd remembers, by job id."""
        answer = await self._ask("listjobs.json", {"project": project})
        found: dict[str, ScrapydJob] = {}
        for state in ("finished", "pending", "running"):
            for job in _list(answer, state):
                # Before 1.4 a finished job had no URLs: without them, the files may exist.
                has_log, has_items = (job.get(name, "") is not None for name in ("log_url", "items_url"))
                found[str(job.get("id"))] = ScrapydJob(state, has_log, has_items)
        return found

    async def state(self, project: str, jobid: str) -> ScrapydJob | None:
        """The state of one crawl, for when the list is too long."""
        state = (await self._ask("status.json", {"project": project, "job": jobid})).get("currstate")
        return ScrapydJob(state) if state in ("pending", "running", "finished") else None

    async def schedule(self, job: Sequence[str], arguments: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """Starts a crawl: project, spider, job id. After any failure but `NodeRefused` it may have been started."""
        form = list(zip(("project", "spider", "jobid"), job, strict=True))
        form += [("setting", f"{name}={value}") for name, value in settings.items()]
        form += list(arguments.items())
        await self._tell("schedule.json", form)

    async def cancel(self, project: str, jobid: str, signal: str | None = None) -> str | None:
        """Cancels a crawl; returns its state before: pending, running or None."""
        form = [("project", project), ("job", jobid)]
        form += [("signal", signal)] if signal else []
        previous = (await self._tell("cancel.json", form)).get("prevstate")
        return str(previous) if previous else None

    async def log(self, project: str, spider: str, jobid: str, start: int, length: int) -> FileRange | None:
        return await self._part(f"logs/{quote(project)}/{quote(spider, safe='')}/{quote(jobid)}.log", start, length)

    async def items(self, project: str, spider: str, jobid: str, start: int, length: int) -> FileRange | None:
        return await self._part(f"items/{quote(project)}/{quote(spider, safe='')}/{quote(jobid)}.jl", start, length)

    async def _part(self, path: str, start: int, length: int) -> FileRange | None:
        """At most `length` bytes from `start` on; from the end when `start` is negative. None when there is no file."""
        span = f"bytes={start}-{start + length - 1}" if start >= 0 else f"bytes={start}"
        reply = await self._send("GET", path, headers={"Range": span}, keep=length)
        if reply.status == 404:
            return None
        found = _SPAN.fullmatch(reply.headers.get("content-range", ""))
        if reply.status == 416:
            return FileRange(b"", int(found[3]) if found else max(start, 0), _modified(reply))
        if reply.status == 206 and found is not None and found[1] is not None:
            first, last, total = int(found[1]), int(found[2]), int(found[3])
            if len(reply.body) != last - first + 1 or (first != start and start >= 0):
                raise NodeFailed("It returned a different part of the file than requested.")
            return FileRange(reply.body, total, _modified(reply))
        if reply.status == 200 and start == 0:
            # An empty file has no ranges, and a small one may be served whole.
            total = len(reply.body) if not reply.truncated else len(reply.body) + 1
            return FileRange(reply.body, total, _modified(reply))
        if reply.status == 200:
            raise NodeFailed("It does not answer range requests, so the log cannot be followed.")
        raise _status(reply)

    async def _ask(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        asked = f"{path}?{urlencode(query)}" if query else path
        return _read(await self._send("GET", asked, keep=MOST_ANSWER))

    async def _tell(self, path: str, form: Sequence[tuple[str, str]]) -> dict[str, Any]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return _read(await self._send("POST", path, headers=headers, body=urlencode(form).encode(), keep=MOST_ANSWER))

    async def _send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        keep: int,
    ) -> OutgoingResponse:
        ours = {"User-Agent": f"Foliot/{__version__}", "Accept": "*/*", **(headers or {})}
        if self.node.authorization is not None:
            ours["Authorization"] = self.node.authorization
        request = OutgoingRequest(
            method=method,
            url=f"{self.node.url}/{path}",
            headers=ours,
            body=body,
            timeout=self.patience,
            keep=keep,
            most=keep + _SLACK,
        )
        try:
            return await self.egress.send(request)
        except EgressRefused as refusal:
            raise NodeFailed(str(refusal)) from None
        except EgressFailed as failure:
            raise NodeUnreachable(failure.message.replace("The target", "It", 1)) from None


def _read(reply: OutgoingResponse) -> dict[str, Any]:
    """Parses an answer; Scrapyd reports failures with status 200 too."""
    if reply.status != 200:
        raise _status(reply)
    if reply.truncated:
        raise NodeAnswerTooLarge(f"It answered more than {len(reply.body) // 2**20} MiB.")
    try:
        answer = orjson.loads(reply.body)
    except ValueError:
        html = reply.body.lstrip()[:1] == b"<"
        raise NodeFailed(
            f"It answered {'HTML' if html else 'something else'} instead of JSON: it is not a Scrapyd."
        ) from None
    if not isinstance(answer, dict) or answer.get("status") not in ("ok", "error"):
        raise NodeFailed("It answered JSON that does not come from a Scrapyd.")
    if answer["status"] == "error":
        raise NodeRefused(_plain(answer.get("message")))
    return answer


def _status(reply: OutgoingResponse) -> NodeFailed:
    if reply.status in (401, 403):
        return NodeFailed(f"It refused the user and password ({reply.status}).")
    return NodeFailed(f"It answered with status {reply.status}.")


def _plain(message: object) -> str:
    """Scrapyd's message on one line; of a traceback, the last line."""
    lines = [line.strip() for line in str(message or "no reason").splitlines() if line.strip()]
    last = "".join(each if each.isprintable() else "\ufffd" for each in lines[-1]) if lines else "no reason"
    return last[:300]


def _count(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise NodeFailed("It answered JSON that does not come from a Scrapyd.")
    return value


def _list(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    values = answer.get(name)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise NodeFailed("It answered JSON that does not come from a Scrapyd.")
    return values


def _names(answer: Mapping[str, Any], name: str) -> list[str]:
    values = answer.get(name)
    if not isinstance(values, list):
        raise NodeFailed("It answered JSON that does not come from a Scrapyd.")
    return [str(value) for value in values]


def _modified(reply: OutgoingResponse) -> datetime | None:
    try:
        moment = parsedate_to_datetime(reply.headers.get("last-modified", ""))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
