"""Wires what crawls need: the Scrapyd nodes of the settings, and a way out that leads to them alone."""

from __future__ import annotations

from datetime import timedelta

from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.features.crawls.action.action import CrawlAction, CrawlPace
from foliot.features.crawls.action.scrapyd_client import ScrapydNode
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.net.client import HttpEgress

REQUESTS = 16
"""How many requests a process has under way to one Scrapyd, which answers one after the other anyway."""


def build_crawls(settings: Settings, targets: HttpEgress, clock: Clock) -> tuple[CrawlAction, HttpEgress]:
    """The action that crawls, and its way to the nodes; `targets` says where spiders may be sent."""
    nodes = [ScrapydNode.of(url.reveal()) for url in settings.scrapyd_urls]
    egress = HttpEgress(allow=[node.place for node in nodes], ports=(), per_host=REQUESTS)
    crawl = CrawlAction(
        nodes=ScrapydNodes(nodes, egress=egress, clock=clock),
        targets=targets,
        clock=clock,
        project=settings.scrapyd_project,
        pace=CrawlPace(
            poll=timedelta(seconds=settings.crawl_poll_seconds),
            lost_after=timedelta(seconds=settings.crawl_lost_seconds),
        ),
    )
    return crawl, egress
