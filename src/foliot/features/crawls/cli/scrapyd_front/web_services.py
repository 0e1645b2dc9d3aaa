"""The web services that Scrapyd documents, answered from the API of a Foliot server and from its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import quote

from foliot.features.crawls.cli.scrapyd_front.nodes import FrontNodes, NodeRefusal
from foliot.terminal.client import Client, segment

MOST_JOBS = 5000
"""Jobs of a list, the newest; Scrapyd itself keeps 100."""
PAGE = 500
RESERVED = frozenset({"project", "spider", "_version", "jobid", "priority", "setting"})
DEPLOYS = "write:command"
"""The permission for what changes the code on the nodes: that of an administrator who may run programs."""
_PENDING = frozenset({"queued", "retrying"})
USUAL_PRIORITY = 5


class FrontRefusal(Exception):
    """Answered as Scrapyd answers errors: status 200 and `{"status": "error", "message"}`."""


class SignInNeeded(Exception):
    """The credentials are missing or wrong: answered 401."""


@dataclass(frozen=True, slots=True)
class FrontRequest:
    """One request to a web service."""

    client: Client
    """Of the Foliot server, with the caller's own key."""
    fields: Mapping[str, Sequence[str]]
    body: bytes = b""
    content_type: str = ""

    def field(self, name: str) -> str:
        """A required field, in Scrapyd's words."""
        if not self.fields.get(name):
            raise FrontRefusal(f"'{name}' parameter is required")
        return self.fields[name][0]

    def optional(self, name: str) -> str | None:
        return self.fields[name][0] if self.fields.get(name) else None


@dataclass(frozen=True, slots=True)
class FrontJob:
    """A crawl, as Scrapyd's lists have it."""

    id: str
    project: str
    spider: str
    state: str
    start: str | None
    end: str | None
    error: str | None

    @property
    def group(self) -> str:
        if self.state in _PENDING:
            return "pending"
        return "running" if self.state == "running" else "finished"

    @property
    def log_url(self) -> str:
        return f"/logs/{quote(self.project)}/{quote(self.spider)}/{self.id}.log"

    @property
    def items_url(self) -> str:
        return f"/items/{quote(self.project)}/{quote(self.spider)}/{self.id}.jl"


