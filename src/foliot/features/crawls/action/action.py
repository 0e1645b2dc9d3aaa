"""The crawl action: a spider on a Scrapyd, started once and watched until it has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.engine.model.event import LOG_BYTES
from foliot.engine.model.run import Outcome
from foliot.engine.ports import ActionContext, AttemptTarget, ParkedRun
from foliot.features.crawls.action.config import CrawlTargets, read_config
from foliot.features.crawls.action.copier import CrawlCopier
from foliot.features.crawls.action.scrapyd_client import START_PATIENCE
from foliot.features.crawls.action.scrapyd_nodes import NodeStatus, ScrapydNodes
from foliot.features.crawls.action.start import CrawlStarter
from foliot.features.crawls.action.stop import PATIENCE, CrawlStopper
from foliot.features.crawls.action.watcher import CrawlWatcher

SILENT = frozenset({"no_node", "timeout"})
"""Codes of failures in which no node answered."""
GLANCE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlPace:
    """How often and how long."""

    poll: timedelta = timedelta(seconds=2)
    """Between two looks at a crawl that talks."""
    lost_after: timedelta = timedelta(seconds=90)
    """Without an answer, or without a word of a crawl that Scrapyd has forgotten."""
    certain: timedelta = START_PATIENCE
    """After this long, a request to start that got no answer is not under way any more."""
    closing: timedelta = PATIENCE
    """For a spider that was asked to stop, before it is asked less politely."""
    most_log: int = LOG_BYTES
    """Bytes of a log that are copied whole."""


class CrawlAction:
    """Starts a spider, copies what it says and finds, and tells how it ended."""

    kind = "crawl"
    timeout = timedelta(seconds=180)
    """For starting one: a crawl itself has no time limit unless its schedule names one."""

    def __init__(
        self, *, nodes: ScrapydNodes, targets: CrawlTargets, clock: Clock, project: str, pace: CrawlPace | None = None
    ) -> None:
        pace = pace or CrawlPace()
        self._nodes = nodes
        self._targets = targets
        self._project = project
        self._starter = CrawlStarter(nodes=nodes, targets=targets, clock=clock, poll=pace.poll, certain=pace.certain)
        self._watcher = CrawlWatcher(
            nodes=nodes,
            clock=clock,
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
        """All nodes together: whichever of them answers gets the crawl."""
        return AttemptTarget("scrapyd", SILENT)

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Start it on the node that has least to do; the rest is seen by `look`."""
        return await self._starter.start(ctx)

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        """What has become of each."""
        return await self._watcher.look(looks)

    async def seen(self) -> list[NodeStatus]:
        """How each node is; one that hangs is not waited for."""
        return await self._nodes.seen(GLANCE)

    async def lacking(self, project: str, urls: Sequence[str]) -> set[str]:
        """Which of these nodes do not have the project."""
        return {url for url in urls if not await self._nodes.has(url, project)}
