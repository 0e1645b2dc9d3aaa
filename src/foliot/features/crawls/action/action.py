"""The crawl action: starts a spider on a Scrapyd once, and polls it until it has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.engine.model.run import LOG_BYTES, Outcome
from foliot.engine.ports import ActionContext, AttemptTarget, ParkedRun
from foliot.features.crawls.action.config import CrawlTargets, read_config
from foliot.features.crawls.action.control import PATIENCE, CrawlStarter, CrawlStopper, HostDelay
from foliot.features.crawls.action.copier import CrawlCopier
from foliot.features.crawls.action.scrapyd_client import START_PATIENCE
from foliot.features.crawls.action.scrapyd_nodes import NodeStatus, ScrapydNodes
from foliot.features.crawls.action.watcher import CrawlWatcher
from foliot.features.expectations.usecases import DataJudge

SILENT = frozenset({"no_node", "timeout"})
"""Codes of failures in which no node answered."""
GLANCE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlPace:
    """Poll interval, time limits and log size of crawls."""

    poll: timedelta = timedelta(seconds=2)
    """Poll interval of a crawl whose log grows."""
    lost_after: timedelta = timedelta(seconds=90)
    """When a crawl counts as lost: its node does not answer, or Scrapyd has forgotten it and its log does not grow."""
    certain: timedelta = START_PATIENCE
    """After this long, a start request without an answer cannot be in flight any more."""
    closing: timedelta = PATIENCE
    """How long a spider may take to close before the next, harder signal."""
    most_log: int = LOG_BYTES
    """Maximum bytes of a log that is copied whole."""


class CrawlAction:
    """Starts a spider, copies its log and items, and derives the outcome of the run."""

    kind = "crawl"
    timeout = timedelta(seconds=180)
    """Of the start: a crawl itself has no time limit unless its schedule sets one."""

    def __init__(  # noqa: PLR0913 -- one argument for each part
        self,
        *,
        nodes: ScrapydNodes,
        targets: CrawlTargets,
        clock: Clock,
        project: str,
        data: DataJudge,
        pace: CrawlPace | None = None,
        delay_of: HostDelay | None = None,
    ) -> None:
        pace = pace or CrawlPace()
        self._nodes = nodes
        self._targets = targets
        self._project = project
        self._starter = CrawlStarter(
            nodes=nodes, targets=targets, clock=clock, poll=pace.poll, certain=pace.certain, delay_of=delay_of
        )
        self._watcher = CrawlWatcher(
            nodes=nodes,
            clock=clock,
            data=data,
            starter=self._starter,
            stopper=CrawlStopper(poll=pace.poll, patience=pace.closing, certain=pace.certain),
            copier=CrawlCopier(most_log=pace.most_log),
            poll=pace.poll,
            lost_after=pace.lost_after,
        )

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field."""
        if not len(self._nodes):
            raise Invalid(
                "kind", "crawl needs a Scrapyd, and none is configured: set SCRAPYD_URL, as in http://127.0.0.1:6800"
            )
        return read_config(config, self._targets, self._project)

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """All nodes as one target: any of them that answers can get the crawl."""
        return AttemptTarget("scrapyd", SILENT)

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Starts the crawl on the least loaded node and parks the run; `look` polls it."""
        return await self._starter.start(ctx)

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        """Polls parked crawls, and returns the outcome of each."""
        return await self._watcher.look(looks)

    async def seen(self) -> list[NodeStatus]:
        """Status of each node, with a short timeout."""
        return await self._nodes.seen(GLANCE)

    async def lacking(self, project: str, urls: Sequence[str]) -> set[str]:
        """The URLs of those nodes that do not have the project."""
        return {url for url in urls if not await self._nodes.has(url, project)}
