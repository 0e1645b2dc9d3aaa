"""Documents of jobs and crawl items, as MongoDB stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foliot.engine.model.run import RunState
from foliot.features.crawls.model import CRAWL, JobView

STATUS = {
    RunState.QUEUED: ("pending", "PENDING"),
    RunState.RETRYING: ("pending", "PENDING"),
    RunState.RUNNING: ("running", "IN_PROGRESS"),
    RunState.SUCCESS: ("finished", "COMPLETED"),
    RunState.PARTIAL: ("finished", "COMPLETED"),
    RunState.DEGRADED: ("finished", "COMPLETED"),
    RunState.FAILED: ("error", "FAILED"),
    RunState.DEAD_LETTER: ("error", "FAILED"),
    RunState.CANCELLED: ("error", "CANCELLED"),
}
"""Statuses of a crawl, and of a batch of articles. A crawl has four: a cancelled one says so in `error`."""


def job(view: JobView) -> dict[str, Any]:
    """A job; the fields of the other kind are left out."""
    moments = [view.created_at, view.started_at, view.finished_at]
    shared = {
        "_id": view.id,
        "tenant_id": view.tenant_id,
        "user_id": view.user_id,
        "kind": view.kind,
        "state": view.state.value,
        "schedule_id": view.schedule_id,
        "error": None if view.error is None else view.error.get("message"),
        "created_at": view.created_at,
        "updated_at": max(moment for moment in moments if moment is not None),
        "completed_at": view.finished_at,
    }
    return shared | (_crawl(view) if view.kind == CRAWL else _articles(view))


def _crawl(view: JobView) -> dict[str, Any]:
    config, handle = view.config, view.handle or {}
    return {
        "status": STATUS[view.state][0],
        "spider": config.get("spider"),
        "start_urls": list(config.get("start_urls") or ()),
        "depth": config.get("depth"),
        "params": dict(config.get("params") or {}),
        "scheduled_at": view.scheduled_for,
        "next_run": view.next_at,
        "scrapyd_job_id": handle.get("jobid"),
    }


def _articles(view: JobView) -> dict[str, Any]:
    counts = view.counts
    under_way = counts is not None and not view.state.final
    return {
        "status": "IN_PROGRESS" if under_way else STATUS[view.state][1],
        "total_articles": 0 if counts is None else counts.total,
        "new_articles": 0 if counts is None else counts.total - counts.cached,
        "cached_articles": 0 if counts is None else counts.cached,
        "completed_count": 0 if counts is None else counts.completed,
        "failed_count": 0 if counts is None else counts.failed,
        "article_ids": list(view.article_ids),
    }


def items(view: JobView, found: Sequence[Any], skip: int) -> list[dict[str, Any]]:
    """The items of a crawl, numbered from 1."""
    return [
        {
            "_id": f"{view.id}:{number}",
            "job_id": view.id,
            "tenant_id": view.tenant_id,
            "user_id": view.user_id,
            "spider": view.config.get("spider"),
            "number": number,
            "item": item,
        }
        for number, item in enumerate(found, skip + 1)
    ]
