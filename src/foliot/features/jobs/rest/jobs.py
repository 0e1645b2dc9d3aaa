"""Routes of jobs: status, results, log and cancellation of crawls and article batches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.errors import Conflict, Invalid, NotFound
from foliot.engine.model.run_sort import RUN_SORTS, read_run_sort
from foliot.engine.model.views import RunView
from foliot.features.articles import schema as articles_schema
from foliot.features.articles.model import KIND as ARTICLES
from foliot.features.articles.usecases import Articles
from foliot.features.jobs import schema
from foliot.features.jobs.rest import article_results
from foliot.features.jobs.rest import logs as job_logs
from foliot.features.jobs.rest import results as job_results
from foliot.features.jobs.usecases import JobRecord, Jobs
from foliot.features.runs import schema as runs_schema
from foliot.servers.http import encode, sse
from foliot.servers.http.permission import Follower, Who, identify_follower, permits
from foliot.servers.http.problems import problem
from foliot.servers.http.request import MAX_LIMIT, Cases
from foliot.servers.http.schema import UNKNOWN, fields_of
from foliot.servers.http.schema import problem as problem_model
from foliot.servers.http.sse import FollowedEvents

router = APIRouter(prefix="/jobs", tags=["Jobs"])

MAX_SKIP = 100_000
NDJSON = "application/x-ndjson"
CSV = "text/csv"

_JOB_ID = re.compile(r"(?:run|sch)_[0-9a-f]{32}")
_ARTICLE_ID = re.compile(r"art_[0-9a-f]{32}")
_SEEN = re.compile(r"(?:(run_[0-9a-f]{32}):)?([0-9]{1,15})", re.ASCII)


async def _job_id(
    job_id: Annotated[str, Path(description="The id that `POST /crawl` returned: `run_…` or `sch_…`.")],
) -> str:
    if not _JOB_ID.fullmatch(job_id):
        raise NotFound("job", job_id[:64])
    return job_id


async def _article_id(article_id: Annotated[str, Path(description="The article's id in the results: `art_…`.")]) -> str:
    if not _ARTICLE_ID.fullmatch(article_id):
        raise NotFound("article", article_id[:64])
    return article_id


JobId = Annotated[str, Depends(_job_id)]
ArticleId = Annotated[str, Depends(_article_id)]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="The largest number of items to return.")]
Skip = Annotated[int, Query(ge=0, le=MAX_SKIP, description="How many to skip.")]
StatusFilter = Annotated[
    str | None,
    Query(max_length=200, description="pending, running, finished, error or cancelled, in any case; or a run's state."),
]


@router.get("", dependencies=[permits(Jobs.list)], response_model=schema.JobPage, summary="List jobs")
@router.get(
    "/",
    dependencies=[permits(Jobs.list)],
    operation_id="jobs.list_at_slash",
    response_model=schema.JobPage,
    summary="List jobs, newest first or in another order",
)
async def list_(  # noqa: PLR0913, PLR0917 -- one argument for each query parameter
    cases: Cases,
    caller: Who,
    status_filter: StatusFilter = None,
    kind: Annotated[Literal["crawl", "articles"] | None, Query(description="Only jobs of this kind.")] = None,
    limit: Limit = 50,
    skip: Skip = 0,
    sort: Annotated[
        str | None, Query(max_length=40, description=f"{', '.join(RUN_SORTS)}; by default newest first.")
    ] = None,
) -> Response:
    """Those that run, have run or wait to run. What is planned is in `GET /api/schedules?kind=crawl`."""
    found, total = await cases[Jobs].list(
        caller, status_filter, kind=kind, limit=limit, skip=skip, sort=None if sort is None else read_run_sort(sort)
    )
    return encode.answer(
        schema.JobPage(
            jobs=[job(one) for one in found],
            total=total,
        )
    )


@router.get(
    "/{job_id}/status",
    dependencies=[permits(Jobs.whole)],
    response_model=schema.JobDetail,
    responses=UNKNOWN,
    summary="Get the status of a job",
)
async def status(cases: Cases, caller: Who, job_id: JobId) -> Response:
    """A schedule's id answers with its newest run's state, and when the next one is due."""
    found, article_ids = await cases[Jobs].whole(caller, job_id)
    return encode.answer(schema.JobDetail(**fields_of(job(found)), article_ids=article_ids))


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """Which items are asked for, and in which format."""

    format: str
    limit: int
    skip: int


async def _part(
    request: Request,
    limit: Limit = 50,
    skip: Skip = 0,
    format: Annotated[  # noqa: A002 -- the contract's word
        Literal["json", "ndjson", "csv"] | None, Query(description="The format, instead of the header `Accept`.")
    ] = None,
) -> ItemSelection:
    accepted = request.headers.get("accept", "").lower()
    asked = "ndjson" if NDJSON in accepted else "csv" if CSV in accepted else "json"
    return ItemSelection(format or asked, limit, skip)


@router.get(
    "/{job_id}/results",
    dependencies=[permits(Jobs.get, Jobs.results)],
    response_model=schema.JobResults | articles_schema.ArticleResults,
    responses={
        **UNKNOWN,
        200: {"content": {NDJSON: {"schema": {"type": "string"}}, CSV: {"schema": {"type": "string"}}}},
    },
    summary="Get the items of a crawl",
)
async def results(
    request: Request,
    cases: Cases,
    caller: Who,
    job_id: JobId,
    part: Annotated[ItemSelection, Depends(_part)],
) -> Response:
    """A page; all of it with `Accept: application/x-ndjson` or `text/csv`. While the crawl runs, what there is so far.

    A page of large items has fewer of them than was asked for: continue with `skip` where it ended.
    """
    job_ = await cases[Jobs].get(caller, job_id)
    if job_.kind == ARTICLES:
        return await _articles(request, cases, caller, job_, part)
    if part.format == "json":
        found, items = await cases[Jobs].results(caller, job_id, part.skip, part.limit)
        answer = {"job_id": job_id, "status": found.status.value, "total": items.total, "not_kept": items.not_kept}
        return encode.answer({**answer, "items": items.items})
    found = await cases[Jobs].get(caller, job_id)
    if part.format == "csv":
        told_csv = job_results.as_csv(cases, caller, found)
        return await sse.download(request.app, cases, caller, told_csv, sse.DownloadName(CSV, f"{job_id}.csv"))
    lines = job_results.as_ndjson(cases, caller, found)
    return await sse.download(request.app, cases, caller, lines, sse.DownloadName(NDJSON, f"{job_id}.ndjson"))


@router.get(
    "/{job_id}/results/{article_id}",
    dependencies=[permits(Jobs.get, Articles.item)],
    response_model=articles_schema.ArticleDetail,
    responses=UNKNOWN,
    summary="Get an article and its previous versions",
)
async def article(cases: Cases, caller: Who, job_id: JobId, article_id: ArticleId) -> Response:
    """Of a batch of articles. `previous` is the content before the page last changed; null if it has never changed."""
    job_ = await cases[Jobs].get(caller, job_id)
    if job_.run is None:
        raise NotFound("article", article_id)
    return encode.answer(article_results.whole(*await cases[Articles].item(caller, job_.run.id, article_id)))


async def _articles(
    request: Request, cases: UseCases, caller: Caller, found: JobRecord, part: ItemSelection
) -> Response:
    if part.format == "json":
        return encode.answer(await article_results.page(cases, caller, found, part.skip, part.limit))
    if part.format == "csv":
        rows = article_results.as_csv(cases, caller, found)
        return await sse.download(request.app, cases, caller, rows, sse.DownloadName(CSV, f"{found.id}.csv"))
    lines = article_results.as_ndjson(cases, caller, found)
    return await sse.download(request.app, cases, caller, lines, sse.DownloadName(NDJSON, f"{found.id}.ndjson"))


@dataclass(frozen=True, slots=True)
class LogReadPosition:
    """Where a reader stopped: a line's number and, in the ids of a schedule's log, the run of the line."""

    run_id: str | None = None
    number: int = 0

    def of(self, found: JobRecord) -> int:
        """The number, if it belongs to this run; for a schedule, a bare number identifies no line."""
        whose = found.id if self.run_id is None else self.run_id
        return self.number if found.run is not None and whose == found.run.id else 0


async def _seen(
    last_event_id: Annotated[str | None, Header(description="The id of the last line received.")] = None,
) -> LogReadPosition:
    if not last_event_id:
        return LogReadPosition()
    found = _SEEN.fullmatch(last_event_id)
    if found is None:
        raise Invalid("Last-Event-ID", "must be the id of a line", got=last_event_id)
    return LogReadPosition(found[1], int(found[2]))


@router.get(
    "/{job_id}/logs",
    dependencies=[permits(Jobs.get, Jobs.of_schedule, by=identify_follower)],
    response_class=Response,
    responses={
        **UNKNOWN,
        200: {
            "description": "Lines as they arrive, then `end`",
            "content": {
                "text/event-stream": {"schema": {"type": "string"}},
                "text/plain": {"schema": {"type": "string"}},
            },
        },
    },
    summary="Stream the log of a crawl",
)
async def logs(
    request: Request,
    cases: Cases,
    caller: Follower,
    job_id: JobId,
    seen: Annotated[LogReadPosition, Depends(_seen)],
    format: Annotated[  # noqa: A002 -- the contract's word
        Literal["sse", "text"], Query(description="`text`: the whole log so far, as a file.")
    ] = "sse",
) -> Response:
    """Server-sent events: `log` with `{"ts","level","msg"}` for each line, then `end` with
    `{"status","spider_job_id"}`. `Last-Event-ID` resumes exactly where a reader stopped, also after the end.
    """
    found = await cases[Jobs].get(caller, job_id)
    if seen.run_id is not None and found.schedule is not None:
        # The schedule may have a newer run by now: first the rest of the run that was being read.
        found = await cases[Jobs].of_schedule(caller, found, seen.run_id)
    if format == "text":
        lines = job_logs.as_text(cases, caller, found.run)
        return await sse.download(request.app, cases, caller, lines, sse.DownloadName("text/plain", f"{job_id}.log"))
    if found.run is None:
        return Response(job_logs.last_word(found.status, None), media_type="text/event-stream")
    view = job_logs.LOGS if found.schedule is None else job_logs.logs_of_schedule(found.run)
    followed = FollowedEvents(found.run, seen.of(found), view)
    return await sse.follow(request.app, cases, caller, followed)


@router.delete(
    "/{job_id}",
    dependencies=[permits(Jobs.cancel)],
    response_model=schema.CancelledJob,
    responses={**UNKNOWN, **problem_model(400, "The job has already ended")},
    summary="Cancel a job",
)
async def cancel(cases: Cases, caller: Who, job_id: JobId) -> Response:
    """Waiting runs end now; a running crawl is asked to stop, also in Scrapyd. A schedule is deleted."""
    try:
        stopped = await cases[Jobs].cancel(caller, job_id)
    except Conflict as over:
        return problem("conflict", str(over), status=400)
    message = f"Job cancelled. Removed {stopped.removed} pending tasks."
    if stopped.stopping:
        message += f" Asked {stopped.stopping} running to stop."
    return encode.answer(
        schema.CancelledJob(
            job_id=job_id,
            status="CANCELLED",
            message=message,
        )
    )


def _about(one: JobRecord) -> schema.JobTopic | None:
    subject = one.subject
    if subject is None:
        return None
    count = subject.count if subject.count is not None else one.counts.total if one.counts is not None else 0
    return schema.JobTopic(
        host=subject.host, count=count, spider=subject.spider, project=subject.project, source=subject.source
    )


def job(one: JobRecord) -> schema.JobReport:
    """A job as JSON."""
    run: RunView | None = one.run
    return schema.JobReport(
        job_id=one.id,
        kind=one.kind,
        status=one.word,
        state=None if run is None else run.state,
        run_id=None if run is None else run.id,
        created_at=one.created_at,
        updated_at=one.updated_at,
        started_at=None if run is None else run.started_at,
        finished_at=None if run is None else run.finished_at,
        completed_at=None if run is None else run.finished_at,
        spider_job_id=one.spider_job_id,
        scrapyd_job_id=one.spider_job_id,
        next_run=one.next_run,
        total_articles=None if one.counts is None else one.counts.total,
        completed=None if one.counts is None else one.counts.completed,
        cached=None if one.counts is None else one.counts.cached,
        failed=None if one.counts is None else one.counts.failed,
        pending=None if one.counts is None else one.counts.pending,
        cancelled=None if one.counts is None else one.counts.cancelled,
        progress=one.progress,
        about=_about(one),
        error=cast("runs_schema.RunError | None", None if run is None else run.error),
    )