@dataclass(frozen=True, slots=True)
class WebServices:
    """Each service by its name, without `.json`."""

    nodes: FrontNodes
    node_name: str

    READS: ClassVar = frozenset({"daemonstatus", "status", "listprojects", "listversions", "listspiders", "listjobs"})
    WRITES: ClassVar = frozenset({"schedule", "cancel", "addversion", "delversion", "delproject"})

    def answer(self, service: str, request: FrontRequest) -> dict[str, Any]:
        perform: Callable[[FrontRequest], dict[str, Any]] = getattr(self, f"_{service}")
        try:
            return {"status": "ok", **perform(request), "node_name": self.node_name}
        except (FrontRefusal, NodeRefusal) as refused:
            return {"status": "error", "message": str(refused), "node_name": self.node_name}

    def _daemonstatus(self, request: FrontRequest) -> dict[str, Any]:
        counted = asked(request.client, "GET", "/api/runs/count", q="kind:crawl")
        counts = dict.fromkeys(("pending", "running", "finished"), 0)
        for state, number in counted["by_state"].items():
            group = "pending" if state in _PENDING else "running" if state == "running" else "finished"
            counts[group] += number
        return counts

    def _schedule(self, request: FrontRequest) -> dict[str, Any]:
        project, spider = request.field("project"), request.field("spider")
        if request.fields.get("setting"):
            raise FrontRefusal("'setting' is not passed on: settings could switch off what guards a spider")
        if request.optional("_version"):
            raise FrontRefusal("'_version' is not passed on: crawls use the newest version of the nodes")
        asked(request.client, "GET", "/api/session", signed_in=True)
        if spider not in self.nodes.ask("listspiders", {"project": project})["spiders"]:
            raise FrontRefusal(f"spider '{spider}' not found")
        crawl: dict[str, Any] = {"project": project, "spider": spider}
        params = {name: values[0] for name, values in request.fields.items() if name not in RESERVED}
        if (urls := params.pop("start_urls", None)) is not None:
            crawl["start_urls"] = [url for url in urls.split(",") if url]
        if (depth := params.pop("depth", None)) is not None:
            crawl["depth"] = int(depth) if depth.isdecimal() else depth
        if priority := request.optional("priority"):
            crawl["priority"] = _priority(priority)
        made = asked(request.client, "POST", "/crawl?ignore_cache=true", **crawl, params=params)
        return {"jobid": made["job_id"]}

    def _cancel(self, request: FrontRequest) -> dict[str, Any]:
        request.field("project")
        job = self._job(request.client, request.field("job"))
        group = None if job is None else job.group
        if job is None or group == "finished":
            return {"prevstate": None}
        asked(request.client, "POST", f"/api/runs/{segment(job.id)}/cancel")
        return {"prevstate": group}

    def _status(self, request: FrontRequest) -> dict[str, Any]:
        job = self._job(request.client, request.field("job"))
        if job is None:
            return {"currstate": None}
        return {"currstate": job.group, **_outcome(job)}

    def _listjobs(self, request: FrontRequest) -> dict[str, Any]:
        groups: dict[str, list[dict[str, Any]]] = {"pending": [], "running": [], "finished": []}
        for job in self.jobs(request.client, request.optional("project")):
            shown: dict[str, Any] = {"id": job.id, "project": job.project, "spider": job.spider}
            if job.group == "pending":
                shown |= {"version": None, "settings": {}, "args": {}}
            else:
                shown |= {"start_time": job.start, "log_url": job.log_url, "items_url": job.items_url}
                shown |= {"pid": None} if job.group == "running" else {"end_time": job.end, **_outcome(job)}
            groups[job.group].append(shown)
        return groups

    def _listprojects(self, request: FrontRequest) -> dict[str, Any]:
        asked(request.client, "GET", "/api/session", signed_in=True)
        return {"projects": self.nodes.ask("listprojects", {})["projects"]}

    def _listversions(self, request: FrontRequest) -> dict[str, Any]:
        asked(request.client, "GET", "/api/session", signed_in=True)
        return {"versions": self.nodes.ask("listversions", {"project": request.field("project")})["versions"]}

    def _listspiders(self, request: FrontRequest) -> dict[str, Any]:
        asked(request.client, "GET", "/api/session", signed_in=True)
        query = {name: value for name in ("project", "_version") if (value := request.optional(name))}
        request.field("project")
        return {"spiders": self.nodes.ask("listspiders", query)["spiders"]}

    def _addversion(self, request: FrontRequest) -> dict[str, Any]:
        return self._deployed("addversion", request)

    def _delversion(self, request: FrontRequest) -> dict[str, Any]:
        return self._deployed("delversion", request)

    def _delproject(self, request: FrontRequest) -> dict[str, Any]:
        return self._deployed("delproject", request)

    def _deployed(self, service: str, request: FrontRequest) -> dict[str, Any]:
        """Code of the nodes, which all tenants share: the operator's administrators change it."""
        session = asked(request.client, "GET", "/api/session", signed_in=True)
        if DEPLOYS not in session["may"] or session["tenant_id"] != "default":
            raise FrontRefusal("your key may not change the projects of the nodes: that takes an admin of the operator")
        answer = self.nodes.send(service, request.body, request.content_type)
        return {name: value for name, value in answer.items() if name not in {"status", "node_name"}}

    def jobs(self, client: Client, project: str | None = None) -> Iterator[FrontJob]:
        """Crawls, newest first."""
        for skip in range(0, MOST_JOBS, PAGE):
            found = asked(client, "GET", "/jobs/", kind="crawl", limit=PAGE, skip=skip)["jobs"]
            for one in found:
                job = _front_job(one)
                if project is None or job.project == project:
                    yield job
            if len(found) < PAGE:
                return

    def _job(self, client: Client, job_id: str) -> FrontJob | None:
        status, found = client.send("GET", f"/jobs/{segment(job_id)}/status")
        if status == 404:
            return None
        return _front_job(_checked(status, found))


def asked(client: Client, method: str, path: str, *, signed_in: bool = False, **given: Any) -> Any:
    """The answer of the server, for the caller's own key; its refusals become Scrapyd's errors."""
    if method == "GET":
        status, answer = client.send(method, path, query=given)
    else:
        status, answer = client.send(method, path, body=given)
    answer = _checked(status, answer)
    if signed_in and not answer["signed_in"]:
        raise SignInNeeded
    return answer


def _checked(status: int, answer: Any) -> Any:
    if status == 401:
        raise SignInNeeded
    if not 200 <= status < 300:
        detail = answer.get("detail") if isinstance(answer, dict) else None
        raise FrontRefusal(str(detail or f"the server answered {status}"))
    return answer


def _front_job(one: Mapping[str, Any]) -> FrontJob:
    about, error = one.get("about") or {}, one.get("error") or {}
    return FrontJob(
        id=str(one["job_id"]),
        project=str(about.get("project") or "default"),
        spider=str(about.get("spider") or "unknown"),
        state=str(one["state"] or "queued"),
        start=_time(one["started_at"] or one["created_at"]),
        end=_time(one["finished_at"]),
        error=error.get("message"),
    )


def _outcome(job: FrontJob) -> dict[str, Any]:
    """Beyond what Scrapyd says, which cannot tell a crash from a success."""
    return {"outcome": job.state, "error": job.error} if job.group == "finished" else {}


def _time(text: str | None) -> str | None:
    """As Scrapyd writes times."""
    return None if text is None else f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M:%S.%f}"


def _priority(text: str) -> int:
    """Scrapyd's higher numbers come first, and 0 is usual; here 1 comes first of 10."""
    try:
        return max(1, min(10, USUAL_PRIORITY - round(float(text))))
    except (ValueError, OverflowError):
        raise FrontRefusal(f"priority is invalid: {text!r} is no number") from None
