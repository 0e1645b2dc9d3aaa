"""The transforms that Foliot brings along."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.pipelines.builtin.choosing import Deduplicate, Filter
from foliot.pipelines.builtin.databases import MongoSink, SqlSink
from foliot.pipelines.builtin.discord import DiscordSink
from foliot.pipelines.builtin.extractors import ArticleExtractor, PriceExtractor
from foliot.pipelines.builtin.feeds import FeedFetcher
from foliot.pipelines.builtin.fetchers import HttpFetcher
from foliot.pipelines.builtin.files import CsvSink, JsonlSink
from foliot.pipelines.builtin.parsers import HtmlParser, JsonParser
from foliot.pipelines.builtin.sitemaps import SitemapFetcher
from foliot.pipelines.builtin.webhooks import WebhookSink
from foliot.pipelines.transform import Transform

ALIASES = {"DiscordSink": ("core.infra.discord_sink.DiscordSink",)}
"""Names that files of older systems use."""


def built_in() -> Sequence[type[Transform]]:
    """All of them, in the order in which a chain would have them."""
    return [
        HttpFetcher,
        FeedFetcher,
        SitemapFetcher,
        HtmlParser,
        JsonParser,
        ArticleExtractor,
        PriceExtractor,
        Filter,
        Deduplicate,
        JsonlSink,
        CsvSink,
        SqlSink,
        MongoSink,
        WebhookSink,
        DiscordSink,
    ]
