"""Builds the crawl action from the settings, with an HTTP egress that reaches only the Scrapyd nodes."""

from __future__ import annotations

from datetime import timedelta

from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.features.crawls.action.action import CrawlAction, CrawlPace
from foliot.features.crawls.action.control import HostDelay
from foliot.features.crawls.action.scrapyd_client import ScrapydNode
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.features.expectations.usecases import DataJudge
from foliot.net.client import HttpEgress

REQUESTS = 16
"""Maximum concurrent requests of a process to one Scrapyd, which answers one after the other anyway."""


def build_crawls(
    settings: Settings, targets: HttpEgress, clock: Clock, judge: DataJudge, delay_of: HostDelay | None = None
) -> tuple[CrawlAction, HttpEgress]:
    """The action, and the egress to its nodes; `targets` is the SSRF guard of start URLs."""
    nodes = [ScrapydNode.of(url.reveal()) for url in settings.scrapyd_urls]
    egress = HttpEgress(allow=[node.place for node in nodes], ports=(), per_host=REQUESTS)
    crawl = CrawlAction(
        nodes=ScrapydNodes(nodes, egress=egress, clock=clock),
        targets=targets,
        clock=clock,
        data=judge,
        project=settings.scrapyd_project,
        delay_of=delay_of,
        pace=CrawlPace(
            poll=timedelta(seconds=settings.crawl_poll_seconds),
            lost_after=timedelta(seconds=settings.crawl_lost_seconds),
        ),
    )
    return crawl, egress
