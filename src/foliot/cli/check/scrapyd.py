"""Checks the Scrapyd nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.crawls.action.scrapyd_nodes import NodeStatus

KEY = "SCRAPYD_URL"


async def check(settings: Settings) -> list[Finding]:
    """Whether each node answers and has the project. Foliot starts without them, and crawls wait."""
    if not settings.scrapyd_urls:
        return []
    from foliot.db.clock import StoreClock
    from foliot.features.crawls import wiring
    from foliot.net.client import HttpEgress

    crawl, egress = wiring.build_crawls(settings, HttpEgress(), StoreClock())
    async with egress:
        seen = await crawl.seen()
        lacking = await crawl.lacking(settings.scrapyd_project, [each.url for each in seen if each.error is None])
    return [_finding(each, settings.scrapyd_project, lacks=each.url in lacking) for each in seen]


def _finding(seen: NodeStatus, project: str, *, lacks: bool) -> Finding:
    if seen.load is None:
        return Finding("error", KEY, f"must be a Scrapyd that answers, got {seen.url}: {seen.error}")
    if lacks:
        return Finding("warning", KEY, f"{seen.url} answers but has no project {project}: run foliot crawl deploy")
    return Finding("ok", KEY, f"{seen.url} answers, with {count(seen.load.running, 'crawl')} running")
