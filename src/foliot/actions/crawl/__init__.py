"""Runs spiders on Scrapyd when a schedule fires."""

from foliot.actions.crawl.action import Crawl, Pace
from foliot.actions.crawl.client import Node
from foliot.actions.crawl.nodes import Nodes, Seen

__all__ = ["Crawl", "Node", "Nodes", "Pace", "Seen"]
